//! The MCP server of the five tools: for the agent in memory, for others over standard input and output or HTTP.

mod hint;
mod language;

use serde::Serialize;
use serde_json::json;
use superstep::mcp::Server;
use superstep::model::SharedModel;
use superstep::settings::Secret;
use superstep::tool::{SharedTool, tool_fn};
use superstep::{ToolError, ToolOutput};

use crate::sources::{Sources, trim};
use crate::tools::{HintArguments, PostsArguments, QueryArguments, Search, hint_spec};

/// In whose name the tools are called.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// What Microsoft 365 is searched with.
    pub token: Option<Secret>,
    /// The language of a hint when that of the post cannot be told.
    pub locale: Option<String>,
}

/// The server, for callers of whom nothing is known. `hints` writes the hints; without it they come from templates.
#[must_use]
pub fn server(sources: Sources, hints: Option<SharedModel>) -> Server {
    server_for(sources, hints, Caller::default())
}

/// The server for one caller.
#[must_use]
pub fn server_for(sources: Sources, hints: Option<SharedModel>, caller: Caller) -> Server {
    let Caller { token, locale } = caller;
    let tools = [
        m365(sources.clone(), token),
        docs(sources.clone()),
        issues(sources.clone()),
        posts(sources),
        action_hint(hints, locale),
    ];
    Server::new("suggestions", env!("CARGO_PKG_VERSION"))
        .instructions("Searches what an organisation knows, and proposes one next action.")
        .tools(tools)
}

fn m365(sources: Sources, token: Option<Secret>) -> SharedTool {
    tool_fn(Search::M365.spec(), move |args: QueryArguments, _| {
        let (sources, token) = (sources.clone(), token.clone());
        async move {
            let query = trim(&args.query)?;
            let asked = sources.ask_m365(&query.text, token.as_ref()).await;
            // One part may fail while the other has something: both are told.
            let failed = asked.failed.iter().map(ToString::to_string).collect::<Vec<_>>();
            let found = asked.into_result()?;
            output(&found, failed.into_iter().chain(query.warning))
        }
    })
}

fn docs(sources: Sources) -> SharedTool {
    tool_fn(Search::Docs.spec(), move |args: QueryArguments, _| {
        let sources = sources.clone();
        async move {
            let query = trim(&args.query)?;
            output(&sources.search_docs(&query.text).await?, query.warning)
        }
    })
}

fn issues(sources: Sources) -> SharedTool {
    tool_fn(Search::Issues.spec(), move |args: QueryArguments, _| {
        let sources = sources.clone();
        async move {
            let query = trim(&args.query)?;
            output(&sources.search_issues(&query.text).await?, query.warning)
        }
    })
}

fn posts(sources: Sources) -> SharedTool {
    tool_fn(Search::Posts.spec(), move |args: PostsArguments, _| {
        let sources = sources.clone();
        async move {
            let query = trim(&args.query)?;
            let exclude: Vec<String> = args.exclude_post_id.into_iter().collect();
            output(&sources.search_posts(&query.text, &exclude).await?, query.warning)
        }
    })
}

fn action_hint(model: Option<SharedModel>, locale: Option<String>) -> SharedTool {
    tool_fn(hint_spec(), move |args: HintArguments, _| {
        let (model, locale) = (model.clone(), locale.clone());
        async move { hint::write(model.as_ref(), &args, locale.as_deref()).await }
    })
}

/// The list as JSON text, with what should be known about it beside it.
fn output(found: &[impl Serialize], warnings: impl IntoIterator<Item = String>) -> Result<ToolOutput, ToolError> {
    let output = ToolOutput::new(serde_json::to_string(found)?);
    let warnings: Vec<String> = warnings.into_iter().collect();
    Ok(if warnings.is_empty() { output } else { output.with_artifact(json!({ "warnings": warnings })) })
}
