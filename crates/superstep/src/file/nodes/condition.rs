//! A node that leads on by tests of fields.

use superstep_core::graph::Endpoint;
use superstep_core::record::Record;

use super::super::test::Test;
use super::Values;
use crate::context::Cx;
use crate::handler::Node;
use crate::output::{Command, NodeError};

/// Leads on by tests; the first that holds wins. Say with `goto` where it may lead.
///
/// ```
/// use serde_json::json;
/// use superstep::file::{ConditionNode, SetNode, Test};
/// use superstep::prelude::*;
/// use superstep::{Record, Schema};
///
/// let schema = Schema::from_json("page", &json!({ "score": { "type": "integer" }, "good": { "type": "boolean" } }))?;
/// let mut graph = Graph::<Record>::with_schema("page", schema);
/// let judge = ConditionNode::otherwise(END).when(Test::at_least("score", 5), "praise");
/// graph.node("judge", node(judge).goto(["praise".into(), END]));
/// graph.node("praise", SetNode::new().value("good", true));
/// graph.edge(START, "judge").edge("praise", END);
/// let done = graph.compile()?.run(json!({ "score": 7 })).wait()?;
/// assert_eq!(*done.state.get("good"), true);
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "give it to a graph"]
#[derive(Debug, Clone)]
pub struct ConditionNode {
    routes: Vec<(Test, Endpoint)>,
    otherwise: Endpoint,
}

impl ConditionNode {
    /// Leads here where no test holds.
    pub fn otherwise(to: impl Into<Endpoint>) -> Self {
        Self { routes: Vec::new(), otherwise: to.into() }
    }

    /// Leads here where this test holds and none before it does.
    pub fn when(mut self, test: Test, to: impl Into<Endpoint>) -> Self {
        self.routes.push((test, to.into()));
        self
    }
}

impl Node<Record> for ConditionNode {
    type Output = Command<Record>;

    async fn run(&self, cx: Cx) -> Result<Command<Record>, NodeError> {
        let values = Values::of(&cx)?;
        let route = self.routes.iter().find(|(test, _)| test.holds(&values));
        Ok(Command::goto(route.map_or(&self.otherwise, |(_, to)| to).clone()))
    }
}
