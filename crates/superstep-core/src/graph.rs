//! The topology of a graph: nodes, edges, joins and conditional edges, with dense ids.
//!
//! Contains the connections only. The engine runs the nodes; `schedule` schedules them. A graph gets here only through
//! [`TopologyBuilder::compile`], which rejects every mistake that is visible before a run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::command::Goto;
use crate::diagram::Diagram;
use crate::field::AnyState;
use crate::id::{FieldId, NodeId};
use crate::migration::Migrations;
use crate::schema::Schema;
use crate::validation_error::ValidationError;

mod builder;
mod concurrent_writers;
mod diagram;
mod dominators;
mod reachability;
mod validate;

pub use builder::{NodeOptions, TopologyBuilder};

/// Name of the start sentinel.
pub const START_NAME: &str = "__start__";
/// Name of the end sentinel.
pub const END_NAME: &str = "__end__";

/// One end of an edge: a node by handle or name, or one of the two sentinels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The start of every run.
    Start,
    /// The end of every run.
    End,
    /// A node by id.
    Node(NodeId),
    /// A node by the handle that its graph returned.
    Handle {
        /// Id of the node.
        id: NodeId,
        /// Tag of the graph that created the handle.
        graph: u32,
    },
    /// A node by name.
    Name(Arc<str>),
}

/// The start of every run.
pub const START: Endpoint = Endpoint::Start;
/// The end of every run.
pub const END: Endpoint = Endpoint::End;

impl Endpoint {
    /// Resolves a handle of the graph `tag` to a node id; a handle of another graph becomes an id that no graph
    /// has.
    pub(crate) fn resolve_handle(&self, tag: u32) -> Self {
        match self {
            Self::Handle { id, graph } if *graph == tag => Self::Node(*id),
            Self::Handle { .. } => Self::Node(NodeId(u32::MAX)),
            other => other.clone(),
        }
    }
}

impl From<&str> for Endpoint {
    fn from(name: &str) -> Self {
        match name {
            START_NAME => Self::Start,
            END_NAME => Self::End,
            // The text form of a node id, used where the names of the graph are not known.
            name => match name.strip_prefix('#').and_then(|number| number.parse().ok()) {
                Some(number) => Self::Node(NodeId(number)),
                None => Self::Name(name.into()),
            },
        }
    }
}

impl From<String> for Endpoint {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl From<NodeId> for Endpoint {
    fn from(id: NodeId) -> Self {
        Self::Node(id)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str(START_NAME),
            Self::End => f.write_str(END_NAME),
            Self::Node(id) | Self::Handle { id, .. } => write!(f, "#{}", id.0),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A target with its name resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResolvedTarget {
    /// A node.
    Node(NodeId),
    /// The end of this branch.
    End,
}

impl ResolvedTarget {
    /// Returns the node, or `None` for the end.
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(id) => Some(id),
            Self::End => None,
        }
    }
}

/// Chooses the targets of a conditional edge from the state.
pub type RouteFn = Arc<dyn Fn(&AnyState) -> Result<Goto, ValidationError> + Send + Sync>;

/// A conditional edge.
#[derive(Clone)]
pub struct ConditionalEdge {
    /// Function that chooses the targets.
    pub decide: RouteFn,
    /// Declared targets, with labels for diagrams; `None` means any node.
    pub targets: Option<Vec<(ResolvedTarget, Option<String>)>>,
}

/// An edge from several nodes to one, which fires when all of them have finished since it last fired.
#[derive(Debug, Clone)]
pub struct Join {
    /// The nodes that must finish, ascending.
    pub sources: Vec<NodeId>,
    /// The node that is then scheduled.
    pub target: NodeId,
}

/// The outgoing edges of a node.
#[derive(Clone, Default)]
pub struct OutgoingEdges {
    /// Plain edges to nodes, ascending.
    pub edges: Vec<NodeId>,
    /// True if there is a plain edge to the end.
    pub reaches_end: bool,
    /// Conditional edges, in the order they were added.
    pub routes: Vec<ConditionalEdge>,
    /// Joins that have this node as a source, with its index among their sources.
    pub joins: Vec<(u32, u32)>,
}

/// A node as the machine sees it.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// Name of the node.
    pub name: Arc<str>,
    /// True if the node waits until no other task is scheduled.
    pub defer: bool,
    /// Former names of the node, for stored threads.
    pub former_names: Vec<String>,
    /// Declared targets of its commands, for diagrams and checks.
    pub goto_targets: Option<Vec<ResolvedTarget>>,
    /// Fields it declares to read; `None` means all that are not private.
    pub reads: Option<Vec<FieldId>>,
    /// Fields it declares to write; `None` means all that are not private.
    pub writes: Option<Vec<FieldId>>,
    /// Policy for failed tasks of the node in one superstep.
    pub branch: BranchPolicy,
    /// Custom metadata for diagrams and streams.
    pub metadata: BTreeMap<String, Value>,
    /// Custom labels for streams.
    pub tags: Vec<String>,
    /// Diagram of the subgraph that the node runs.
    pub subgraph_diagram: Option<Box<Diagram>>,
}

