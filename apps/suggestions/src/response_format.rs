//! Builds the response from the final message of the model and the tool results, or from the tool results alone.
//!
//! The model only selects and orders results. Every title, URL and description is taken from a tool result, so
//! neither the model nor a prompt injection in a document can introduce a link.

mod merge;
mod model_selection;
mod parse_answer;
mod source_status;
mod tool_results;

use superstep::Message;
use superstep::core::message::Role;

use crate::context::RunReport;
use crate::suggest::ExecutedQuery;
use crate::tools::{SearchTool, warnings};
use crate::types::CombinedSuggestionsResponse;

pub(crate) use source_status::{reasons, statuses};
pub(crate) use tool_results::{MergedResults, ToolResults};

/// A response with its warnings.
pub(crate) struct FormattedResponse {
    pub(crate) response: CombinedSuggestionsResponse,
    /// Warnings about parts of the model's answer that were dropped or could not be parsed.
    pub(crate) warnings: Vec<String>,
    /// Number of items of the model that no tool returned.
    pub(crate) dropped: usize,
}

/// Builds the response from a finished conversation. The response never contains the post itself.
pub(crate) fn format_response(messages: &[&Message], post_id: &str) -> FormattedResponse {
    let results = ToolResults::from_messages(messages).without(post_id).merged();
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let text = last.map(|message| message.text()).unwrap_or_default();
    let mut formatted = match parse_answer::parse_answer(&text) {
        Some(answer) => model_selection::select_results(&answer, &results),
        None => FormattedResponse { response: results.response(), warnings: unreadable_warning(&text), dropped: 0 },
    };
    formatted.response.unavailable_sources = unavailable_sources(messages);
    formatted
}

fn unreadable_warning(text: &str) -> Vec<String> {
    let reason =
        if text.trim().is_empty() { "the model returned no answer" } else { "the model's answer cannot be read" };
    vec![format!("{reason}: showing all results")]
}

/// Returns the names of the failed sources, in the order of `SearchTool::ALL`.
pub(crate) fn unavailable_sources(messages: &[&Message]) -> Vec<String> {
    let statuses = statuses(messages.iter().copied());
    let failed = |search: &SearchTool| statuses.get(search.source()) == Some(&crate::state::SourceStatus::Error);
    SearchTool::ALL.into_iter().filter(failed).map(|search| search.source().to_owned()).collect()
}

/// Collects the model, queries, warnings and failure reasons of a conversation.
pub(crate) fn report(messages: &[&Message], format_warnings: Vec<String>) -> RunReport {
    let last_answer = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let model = last_answer.and_then(|message| serde_json::from_value(message.metadata.get("model")?.clone()).ok());
    let tool_warnings = messages.iter().flat_map(|message| warnings(message.metadata.get("artifact")));
    let mut warnings: Vec<String> = Vec::new();
    for warning in tool_warnings.chain(format_warnings) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    RunReport { queries: queries(messages), warnings, unavailable_reasons: reasons(messages.iter().copied()), model }
}

/// Returns each executed query with its number of results.
fn queries(messages: &[&Message]) -> Vec<ExecutedQuery> {
    let mut queries = Vec::new();
    for call in messages.iter().flat_map(|message| &message.tool_calls) {
        let Some(search) = SearchTool::from_tool_name(&call.name) else { continue };
        let Some(query) = call.args["query"].as_str() else { continue };
        let result = messages.iter().find(|message| message.tool_call_id.as_deref() == Some(call.id.as_str()));
        let result_count = result.map_or(0, |result| tool_results::result_count(result));
        queries.push(ExecutedQuery { tool: search.tool().to_owned(), query: query.to_owned(), result_count });
    }
    queries
}
