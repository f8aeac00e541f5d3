//! Issues as Jira exports them: as a table, whose columns are found by name and may stand more than once, and as JSON.
//!
//! Every project names its states as it likes; what they mean is their category, which is one of three.

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use super::Issue;

/// The words for a state in which nothing is to be done, where an export does not say its category.
const CLOSED: [&str; 5] = ["done", "closed", "resolved", "cancelled", "canceled"];
/// Resolutions that solved nothing.
const UNSOLVED: [&str; 9] = [
    "unresolved",
    "won't do",
    "won't fix",
    "wontfix",
    "duplicate",
    "cannot reproduce",
    "declined",
    "incomplete",
    "abandoned",
];

/// The issues of a table.
pub(super) fn read_table(text: &str) -> Result<Vec<Issue>, String> {
    let broken = |error: csv::Error| format!("it is no table ({error})");
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(broken)?.clone();
    for column in ["Issue key", "Summary"] {
        if !headers.iter().any(|header| is(header, column)) {
            return Err(format!("it has no column `{column}`, so it is no export of Jira"));
        }
    }
    reader.records().map(|record| Ok(of_record(&headers, &record.map_err(broken)?))).collect()
}

fn of_record(headers: &StringRecord, record: &StringRecord) -> Issue {
    let all = |column: &'static str| {
        let cells = headers.iter().zip(record.iter()).filter(move |(header, _)| is(header, column));
        cells.map(|(_, cell)| cell.trim().to_owned()).filter(|cell| !cell.is_empty())
    };
    let one = |column| all(column).next().unwrap_or_default();
    let split = |labels: String| labels.split([';', ',', ' ']).map(str::to_owned).collect::<Vec<_>>();
    let issue = Issue {
        key: one("Issue key"),
        title: one("Summary"),
        body: one("Description"),
        labels: all("Labels").flat_map(split).filter(|label| !label.is_empty()).collect(),
        comments: all("Comment").collect(),
        url: one("URL"),
        ..Issue::default()
    };
    in_state(issue, &one("Status Category"), &one("Status"), &one("Resolution"))
}

/// An issue of the JSON that Jira's own interface gives; none when it is no such.
pub(super) fn of_json(item: &Value) -> Option<Issue> {
    let (key, fields) = (item.get("key")?.as_str()?, item.get("fields")?);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let issue = Issue {
        key: key.to_owned(),
        title: fields.get("summary")?.as_str()?.to_owned(),
        body: words(&fields["description"]),
        labels: list(&fields["labels"]).iter().map(text).collect(),
        comments: list(&fields["comment"]["comments"]).iter().map(|comment| words(&comment["body"])).collect(),
        url: page_of(item["self"].as_str().unwrap_or_default(), key).unwrap_or_default(),
        ..Issue::default()
    };
    let status = &fields["status"];
    let category = text(&status["statusCategory"]["key"]);
    Some(in_state(issue, &category, &text(&status["name"]), &text(&fields["resolution"]["name"])))
}

/// Notes whether there is something to do about an issue. The category decides: a project may call what is open
/// "Resolved", and what is closed may have a resolution from an earlier time.
fn in_state(issue: Issue, category: &str, status: &str, resolution: &str) -> Issue {
    let is_one_of = |word: &str, words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word.trim()));
    let is_solution = !resolution.trim().is_empty() && !is_one_of(resolution, &UNSOLVED);
    let is_closed = match category.trim().to_lowercase().as_str() {
        "done" => true,
        "new" | "indeterminate" | "to do" | "in progress" => false,
        _ => is_one_of(status, &CLOSED) || is_solution,
    };
    Issue { is_closed, is_resolved: is_closed && is_solution, ..issue }
}

/// A text of Jira: plain, or a tree of blocks.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(node) => {
            let inside = node.get("content").map(words).unwrap_or_default();
            let own = node.get("text").and_then(Value::as_str).unwrap_or_default();
            let is_block = matches!(
                node.get("type").and_then(Value::as_str),
                Some("paragraph" | "heading" | "listItem" | "codeBlock" | "blockquote")
            );
            format!("{own}{inside}{}", if is_block { "\n\n" } else { "" })
        }
        Value::Array(nodes) => nodes.iter().map(words).collect(),
        _ => String::new(),
    }
}

/// The page of an issue for people, beside its address for programs.
fn page_of(address: &str, key: &str) -> Option<String> {
    let (site, _) = address.split_once("/rest/api/")?;
    Some(format!("{site}/browse/{key}"))
}

fn is(header: &str, column: &str) -> bool {
    header.trim().eq_ignore_ascii_case(column)
}
