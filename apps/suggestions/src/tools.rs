//! The five tools of the model: each calls the tool of the same name on the MCP server of the context.
//!
//! Arguments of the model are validated before any call. Results never contain the post of the run, regardless of
//! the arguments.

mod spec;

use futures_util::future::{Either, select};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::pin::pin;
use superstep::core::message::Content;
use superstep::core::redaction::{Redaction, RedactionCounts};
use superstep::tools::{SharedTool, ToolContext, ToolInvocation, ToolProgress, ToolSpec, tool_fn};
use superstep::{RunContext, StreamWriter, TaskContext, ToolError, ToolOutput};

use crate::context::SuggestionsContext;

pub(crate) use spec::{
    HINT, HintArguments, MAX_POST_CHARS, MAX_RESULT_CHARS, PostsArguments, QueryArguments, SearchResult, SearchTool,
    hint_spec, truncate,
};

/// Returns all five tools.
#[must_use]
pub fn tools() -> Vec<SharedTool> {
    vec![search_m365_tool(), search_docs_tool(), search_issues_tool(), search_posts_tool(), generate_action_hint_tool()]
}

/// Returns the tool that searches Microsoft 365.
#[must_use]
pub fn search_m365_tool() -> SharedTool {
    query_tool(SearchTool::M365)
}

/// Returns the tool that searches the documents.
#[must_use]
pub fn search_docs_tool() -> SharedTool {
    query_tool(SearchTool::Docs)
}

/// Returns the tool that searches the issues.
#[must_use]
pub fn search_issues_tool() -> SharedTool {
    query_tool(SearchTool::Issues)
}

/// Returns the tool that searches posts. Its results never contain the post of the run.
#[must_use]
pub fn search_posts_tool() -> SharedTool {
    tool_fn(SearchTool::Posts.spec(), async |args: PostsArguments, cx: ToolContext| search_posts(args, cx).await)
}

/// Returns the tool that proposes an action.
#[must_use]
pub fn generate_action_hint_tool() -> SharedTool {
    tool_fn(hint_spec(), async |args: HintArguments, cx: ToolContext| forward(HINT, &args, &cx).await)
}

/// Returns the tool specifications for the model.
pub(crate) fn specs() -> Vec<std::sync::Arc<ToolSpec>> {
    tools().iter().map(|tool| tool.spec().clone()).collect()
}

fn query_tool(search: SearchTool) -> SharedTool {
    tool_fn(search.spec(), move |args: QueryArguments, cx: ToolContext| async move {
        forward(search.tool(), &args, &cx).await
    })
}

async fn search_posts(args: PostsArguments, cx: ToolContext) -> Result<ToolOutput, ToolError> {
    let context: RunContext<SuggestionsContext> = cx.get()?;
    let run_post_id = context.post_id().to_owned();
    // The server excludes one post. If the model names another one, its results are filtered here.
    let excluded: Vec<String> = args.exclude_post_id.into_iter().chain([run_post_id.clone()]).collect();
    let exclude = Some(run_post_id).filter(|id| !id.is_empty()).or_else(|| excluded.first().cloned());
    let args = PostsArguments { query: args.query, exclude_post_id: exclude };
    let mut output = forward(SearchTool::Posts.tool(), &args, &cx).await?;
    if let Some(text) =
        output.content.as_ref().filter(|_| !output.is_error).and_then(|content| without(content, &excluded))
    {
        output.content = Some(text.into());
    }
    Ok(output)
}

/// Removes posts from a JSON list. Returns `None` if the content is not a list.
fn without(content: &Content, ids: &[String]) -> Option<String> {
    let mut posts: Vec<Value> = serde_json::from_str(&content.text()).ok()?;
    posts.retain(|post| !post["id"].as_str().is_some_and(|id| ids.iter().any(|excluded| excluded == id)));
    Some(Value::Array(posts).to_string())
}

/// Calls the MCP tool of the same name, with the tool timeout.
async fn forward(name: &str, args: &(impl Serialize + Sync), cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let context: RunContext<SuggestionsContext> = cx.get()?;
    let run: TaskContext = cx.get()?;
    let timeout = context.run_timeouts().tool;
    let call = pin!(call(name, args, &context, cx));
    let output = match select(call, pin!(run.sleep(timeout))).await {
        Either::Left((output, _)) => output?,
        Either::Right(_) => return Err(ToolError::new(format!("it took longer than {timeout:?} and was stopped"))),
    };
    let writer: StreamWriter = cx.get()?;
    for warning in warnings(output.artifact.as_ref()) {
        let sent = writer.send_named("on_warning", json!({ "tool": name, "message": warning })).await;
        sent.map_err(superstep::NodeError::into_error)?;
    }
    Ok(output)
}

async fn call(
    name: &str,
    args: &impl Serialize,
    context: &SuggestionsContext,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let Value::Object(args) = serde_json::to_value(args)? else {
        return Err(ToolError::new("the arguments are not an object"));
    };
    let tool = context.tool(name).await?;
    let mut invocation = ToolInvocation::new(cx.id(), args);
    invocation.progress = cx.get::<ToolProgress>()?;
    tool.call(invocation).await
}

/// Calls an MCP tool outside of a run. Redacts its result like a `ToolNode` does in a run, because the result is
/// returned to the client and passed to the model that generates the hint.
pub(crate) async fn call_directly(
    context: &SuggestionsContext,
    name: &str,
    args: Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let timeout = context.run_timeouts().tool;
    let call = async { context.tool(name).await?.call(ToolInvocation::new(name, args)).await };
    let timed_out = |_| ToolError::new(format!("`{name}` took longer than {timeout:?} and was stopped"));
    let (redaction, mut counts) = (Redaction::default(), RedactionCounts::default());
    let mut outcome = tokio::time::timeout(timeout, call).await.map_err(timed_out).flatten();
    match &mut outcome {
        Ok(output) => redaction.redact_tool_output(output, &mut counts),
        Err(error) => redaction.redact_tool_error(error, &mut counts),
    }
    outcome
}

/// Returns the warnings in the artifact of a tool result.
pub(crate) fn warnings(artifact: Option<&Value>) -> Vec<String> {
    let listed = artifact.and_then(|artifact| artifact["warnings"].as_array());
    listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
