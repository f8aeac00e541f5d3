//! The pure half of superstep: the semantics of a graph run, without a runtime, a clock or I/O.
//!
//! The caller gives the machine a checkpoint, and the machine returns the tasks to run. The caller gives the
//! machine their results, and the machine returns what to commit and which events to publish. Users depend on the
//! `superstep` crate, which re-exports the public part of this crate.

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
