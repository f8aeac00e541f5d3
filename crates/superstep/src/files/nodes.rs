//! Built-in kinds of nodes, over a state that is declared at run time.
//!
//! Graph files and the Rust code that is generated from them use these nodes. Each node reads the fields of the state
//! and, in a task that a [`MapNode`] started, the item under its name.

use std::borrow::Cow;

use serde_json::Value;
use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::Result;
use superstep_core::message::{Message, Messages};

use crate::engine::context::TaskContext;
use crate::graph::extract::{FromTask, SendPayload, View};
use crate::graph::output::NodeError;
use crate::models::Prompt;

mod condition;
mod interrupt;
mod map;
mod model;
mod set;

pub use condition::ConditionNode;
pub use interrupt::InterruptNode;
pub use map::MapNode;
pub use model::ModelNode;
pub use set::SetNode;

/// Input of a node of a built-in kind: the item that was sent, before the fields of the state.
pub(super) struct NodeInputs {
    state: View<DynamicState>,
    payload: Value,
}

impl NodeInputs {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        let state = <View<DynamicState> as FromTask<DynamicState, ()>>::from_task(cx)?;
        let payload = <Option<SendPayload<Value>> as FromTask<DynamicState, ()>>::from_task(cx)?;
        Ok(Self { state, payload: payload.map_or(Value::Null, |payload| payload.0) })
    }

    pub(super) fn get(&self, name: &str) -> Cow<'_, Value> {
        self.payload.get(name).map_or_else(|| self.state.get(name), Cow::Borrowed)
    }

    pub(super) fn messages(&self, name: &str) -> Option<&Messages> {
        self.state.messages(name)
    }

    /// Returns a value as text: strings unchanged, null as empty text, messages line by line, everything else as
    /// JSON.
    fn text(&self, name: &str) -> String {
        if let (None, Some(messages)) = (self.payload.get(name), self.messages(name)) {
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

    /// Renders the prompt with the values of its placeholders.
    fn render(&self, prompt: &Prompt) -> Result<Message> {
        let values: Vec<(&str, String)> =
            prompt.placeholders().into_iter().map(|name| (name, self.text(name))).collect();
        let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
        prompt.render(&values)
    }
}
