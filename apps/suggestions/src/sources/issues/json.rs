//! JSON exports of GitHub, `gh`, GitLab and Jira: arrays of objects, whose fields identify the tracker.

use serde_json::Value;

use super::{Issue, jira};

/// Parses the issues of a file. Skips pull requests, which GitHub lists among issues.
pub(super) fn read(text: &str) -> Result<Vec<Issue>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON ({error})"))?;
    let wrapped = || ["items", "issues"].into_iter().find_map(|name| value.get(name)?.as_array());
    let items = value.as_array().or_else(wrapped).ok_or("it is not a list of issues")?;
    let issues = items.iter().filter(|item| item.get("pull_request").is_none()).enumerate();
    issues
        .map(|(number, item)| parse_issue(item).ok_or_else(|| format!("entry {} is not an issue", number + 1)))
        .collect()
}

fn parse_issue(item: &Value) -> Option<Issue> {
    if item.get("fields").is_some() {
        return jira::from_json(item);
    }
    let title = text(item, "title")?;
    let is_gitlab = item.get("iid").is_some();
    let number = item.get(if is_gitlab { "iid" } else { "number" })?.as_u64()?;
    let body = text(item, if is_gitlab { "description" } else { "body" }).unwrap_or_default();
    let url = ["html_url", "web_url", "url"].into_iter().find_map(|key| text(item, key)).unwrap_or_default();
    let is_closed = text(item, "state")?.eq_ignore_ascii_case("closed");
    let mut issue = Issue { key: format!("#{number}"), title, body, url, is_closed, ..Issue::default() };
    issue.labels = strings(item.get("labels"), "name");
    // The REST APIs return the number of comments in this field; only `gh` returns their texts.
    issue.comments = strings(item.get("comments"), "body");
    let reason = text(item, "state_reason").or_else(|| text(item, "stateReason")).unwrap_or_default();
    issue.is_resolved = is_closed
        && match reason.to_lowercase().as_str() {
            "completed" => true,
            "" => issue.mentions_resolution(),
            _ => false,
        };
    Some(issue)
}

fn text(item: &Value, key: &str) -> Option<String> {
    item.get(key)?.as_str().map(str::to_owned)
}

/// Returns the strings of a list whose entries are strings or objects with the string under `key`.
fn strings(list: Option<&Value>, key: &str) -> Vec<String> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.as_str().map(str::to_owned).or_else(|| text(entry, key))).collect()
}
