//! Commands of a task: the next nodes, sends, and updates, for its own graph or a parent graph.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::graph::Endpoint;
use crate::state::UncheckedUpdate;
use crate::value::AnyValue;

/// A task for a node with its own input.
#[derive(Debug, Clone, PartialEq)]
pub struct SendTo {
    /// Target node.
    pub node: Endpoint,
    /// Input of the task.
    pub payload: AnyValue,
    /// Timeout of the task, in place of the timeout of the node.
    pub timeout: Option<Duration>,
}

impl SendTo {
    /// Creates a task for `node` that receives `payload` in place of the state.
    pub fn new<T: Serialize + std::marker::Send + Sync + 'static>(node: impl Into<Endpoint>, payload: T) -> Self {
        Self { node: node.into(), payload: AnyValue::native(payload), timeout: None }
    }

    /// Sets the timeout of the task, in place of the timeout of the node.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// One target of a goto.
#[derive(Debug, Clone, PartialEq)]
pub enum GotoTarget {
    /// A node, or the end of this branch.
    Node(Endpoint),
    /// A task with its own input.
    Send(Box<SendTo>),
}

/// The targets of a conditional edge or a command.
///
/// ```
/// use superstep_core::command::{Goto, SendTo};
/// let goto = Goto::node("tools").and_node("log").and_send(SendTo::new("worker", 7));
/// assert_eq!(goto.len(), 3);
/// assert!(Goto::none().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Goto(SmallVec<[GotoTarget; 1]>);

impl Goto {
    /// Goes to a node.
    #[must_use]
    pub fn node(node: impl Into<Endpoint>) -> Self {
        Self(SmallVec::from_iter([GotoTarget::Node(node.into())]))
    }

    /// Ends this branch.
    #[must_use]
    pub fn end() -> Self {
        Self::node(Endpoint::End)
    }

    /// Goes to no node.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Goes to several nodes, which run in the same superstep.
    #[must_use]
    pub fn all(nodes: impl IntoIterator<Item = impl Into<Endpoint>>) -> Self {
        Self(nodes.into_iter().map(|node| GotoTarget::Node(node.into())).collect())
    }

    /// Creates one task for each send.
    #[must_use]
    pub fn sends(sends: impl IntoIterator<Item = SendTo>) -> Self {
        Self(sends.into_iter().map(|send| GotoTarget::Send(Box::new(send))).collect())
    }

    /// Adds a target node.
    #[must_use]
    pub fn and_node(mut self, node: impl Into<Endpoint>) -> Self {
        self.0.push(GotoTarget::Node(node.into()));
        self
    }

    /// Adds a send.
    #[must_use]
    pub fn and_send(mut self, send: SendTo) -> Self {
        self.0.push(GotoTarget::Send(Box::new(send)));
        self
    }

    /// Returns the number of targets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no target.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the targets of another goto.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Iterates over the targets, in order.
    pub fn targets(&self) -> impl Iterator<Item = &GotoTarget> {
        self.0.iter()
    }
}

impl IntoIterator for Goto {
    type Item = GotoTarget;
    type IntoIter = smallvec::IntoIter<[GotoTarget; 1]>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<&str> for Goto {
    fn from(name: &str) -> Self {
        Self::node(name)
    }
}

impl From<String> for Goto {
    fn from(name: String) -> Self {
        Self::node(name)
    }
}

impl From<Endpoint> for Goto {
    fn from(endpoint: Endpoint) -> Self {
        Self::node(endpoint)
    }
}

impl From<SendTo> for Goto {
    fn from(send: SendTo) -> Self {
        Self::sends([send])
    }
}

impl From<Vec<SendTo>> for Goto {
    fn from(sends: Vec<SendTo>) -> Self {
        Self::sends(sends)
    }
}

impl From<Vec<&str>> for Goto {
    fn from(names: Vec<&str>) -> Self {
        Self::all(names)
    }
}

/// The graph that a command addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CommandScope {
    /// The graph of the node.
    #[default]
    Current,
    /// The direct parent graph.
    Parent,
    /// The nearest enclosing graph with this name.
    Named(Arc<str>),
}

/// The output of a successful task: updates and targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskOutput {
    /// Updates, in order.
    pub updates: SmallVec<[UncheckedUpdate; 1]>,
    /// Targets; `None` follows the edges of the node.
    pub goto: Option<Goto>,
    /// Tasks with their own input.
    pub sends: Vec<SendTo>,
    /// Command for a parent graph.
    pub parent_command: Option<Box<ParentCommand>>,
    /// True if the edges of the node are not followed, whatever the other fields contain.
    pub skip_edges: bool,
}

/// A command for a parent graph.
#[derive(Debug, Clone, PartialEq)]
pub struct ParentCommand {
    /// Graph that the command addresses.
    pub scope: CommandScope,
    /// Updates for that graph, in order, as JSON objects: this graph does not know the schema of the other.
    pub updates: Vec<Map<String, Value>>,
    /// Targets in that graph.
    pub goto: Goto,
}
