//! Issues as Jira exports them: a table whose columns are found by name, and where a column may stand more than once.

use csv::{ReaderBuilder, StringRecord};

use super::Issue;

/// The words for a state in which nothing is to be done.
const CLOSED: [&str; 4] = ["done", "closed", "resolved", "cancelled"];

/// The issues of a file.
pub(super) fn read(text: &str) -> Result<Vec<Issue>, String> {
    let broken = |error: csv::Error| format!("it is no table ({error})");
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(broken)?.clone();
    for column in ["Issue key", "Summary"] {
        if !headers.iter().any(|header| is(header, column)) {
            return Err(format!("it has no column `{column}`, so it is no export of Jira"));
        }
    }
    reader.records().map(|record| Ok(issue(&headers, &record.map_err(broken)?))).collect()
}

fn issue(headers: &StringRecord, record: &StringRecord) -> Issue {
    let all = |column: &'static str| {
        let cells = headers.iter().zip(record.iter()).filter(move |(header, _)| is(header, column));
        cells.map(|(_, cell)| cell.trim().to_owned()).filter(|cell| !cell.is_empty())
    };
    let one = |column| all(column).next().unwrap_or_default();
    let (status, resolution) = (one("Status"), one("Resolution"));
    let is_closed = CLOSED.iter().any(|word| status.eq_ignore_ascii_case(word)) || !resolution.is_empty();
    let split = |labels: String| labels.split([';', ',', ' ']).map(str::to_owned).collect::<Vec<_>>();
    Issue {
        key: one("Issue key"),
        title: one("Summary"),
        body: one("Description"),
        labels: all("Labels").flat_map(split).filter(|label| !label.is_empty()).collect(),
        comments: all("Comment").collect(),
        url: one("URL"),
        is_closed,
        is_resolved: is_closed && !resolution.is_empty() && !resolution.eq_ignore_ascii_case("unresolved"),
    }
}

fn is(header: &str, column: &str) -> bool {
    header.trim().eq_ignore_ascii_case(column)
}
