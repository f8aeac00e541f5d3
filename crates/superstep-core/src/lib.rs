//! The pure half of superstep: what a graph run means, with no runtime, clock or I/O.
//!
//! Give the machine a checkpoint and it says which tasks to run; give it their results and it says what
//! to commit and what to tell. Users name the `superstep` crate, which re-exports what they need from here.

#![warn(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

mod advance;
pub mod apply;
pub mod canonical;
pub mod change;
pub mod checkpoint;
pub mod command;
pub mod conventions;
pub mod datum;
pub mod drawing;
pub mod error;
pub mod fault;
pub mod field;
pub mod graph;
pub mod id;
pub mod json_reducer;
pub mod machine;
pub mod message;
pub mod migration;
pub mod model;
#[doc(hidden)]
pub mod planted;
pub mod port;
pub mod record;
pub mod redact;
pub mod reducer;
pub mod schema;
pub mod state;
pub mod store;
pub mod suggest;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;
pub mod tool;
pub mod types;
pub mod update;
