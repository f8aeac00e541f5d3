//! Components that a graph file references by name: models, tools, nodes in Rust, other graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{SharedCheckpointer, SharedModel, SharedTool};
use superstep_core::state::GraphState;
use superstep_core::suggest::did_you_mean_or_list;

use crate::graph::builder::StateGraph;
use crate::graph::compiled::CompiledGraph;
use crate::graph::handler::{DynNode, IntoNode};
use crate::graph::node::NodePolicies;
use crate::store::SharedStore;

/// Components that graph files reference by name, with the checkpointer and the store. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use superstep::files::Components;
/// use superstep::models::ScriptedModel;
/// use superstep::prelude::*;
/// use superstep::DynamicState;
///
/// /// Looks an order up.
/// #[tool(read_only)]
/// fn order(number: u64) -> String { format!("order {number} is on its way") }
///
/// let parts = Components::new()
///     .model("small", ScriptedModel::new(["billing"]))
///     .tool(order())
///     .node("count", |page: View<DynamicState>| json!({ "words": page.get("text").as_str().unwrap_or("").len() }))
///     .checkpointer(MemoryCheckpointer::new());
/// # let _ = parts;
/// ```
#[derive(Clone, Default)]
pub struct Components {
    models: BTreeMap<String, SharedModel>,
    tools: BTreeMap<String, SharedTool>,
    nodes: BTreeMap<String, ComponentNode>,
    graphs: BTreeMap<String, ComponentNode>,
    checkpointer: Option<SharedCheckpointer>,
    store: Option<SharedStore>,
}

/// A registered node or graph, usable as a node of any graph over [`DynamicState`].
#[derive(Clone)]
pub struct ComponentNode {
    action: Arc<dyn DynNode>,
    policies: NodePolicies,
}

impl ComponentNode {
    pub(super) fn new<M>(node: impl IntoNode<DynamicState, (), M>) -> Self {
        let (action, policies) = node.into_parts();
        Self { action, policies }
    }
}

/// Marker of nodes from components.
pub struct ComponentMarker;

#[diagnostic::do_not_recommend]
impl IntoNode<DynamicState, (), ComponentMarker> for ComponentNode {
    fn into_dyn_node(self) -> Arc<dyn DynNode> {
        self.action
    }

    fn into_parts(self) -> (Arc<dyn DynNode>, NodePolicies) {
        (self.action, self.policies)
    }
}

impl Components {
    /// Creates an empty set of components.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, model: impl Into<SharedModel>) -> Self {
        self.models.insert(name.into(), model.into());
        self
    }

    /// Adds a tool under its own name.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<SharedTool>) -> Self {
        let tool = tool.into();
        self.tools.insert(tool.spec().name.clone(), tool);
        self
    }

    /// Adds several tools.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Adds a node in Rust.
    #[must_use]
    pub fn node<M>(mut self, name: impl Into<String>, node: impl IntoNode<DynamicState, (), M>) -> Self {
        self.nodes.insert(name.into(), ComponentNode::new(node));
        self
    }

    /// Adds a compiled graph over a state of any type.
    #[must_use]
    pub fn graph<S: GraphState>(mut self, name: impl Into<String>, graph: CompiledGraph<S>) -> Self {
        self.graphs.insert(name.into(), ComponentNode::new(graph));
        self
    }

    /// Sets the checkpointer of threads.
    #[must_use]
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// Sets the long-term store.
    #[must_use]
    pub fn store(mut self, store: impl Into<SharedStore>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// Returns the model with this name.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn find_model(&self, name: &str) -> Result<SharedModel> {
        find("model", &self.models, name)
    }

    /// Returns the tools with these names.
    ///
    /// # Errors
    /// Returns an error if there is none for a name.
    pub fn find_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<SharedTool>> {
        names.into_iter().map(|name| find("tool", &self.tools, name)).collect()
    }

    /// Returns the node with this name.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn find_node(&self, name: &str) -> Result<ComponentNode> {
        find("node", &self.nodes, name)
    }

    /// Returns the graph with this name.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn find_graph(&self, name: &str) -> Result<ComponentNode> {
        find("graph", &self.graphs, name)
    }

    /// Sets the checkpointer and the store of a graph.
    pub fn apply_storage(&self, graph: &mut StateGraph<DynamicState>) {
        if let Some(checkpointer) = &self.checkpointer {
            graph.checkpointer(checkpointer.clone());
        }
        if let Some(store) = &self.store {
            graph.store(store.clone());
        }
    }
}

fn find<T: Clone>(kind: &str, components: &BTreeMap<String, T>, name: &str) -> Result<T> {
    components.get(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = components.keys().map(String::as_str).collect();
        let help = match names.as_slice() {
            [] => format!("add it: `Components::new().{kind}(..)`"),
            names => did_you_mean_or_list(name, names),
        };
        Error::new(ErrorCode::InvalidGraph, format!("the components have no {kind} `{name}`")).with_help(help)
    })
}
