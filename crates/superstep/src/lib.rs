//! Durable agent graphs: typed state with reducers, supersteps, checkpoints, interrupts.
//!
//! A graph is built once and compiled; a run is awaited or streamed. Start with [`prelude`] and the example in the
//! README. The book describes everything else.

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

#[cfg(feature = "sealed")]
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
#[cfg(feature = "spilled")]
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
pub use superstep_core::command::{Goto, SendTo};
pub use superstep_core::dynamic_state::DynamicState;
pub use superstep_core::error::{Error, ErrorCode, ErrorKind, Result};
pub use superstep_core::graph::{BranchPolicy, Compat, END, Endpoint, START};
pub use superstep_core::machine::{AsNode, MachineEvent, OnLimit, ResumeValues, StateUpdate};
pub use superstep_core::message::{Message, Messages, RemoveAll, RemoveMessage};
pub use superstep_core::migration::Migration;
pub use superstep_core::port::{
    EventsQuery, HistoryQuery, KeepRule, PruneReport, Retention, ThreadStatus, ThreadsQuery,
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
