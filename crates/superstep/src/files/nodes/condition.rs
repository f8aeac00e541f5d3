//! Node that routes by conditions on fields.

use superstep_core::dynamic_state::DynamicState;
use superstep_core::graph::Endpoint;

use super::super::condition::Condition;
use super::NodeInputs;
use crate::engine::context::TaskContext;
use crate::graph::handler::Node;
use crate::graph::output::{Command, NodeError};

/// A node that routes by conditions; the first that is true applies. Declare its targets with `goto`.
///
/// ```
/// use serde_json::json;
/// use superstep::files::{ConditionNode, SetNode, Condition};
/// use superstep::prelude::*;
/// use superstep::{DynamicState, Schema};
///
/// let schema = Schema::from_json("page", &json!({ "score": { "type": "integer" }, "good": { "type": "boolean" } }))?;
/// let mut graph = StateGraph::<DynamicState>::with_schema("page", schema);
/// let judge = ConditionNode::default_to(END).when(Condition::at_least("score", 5), "praise");
/// graph.add_node("judge", node(judge).goto_targets(["praise".into(), END]));
/// graph.add_node("praise", SetNode::new().value("good", true));
/// graph.add_edge(START, "judge").add_edge("praise", END);
/// let done = graph.compile()?.invoke(json!({ "score": 7 })).wait_blocking()?;
/// assert_eq!(*done.state.get("good"), true);
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a node has no effect until it is added to a graph"]
#[derive(Debug, Clone)]
pub struct ConditionNode {
    routes: Vec<(Condition, Endpoint)>,
    default_to: Endpoint,
}

impl ConditionNode {
    /// Creates a node that goes to `to` if no condition is true.
    pub fn default_to(to: impl Into<Endpoint>) -> Self {
        Self { routes: Vec::new(), default_to: to.into() }
    }

    /// Adds a target for a condition, evaluated after the previous ones.
    pub fn when(mut self, test: Condition, to: impl Into<Endpoint>) -> Self {
        self.routes.push((test, to.into()));
        self
    }
}

impl Node<DynamicState> for ConditionNode {
    type Output = Command<DynamicState>;

    async fn run(&self, cx: TaskContext) -> Result<Command<DynamicState>, NodeError> {
        let values = NodeInputs::from_task(&cx)?;
        let route = self.routes.iter().find(|(test, _)| test.evaluate(&values));
        Ok(Command::goto(route.map_or(&self.default_to, |(_, to)| to).clone()))
    }
}
