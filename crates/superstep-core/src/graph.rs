//! The drawing of a graph: nodes, edges, joins and routes, by dense numbers.
//!
//! Says what leads where. What a node does is the rim's; when it runs is decided in `advance`. A graph
//! gets here only through [`Builder::compile`], which refuses everything it can see to be wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::command::Go;
use crate::drawing::Drawing;
use crate::fault::Fault;
use crate::field::AnyState;
use crate::id::{FieldId, NodeId};
use crate::migration::Migrations;
use crate::schema::Schema;

mod builder;
mod dominate;
mod draw;
mod parallel;
mod reach;
mod validate;

pub use builder::{Builder, NodeOptions};

/// The name of the place every run starts from.
pub const START_NAME: &str = "__start__";
/// The name of the place every run ends at.
pub const END_NAME: &str = "__end__";

/// One end of an edge: a node by handle or name, or one of the two sentinels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Where every run starts.
    Start,
    /// Where every run ends.
    End,
    /// A node by number.
    Node(NodeId),
    /// A node by the handle its graph gave out.
    Handle {
        /// The node.
        id: NodeId,
        /// The graph the handle is of.
        graph: u32,
    },
    /// A node by name.
    Name(Arc<str>),
}

/// Where every run starts.
pub const START: Endpoint = Endpoint::Start;
/// Where every run ends.
pub const END: Endpoint = Endpoint::End;

impl Endpoint {
    /// The same place without its handle; a handle of another graph is a node that no graph has.
    pub(crate) fn local(&self, tag: u32) -> Self {
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
            // How a node is written down where its graph's names are not known.
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

/// Where to, once names are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A node.
    Node(NodeId),
    /// The end of this branch.
    End,
}

impl Target {
    /// The node, unless it is the end.
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(id) => Some(id),
            Self::End => None,
        }
    }
}

/// Decides where a run goes on, from the state.
pub type Decide = Arc<dyn Fn(&AnyState) -> Result<Go, Fault> + Send + Sync>;

/// A conditional edge.
#[derive(Clone)]
pub struct Route {
    /// The decision.
    pub decide: Decide,
    /// Where it may lead, with labels for drawings; `None` means anywhere.
    pub targets: Option<Vec<(Target, Option<String>)>>,
}

/// An edge from several nodes to one, which is due once all of them have finished since it last was.
#[derive(Debug, Clone)]
pub struct Join {
    /// The nodes that must finish, ascending.
    pub sources: Vec<NodeId>,
    /// The node that is due then.
    pub target: NodeId,
}

/// What leads out of a node.
#[derive(Clone, Default)]
pub struct Exits {
    /// Plain edges to nodes, ascending.
    pub edges: Vec<NodeId>,
    /// Whether there is a plain edge to the end.
    pub ends: bool,
    /// Conditional edges, in the order they were added.
    pub routes: Vec<Route>,
    /// Joins this node is a source of, with its place among their sources.
    pub joins: Vec<(u32, u32)>,
}

/// A node as the machine sees it.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// The name.
    pub name: Arc<str>,
    /// Waits until nothing else is due.
    pub defer: bool,
    /// Names it had before, for stored threads.
    pub was: Vec<String>,
    /// Where its commands may lead, for drawings and checks.
    pub goto: Option<Vec<Target>>,
    /// Fields it declares to read; `None` means all that are not private.
    pub reads: Option<Vec<FieldId>>,
    /// Fields it declares to write; `None` means all that are not private.
    pub writes: Option<Vec<FieldId>>,
    /// How many of its tasks in one superstep must succeed.
    pub branch: BranchPolicy,
    /// Free data for drawings and streams.
    pub metadata: BTreeMap<String, Value>,
    /// Free labels for streams.
    pub tags: Vec<String>,
    /// The drawing of a graph inside.
    pub inner: Option<Box<Drawing>>,
}

impl NodeSpec {
    /// True for its name, and for those it had before.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        *self.name == *name || self.was.iter().any(|former| former == name)
    }

    /// Its name, and those it had before.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.was.iter().map(String::as_str))
    }
}

/// What the failure of one task means for the others of its node in the same superstep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BranchPolicy {
    /// As the graph says.
    #[default]
    Inherit,
    /// The first failure cancels the others and fails the run.
    FailFast,
    /// The others run to their end and are kept; then the run fails.
    SettleAll,
    /// This many must succeed; then the rest is cancelled, and failures do not matter.
    Quorum(usize),
    /// The first success cancels the rest.
    Race,
}

/// Which engine's habits a graph has where they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compat {
    /// Refuse, never ignore.
    #[default]
    Strict,
    /// The reference's quirks: order by name, step numbers from −1, limit off by one, `goto` adds to
    /// edges, unknown fields are dropped.
    LangGraph,
}

/// A compiled graph: names resolved, problems refused.
#[derive(Clone)]
pub struct Topology {
    /// The name.
    pub name: Arc<str>,
    /// The schema of its state.
    pub schema: Arc<Schema>,
    /// Fields the input may have.
    pub input: Vec<FieldId>,
    /// Fields the output has.
    pub output: Vec<FieldId>,
    /// The nodes, by number.
    pub nodes: Vec<NodeSpec>,
    /// What leads out of the start.
    pub start: Exits,
    /// What leads out of each node.
    pub exits: Vec<Exits>,
    /// The joins.
    pub joins: Vec<Join>,
    /// Which engine's habits it has.
    pub compat: Compat,
    /// How threads of older versions of the state are read.
    pub migrations: Migrations,
    /// What compile let pass but found worth saying.
    pub warnings: Vec<String>,
    /// Tells its handles from those of other graphs.
    pub(crate) tag: u32,
    pub(crate) by_name: BTreeMap<Arc<str>, NodeId>,
    pub(crate) rank: Option<Vec<u32>>,
}

impl Topology {
    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &NodeSpec {
        &self.nodes[id.index()]
    }

    /// The node of that name, or that once had it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The place of a node in the fixed order in which updates are applied.
    #[must_use]
    pub fn rank(&self, id: NodeId) -> u32 {
        self.rank.as_ref().map_or(id.0, |rank| rank[id.index()])
    }

    /// The names of all nodes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| &*node.name)
    }
}

#[cfg(test)]
mod tests;
