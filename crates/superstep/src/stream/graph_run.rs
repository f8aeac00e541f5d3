//! One graph in a run: what all its events have in common, made once and shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::checkpoint::{Namespace, Question};
use superstep_core::error::Error;
use superstep_core::graph::Topology;
use superstep_core::id::{RunId, TaskId, ThreadId, derive};

/// Tag of a node that streams do not show.
pub(crate) const HIDDEN: &str = "hidden";
/// Tag of a node, a run or a call of a model whose words are not streamed while they come.
pub(crate) const NO_STREAM: &str = "nostream";

/// One graph in a run: the outermost, or one inside a node.
#[non_exhaustive]
pub struct GraphRun {
    /// Names it among all runs, nodes, models and tools; of the outermost graph it is the id of the run.
    pub id: RunId,
    /// The name of the graph.
    pub graph: Arc<str>,
    /// The path; empty for the outermost.
    pub namespace: Namespace,
    /// The thread.
    pub thread: Option<ThreadId>,
    /// The task it runs inside of, with its graph.
    pub outer: Option<(TaskId, Arc<GraphRun>)>,
    /// The run's tags.
    pub tags: Arc<[String]>,
    /// What the caller said about the run, without what is for nodes only.
    pub metadata: Arc<BTreeMap<String, Value>>,
    pub(crate) topology: Arc<Topology>,
    /// Nodes that streams do not show.
    hidden: Vec<Arc<str>>,
    /// Whether what it says is not streamed while it comes.
    is_silent: bool,
}

impl GraphRun {
    pub(crate) fn new(
        run: RunId,
        topology: &Arc<Topology>,
        (namespace, thread): (Namespace, Option<ThreadId>),
        (tags, metadata): (Arc<[String]>, Arc<BTreeMap<String, Value>>),
        outer: Option<(TaskId, Arc<GraphRun>)>,
    ) -> Self {
        let is_hidden = |tags: &[String]| tags.iter().any(|tag| tag == HIDDEN);
        let hidden = topology.nodes.iter().filter(|node| is_hidden(&node.tags)).map(|node| node.name.clone()).collect();
        let id = match &outer {
            None => run,
            Some((task, _)) => {
                RunId::from_bits(derive(&[b"graph", &task.bits().to_le_bytes(), namespace.as_str().as_bytes()]))
            }
        };
        let is_silent = tags.iter().any(|tag| tag == NO_STREAM);
        let (graph, topology) = (topology.name.clone(), topology.clone());
        Self { id, graph, namespace, thread, outer, tags, metadata, topology, hidden, is_silent }
    }

    /// The same, inside of a node.
    pub(crate) fn within(mut self, outer: &Self, node: &str) -> Self {
        self.is_silent |= outer.silences(node);
        self
    }

    /// Whether what a node says is not streamed while it comes.
    pub(crate) fn silences(&self, node: &str) -> bool {
        let node = self.topology.find(node).map(|id| self.topology.node(id));
        self.is_silent || node.is_some_and(|node| node.tags.iter().any(|tag| tag == NO_STREAM))
    }

    pub(crate) fn hides(&self, node: &str) -> bool {
        self.hidden.iter().any(|hidden| &**hidden == node)
    }

    /// The ids of everything this graph is inside of, the outermost first, and its own.
    #[must_use]
    pub fn path_ids(&self) -> Vec<String> {
        let mut ids = match &self.outer {
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

/// How a graph ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum GraphEnd {
    /// It ran to its end, or as far as it may.
    Finished,
    /// It waits for answers to these questions.
    Interrupted(Vec<Question>),
    /// It stopped at a breakpoint.
    Paused,
    /// It was asked to stop.
    Drained,
    /// It failed, or was stopped.
    Failed(Error),
}
