//! The planner and verifier assistant: decides if a question needs tools, runs them safely, verifies that the
//! results answer the question, plans again if they do not, answers with sources, and remembers facts.
//!
//! The graph is [`create_assistant_graph()`], its state [`AgentState`], and its run context [`AssistantContext`]:
//!
//! ```
//! use superstep::models::ScriptedModel;
//! use superstep::prelude::*;
//! use superstep::store::MemoryStore;
//! use superstep_assistant::policy::Policy;
//! use superstep_assistant::profile::Profiles;
//! use superstep_assistant::{AgentState, AssistantContext, create_assistant_graph};
//!
//! /// Tells the time.
//! #[tool(read_only)]
//! async fn now() -> String { "noon".to_owned() }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> superstep::Result<()> {
//! let policy = Policy::parse("[roles.guest]\ntools = ['now']")?;
//! let profiles = Profiles::parse(r#"{ "ana": { "name": "Ana", "role": "guest" } }"#)?;
//! // In your program a provider, or rules; here a plan and an answer.
//! let model = ScriptedModel::new([r#"{"next_step": "tool_use", "tool_calls": [{"tool": "now"}]}"#, "It is noon [1]."]);
//! let context = AssistantContext::new(model, [now()], policy, profiles);
//!
//! let question = AgentState::turn_input(&context, "ana", "What time is it?")?;
//! let done = create_assistant_graph(MemoryCheckpointer::new(), MemoryStore::new())?.invoke(question).thread("t").context(context).await?;
//! assert_eq!(done.state.messages.last().unwrap().text(), "It is noon [1].");
//! # Ok(()) }
//! ```

mod app;
mod context;
mod current_turn;
pub mod data;
pub mod eval;
mod graph;
mod http;
pub mod memory;
mod nodes;
pub mod plan;
pub mod policy;
pub mod profile;
pub mod prompt;
pub mod rule_model;
pub mod sample;
mod scratchpad;
mod state;
pub mod tools;
pub mod verdict;

pub use app::{AssistantSettings, ConfigFile, app};
pub use context::{AssistantContext, ModelUnavailablePolicy, TurnLimits};
pub use graph::{create_assistant_graph, state_graph};
pub use http::TurnOptions;
pub use nodes::{Decision, DecisionKind};
pub use state::{AgentState, AgentStateUpdate, Phase};
