//! MCP server with the five tools: in memory for the agent, over stdio or HTTP for other programs.

mod hint;
mod language;

use serde::Serialize;
use serde_json::json;
use superstep::mcp::McpServer;
use superstep::models::SharedModel;
use superstep::settings::Secret;
use superstep::tools::{SharedTool, tool_fn};
use superstep::{ToolError, ToolOutput};

use crate::sources::{Sources, normalize_query};
use crate::tools::{HintArguments, PostsArguments, QueryArguments, SearchTool, hint_spec};

/// Identity of the caller of the tools.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Microsoft 365 access token.
    pub token: Option<Secret>,
    /// Language of a hint if the language of the post cannot be detected.
    pub locale: Option<String>,
}

/// Creates the MCP server for anonymous callers. The model `hints` generates hints; without it they come from
/// templates.
#[must_use]
pub fn server(sources: Sources, hints: Option<SharedModel>) -> McpServer {
    server_for(sources, hints, Caller::default())
}

/// Creates the MCP server for one caller.
#[must_use]
pub fn server_for(sources: Sources, hints: Option<SharedModel>, caller: Caller) -> McpServer {
    let Caller { token, locale } = caller;
    let tools = [
        m365(sources.clone(), token),
        docs(sources.clone()),
        issues(sources.clone()),
        posts(sources),
        action_hint(hints, locale),
    ];
    McpServer::new("suggestions", env!("CARGO_PKG_VERSION"))
        .instructions("Searches the knowledge of an organisation and proposes one next action.")
        .tools(tools)
}

fn m365(sources: Sources, token: Option<Secret>) -> SharedTool {
    tool_fn(SearchTool::M365.spec(), move |args: QueryArguments, _| {
        let (sources, token) = (sources.clone(), token.clone());
        async move {
            let query = normalize_query(&args.query)?;
            let result = sources.search_m365_parts(&query.text, token.as_ref()).await;
            // One part of Microsoft 365 may fail while another has results; both are reported.
            let failed = result.failed.iter().map(ToString::to_string).collect::<Vec<_>>();
            let suggestions = result.into_result()?;
            output(&suggestions, failed.into_iter().chain(query.warning))
        }
    })
}

fn docs(sources: Sources) -> SharedTool {
    tool_fn(SearchTool::Docs.spec(), move |args: QueryArguments, _| {
        let sources = sources.clone();
        async move {
            let query = normalize_query(&args.query)?;
            output(&sources.search_docs(&query.text).await?, query.warning)
        }
    })
}

fn issues(sources: Sources) -> SharedTool {
    tool_fn(SearchTool::Issues.spec(), move |args: QueryArguments, _| {
        let sources = sources.clone();
        async move {
            let query = normalize_query(&args.query)?;
            output(&sources.search_issues(&query.text).await?, query.warning)
        }
    })
}

fn posts(sources: Sources) -> SharedTool {
    tool_fn(SearchTool::Posts.spec(), move |args: PostsArguments, _| {
        let sources = sources.clone();
        async move {
            let query = normalize_query(&args.query)?;
            let exclude: Vec<String> = args.exclude_post_id.into_iter().collect();
            output(&sources.search_posts(&query.text, &exclude).await?, query.warning)
        }
    })
}

fn action_hint(model: Option<SharedModel>, locale: Option<String>) -> SharedTool {
    tool_fn(hint_spec(), move |args: HintArguments, _| {
        let (model, locale) = (model.clone(), locale.clone());
        async move { hint::generate_hint(model.as_ref(), &args, locale.as_deref()).await }
    })
}

/// Serializes results as JSON text, with warnings as the artifact of the tool output.
fn output(results: &[impl Serialize], warnings: impl IntoIterator<Item = String>) -> Result<ToolOutput, ToolError> {
    let output = ToolOutput::new(serde_json::to_string(results)?);
    let warnings: Vec<String> = warnings.into_iter().collect();
    Ok(if warnings.is_empty() { output } else { output.with_artifact(json!({ "warnings": warnings })) })
}
