//! The response: what the model's last words say, as far as tools returned it, or what the tools returned.
//!
//! The model chooses and orders; every title, address and description comes from a tool. So a model, or a document that
//! speaks to it, cannot make up a link.

mod chosen;
mod found;
mod merge;
mod read;
mod status;

use superstep::Message;
use superstep::core::message::Role;

use crate::context::Report;
use crate::suggest::Query;
use crate::tools::{Search, warnings};
use crate::types::CombinedSuggestionsResponse;

pub(crate) use found::{Found, Results};
pub(crate) use status::{reasons, statuses};

/// The response with what is to be known about it.
pub(crate) struct Formatted {
    pub(crate) response: CombinedSuggestionsResponse,
    /// What was let pass, in words.
    pub(crate) warnings: Vec<String>,
    /// How many of the model's items were dropped.
    pub(crate) dropped: usize,
}

/// Makes the response of a conversation that is over; the post it is for is never in it.
pub(crate) fn format(messages: &[&Message], post_id: &str) -> Formatted {
    let results = Found::of(messages).without(post_id).merged();
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let said = last.map(|message| message.text()).unwrap_or_default();
    let mut formatted = match read::answer(&said) {
        Some(answer) => chosen::choose(&answer, &results),
        None => Formatted { response: results.response(), warnings: unreadable(&said), dropped: 0 },
    };
    formatted.response.unavailable_sources = unavailable(messages);
    formatted
}

fn unreadable(said: &str) -> Vec<String> {
    let what = if said.trim().is_empty() { "the model gave no answer" } else { "the model's answer cannot be read" };
    vec![format!("{what}: all that was found is shown")]
}

/// The sources that failed, in their order.
pub(crate) fn unavailable(messages: &[&Message]) -> Vec<String> {
    let statuses = statuses(messages.iter().copied());
    let failed = |search: &Search| statuses.get(search.source()) == Some(&crate::state::SourceStatus::Error);
    Search::ALL.into_iter().filter(failed).map(|search| search.source().to_owned()).collect()
}

/// What came of a conversation besides the response.
pub(crate) fn report(messages: &[&Message], warned: Vec<String>) -> Report {
    let answered = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let model = answered.and_then(|message| serde_json::from_value(message.metadata.get("model")?.clone()).ok());
    let noted = messages.iter().flat_map(|message| warnings(message.metadata.get("artifact")));
    let mut warnings: Vec<String> = Vec::new();
    for warning in noted.chain(warned) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Report { queries: queries(messages), warnings, reasons: reasons(messages.iter().copied()), model }
}

/// What was searched for, and how much was found.
fn queries(messages: &[&Message]) -> Vec<Query> {
    let mut queries = Vec::new();
    for call in messages.iter().flat_map(|message| &message.tool_calls) {
        let Some(search) = Search::of_tool(&call.name) else { continue };
        let Some(query) = call.args["query"].as_str() else { continue };
        let answer = messages.iter().find(|message| message.tool_call_id.as_deref() == Some(call.id.as_str()));
        let found = answer.map_or(0, |answer| found::count(answer));
        queries.push(Query { tool: search.tool().to_owned(), query: query.to_owned(), found });
    }
    queries
}
