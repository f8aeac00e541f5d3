//! Node that starts one task per item of a list.

use serde_json::{Map, Value};
use superstep_core::command::SendTo;
use superstep_core::dynamic_state::DynamicState;
use superstep_core::graph::Endpoint;

use super::NodeInputs;
use crate::engine::context::TaskContext;
use crate::graph::handler::Node;
use crate::graph::output::{Command, NodeError};

/// A node that starts a task of another node for each item of a list, all in one superstep. Declare its targets with
/// `goto`.
///
/// The payload of a task is an object with the item under its name. The updates of the tasks are applied in the order
/// of the items, so the field that they write needs a reducer.
#[must_use = "a node has no effect until it is added to a graph"]
#[derive(Debug, Clone)]
pub struct MapNode {
    over: String,
    to: Endpoint,
    item: String,
    when_empty: Endpoint,
}

impl MapNode {
    /// Creates a node that starts a task of node `to` for each item of the field `over`.
    pub fn new(over: impl Into<String>, to: impl Into<Endpoint>) -> Self {
        Self { over: over.into(), to: to.into(), item: "item".to_owned(), when_empty: Endpoint::End }
    }

    /// Sets the name of the item in the payload. Default: `item`.
    pub fn item(mut self, name: impl Into<String>) -> Self {
        self.item = name.into();
        self
    }

    /// Sets the target for an empty list. Default: the end.
    pub fn when_empty(mut self, to: impl Into<Endpoint>) -> Self {
        self.when_empty = to.into();
        self
    }
}

impl Node<DynamicState> for MapNode {
    type Output = Command<DynamicState>;

    async fn run(&self, cx: TaskContext) -> Result<Command<DynamicState>, NodeError> {
        let list = NodeInputs::from_task(&cx)?.get(&self.over).into_owned();
        let items = match list {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            _ => return Err(NodeError::new(format!("`{}` is not a list", self.over)).fatal()),
        };
        if items.is_empty() {
            return Ok(Command::goto(self.when_empty.clone()));
        }
        let sends = items.into_iter().map(|item| {
            let payload = Value::Object(Map::from_iter([(self.item.clone(), item)]));
            SendTo::new(self.to.clone(), payload)
        });
        Ok(sends.fold(Command::new(), Command::send))
    }
}
