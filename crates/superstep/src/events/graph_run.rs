//! One execution of a graph in a run: data shared by all of its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::checkpoint::{CheckpointNamespace, Interrupt};
use superstep_core::error::Error;
use superstep_core::graph::Topology;
use superstep_core::id::{RunId, TaskId, ThreadId, hash_id};

/// Tag of a node that is excluded from streams.
pub(crate) const HIDDEN: &str = "hidden";
/// Tag of a node, a run or a model call whose chunks are not streamed.
pub(crate) const NO_STREAM: &str = "nostream";

/// One execution of a graph in a run: the root graph, or a subgraph.
#[non_exhaustive]
pub struct GraphRun {
    /// Id, unique among runs, nodes, model calls and tool calls; for the root graph, the id of the run.
    pub id: RunId,
    /// Name of the graph.
    pub graph: Arc<str>,
    /// Namespace; empty for the root graph.
    pub namespace: CheckpointNamespace,
    /// Thread of the run, or `None` if the run has no thread.
    pub thread: Option<ThreadId>,
    /// The task in which the graph runs, with its graph.
    pub parent: Option<(TaskId, Arc<GraphRun>)>,
    /// Tags of the run.
    pub tags: Arc<[String]>,
    /// Metadata of the run, without private keys.
    pub metadata: Arc<BTreeMap<String, Value>>,
    pub(crate) topology: Arc<Topology>,
    /// Nodes that are excluded from streams.
    hidden: Vec<Arc<str>>,
    /// True if chunks are not streamed.
    is_streaming_disabled: bool,
}

impl GraphRun {
    pub(crate) fn new(
        run: RunId,
        topology: &Arc<Topology>,
        (namespace, thread): (CheckpointNamespace, Option<ThreadId>),
        (tags, metadata): (Arc<[String]>, Arc<BTreeMap<String, Value>>),
        parent: Option<(TaskId, Arc<GraphRun>)>,
    ) -> Self {
        let is_hidden = |tags: &[String]| tags.iter().any(|tag| tag == HIDDEN);
        let hidden = topology.nodes.iter().filter(|node| is_hidden(&node.tags)).map(|node| node.name.clone()).collect();
        let id = match &parent {
            None => run,
            Some((task, _)) => {
                RunId::from_bits(hash_id(&[b"graph", &task.bits().to_le_bytes(), namespace.as_str().as_bytes()]))
            }
        };
        let is_streaming_disabled = tags.iter().any(|tag| tag == NO_STREAM);
        let (graph, topology) = (topology.name.clone(), topology.clone());
        Self { id, graph, namespace, thread, parent, tags, metadata, topology, hidden, is_streaming_disabled }
    }

    /// Inherits streaming settings from the parent node.
    pub(crate) fn inherit_streaming(mut self, outer: &Self, node: &str) -> Self {
        self.is_streaming_disabled |= outer.has_streaming_disabled(node);
        self
    }

    /// Returns true if the chunks of a node are not streamed.
    pub(crate) fn has_streaming_disabled(&self, node: &str) -> bool {
        let node = self.topology.find_node(node).map(|id| self.topology.node(id));
        self.is_streaming_disabled || node.is_some_and(|node| node.tags.iter().any(|tag| tag == NO_STREAM))
    }

    pub(crate) fn is_hidden(&self, node: &str) -> bool {
        self.hidden.iter().any(|hidden| &**hidden == node)
    }

    /// Returns the ids of all enclosing graph runs and tasks, the outermost first, followed by its own id.
    #[must_use]
    pub fn path_ids(&self) -> Vec<String> {
        let mut ids = match &self.parent {
            None => Vec::new(),
            Some((task, outer)) => {
                let mut ids = outer.path_ids();
                ids.push(task.to_string());
                ids
            }
        };
        ids.push(self.id.to_string());
        ids
    }
}

/// Reason why a graph ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum GraphEnd {
    /// The graph finished, or reached its limit.
    Finished,
    /// The graph has these open interrupts.
    Interrupted(Vec<Interrupt>),
    /// The graph stopped at a breakpoint.
    Paused,
    /// The graph was drained.
    Drained,
    /// The graph failed or was cancelled.
    Failed(Error),
}
