//! The built-in kinds of nodes, over a state that is declared at run time.
//!
//! A graph file is made of them, and so is the Rust that a file is written as. Each sees the fields of the state and,
//! where a [`MapNode`] has started it, the item it was given, under the item's name.

use std::borrow::Cow;

use serde_json::Value;
use superstep_core::error::Result;
use superstep_core::message::{Message, Messages};
use superstep_core::record::Record;

use crate::context::Cx;
use crate::extract::{FromTask, Sent, View};
use crate::model::Prompt;
use crate::output::NodeError;

mod ask;
mod condition;
mod map;
mod model;
mod set;

pub use ask::AskNode;
pub use condition::ConditionNode;
pub use map::MapNode;
pub use model::ModelNode;
pub use set::SetNode;

/// What a node of a built-in kind sees: the item it was sent, in front of the fields of the state.
pub(super) struct Values {
    state: View<Record>,
    sent: Value,
}

impl Values {
    fn of(cx: &Cx) -> Result<Self, NodeError> {
        let state = <View<Record> as FromTask<Record, ()>>::from_task(cx)?;
        let sent = <Option<Sent<Value>> as FromTask<Record, ()>>::from_task(cx)?;
        Ok(Self { state, sent: sent.map_or(Value::Null, |sent| sent.0) })
    }

    pub(super) fn get(&self, name: &str) -> Cow<'_, Value> {
        self.sent.get(name).map_or_else(|| self.state.get(name), Cow::Borrowed)
    }

    pub(super) fn messages(&self, name: &str) -> Option<&Messages> {
        self.state.messages(name)
    }

    /// The value in a text: a text as it is, nothing for null, messages line by line, the rest as JSON.
    fn text(&self, name: &str) -> String {
        if let (None, Some(messages)) = (self.sent.get(name), self.messages(name)) {
            let line = |message: &Message| {
                let role = serde_json::to_value(message.role).unwrap_or_default();
                format!("{}: {}", role.as_str().unwrap_or_default(), message.text())
            };
            return messages.iter().map(line).collect::<Vec<_>>().join("\n");
        }
        match &*self.get(name) {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    /// The prompt with the values of its placeholders.
    fn fill(&self, prompt: &Prompt) -> Result<Message> {
        let values: Vec<(&str, String)> =
            prompt.placeholders().into_iter().map(|name| (name, self.text(name))).collect();
        let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
        prompt.render(&values)
    }
}
