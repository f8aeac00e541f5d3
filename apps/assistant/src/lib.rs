//! The planner and verifier assistant: decides whether a question needs tools, runs them safely, looks whether the
//! results answer it, tries again differently where they do not, answers with sources, and remembers.
//!
//! The graph is [`graph()`], its state [`Assistant`], and what a run needs beside it [`Desk`]:
//!
//! ```
//! use superstep::model::Scripted;
//! use superstep::prelude::*;
//! use superstep::store::MemoryStore;
//! use superstep_assistant::policy::Policy;
//! use superstep_assistant::profile::Profiles;
//! use superstep_assistant::{Assistant, Desk, graph};
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
//! let model = Scripted::new([r#"{"next_step": "tool_use", "tool_calls": [{"tool": "now"}]}"#, "It is noon [1]."]);
//! let desk = Desk::new(model, [now()], policy, profiles);
//!
//! let question = Assistant::open(&desk, "ana", "What time is it?")?;
//! let done = graph(Memory::new(), MemoryStore::new())?.run(question).thread("t").context(desk).await?;
//! assert_eq!(done.state.messages.last().unwrap().text(), "It is noon [1].");
//! # Ok(()) }
//! ```

mod app;
pub mod data;
mod desk;
pub mod eval;
mod graph;
mod http;
pub mod memory;
mod nodes;
pub mod plan;
pub mod policy;
pub mod profile;
pub mod prompt;
pub mod rules;
pub mod sample;
mod scratch;
mod state;
pub mod tools;
mod turn;
pub mod verdict;

pub use app::{Installation, Settings, app};
pub use desk::{Desk, Limits, WithoutModel};
pub use graph::{draw, graph};
pub use http::Options;
pub use nodes::{Decision, DecisionKind};
pub use state::{Assistant, AssistantUpdate, Phase};
