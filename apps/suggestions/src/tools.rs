//! The five tools as the model sees them: each calls the tool of the same name of the MCP server in the context.
//!
//! What the model gives is checked before anything is called. The post of the run is never among the posts that are
//! found, whatever the model asks for.

mod spec;

use futures_util::future::{Either, select};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::pin::pin;
use superstep::core::message::Content;
use superstep::core::redact::{Counts, Redaction};
use superstep::tool::{Invocation, Progress, SharedTool, ToolCx, ToolSpec, tool_fn};
use superstep::{Ctx, Cx, ToolError, ToolOutput, Writer};

use crate::context::Context;

pub(crate) use spec::{
    HINT, HintArguments, LONGEST_POST, LONGEST_RESULT, PostsArguments, QueryArguments, Search, SearchResult, fitting,
    hint_spec,
};

/// All five.
#[must_use]
pub fn tools() -> Vec<SharedTool> {
    vec![search_m365_tool(), search_docs_tool(), search_issues_tool(), search_posts_tool(), generate_action_hint_tool()]
}

/// Searches Microsoft 365.
#[must_use]
pub fn search_m365_tool() -> SharedTool {
    by_query(Search::M365)
}

/// Searches the documents.
#[must_use]
pub fn search_docs_tool() -> SharedTool {
    by_query(Search::Docs)
}

/// Searches the issues.
#[must_use]
pub fn search_issues_tool() -> SharedTool {
    by_query(Search::Issues)
}

/// Searches the posts, without the one of the run.
#[must_use]
pub fn search_posts_tool() -> SharedTool {
    tool_fn(Search::Posts.spec(), async |args: PostsArguments, cx: ToolCx| search_posts(args, cx).await)
}

/// Proposes an action.
#[must_use]
pub fn generate_action_hint_tool() -> SharedTool {
    tool_fn(hint_spec(), async |args: HintArguments, cx: ToolCx| forward(HINT, &args, &cx).await)
}

/// What a model is told of them.
pub(crate) fn specs() -> Vec<std::sync::Arc<ToolSpec>> {
    tools().iter().map(|tool| tool.spec().clone()).collect()
}

fn by_query(search: Search) -> SharedTool {
    tool_fn(
        search.spec(),
        move |args: QueryArguments, cx: ToolCx| async move { forward(search.tool(), &args, &cx).await },
    )
}

async fn search_posts(args: PostsArguments, cx: ToolCx) -> Result<ToolOutput, ToolError> {
    let context: Ctx<Context> = cx.get()?;
    let own = context.post_id().to_owned();
    // The server leaves one post out. The other one, if the model names one, is left out here.
    let unwanted: Vec<String> = args.exclude_post_id.into_iter().chain([own.clone()]).collect();
    let exclude = Some(own).filter(|id| !id.is_empty()).or_else(|| unwanted.first().cloned());
    let args = PostsArguments { query: args.query, exclude_post_id: exclude };
    let mut output = forward(Search::Posts.tool(), &args, &cx).await?;
    if let Some(text) = output.content.as_ref().filter(|_| !output.is_error).and_then(|found| without(found, &unwanted))
    {
        output.content = Some(text.into());
    }
    Ok(output)
}

/// A list of posts without some of them; nothing when it is no list.
fn without(found: &Content, ids: &[String]) -> Option<String> {
    let mut posts: Vec<Value> = serde_json::from_str(&found.text()).ok()?;
    posts.retain(|post| !post["id"].as_str().is_some_and(|id| ids.iter().any(|unwanted| unwanted == id)));
    Some(Value::Array(posts).to_string())
}

/// Calls the tool of this name of the server.
async fn forward(name: &str, args: &(impl Serialize + Sync), cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let context: Ctx<Context> = cx.get()?;
    let run: Cx = cx.get()?;
    let limit = context.bounds().tool;
    let call = pin!(call(name, args, &context, cx));
    let output = match select(call, pin!(run.sleep(limit))).await {
        Either::Left((output, _)) => output?,
        Either::Right(_) => return Err(ToolError::new(format!("it took longer than {limit:?} and was stopped"))),
    };
    let writer: Writer = cx.get()?;
    for warning in warnings(output.artifact.as_ref()) {
        let told = writer.event("on_warning", json!({ "tool": name, "message": warning })).await;
        told.map_err(superstep::NodeError::into_error)?;
    }
    Ok(output)
}

async fn call(name: &str, args: &impl Serialize, context: &Context, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
    let Value::Object(args) = serde_json::to_value(args)? else {
        return Err(ToolError::new("the arguments are no object"));
    };
    let tool = context.tool(name).await?;
    let mut invocation = Invocation::new(cx.id(), args);
    invocation.progress = cx.get::<Progress>()?;
    tool.call(invocation).await
}

/// Calls a tool of the server without a run around. What must not be told is taken out of what it gives, as a `ToolNode`
/// does in a run: it goes to whoever asked, and on to the model that writes the hint.
pub(crate) async fn call_directly(
    context: &Context,
    name: &str,
    args: Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let limit = context.bounds().tool;
    let call = async { context.tool(name).await?.call(Invocation::new(name, args)).await };
    let late = |_| ToolError::new(format!("`{name}` took longer than {limit:?} and was stopped"));
    let (redaction, mut counts) = (Redaction::default(), Counts::default());
    let mut outcome = tokio::time::timeout(limit, call).await.map_err(late).flatten();
    match &mut outcome {
        Ok(output) => redaction.tool_output(output, &mut counts),
        Err(error) => redaction.tool_error(error, &mut counts),
    }
    outcome
}

/// What the server warned of: it says so beside the result.
pub(crate) fn warnings(artifact: Option<&Value>) -> Vec<String> {
    let listed = artifact.and_then(|artifact| artifact["warnings"].as_array());
    listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
