//! Telemetry of runs: spans and log lines, metrics, cost.
//!
//! Spans and log lines use `tracing`: without a subscriber, their cost is one atomic read per run. Runs, nodes, model
//! calls and tool calls have level `INFO`, supersteps and commits `DEBUG`. They contain names, counts and times, and
//! never the content of messages, unless [`StateGraph::trace_content`](crate::StateGraph::trace_content) enables it.
//! Attributes follow the OpenTelemetry conventions for generative AI, in the version of [`CONVENTIONS`]; all others are
//! named `superstep.*`.
//!
//! Metrics are collected by a [`Metrics`] value of the graph; the cost of a run is in
//! [`Outcome::usage`](crate::Outcome::usage). Telemetry does not influence runs, and costs nothing if it is disabled:
//! a run has a `RunObserver` only if there is a consumer.

mod checkpointer;
mod config;
mod content;
mod metrics;
mod model;
mod observer;
mod run;
mod task;
mod tool;
mod usage;

pub(crate) use checkpointer::traced_checkpointer;
pub(crate) use config::TelemetryConfig;
pub use metrics::Metrics;
pub(crate) use model::traced_model_call;
pub(crate) use observer::RunObserver;
pub(crate) use run::{traced_run, traced_subgraph};
pub(crate) use task::{record_retry, traced_task};
pub(crate) use tool::{ToolCallSpan, traced_tool_call};
pub(crate) use usage::UsageTracker;
pub use usage::{ModelUsage, RunUsage};

pub use superstep_core::semantic_conventions::{SCHEMA_URL, VERSION as CONVENTIONS};
