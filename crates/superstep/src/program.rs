//! A compiled graph without its types: what the loop runs.

use std::sync::Arc;

use superstep_core::graph::{BranchPolicy, Topology};
use superstep_core::machine::Breakpoints;
use superstep_core::port::{Retention, SharedCheckpointer};
use superstep_core::redact::Redaction;
use superstep_core::types::FieldType;
use tokio::sync::Semaphore;

use crate::cache::{Cache, CachePolicy};
use crate::durability::Durability;
use crate::handler::Action;
use crate::node::Timeout;
use crate::retry::Retry;
use crate::store::SharedStore;
use crate::telemetry::Given;
use crate::warm::WarmStates;

/// A compiled graph with its nodes' actions, by number.
pub(crate) struct Program {
    pub(crate) topology: Arc<Topology>,
    pub(crate) nodes: Vec<NodeEntry>,
    pub(crate) settings: Settings,
    /// The schema's fields that a caller sees of a result; `None` for all.
    pub(crate) hides_fields: bool,
    /// The states of threads that ran last.
    pub(crate) warm: WarmStates,
}

/// A node as the executor sees it.
pub(crate) struct NodeEntry {
    pub(crate) action: Arc<dyn Action>,
    pub(crate) retry: Vec<Retry>,
    pub(crate) timeout: Option<Timeout>,
    pub(crate) cache: Option<CachePolicy>,
    pub(crate) on_error: Option<Arc<dyn Action>>,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    /// The graph it is, where it is one.
    pub(crate) inner: Option<Arc<Program>>,
}

impl NodeEntry {
    /// Whether nothing but the node decides how a task of it ends.
    pub(crate) fn is_plain(&self) -> bool {
        let is_bounded = self.timeout.is_some() || self.concurrency.is_some();
        !is_bounded && self.retry.is_empty() && self.cache.is_none() && self.on_error.is_none()
    }
}

/// What a graph says for all its runs.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) checkpointer: Option<SharedCheckpointer>,
    pub(crate) durability: Durability,
    pub(crate) backlog: usize,
    /// What stays of a thread when a run on it has ended; all of it where nothing is said.
    pub(crate) retention: Option<Retention>,
    pub(crate) store: Option<SharedStore>,
    pub(crate) cache: Option<Cache>,
    pub(crate) before: Breakpoints,
    pub(crate) after: Breakpoints,
    pub(crate) failures: BranchPolicy,
    pub(crate) recursion_limit: u32,
    pub(crate) strict_set_once: bool,
    pub(crate) persistence: Persistence,
    /// What the `configurable` values of a run must look like.
    pub(crate) configurable: Option<FieldType>,
    /// What is taken out of everything that enters the graph.
    pub(crate) redaction: Option<Redaction>,
    /// What is said about observing runs.
    pub(crate) observed: Given,
}

/// How a graph that runs inside another keeps its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Persistence {
    /// A fresh state for every call, saved with the graph around it.
    #[default]
    Inherit,
    /// One state for the whole thread, which grows from call to call; in a fan-out, one for each place.
    PerThread,
    /// Never saved.
    Stateless,
}