impl NodeSpec {
    /// Returns true for its current name and its former names.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        *self.name == *name || self.former_names.iter().any(|former| former == name)
    }

    /// Iterates over its current name and its former names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.former_names.iter().map(String::as_str))
    }
}

/// The effect of one failed task on the other tasks of its node in the same superstep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BranchPolicy {
    /// Uses the policy of the graph.
    #[default]
    Inherit,
    /// The first failure cancels the others and fails the run.
    FailFast,
    /// The others run to their end and their results are stored; then the run fails.
    SettleAll,
    /// This many must succeed; then the rest is cancelled, and failures do not matter.
    Quorum(usize),
    /// The first success cancels the rest.
    Race,
}

/// The compatibility mode of a graph, where superstep and LangGraph differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compat {
    /// superstep's own rules: reject, never ignore.
    #[default]
    Strict,
    /// LangGraph's behaviour: order by name, step numbers from −1, limit off by one, `goto` adds to edges, unknown
    /// fields are dropped.
    LangGraph,
}

/// A compiled graph: names are resolved and mistakes are rejected.
#[derive(Clone)]
pub struct Topology {
    /// Name of the graph.
    pub name: Arc<str>,
    /// Schema of its state.
    pub schema: Arc<Schema>,
    /// Fields of the input.
    pub input: Vec<FieldId>,
    /// Fields of the output.
    pub output: Vec<FieldId>,
    /// Nodes, by id.
    pub nodes: Vec<NodeSpec>,
    /// Outgoing edges of the start.
    pub start: OutgoingEdges,
    /// Outgoing edges of each node.
    pub exits: Vec<OutgoingEdges>,
    /// Joins.
    pub joins: Vec<Join>,
    /// Compatibility mode.
    pub compat: Compat,
    /// Migrations of threads with older versions of the state.
    pub migrations: Migrations,
    /// Warnings of the compilation.
    pub warnings: Vec<String>,
    /// Tag that distinguishes handles of this graph from those of others.
    pub(crate) graph_tag: u32,
    pub(crate) by_name: BTreeMap<Arc<str>, NodeId>,
    pub(crate) node_order: Option<Vec<u32>>,
}

impl Topology {
    /// Returns the node with this id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &NodeSpec {
        &self.nodes[id.index()]
    }

    /// Returns the node that has or once had this name.
    #[must_use]
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// Returns the position of a node in the fixed order in which updates are applied.
    #[must_use]
    pub fn node_order(&self, id: NodeId) -> u32 {
        self.node_order.as_ref().map_or(id.0, |rank| rank[id.index()])
    }

    /// Iterates over the names of all nodes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| &*node.name)
    }
}

#[cfg(test)]
mod tests;
