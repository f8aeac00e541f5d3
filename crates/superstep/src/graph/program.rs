//! A compiled graph without type parameters, as the run loop uses it.

use std::sync::Arc;

use superstep_core::graph::{BranchPolicy, Topology};
use superstep_core::machine::Breakpoints;
use superstep_core::port::{Retention, SharedCheckpointer};
use superstep_core::redaction::Redaction;
use superstep_core::types::FieldType;
use tokio::sync::Semaphore;

use crate::engine::durability::Durability;
use crate::engine::state_cache::StateCache;
use crate::graph::cache::{Cache, CachePolicy};
use crate::graph::handler::DynNode;
use crate::graph::node::TimeoutPolicy;
use crate::graph::retry::RetryPolicy;
use crate::store::SharedStore;
use crate::telemetry::TelemetryConfig;

/// A compiled graph, with its nodes by node id.
pub(crate) struct Program {
    pub(crate) topology: Arc<Topology>,
    pub(crate) nodes: Vec<ProgramNode>,
    pub(crate) settings: GraphSettings,
    /// True if the output schema does not contain all fields.
    pub(crate) restricts_output: bool,
    /// Cached states of recently used threads.
    pub(crate) state_cache: StateCache,
}

/// A node as the executor uses it.
pub(crate) struct ProgramNode {
    pub(crate) action: Arc<dyn DynNode>,
    pub(crate) retry: Vec<RetryPolicy>,
    pub(crate) timeout: Option<TimeoutPolicy>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) on_error: Option<Arc<dyn DynNode>>,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    /// Program of the node, if the node is a subgraph.
    pub(crate) subgraph: Option<Arc<Program>>,
}

impl ProgramNode {
    /// Returns true if no policy applies to its tasks.
    pub(crate) fn has_no_policies(&self) -> bool {
        let is_bounded = self.timeout.is_some() || self.concurrency.is_some();
        !is_bounded && self.retry.is_empty() && self.cache.is_none() && self.on_error.is_none()
    }
}

/// Default settings of the runs of a graph.
#[derive(Clone)]
pub(crate) struct GraphSettings {
    pub(crate) checkpointer: Option<SharedCheckpointer>,
    pub(crate) durability: Durability,
    pub(crate) max_pending_commits: usize,
    /// Retention after a run; `None` keeps everything.
    pub(crate) retention: Option<Retention>,
    pub(crate) store: Option<SharedStore>,
    pub(crate) cache: Option<Cache>,
    pub(crate) interrupt_before: Breakpoints,
    pub(crate) interrupt_after: Breakpoints,
    pub(crate) branch_policy: BranchPolicy,
    pub(crate) recursion_limit: u32,
    pub(crate) strict_set_once: bool,
    pub(crate) persistence: SubgraphPersistence,
    /// Schema of the `configurable` values of a run.
    pub(crate) configurable: Option<FieldType>,
    /// Redaction of everything that enters the graph.
    pub(crate) redaction: Option<Redaction>,
    /// Telemetry configuration of runs.
    pub(crate) telemetry: TelemetryConfig,
}

/// Persistence of a subgraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SubgraphPersistence {
    /// New state for every call, persisted with the parent graph.
    #[default]
    Inherit,
    /// One state per thread, which is kept between calls; one per task position in a fan-out.
    PerThread,
    /// Never persisted.
    Stateless,
}
