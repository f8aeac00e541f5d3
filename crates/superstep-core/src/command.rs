//! What may be asked of a run: where to go on, what to send, how to resume.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::datum::Datum;
use crate::graph::Endpoint;
use crate::state::Draft;

/// A task for a node with an input of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Send {
    /// The node.
    pub node: Endpoint,
    /// What the task is given.
    pub payload: Datum,
    /// How long it may take, in place of the node's own limit.
    pub timeout: Option<Duration>,
}

impl Send {
    /// A task for `node`, given `payload` in place of the state.
    pub fn new<T: Serialize + std::marker::Send + Sync + 'static>(node: impl Into<Endpoint>, payload: T) -> Self {
        Self { node: node.into(), payload: Datum::live(payload), timeout: None }
    }

    /// How long the task may take, in place of the node's own limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// One place a run goes on at.
#[derive(Debug, Clone, PartialEq)]
pub enum Hop {
    /// A node, or the end of this branch.
    To(Endpoint),
    /// A task with its own input.
    Send(Box<Send>),
}

/// Where a run goes on: the result of a route.
///
/// ```
/// use superstep_core::command::{Go, Send};
/// let go = Go::to("tools").and("log").and_send(Send::new("worker", 7));
/// assert_eq!(go.len(), 3);
/// assert!(Go::none().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Go(SmallVec<[Hop; 1]>);

impl Go {
    /// On to a node.
    #[must_use]
    pub fn to(node: impl Into<Endpoint>) -> Self {
        Self(SmallVec::from_iter([Hop::To(node.into())]))
    }

    /// To the end of this branch.
    #[must_use]
    pub fn end() -> Self {
        Self::to(Endpoint::End)
    }

    /// Nowhere.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// On to several nodes at once.
    #[must_use]
    pub fn all(nodes: impl IntoIterator<Item = impl Into<Endpoint>>) -> Self {
        Self(nodes.into_iter().map(|node| Hop::To(node.into())).collect())
    }

    /// One task for each item.
    #[must_use]
    pub fn sends(sends: impl IntoIterator<Item = Send>) -> Self {
        Self(sends.into_iter().map(|send| Hop::Send(Box::new(send))).collect())
    }

    /// Also on to this node.
    #[must_use]
    pub fn and(mut self, node: impl Into<Endpoint>) -> Self {
        self.0.push(Hop::To(node.into()));
        self
    }

    /// Also this task.
    #[must_use]
    pub fn and_send(mut self, send: Send) -> Self {
        self.0.push(Hop::Send(Box::new(send)));
        self
    }

    /// How many places.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when it leads nowhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the places of another.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The places, in order.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.0.iter()
    }
}

impl IntoIterator for Go {
    type Item = Hop;
    type IntoIter = smallvec::IntoIter<[Hop; 1]>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<&str> for Go {
    fn from(name: &str) -> Self {
        Self::to(name)
    }
}

impl From<String> for Go {
    fn from(name: String) -> Self {
        Self::to(name)
    }
}

impl From<Endpoint> for Go {
    fn from(endpoint: Endpoint) -> Self {
        Self::to(endpoint)
    }
}

impl From<Send> for Go {
    fn from(send: Send) -> Self {
        Self::sends([send])
    }
}

impl From<Vec<Send>> for Go {
    fn from(sends: Vec<Send>) -> Self {
        Self::sends(sends)
    }
}

impl From<Vec<&str>> for Go {
    fn from(names: Vec<&str>) -> Self {
        Self::all(names)
    }
}

/// Which graph a command speaks to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// The graph the node is in.
    #[default]
    Here,
    /// The graph around it.
    Parent,
    /// The nearest graph around it that has this name.
    Named(Arc<str>),
}

/// What a task gives when it ends well: updates and where to go on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// Updates, in order.
    pub updates: SmallVec<[Draft; 1]>,
    /// Where to go on; `None` follows the edges.
    pub goto: Option<Go>,
    /// Tasks with their own input.
    pub sends: Vec<Send>,
    /// What is asked of a graph around this one.
    pub outward: Option<Box<Outward>>,
    /// The edges of the node are not followed, whatever else is said.
    pub skip_edges: bool,
}

/// A command for a graph around the one the node is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Outward {
    /// Which graph.
    pub scope: Scope,
    /// Updates there, in order, by names: this graph does not know that one's schema.
    pub updates: Vec<Map<String, Value>>,
    /// Where to go on there.
    pub goto: Go,
}
