//! Durable agent graphs: typed state with reducers, supersteps, checkpoints, interrupts.
//!
//! A graph is drawn once and compiled; a run is awaited or streamed. Start with [`prelude`] and the example
//! in the README; the book has the rest.

#![warn(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

// The derives and attributes name this crate as its users do.
extern crate self as superstep;

pub mod agent;
#[cfg(doctest)]
mod book;
mod cache;
mod call;
mod clock;
mod compiled;
mod conclude;
mod context;
mod control;
mod durability;
mod executor;
mod extract;
pub mod file;
mod functional;
mod graph;
mod handler;
mod lanes;
mod launch;
mod memory;
pub mod model;
mod node;
mod output;
mod program;
mod redacting;
mod retry;
mod run;
pub mod settings;
pub mod store;
mod stream;
mod subgraph;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
mod threads;
pub mod tool;
pub mod transfer;
mod warm;

pub use cache::{Cache, CachePolicy};
pub use call::{Outcome, Run, Status};
pub use clock::SystemClock;
pub use compiled::Compiled;
pub use context::{Ask, Cx, Failure};
pub use control::Control;
pub use durability::Durability;
pub use extract::{Ctx, FromContext, FromTask, Info, Part, Sent, View, Writer};
pub use functional::{Entrypoint, EntrypointBuilder, Final, IntoFinal, entrypoint};
pub use graph::{Blocking, Graph, IntoGo, NodeHandle, Routes, blocking};
pub use handler::{Action, IntoNode, Node};
pub use lanes::WhenBusy;
pub use memory::Memory;
pub use node::{NodeWith, Timeout, node};
pub use output::{Command, IntoOutput, NodeError, ToParent};
pub use program::Persistence;
pub use retry::Retry;
pub use store::{MemoryStore, SharedStore, Store};
#[doc(hidden)]
pub use stream::after_a_crash;
pub use stream::{
    EventData, EventForm, EventKind, EventMetadata, EventStream, GraphEnd, GraphRun, ModelCall, ModelEvent, PartData,
    PartStream, RunEvent, RunStream, StreamEvent, StreamMode, StreamPart, ToolEvent, ToolRun,
};
pub use threads::{Checked, Depth, Finding, KeptEvent, Pruned, Snapshot, TaskState, Threads, UpdateState};
pub use tool::{ToolError, ToolNode, ToolOutput};

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
#[cfg(feature = "otlp")]
pub use superstep_adapters::otlp;
#[cfg(feature = "postgres")]
pub use superstep_adapters::postgres;
#[cfg(feature = "s3")]
pub use superstep_adapters::s3;
#[cfg(feature = "sealed")]
pub use superstep_adapters::sealed;
#[cfg(feature = "spilled")]
pub use superstep_adapters::spilled;
#[cfg(feature = "sqlite")]
pub use superstep_adapters::sqlite;

pub use schemars;
pub use schemars::JsonSchema;
pub use serde;
pub use superstep_core as core;
pub use superstep_core::command::{Go, Send};
pub use superstep_core::error::{Code, Error, Kind, Result};
pub use superstep_core::graph::{BranchPolicy, Compat, END, Endpoint, START};
pub use superstep_core::machine::{Answers, AsNode, Event, OnLimit, StateUpdate};
pub use superstep_core::message::{Message, Messages, RemoveAll, RemoveMessage};
pub use superstep_core::migration::Migration;
pub use superstep_core::port::{EventsQuery, HistoryQuery, Keep, PruneReport, Retention, ThreadStatus, ThreadsQuery};
pub use superstep_core::record::Record;
pub use superstep_core::redact;
pub use superstep_core::schema::Schema;
pub use superstep_core::state::State;
pub use superstep_core::update::{Overwrite, Remove};
pub use superstep_macros::{State, entrypoint, task, tool};

/// What almost every program needs.
pub mod prelude {
    pub use crate::{
        Ask, Command, Ctx, Cx, END, Go, Graph, Memory, Message, Messages, Node, NodeError, Overwrite, Retry, START,
        Send, Sent, State, ToolError, ToolNode, ToolOutput, View, Writer, blocking, node, tool,
    };
    pub use serde::{Deserialize, Serialize};
}

#[doc(hidden)]
pub mod __private {
    pub use crate::output::{IntoOutput, NodeError, update_output};
    pub use crate::tool::run_blocking_tool;
    pub use schemars;
    pub use serde_json;
    pub use superstep_core::*;
}
