//! A graph in the making: takes everything, complains at [`Builder::compile`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{BranchPolicy, Compat, Decide, Endpoint, Topology, validate};
use crate::drawing::Drawing;
use crate::error::Result;
use crate::id::NodeId;
use crate::migration::{Migration, Migrations};
use crate::schema::Schema;

/// What may be said about a node besides what it does.
#[derive(Debug, Clone, Default)]
pub struct NodeOptions {
    /// Waits until nothing else is due.
    pub defer: bool,
    /// Names it had before, for stored threads.
    pub was: Vec<String>,
    /// Where its commands may lead.
    pub goto: Option<Vec<Endpoint>>,
    /// Fields it declares to read.
    pub reads: Option<Vec<String>>,
    /// Fields it declares to write.
    pub writes: Option<Vec<String>>,
    /// What one failed task means for the others of this node.
    pub branch: BranchPolicy,
    /// Free data for drawings and streams.
    pub metadata: BTreeMap<String, Value>,
    /// Free labels for streams.
    pub tags: Vec<String>,
    /// The drawing of a graph inside.
    pub inner: Option<Box<Drawing>>,
}

pub(super) struct DraftNode {
    pub(super) name: Arc<str>,
    pub(super) has_action: bool,
    pub(super) options: NodeOptions,
}

pub(super) struct DraftRoute {
    pub(super) from: Endpoint,
    pub(super) decide: Decide,
    pub(super) targets: Option<Vec<(Endpoint, Option<String>)>>,
}

/// A graph in the making.
pub struct Builder {
    pub(super) name: Arc<str>,
    pub(super) schema: Arc<Schema>,
    pub(super) input: Option<Vec<String>>,
    pub(super) output: Option<Vec<String>>,
    pub(super) compat: Compat,
    pub(super) nodes: Vec<DraftNode>,
    pub(super) edges: Vec<(Endpoint, Endpoint)>,
    pub(super) joins: Vec<(Vec<Endpoint>, Endpoint)>,
    pub(super) routes: Vec<DraftRoute>,
    pub(super) breakpoints: Vec<String>,
    pub(super) complaints: Vec<String>,
    pub(super) migrations: Migrations,
    pub(super) tag: u32,
}

impl Builder {
    /// An empty graph over a state.
    pub fn new(name: impl Into<Arc<str>>, schema: Arc<Schema>) -> Self {
        Self {
            name: name.into(),
            schema,
            input: None,
            output: None,
            compat: Compat::Strict,
            nodes: Vec::new(),
            edges: Vec::new(),
            joins: Vec::new(),
            routes: Vec::new(),
            breakpoints: Vec::new(),
            complaints: Vec::new(),
            migrations: Migrations::default(),
            tag: 0,
        }
    }

    /// The schema of the state.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Restricts the input to these fields.
    pub fn input(&mut self, fields: impl IntoIterator<Item = impl Into<String>>) {
        self.input = Some(fields.into_iter().map(Into::into).collect());
    }

    /// Restricts the output to these fields.
    pub fn output(&mut self, fields: impl IntoIterator<Item = impl Into<String>>) {
        self.output = Some(fields.into_iter().map(Into::into).collect());
    }

    /// Tells the handles of this graph from those of others.
    pub fn tag(&mut self, tag: u32) {
        self.tag = tag;
    }

    /// Which engine's habits the graph has.
    pub fn compat(&mut self, compat: Compat) {
        self.compat = compat;
    }

    /// Adds a node. One without an action must get it before the graph is compiled.
    pub fn node(&mut self, name: &str, has_action: bool, options: NodeOptions) -> NodeId {
        self.nodes.push(DraftNode { name: name.into(), has_action, options });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Gives a node its action and options.
    pub fn define(&mut self, id: NodeId, options: NodeOptions) {
        if let Some(node) = self.nodes.get_mut(id.index()) {
            node.has_action = true;
            node.options = options;
        }
    }

    /// The schema of the state, to change before the first node is added.
    pub fn set_schema(&mut self, schema: Arc<Schema>) {
        self.schema = schema;
    }

    /// What is said about a node.
    pub fn options_mut(&mut self, id: NodeId) -> Option<&mut NodeOptions> {
        self.nodes.get_mut(id.index()).map(|node| &mut node.options)
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: impl Into<Endpoint>, to: impl Into<Endpoint>) {
        self.edges.push((from.into(), to.into()));
    }

    /// Adds a join: `to` is due once all sources have finished since it last was.
    pub fn join(&mut self, from: impl IntoIterator<Item = impl Into<Endpoint>>, to: impl Into<Endpoint>) {
        self.joins.push((from.into_iter().map(Into::into).collect(), to.into()));
    }

    /// Adds a conditional edge.
    pub fn route(
        &mut self,
        from: impl Into<Endpoint>,
        decide: Decide,
        targets: Option<Vec<(Endpoint, Option<String>)>>,
    ) {
        self.routes.push(DraftRoute { from: from.into(), decide, targets });
    }

    /// Names a node that runs will stop before or after, so that it is checked.
    pub fn breakpoint(&mut self, name: &str) {
        if name != "*" {
            self.breakpoints.push(name.to_owned());
        }
    }

    /// Says how threads of a version of the state are read by a later one.
    pub fn migrate(&mut self, from: u32, migration: Migration) {
        self.migrations.add(from, migration);
    }

    /// Adds a problem found outside, so that it is listed with the others.
    pub fn complain(&mut self, problem: impl Into<String>) {
        self.complaints.push(problem.into());
    }

    /// The name of a node in the making.
    #[must_use]
    pub fn name_of(&self, id: NodeId) -> Option<&str> {
        self.nodes.get(id.index()).map(|node| &*node.name)
    }

    /// The compiled graph. Later changes to the builder do not change it.
    ///
    /// # Errors
    /// Lists every problem, not only the first.
    pub fn compile(&self) -> Result<Topology> {
        self.compile_with(Vec::new())
    }

    /// As [`Builder::compile`]; what was found outside is listed with the other problems.
    ///
    /// # Errors
    /// Lists every problem, not only the first.
    pub fn compile_with(&self, found: Vec<String>) -> Result<Topology> {
        validate::compile(self, found)
    }
}
