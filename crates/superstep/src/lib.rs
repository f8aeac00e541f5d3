//! Durable agent graphs with LangGraph semantics: typed state with reducers, Pregel supersteps, checkpoints,
//! interrupts, streaming, agents and tools.
//!
//! # Example
//!
//! A graph has a state, nodes and edges. Nodes are plain async functions that return updates; reducers merge the
//! updates into the state.
//!
//! ```
//! use superstep::prelude::*;
//!
//! #[derive(GraphState, Clone)]
//! struct Story {
//!     topic: String,
//!     #[reduce(append)]
//!     lines: Vec<String>,
//! }
//!
//! async fn write(story: View<Story>) -> StoryUpdate {
//!     Story::update().lines(format!("Once there was {}.", story.topic))
//! }
//!
//! # fn main() -> superstep::Result<()> {
//! let mut graph = StateGraph::<Story>::new("story");
//! let write = graph.add_node("write", write);
//! graph.add_edge(START, write).add_edge(write, END);
//! let story = graph.compile()?;
//!
//! let outcome = story.invoke(Story::input().topic("a fox")).wait_blocking()?;
//! assert_eq!(outcome.state.lines, ["Once there was a fox."]);
//! # Ok(()) }
//! ```
//!
//! In an async program, await the run instead: `story.invoke(..).await?`.
//!
//! # State and reducers
//!
//! [`#[derive(GraphState)]`](derive@GraphState) makes a struct the state of a graph, and creates a partial type for
//! its updates (`StoryUpdate`). A field without a reducer keeps the last value, and two nodes that write it in the
//! same superstep are an error. `#[reduce(append)]`, `add`, `messages` and others merge concurrent writes.
//!
//! # Nodes
//!
//! The parameters of a node are extracted by type, in any order:
//!
//! - [`View<S>`](View): the state at the start of the superstep.
//! - [`RunContext<C>`](RunContext): clients, keys and settings of the run; never saved.
//! - [`Interrupts`]: ends the run until it is resumed with a value from a person or another system.
//! - [`SendPayload<T>`](SendPayload): the input of a task that was created with [`SendTo`].
//! - [`StreamWriter`]: sends custom values to subscribers.
//! - [`TaskContext`]: thread, attempt, limits, cancellation, results that are recorded once.
//! - [`SharedStore`]: long-term memory across threads.
//!
//! A node returns nothing, an update, a [`Command`] (an update and goto targets), one or several [`SendTo`], or a
//! `Result` of these. See [`IntoOutput`].
//!
//! # Edges
//!
//! [`StateGraph::add_edge`] connects two nodes, [`StateGraph::add_conditional_edges`] chooses the next node from the
//! state. All scheduled nodes run concurrently in one superstep; their updates are applied together, in an order that
//! does not depend on timing.
//!
//! ```
//! use superstep::prelude::*;
//!
//! #[derive(GraphState, Clone)]
//! struct Count {
//!     #[reduce(add)]
//!     n: u64,
//! }
//!
//! # fn main() -> superstep::Result<()> {
//! let mut graph = StateGraph::<Count>::new("count");
//! let one = graph.add_node("one", || Count::update().n(1u64));
//! graph.add_edge(START, one);
//! let route = move |count: &Count| if count.n < 3 { Goto::node(one) } else { Goto::end() };
//! graph.add_conditional_edges(one, route, [one.into(), END]);
//!
//! let outcome = graph.compile()?.invoke(Count::input().n(0u64)).wait_blocking()?;
//! assert_eq!(outcome.state.n, 3);
//! # Ok(()) }
//! ```
//!
//! # Checkpointers, threads and interrupts
//!
//! With a checkpointer, every superstep is committed atomically to a thread. A run that was interrupted, or whose
//! process died, continues from its last checkpoint, and finished tasks are not run again. [`MemoryCheckpointer`]
//! is for tests; the features `sqlite`, `postgres`, `redis`, `s3` and `firestore` have durable ones.
//!
//! ```
//! use superstep::prelude::*;
//!
//! #[derive(GraphState, Clone)]
//! struct Mail {
//!     text: String,
//!     is_approved: bool,
//! }
//!
//! async fn review(mail: View<Mail>, interrupts: Interrupts) -> Result<MailUpdate, NodeError> {
//!     let is_approved: bool = interrupts.raise("send this mail?", &mail.text).await?;
//!     Ok(Mail::update().is_approved(is_approved))
//! }
//!
//! # fn main() -> superstep::Result<()> {
//! let mut graph = StateGraph::<Mail>::new("mail");
//! let review = graph.add_node("review", review);
//! graph.add_edge(START, review).add_edge(review, END).checkpointer(MemoryCheckpointer::new());
//! let mail = graph.compile()?;
//!
//! let paused = mail.invoke(Mail::input().text("Hello")).thread("t1").wait_blocking()?;
//! assert_eq!(paused.interrupts()[0].name, "send this mail?");
//!
//! let outcome = mail.resume("t1", true).wait_blocking()?;
//! assert!(outcome.state.is_approved);
//! # Ok(()) }
//! ```
//!
//! [`CompiledGraph::threads`] reads and changes threads: `get_state`, `get_state_history`, `update_state`, forks,
//! export and import.
//!
//! # Streaming
//!
//! A run is awaited, or streamed with [`RunBuilder::stream`] (typed events), [`RunBuilder::stream_mode`]
//! (LangGraph's modes) or [`RunBuilder::stream_events`] (version 2 events). Dropping a stream cancels its run.
//!
//! # Agents, tools and models
//!
//! - [`agents`]: ReAct agent, supervisor and swarm teams, middleware.
//! - [`tools`]: [`#[tool]`](macro@tool) functions, [`ToolNode`], approval of tool calls.
//! - [`models`]: scripted, recorded and rule-based models; retries, fallbacks and budgets; providers are in `providers`
//!   (feature `models`).
//! - `mcp` (feature `mcp`): MCP clients and servers.
//! - [`store`]: long-term memory with search.
//! - [`files`]: graphs defined in TOML or JSON instead of Rust.
//! - [`settings`]: `superstep.toml`, environment variables and flags.
//! - [`telemetry`]: spans and metrics.
//!
//! # Errors
//!
//! [`Error`] has a stable [`ErrorCode`], a message, and a help text that says what to do. `compile` reports every
//! problem of a graph at once.
//!
//! # Features
//!
//! No feature is on by default. `sqlite`, `postgres`, `postgres-tls`, `redis`, `key-value`, `s3` and `firestore` are
//! checkpointers; `encrypted` and `offloaded` wrap one. `models`, `mcp` and `otlp` connect to providers, MCP servers
//! and collectors. `langgraph-import` reads threads that LangGraph wrote. `testing` adds test clocks and fault
//! injection.

