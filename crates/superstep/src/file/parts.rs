//! What a graph file calls by name: models, tools, nodes in Rust, other graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{SharedCheckpointer, SharedModel, SharedTool};
use superstep_core::record::Record;
use superstep_core::state::State;
use superstep_core::suggest::known_names;

use crate::compiled::Compiled;
use crate::graph::Graph;
use crate::handler::{Action, IntoNode};
use crate::node::Policies;
use crate::store::SharedStore;

/// What graph files call by name, and where their threads are kept. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use superstep::file::Parts;
/// use superstep::model::Scripted;
/// use superstep::prelude::*;
/// use superstep::Record;
///
/// /// Looks an order up.
/// #[tool(read_only)]
/// fn order(number: u64) -> String { format!("order {number} is on its way") }
///
/// let parts = Parts::new()
///     .model("small", Scripted::new(["billing"]))
///     .tool(order())
///     .node("count", |page: View<Record>| json!({ "words": page.get("text").as_str().unwrap_or("").len() }))
///     .checkpointer(Memory::new());
/// # let _ = parts;
/// ```
#[derive(Clone, Default)]
pub struct Parts {
    models: BTreeMap<String, SharedModel>,
    tools: BTreeMap<String, SharedTool>,
    nodes: BTreeMap<String, PartNode>,
    graphs: BTreeMap<String, PartNode>,
    checkpointer: Option<SharedCheckpointer>,
    store: Option<SharedStore>,
}

/// A node or a graph among the parts; a node of any graph over [`Record`].
#[derive(Clone)]
pub struct PartNode {
    action: Arc<dyn Action>,
    policies: Policies,
}

impl PartNode {
    pub(super) fn new<M>(node: impl IntoNode<Record, (), M>) -> Self {
        let (action, policies) = node.into_parts();
        Self { action, policies }
    }
}

/// Marks nodes that come from the parts.
pub struct Given;

#[diagnostic::do_not_recommend]
impl IntoNode<Record, (), Given> for PartNode {
    fn into_action(self) -> Arc<dyn Action> {
        self.action
    }

    fn into_parts(self) -> (Arc<dyn Action>, Policies) {
        (self.action, self.policies)
    }
}

impl Parts {
    /// No parts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, model: impl Into<SharedModel>) -> Self {
        self.models.insert(name.into(), model.into());
        self
    }

    /// A tool, under the name models call it by.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<SharedTool>) -> Self {
        let tool = tool.into();
        self.tools.insert(tool.spec().name.clone(), tool);
        self
    }

    /// Several tools.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// A node in Rust.
    #[must_use]
    pub fn node<M>(mut self, name: impl Into<String>, node: impl IntoNode<Record, (), M>) -> Self {
        self.nodes.insert(name.into(), PartNode::new(node));
        self
    }

    /// A graph that is compiled already, over a state of whatever type.
    #[must_use]
    pub fn graph<S: State>(mut self, name: impl Into<String>, graph: Compiled<S>) -> Self {
        self.graphs.insert(name.into(), PartNode::new(graph));
        self
    }

    /// Where threads are kept.
    #[must_use]
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    /// The long-term store.
    #[must_use]
    pub fn store(mut self, store: impl Into<SharedStore>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// The model of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_model(&self, name: &str) -> Result<SharedModel> {
        find("model", &self.models, name)
    }

    /// The tools of these names.
    ///
    /// # Errors
    /// When there is none of a name.
    pub fn find_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<SharedTool>> {
        names.into_iter().map(|name| find("tool", &self.tools, name)).collect()
    }

    /// The node of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_node(&self, name: &str) -> Result<PartNode> {
        find("node", &self.nodes, name)
    }

    /// The graph of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_graph(&self, name: &str) -> Result<PartNode> {
        find("graph", &self.graphs, name)
    }

    /// Gives a graph the checkpointer and the store.
    pub fn equip(&self, graph: &mut Graph<Record>) {
        if let Some(checkpointer) = &self.checkpointer {
            graph.checkpointer(checkpointer.clone());
        }
        if let Some(store) = &self.store {
            graph.store(store.clone());
        }
    }
}

fn find<T: Clone>(what: &str, known: &BTreeMap<String, T>, name: &str) -> Result<T> {
    known.get(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let help = match names.as_slice() {
            [] => format!("add it: `Parts::new().{what}(..)`"),
            names => known_names(name, names),
        };
        Error::new(Code::InvalidGraph, format!("there is no {what} `{name}` among the parts")).help(help)
    })
}
