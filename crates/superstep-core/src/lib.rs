//! The pure half of superstep: the semantics of a graph run, without a runtime, a clock or I/O.
//!
//! Programs depend on the `superstep` crate, which performs the I/O and re-exports the public part of this crate.
//! Depend on this crate to write an adapter (a checkpointer, a store, a model) or another runtime.
//!
//! # The machine
//!
//! [`machine::Machine`] is a synchronous state machine. Its caller gets the next action, performs it, and reports the
//! result. The same checkpoint and the same results always lead to the same actions, whatever the order in which tasks
//! finish.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use superstep_core::checkpoint::CheckpointNamespace;
//! use superstep_core::command::TaskOutput;
//! use superstep_core::graph::{BranchPolicy, END, NodeOptions, START, TopologyBuilder};
//! use superstep_core::id::RunId;
//! use superstep_core::machine::{
//!     Action, Breakpoints, Environment, Machine, MachineConfig, MachineEnd, OnLimit, TaskEnd,
//! };
//! use superstep_core::schema::Schema;
//! use superstep_core::state::IntoUpdate;
//!
//! /// Time and ids come from the caller, so that runs can be replayed.
//! struct FixedEnvironment;
//!
//! impl Environment for FixedEnvironment {
//!     fn now(&self) -> i64 {
//!         0
//!     }
//!     fn new_id(&self) -> u128 {
//!         1
//!     }
//! }
//!
//! # fn main() -> superstep_core::error::Result<()> {
//! let fields = json!({ "count": { "type": "integer", "reducer": "add", "default": 0 } });
//! let schema = Schema::from_json("counter", &fields)?;
//! let mut graph = TopologyBuilder::new("counter", schema.clone());
//! let increment = graph.node("increment", true, NodeOptions::default());
//! graph.edge(START, increment);
//! graph.edge(increment, END);
//!
//! let config = MachineConfig {
//!     run: RunId::from_bits(1),
//!     thread: None,
//!     namespace: CheckpointNamespace::root(),
//!     lease: None,
//!     recursion_limit: 25,
//!     on_limit: OnLimit::default(),
//!     interrupt_before: Breakpoints::default(),
//!     interrupt_after: Breakpoints::default(),
//!     branch_policy: BranchPolicy::default(),
//!     strict_set_once: false,
//!     saves_at_exit: false,
//!     emits_events: false,
//!     metadata: Arc::default(),
//!     parent_task: None,
//!     environment: Arc::new(FixedEnvironment),
//! };
//! let mut machine = Machine::new(Arc::new(graph.compile()?), config, None)?;
//! machine.start_with_input(json!({ "count": 40 }).into_update())?;
//! let outcome = loop {
//!     match machine.next_action() {
//!         Action::Run(tasks) => {
//!             for task in tasks {
//!                 let mut output = TaskOutput::default();
//!                 output.updates.push(json!({ "count": 2 }).into_update());
//!                 machine.task_ended(task.index, TaskEnd::Finished(output))?;
//!             }
//!         }
//!         Action::Save(_commit) => machine.commit_completed(),
//!         Action::Stop(outcome) => break outcome,
//!         _ => {}
//!     }
//! };
//! assert!(matches!(outcome.end, MachineEnd::Finished));
//! assert_eq!(schema.to_json(&*outcome.state)?, json!({ "count": 42 }));
//! # Ok(()) }
//! ```
//!
//! # Ports
//!
//! [`port`] has the traits that adapters implement: [`port::Checkpointer`], [`port::Store`], [`port::Model`],
//! [`port::Tool`] and others. [`store`], [`model`] and [`tool`] have the data of long-term memory, chat models and
//! tools. Adapters depend on this crate only.
//!
//! # Modules
//!
//! - [`schema`], [`field`], [`reducer`], [`state`], [`dynamic_state`]: state and reducers.
//! - [`graph`], [`diagram`]: topology, validation, diagrams.
//! - [`machine`], [`apply`], [`command`]: execution.
//! - [`checkpoint`], [`change`], [`canonical`], [`migration`]: the stored form and its versions.
//! - [`message`], [`redaction`]: chat messages, removal of secrets.
//! - [`error`], [`validation_error`]: error codes, validation errors with JSON pointers.

#![warn(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

pub mod apply;
pub mod canonical;
pub mod change;
pub mod checkpoint;
pub mod command;
pub mod diagram;
pub mod dynamic_state;
pub mod error;
pub mod field;
pub mod graph;
pub mod id;
pub mod json_reducer;
pub mod machine;
pub mod message;
pub mod migration;
pub mod model;
pub mod port;
pub mod redaction;
pub mod reducer;
mod schedule;
pub mod schema;
#[doc(hidden)]
pub mod seeded_bugs;
pub mod semantic_conventions;
pub mod state;
pub mod store;
pub mod suggest;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;
pub mod tool;
pub mod types;
pub mod update;
pub mod validation_error;
pub mod value;
