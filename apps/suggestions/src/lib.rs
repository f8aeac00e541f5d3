//! The suggestions agent: for a post with a question it suggests what to read and one next action.
//!
//! The searched data is in [`sources`]; the agent accesses it through the MCP server of [`mcp`].
//! [`create_suggestions_graph()`] is the compiled graph, [`SuggestionsState`] its state, [`SuggestionsContext`] its run
//! context, and [`suggest()`] runs a complete search. [`types`] contains the response types. [`sample`] contains the
//! data of an invented company:
//!
//! ```
//! use superstep_suggestions::sources::{SourceSettings, Sources};
//! use superstep_suggestions::{SuggestionsContext, MAX_TOOL_ROUNDS, create_suggestions_graph, planner, suggest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let sources = Sources::open(&SourceSettings::default())?; // in your program: folders
//! let context = SuggestionsContext::new("p1").model(planner::planner(sources.clone())).connect_mcp(sources, None).await?;
//! let agent = create_suggestions_graph(MAX_TOOL_ROUNDS)?;
//!
//! let suggested = suggest(&agent, &context, "How do I roll back a failed deployment?", &[]).await?;
//! assert_eq!(suggested.label, "keyword planner, no language model");
//! assert_eq!(suggested.response.unavailable_sources, ["m365", "docs", "issues"]);
//! # Ok(()) }
//! ```

mod app;
mod context;
pub mod direct_search;
pub mod eval;
mod graph;
mod http;
pub mod mcp;
mod nodes;
pub mod planner;
mod prompt;
pub mod query_expansion;
mod response_format;
pub mod sample;
pub mod sources;
mod state;
mod suggest;
pub mod tools;
pub mod types;

pub use app::{HOME, SuggestionsSettings, app};
pub use context::{SuggestionsContext, Timeouts};
pub use graph::{MAX_TOOL_ROUNDS, MAX_TOOL_ROUNDS_LIMIT, create_suggestions_graph, state_graph};
pub use http::suggestions_json;
pub use state::{SourceStatus, SuggestionsState, SuggestionsStateUpdate};
pub use suggest::{ExecutedQuery, SuggestionResult, SuggestionRun, suggest};
