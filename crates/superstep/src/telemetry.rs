//! What can be seen of runs from outside: spans and log lines, measurements, cost.
//!
//! Spans and log lines are those of `tracing`: a program that installs a subscriber has them, a program that does not
//! pays for one look at a number per run. Runs, nodes, calls of models and of tools are `INFO`, supersteps and commits
//! `DEBUG`. They have names, counts and times, and never what people or models say, unless
//! [`Graph::trace_content`](crate::Graph::trace_content) asks for it. Attributes have the names of OpenTelemetry's
//! conventions for generative AI, of the version in [`CONVENTIONS`]; the rest is called `superstep.*`.
//!
//! Measurements are kept by a [`Metrics`] that a graph is given; the cost of a run is in
//! [`Outcome::usage`](crate::Outcome::usage). Nothing here decides anything, and nothing is made for observers who are
//! not there: a run has a `Watch` only when somebody listens.

mod content;
mod given;
mod metrics;
mod model;
mod run;
mod store;
mod task;
mod tool;
mod usage;
mod watch;

pub(crate) use given::Given;
pub use metrics::Metrics;
pub(crate) use model::watched_model;
pub(crate) use run::{watched_inside, watched_run};
pub(crate) use store::watched_store;
pub(crate) use task::{retried, watched_task};
pub(crate) use tool::{Called, watched_tool};
pub(crate) use usage::Spending;
pub use usage::{ModelUsage, RunUsage};
pub(crate) use watch::Watch;

pub use superstep_core::conventions::{SCHEMA_URL, VERSION as CONVENTIONS};
