//! The builder of a topology: accepts everything; [`TopologyBuilder::compile`] reports the mistakes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{BranchPolicy, Compat, Endpoint, RouteFn, Topology, validate};
use crate::diagram::Diagram;
use crate::error::Result;
use crate::id::NodeId;
use crate::migration::{Migration, Migrations};
use crate::schema::Schema;

/// Options of a node, without its action.
#[derive(Debug, Clone, Default)]
pub struct NodeOptions {
    /// True if the node waits until no other task is scheduled.
    pub defer: bool,
    /// Former names of the node, for stored threads.
    pub former_names: Vec<String>,
    /// Declared targets of its commands.
    pub goto_targets: Option<Vec<Endpoint>>,
    /// Fields it declares to read.
    pub reads: Option<Vec<String>>,
    /// Fields it declares to write.
    pub writes: Option<Vec<String>>,
    /// Policy for failed tasks of this node in one superstep.
    pub branch: BranchPolicy,
    /// Custom metadata for diagrams and streams.
    pub metadata: BTreeMap<String, Value>,
    /// Custom labels for streams.
    pub tags: Vec<String>,
    /// Diagram of the subgraph that the node runs.
    pub subgraph_diagram: Option<Box<Diagram>>,
}

pub(super) struct UncheckedNode {
    pub(super) name: Arc<str>,
    pub(super) has_action: bool,
    pub(super) options: NodeOptions,
}

pub(super) struct UncheckedRoute {
    pub(super) from: Endpoint,
    pub(super) decide: RouteFn,
    pub(super) targets: Option<Vec<(Endpoint, Option<String>)>>,
}

/// A graph before its compilation.
pub struct TopologyBuilder {
    pub(super) name: Arc<str>,
    pub(super) schema: Arc<Schema>,
    pub(super) input: Option<Vec<String>>,
    pub(super) output: Option<Vec<String>>,
    pub(super) compat: Compat,
    pub(super) nodes: Vec<UncheckedNode>,
    pub(super) edges: Vec<(Endpoint, Endpoint)>,
    pub(super) joins: Vec<(Vec<Endpoint>, Endpoint)>,
    pub(super) routes: Vec<UncheckedRoute>,
    pub(super) breakpoints: Vec<String>,
    pub(super) diagnostics: Vec<String>,
    pub(super) migrations: Migrations,
    pub(super) tag: u32,
}

impl TopologyBuilder {
    /// Creates an empty graph over a state.
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
            diagnostics: Vec::new(),
            migrations: Migrations::default(),
            tag: 0,
        }
    }

    /// Returns the schema of the state.
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

    /// Sets the tag that distinguishes handles of this graph from those of others.
    pub fn tag(&mut self, tag: u32) {
        self.tag = tag;
    }

    /// Sets the compatibility mode.
    pub fn compat(&mut self, compat: Compat) {
        self.compat = compat;
    }

    /// Adds a node. A node without an action must get one before the graph is compiled.
    pub fn node(&mut self, name: &str, has_action: bool, options: NodeOptions) -> NodeId {
        self.nodes.push(UncheckedNode { name: name.into(), has_action, options });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Marks the node as having an action and sets its options.
    pub fn define(&mut self, id: NodeId, options: NodeOptions) {
        if let Some(node) = self.nodes.get_mut(id.index()) {
            node.has_action = true;
            node.options = options;
        }
    }

    /// Replaces the schema of the state; only valid before the first node is added.
    pub fn set_schema(&mut self, schema: Arc<Schema>) {
        self.schema = schema;
    }

    /// Returns the options of a node.
    pub fn options_mut(&mut self, id: NodeId) -> Option<&mut NodeOptions> {
        self.nodes.get_mut(id.index()).map(|node| &mut node.options)
    }

    /// Adds an edge.
    pub fn edge(&mut self, from: impl Into<Endpoint>, to: impl Into<Endpoint>) {
        self.edges.push((from.into(), to.into()));
    }

    /// Adds a join: `to` is scheduled when all sources have finished since the join last fired.
    pub fn join(&mut self, from: impl IntoIterator<Item = impl Into<Endpoint>>, to: impl Into<Endpoint>) {
        self.joins.push((from.into_iter().map(Into::into).collect(), to.into()));
    }

    /// Adds a conditional edge.
    pub fn route(
        &mut self,
        from: impl Into<Endpoint>,
        decide: RouteFn,
        targets: Option<Vec<(Endpoint, Option<String>)>>,
    ) {
        self.routes.push(UncheckedRoute { from: from.into(), decide, targets });
    }

    /// Adds the name of a breakpoint, so that compilation checks that the node exists.
    pub fn breakpoint(&mut self, name: &str) {
        if name != "*" {
            self.breakpoints.push(name.to_owned());
        }
    }

    /// Adds a migration for threads whose state has version `from`.
    pub fn migrate(&mut self, from: u32, migration: Migration) {
        self.migrations.add(from, migration);
    }

    /// Adds a diagnostic that was found elsewhere, so that it is listed with the others.
    pub fn add_diagnostic(&mut self, diagnostic: impl Into<String>) {
        self.diagnostics.push(diagnostic.into());
    }

    /// Returns the name of a node.
    #[must_use]
    pub fn name_of(&self, id: NodeId) -> Option<&str> {
        self.nodes.get(id.index()).map(|node| &*node.name)
    }

    /// Compiles the graph. Later changes to the builder do not change the result.
    ///
    /// # Errors
    /// Returns an error that lists every mistake, not only the first.
    pub fn compile(&self) -> Result<Topology> {
        self.compile_with_diagnostics(Vec::new())
    }

    /// Same as [`TopologyBuilder::compile`]; the diagnostics in `diagnostics` are listed with the others.
    ///
    /// # Errors
    /// Returns an error that lists every mistake, not only the first.
    pub fn compile_with_diagnostics(&self, diagnostics: Vec<String>) -> Result<Topology> {
        validate::compile(self, diagnostics)
    }
}
