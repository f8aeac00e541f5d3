//! A node that starts a task for each item of a list.

use serde_json::{Map, Value};
use superstep_core::command::Send;
use superstep_core::graph::Endpoint;
use superstep_core::record::Record;

use super::Values;
use crate::context::Cx;
use crate::handler::Node;
use crate::output::{Command, NodeError};

/// Starts a task of a node for each item of a list, all in one superstep. Say with `goto` where it may lead.
///
/// The task is sent an object with the item under its name. What the tasks write is folded in the order of the items,
/// so the field they write needs a reducer.
#[must_use = "give it to a graph"]
#[derive(Debug, Clone)]
pub struct MapNode {
    over: String,
    to: Endpoint,
    item: String,
    otherwise: Endpoint,
}

impl MapNode {
    /// For each item of the field `over`, a task of the node `to`.
    pub fn new(over: impl Into<String>, to: impl Into<Endpoint>) -> Self {
        Self { over: over.into(), to: to.into(), item: "item".to_owned(), otherwise: Endpoint::End }
    }

    /// What the item is called there; `item` unless told.
    pub fn item(mut self, name: impl Into<String>) -> Self {
        self.item = name.into();
        self
    }

    /// Where to go on when the list is empty; the end unless told.
    pub fn otherwise(mut self, to: impl Into<Endpoint>) -> Self {
        self.otherwise = to.into();
        self
    }
}

impl Node<Record> for MapNode {
    type Output = Command<Record>;

    async fn run(&self, cx: Cx) -> Result<Command<Record>, NodeError> {
        let list = Values::of(&cx)?.get(&self.over).into_owned();
        let items = match list {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            _ => return Err(NodeError::new(format!("`{}` is not a list", self.over)).fatal()),
        };
        if items.is_empty() {
            return Ok(Command::goto(self.otherwise.clone()));
        }
        let sends = items.into_iter().map(|item| {
            let payload = Value::Object(Map::from_iter([(self.item.clone(), item)]));
            Send::new(self.to.clone(), payload)
        });
        Ok(sends.fold(Command::new(), Command::send))
    }
}
