//! Search without a model: runs the four searches concurrently with the text of the post, then generates the hint.

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::models::{ModelInfo, ModelKind};
use superstep::{Message, ToolError, ToolOutput};

use crate::context::{RunReport, SuggestionsContext};
use crate::response_format::{ToolResults, report, unavailable_sources};
use crate::sources::normalize_query;
use crate::tools::{HINT, MAX_POST_CHARS, SearchTool, call_directly, truncate};
use crate::types::CombinedSuggestionsResponse;

/// Label of this search mode in user interfaces.
pub const LABEL: &str = "direct search, no language model";

/// Searches all sources. A source that fails is listed in the response and does not fail the search.
pub(crate) async fn search_directly(
    context: &SuggestionsContext,
    text: &str,
) -> (CombinedSuggestionsResponse, RunReport) {
    let query = normalize_query(text).map(|query| query.text).unwrap_or_default();
    let calls: Vec<ToolCall> =
        SearchTool::ALL.into_iter().map(|search| call(search, &query, context.post_id())).collect();
    let mut conversation = vec![Message::assistant("").with_tool_calls(calls.clone())];
    conversation.extend(join_all(calls.iter().map(|call| call_tool(context, call))).await);
    let results =
        ToolResults::from_messages(&conversation.iter().collect::<Vec<_>>()).without(context.post_id()).merged();
    let hint_results = results.for_hint();
    let mut response = results.response();
    if !hint_results.is_empty() {
        let args = object(json!({ "postText": truncate(text, MAX_POST_CHARS), "searchResults": hint_results }));
        // A failed hint must not discard the search results.
        let hint = call_directly(context, HINT, args).await.ok().filter(|output| !output.is_error);
        let hint = hint.and_then(|output| output.content).map(|content| content.text().trim().to_owned());
        response.action_hint = hint.filter(|hint| !hint.is_empty());
    }
    let messages: Vec<&Message> = conversation.iter().collect();
    response.unavailable_sources = unavailable_sources(&messages);
    let mut report = report(&messages, Vec::new());
    report.model = Some(ModelInfo::new("local", "direct", ModelKind::Rules));
    (response, report)
}

fn call(search: SearchTool, query: &str, post_id: &str) -> ToolCall {
    let args = match search {
        SearchTool::Posts if !post_id.is_empty() => json!({ "query": query, "excludePostId": post_id }),
        _ => json!({ "query": query }),
    };
    ToolCall::new(search.tool(), search.tool(), args)
}

/// Calls a tool and converts its result into a tool message.
async fn call_tool(context: &SuggestionsContext, call: &ToolCall) -> Message {
    let outcome = call_directly(context, &call.name, object(call.args.clone())).await;
    let (text, status, artifact) = tool_message_parts(outcome);
    let message = Message::tool(&call.id, text).with_name(&call.name).with_status(status);
    artifact.into_iter().fold(message, |message, artifact| message.with_metadata("artifact", artifact))
}

fn tool_message_parts(outcome: Result<ToolOutput, ToolError>) -> (String, ToolStatus, Option<Value>) {
    match outcome {
        Ok(output) => {
            let text = output.content.map(|content| content.text().into_owned()).unwrap_or_default();
            let status = if output.is_error { ToolStatus::Error } else { ToolStatus::Success };
            (text, status, output.artifact)
        }
        Err(error) => (error.message, ToolStatus::Error, None),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