#![warn(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

// The generated code of derives and attributes refers to this crate by its public name.
extern crate self as superstep;

pub mod agents;
mod checkpointer;
#[cfg(doctest)]
mod doc_tests;
mod engine;
mod events;
pub mod files;
pub(crate) mod graph;
pub mod models;
mod run;
pub mod settings;
pub mod store;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub(crate) mod threads;
pub mod tools;

pub use checkpointer::memory::MemoryCheckpointer;
pub use engine::context::{Interrupts, NodeFailure, TaskContext};
pub use engine::durability::Durability;
pub use engine::environment::SystemClock;
#[doc(hidden)]
pub use events::event::next_number_after_crash;
pub use events::event::{
    EventData, EventFormat, EventKind, EventMetadata, EventStream, GraphEnd, GraphRun, ModeStream, ModelCallInfo,
    ModelEvent, RunEvent, RunStream, StreamEvent, StreamMode, StreamPart, StreamPartData, ToolEvent, ToolExecution,
};
pub use graph::builder::{Blocking, IntoGoto, NodeHandle, RouteTargets, StateGraph, blocking};
pub use graph::cache::{Cache, CachePolicy};
pub use graph::compiled::CompiledGraph;
pub use graph::extract::{ContextPart, FromContext, FromTask, RunContext, SendPayload, StreamWriter, TaskInfo, View};
pub use graph::functional::{Entrypoint, EntrypointBuilder, Final, IntoFinal, entrypoint};
pub use graph::handler::{DynNode, IntoNode, Node};
pub use graph::node::{NodeBuilder, TimeoutPolicy, node};
pub use graph::output::{Command, IntoOutput, NodeError, ToParent};
pub use graph::program::SubgraphPersistence;
pub use graph::retry::RetryPolicy;
pub use run::builder::{Outcome, RunBuilder, RunEnd};
pub use run::control::RunControl;
pub use run::multitask::MultitaskStrategy;
pub use store::{MemoryStore, SharedStore, Store};
pub use threads::transfer;
pub use threads::{
    CheckDepth, CompatibilityReport, JournalEvent, PruneSummary, StateSnapshot, TaskSnapshot, ThreadCompatibility,
    Threads, UpdateStateBuilder,
};
pub use tools::{ToolError, ToolNode, ToolOutput};

