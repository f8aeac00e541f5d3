//! Status of each source, derived from the tool messages of its searches.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep::Message;
use superstep::core::message::{Role, ToolStatus};

use super::tool_results::parse_list;
use crate::state::SourceStatus;
use crate::tools::SearchTool;

/// Outcome of one tool call. Variants are ordered: the greatest outcome of a source determines its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallOutcome {
    /// The call never reached the source, so it ranks lowest.
    Malformed,
    Empty,
    /// Ranks above `Empty`: "nothing found" would be wrong if another call failed.
    Failed,
    HasResults,
}

/// Returns the status of each searched source.
pub(crate) fn statuses<'a>(messages: impl Iterator<Item = &'a Message>) -> BTreeMap<String, SourceStatus> {
    let mut outcomes: BTreeMap<String, CallOutcome> = BTreeMap::new();
    for (search, message) in messages.filter_map(as_search) {
        let outcome = call_outcome(message);
        let best = outcomes.entry(search.source().to_owned()).or_insert(outcome);
        *best = outcome.max(*best);
    }
    let status = |outcome| match outcome {
        CallOutcome::HasResults => SourceStatus::Ok,
        CallOutcome::Empty => SourceStatus::Empty,
        CallOutcome::Failed | CallOutcome::Malformed => SourceStatus::Error,
    };
    outcomes.into_iter().map(|(source, outcome)| (source, status(outcome))).collect()
}

/// Returns the failure reason of each failed source.
pub(crate) fn reasons<'a>(messages: impl Iterator<Item = &'a Message> + Clone) -> BTreeMap<String, String> {
    let statuses = statuses(messages.clone());
    let failed = messages.filter_map(as_search).filter(|(search, message)| {
        statuses.get(search.source()) == Some(&SourceStatus::Error) && call_outcome(message) != CallOutcome::Empty
    });
    failed.map(|(search, message)| (search.source().to_owned(), reason(search, message))).collect()
}

fn reason(search: SearchTool, message: &Message) -> String {
    if message.status != ToolStatus::Error {
        return "it did not return a list of results".to_owned();
    }
    let text = message.text();
    // The text before the reason is addressed to the model.
    let prefix = format!("{} cannot be searched: ", search.source());
    text.split_once(&prefix).map_or(&*text, |(_, reason)| reason).to_owned()
}

fn as_search(message: &Message) -> Option<(SearchTool, &Message)> {
    let search = SearchTool::from_tool_name(message.name.as_deref()?)?;
    (message.role == Role::Tool).then_some((search, message))
}

fn call_outcome(message: &Message) -> CallOutcome {
    if message.status == ToolStatus::Error {
        let is_malformed = message.metadata.get("error").and_then(Value::as_str) == Some("bad_arguments");
        return if is_malformed { CallOutcome::Malformed } else { CallOutcome::Failed };
    }
    match parse_list::<Value>(message) {
        None => CallOutcome::Failed,
        Some(listed) if listed.is_empty() => CallOutcome::Empty,
        Some(listed) if listed.iter().any(Value::is_object) => CallOutcome::HasResults,
        Some(_) => CallOutcome::Failed,
    }
}
