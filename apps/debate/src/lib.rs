//! The debate platform: an optimist and a skeptic argue about a topic, a moderator sums up, and clients watch the
//! stream.
//!
//! The graph is [`create_debate_graph()`], its state [`DebateState`], and the run context [`DebateContext`]:
//!
//! ```
//! use superstep::core::time::Time;
//! use superstep::models::ScriptedModel;
//! use superstep::MemoryCheckpointer;
//! use superstep_debate::{DebateState, DebateContext, DebateStatus, create_debate_graph};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let debates = create_debate_graph(MemoryCheckpointer::new())?;
//! let model = ScriptedModel::new(["Rules build trust.", "Rules are slow.", "Trust stood against speed."]);
//! let now = Time::from_unix_micros(1_772_357_400_000_000).expect("a time");
//!
//! let opening = DebateState::initial_state("Should AI be regulated?", 1, now)?;
//! let done = debates.invoke(opening).thread("first").context(DebateContext::new(model)).await?;
//! assert_eq!(done.state.status, DebateStatus::Completed);
//! assert_eq!(done.state.summary().unwrap().text(), "Trust stood against speed.");
//! # Ok(()) }
//! ```
//!
//! To use a model of a provider, or the rule model, only the [`DebateContext`] changes.

/// Programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme_doc_tests {}

mod app;
mod context;
mod debate_view;
pub mod evidence;
pub mod fact_check;
mod graph;
mod http;
mod migration;
mod nodes;
pub mod prompt;
pub mod rule_model;
pub mod serialization;
mod state;
pub mod transcript;

pub use app::{DebateSettings, app};
pub use context::{ApprovalMode, DebateContext, FactCheckMode};
pub use debate_view::{DebateView, backfill_start_time, load_debate_view};
pub use graph::{create_debate_graph, state_graph};
pub use http::DebateOptions;
pub use migration::VERSIONS;
pub use nodes::ApprovalAnswer;
pub use state::{DEFAULT_ROUNDS, DebateState, DebateStateUpdate, DebateStatus, MAX_ROUNDS, MAX_TOPIC_CHARS};