#[cfg(feature = "encrypted")]
pub use superstep_adapters::encrypted;
#[cfg(feature = "firestore")]
pub use superstep_adapters::firestore;
#[cfg(feature = "key-value")]
pub use superstep_adapters::key_value;
#[cfg(feature = "langgraph-import")]
pub use superstep_adapters::langgraph;
#[cfg(feature = "mcp")]
pub use superstep_adapters::mcp;
#[cfg(feature = "models")]
pub use superstep_adapters::models as providers;
#[cfg(feature = "offloaded")]
pub use superstep_adapters::offloaded;
#[cfg(feature = "otlp")]
pub use superstep_adapters::otlp;
#[cfg(feature = "postgres")]
pub use superstep_adapters::postgres;
#[cfg(feature = "s3")]
pub use superstep_adapters::s3;
#[cfg(feature = "sqlite")]
pub use superstep_adapters::sqlite;

pub use schemars;
pub use schemars::JsonSchema;
pub use serde;
pub use superstep_core as core;
pub use superstep_core::checkpoint::Interrupt;
pub use superstep_core::command::{Goto, SendTo};
pub use superstep_core::dynamic_state::DynamicState;
pub use superstep_core::error::{Error, ErrorCode, ErrorKind, Result};
pub use superstep_core::graph::{BranchPolicy, Compat, END, Endpoint, START};
pub use superstep_core::machine::{AsNode, MachineEvent, OnLimit, ResumeValues, StateUpdate};
pub use superstep_core::message::{Message, Messages, RemoveAll, RemoveMessage};
pub use superstep_core::migration::Migration;
pub use superstep_core::port::{
    Checkpointer, EventsQuery, HistoryQuery, KeepRule, PruneReport, Retention, SharedCheckpointer, ThreadStatus,
    ThreadsQuery,
};
pub use superstep_core::redaction;
pub use superstep_core::schema::Schema;
pub use superstep_core::state::GraphState;
pub use superstep_core::update::{Overwrite, Remove};
pub use superstep_macros::{GraphState, entrypoint, task, tool};

/// Names that almost every program needs.
pub mod prelude {
    pub use crate::graph::node::node;
    pub use crate::{
        Command, END, Goto, GraphState, Interrupts, MemoryCheckpointer, Message, Messages, Node, NodeError, Overwrite,
        RetryPolicy, RunContext, START, SendPayload, SendTo, StateGraph, StreamWriter, TaskContext, ToolError,
        ToolNode, ToolOutput, View, blocking, tool,
    };
    pub use serde::{Deserialize, Serialize};
}

#[doc(hidden)]
pub mod __private {
    pub use crate::graph::output::{IntoOutput, NodeError, update_output};
    pub use crate::tools::run_blocking_tool;
    pub use schemars;
    pub use serde_json;
    pub use superstep_core::*;
}
