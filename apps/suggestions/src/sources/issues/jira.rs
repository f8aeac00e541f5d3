//! Jira exports: CSV, whose columns are found by name and may repeat, and JSON.
//!
//! Status names differ between projects. Their meaning is the status category, of which there are three.

use csv::{ReaderBuilder, StringRecord};
use serde_json::Value;

use super::Issue;

/// Status names that count as closed if an export has no status category.
const CLOSED_STATUSES: [&str; 5] = ["done", "closed", "resolved", "cancelled", "canceled"];
/// Resolutions that do not mean a solution.
const UNSOLVED_RESOLUTIONS: [&str; 9] = [
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

/// Parses the issues of a CSV export.
pub(super) fn read_table(text: &str) -> Result<Vec<Issue>, String> {
    let csv_error = |error: csv::Error| format!("it is not a CSV table ({error})");
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(csv_error)?.clone();
    for column in ["Issue key", "Summary"] {
        if !headers.iter().any(|header| is_column(header, column)) {
            return Err(format!("it has no column `{column}`, so it is not a Jira export"));
        }
    }
    reader.records().map(|record| Ok(from_record(&headers, &record.map_err(csv_error)?))).collect()
}

fn from_record(headers: &StringRecord, record: &StringRecord) -> Issue {
    let cells = |column: &'static str| {
        let values = headers.iter().zip(record.iter()).filter(move |(header, _)| is_column(header, column));
        values.map(|(_, cell)| cell.trim().to_owned()).filter(|cell| !cell.is_empty())
    };
    let first_cell = |column| cells(column).next().unwrap_or_default();
    let split = |labels: String| labels.split([';', ',', ' ']).map(str::to_owned).collect::<Vec<_>>();
    let issue = Issue {
        key: first_cell("Issue key"),
        title: first_cell("Summary"),
        body: first_cell("Description"),
        labels: cells("Labels").flat_map(split).filter(|label| !label.is_empty()).collect(),
        comments: cells("Comment").collect(),
        url: first_cell("URL"),
        ..Issue::default()
    };
    with_state(issue, &first_cell("Status Category"), &first_cell("Status"), &first_cell("Resolution"))
}

/// Parses one issue of the JSON of Jira's REST API. Returns `None` if the value is not such an issue.
pub(super) fn from_json(item: &Value) -> Option<Issue> {
    let (key, fields) = (item.get("key")?.as_str()?, item.get("fields")?);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let issue = Issue {
        key: key.to_owned(),
        title: fields.get("summary")?.as_str()?.to_owned(),
        body: plain_text(&fields["description"]),
        labels: list(&fields["labels"]).iter().map(text).collect(),
        comments: list(&fields["comment"]["comments"]).iter().map(|comment| plain_text(&comment["body"])).collect(),
        url: page_url(item["self"].as_str().unwrap_or_default(), key).unwrap_or_default(),
        ..Issue::default()
    };
    let status = &fields["status"];
    let category = text(&status["statusCategory"]["key"]);
    Some(with_state(issue, &category, &text(&status["name"]), &text(&fields["resolution"]["name"])))
}

/// Sets whether the issue is closed and resolved. The status category decides: a project may call an open status
/// "Resolved", and a reopened issue may keep an earlier resolution.
fn with_state(issue: Issue, category: &str, status: &str, resolution: &str) -> Issue {
    let is_one_of =
        |word: &str, words: &[&str]| words.iter().any(|expected| expected.eq_ignore_ascii_case(word.trim()));
    let is_solution = !resolution.trim().is_empty() && !is_one_of(resolution, &UNSOLVED_RESOLUTIONS);
    let is_closed = match category.trim().to_lowercase().as_str() {
        "done" => true,
        "new" | "indeterminate" | "to do" | "in progress" => false,
        _ => is_one_of(status, &CLOSED_STATUSES) || is_solution,
    };
    Issue { is_closed, is_resolved: is_closed && is_solution, ..issue }
}

/// Converts a Jira text to plain text: a string, or a tree in Atlassian Document Format.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(node) => {
            let content = node.get("content").map(plain_text).unwrap_or_default();
            let text = node.get("text").and_then(Value::as_str).unwrap_or_default();
            let is_block = matches!(
                node.get("type").and_then(Value::as_str),
                Some("paragraph" | "heading" | "listItem" | "codeBlock" | "blockquote")
            );
            format!("{text}{content}{}", if is_block { "\n\n" } else { "" })
        }
        Value::Array(nodes) => nodes.iter().map(plain_text).collect(),
        _ => String::new(),
    }
}

/// Derives the URL of the issue page from its REST API URL.
fn page_url(address: &str, key: &str) -> Option<String> {
    let (site, _) = address.split_once("/rest/api/")?;
    Some(format!("{site}/browse/{key}"))
}

fn is_column(header: &str, column: &str) -> bool {
    header.trim().eq_ignore_ascii_case(column)
}
