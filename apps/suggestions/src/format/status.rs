//! How the searches of each source went, by their messages.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep::Message;
use superstep::core::message::{Role, ToolStatus};

use super::found::list;
use crate::state::SourceStatus;
use crate::tools::Search;

/// How one call went, the most telling last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    /// It never reached the source, so it says the least about it.
    Malformed,
    Empty,
    /// "Nothing found" would not be true when another call failed.
    Failed,
    Found,
}

/// How each source that was searched went.
pub(crate) fn statuses<'a>(messages: impl Iterator<Item = &'a Message>) -> BTreeMap<String, SourceStatus> {
    let mut calls: BTreeMap<String, Call> = BTreeMap::new();
    for (search, message) in messages.filter_map(searched) {
        let call = call(message);
        let known = calls.entry(search.source().to_owned()).or_insert(call);
        *known = call.max(*known);
    }
    let status = |call| match call {
        Call::Found => SourceStatus::Ok,
        Call::Empty => SourceStatus::Empty,
        Call::Failed | Call::Malformed => SourceStatus::Error,
    };
    calls.into_iter().map(|(source, call)| (source, status(call))).collect()
}

/// Why the sources that failed did.
pub(crate) fn reasons<'a>(messages: impl Iterator<Item = &'a Message> + Clone) -> BTreeMap<String, String> {
    let statuses = statuses(messages.clone());
    let failed = messages.filter_map(searched).filter(|(search, message)| {
        statuses.get(search.source()) == Some(&SourceStatus::Error) && call(message) != Call::Empty
    });
    failed.map(|(search, message)| (search.source().to_owned(), reason(search, message))).collect()
}

fn reason(search: Search, message: &Message) -> String {
    if message.status != ToolStatus::Error {
        return "it gave something that is no list of results".to_owned();
    }
    let text = message.text();
    // The words around the reason are for the model.
    let known = format!("{} cannot be searched: ", search.source());
    text.split_once(&known).map_or(&*text, |(_, reason)| reason).to_owned()
}

fn searched(message: &Message) -> Option<(Search, &Message)> {
    let search = Search::of_tool(message.name.as_deref()?)?;
    (message.role == Role::Tool).then_some((search, message))
}

fn call(message: &Message) -> Call {
    if message.status == ToolStatus::Error {
        let is_malformed = message.metadata.get("error").and_then(Value::as_str) == Some("bad_arguments");
        return if is_malformed { Call::Malformed } else { Call::Failed };
    }
    match list::<Value>(message) {
        None => Call::Failed,
        Some(listed) if listed.is_empty() => Call::Empty,
        Some(listed) if listed.iter().any(Value::is_object) => Call::Found,
        Some(_) => Call::Failed,
    }
}
