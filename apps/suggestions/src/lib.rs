//! The suggestions agent: somebody posts a question, and gets what to read and one next action.
//!
//! What is searched is [`sources`], behind the MCP server of [`mcp`]. The graph is [`graph()`], its state [`Suggestions`],
//! what a run needs beside it [`Context`]; [`suggest()`] does all of it. What comes out is in [`types`], and [`sample`] is
//! an invented company to try it with:
//!
//! ```
//! use superstep_suggestions::sources::{Settings, Sources};
//! use superstep_suggestions::{Context, MAX_TOOL_ROUNDS, graph, planner, suggest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let sources = Sources::open(&Settings::default())?; // in your program: folders
//! let context = Context::new("p1").model(planner::planner(sources.clone())).connected(sources, None).await?;
//! let agent = graph(MAX_TOOL_ROUNDS)?;
//!
//! let suggested = suggest(&agent, &context, "How do I roll back a failed deployment?", &[]).await?;
//! assert_eq!(suggested.label, "keyword planner, no language model");
//! assert_eq!(suggested.response.unavailable_sources, ["m365", "docs", "issues"]);
//! # Ok(()) }
//! ```

mod app;
mod context;
pub mod direct;
pub mod eval;
mod format;
mod graph;
mod http;
pub mod mcp;
mod nodes;
pub mod planner;
mod prompt;
pub mod sample;
pub mod sources;
mod state;
mod suggest;
pub mod tools;
pub mod types;
pub mod words;

pub use app::{HOME, Settings, app};
pub use context::{Context, Limits};
pub use graph::{MAX_TOOL_ROUNDS, MOST_TOOL_ROUNDS, draw, graph};
pub use http::document;
pub use state::{SourceStatus, Suggestions, SuggestionsUpdate};
pub use suggest::{Asking, Query, Suggested, suggest};
