//! The way without a model: the four searches at once with the words of the post, then the hint.

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::model::{ModelInfo, ModelKind};
use superstep::{Message, ToolError, ToolOutput};

use crate::context::{Context, Report};
use crate::format::{Found, report, unavailable};
use crate::sources::trim;
use crate::tools::{HINT, LONGEST_POST, Search, call_directly, fitting};
use crate::types::CombinedSuggestionsResponse;

/// What people read about how it was searched.
pub const LABEL: &str = "direct search, no language model";

/// Searches; a source that fails is named in the response, and never fails the whole.
pub(crate) async fn direct(context: &Context, text: &str) -> (CombinedSuggestionsResponse, Report) {
    let query = trim(text).map(|query| query.text).unwrap_or_default();
    let calls: Vec<ToolCall> = Search::ALL.into_iter().map(|search| call(search, &query, context.post_id())).collect();
    let mut said = vec![Message::assistant("").with_tool_calls(calls.clone())];
    said.extend(join_all(calls.iter().map(|call| answered(context, call))).await);
    let results = Found::of(&said.iter().collect::<Vec<_>>()).without(context.post_id()).merged();
    let hinted = results.for_hint();
    let mut response = results.response();
    if !hinted.is_empty() {
        let args = object(json!({ "postText": fitting(text, LONGEST_POST), "searchResults": hinted }));
        // Without a hint the rest is still worth reading.
        let hint = call_directly(context, HINT, args).await.ok().filter(|output| !output.is_error);
        let hint = hint.and_then(|output| output.content).map(|content| content.text().trim().to_owned());
        response.action_hint = hint.filter(|hint| !hint.is_empty());
    }
    let messages: Vec<&Message> = said.iter().collect();
    response.unavailable_sources = unavailable(&messages);
    let mut report = report(&messages, Vec::new());
    report.model = Some(ModelInfo::new("local", "direct", ModelKind::Rules));
    (response, report)
}

fn call(search: Search, query: &str, post_id: &str) -> ToolCall {
    let args = match search {
        Search::Posts if !post_id.is_empty() => json!({ "query": query, "excludePostId": post_id }),
        _ => json!({ "query": query }),
    };
    ToolCall::new(search.tool(), search.tool(), args)
}

/// What a tool message would say.
async fn answered(context: &Context, call: &ToolCall) -> Message {
    let outcome = call_directly(context, &call.name, object(call.args.clone())).await;
    let (text, status, artifact) = told(outcome);
    let message = Message::tool(&call.id, text).with_name(&call.name).with_status(status);
    artifact.into_iter().fold(message, |message, artifact| message.with_metadata("artifact", artifact))
}

fn told(outcome: Result<ToolOutput, ToolError>) -> (String, ToolStatus, Option<Value>) {
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
