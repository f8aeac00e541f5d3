//! What the model asks for: the calls of its last message that nobody has answered.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_core::change::Change;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::derive;
use superstep_core::message::{Message, Messages, Role, ToolCall};

use crate::context::Cx;

/// Whether the last message asks for tools and waits for answers: for a route to a [`crate::tool::ToolNode`].
///
/// ```
/// use superstep::core::message::ToolCall;
/// use superstep::prelude::*;
/// use superstep::tool::wants_tools;
///
/// let asks = Message::assistant("").with_tool_calls([ToolCall::new("c1", "add", serde_json::json!({}))]);
/// let messages: Messages = [Message::user("1 + 1?"), asks].into_iter().collect();
/// assert!(wants_tools(&messages));
/// ```
#[must_use]
pub fn wants_tools(messages: &Messages) -> bool {
    last(messages).is_some_and(|(_, open)| !open.is_empty())
}

/// Refuses a history that no provider takes: one with calls that nobody answered.
///
/// # Errors
/// Names the open calls.
pub fn ensure_answered(messages: &Messages) -> Result<()> {
    let mut open: Vec<&ToolCall> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            open.retain(|call| message.tool_call_id.as_deref() != Some(call.id.as_str()));
        }
        open.extend(&message.tool_calls);
    }
    if open.is_empty() {
        return Ok(());
    }
    let open: Vec<String> = open.iter().map(|call| format!("`{}` of `{}`", call.id, call.name)).collect();
    Err(Error::new(Code::InputInvalid, format!("calls of tools have no answer: {}", open.join(", ")))
        .help("run them in a `ToolNode`, or close them with `close_unanswered`"))
}

/// The last message of the model, and the places of its open calls.
fn last(messages: &Messages) -> Option<(&Arc<Message>, Vec<usize>)> {
    let mut answered = BTreeSet::new();
    for message in messages.shared().rev() {
        match message.role {
            Role::Assistant => {
                let calls = message.tool_calls.iter().enumerate();
                let open = calls.filter(|(_, call)| !answered.contains(call.id.as_str())).map(|(place, _)| place);
                return Some((message, open.collect()));
            }
            Role::Tool => answered.extend(message.tool_call_id.as_deref()),
            _ => {}
        }
    }
    None
}

/// The last message of the model, and its open calls by their place.
pub(super) struct Turn {
    pub(super) message: Arc<Message>,
    open: Vec<usize>,
    /// The calls are not a model's message, but what a node asks for by itself.
    is_of_node: bool,
}

impl Turn {
    /// Calls of a node, all open.
    pub(super) fn of(message: Message) -> Self {
        let open = (0..message.tool_calls.len()).collect();
        Self { message: Arc::new(message), open, is_of_node: true }
    }

    /// What the model asks for in the state of a task.
    pub(super) fn read(cx: &Cx, field: &str) -> Result<Self> {
        let schema = &cx.0.shared.program.topology.schema;
        let Some(id) = schema.find(field) else {
            return Err(Error::new(
                Code::UnknownField,
                format!("a `ToolNode` reads the messages of field `{field}`, which the state lacks"),
            )
            .help("name the field: `ToolNode::new(..).messages(\"..\")`"));
        };
        let value = schema.field(id).ops.part(&**cx.view(), &Change::Set);
        let messages: Messages = value.take().map_err(|fault| {
            Error::new(Code::TypeMismatch, format!("field `{field}` is no list of messages: {fault}"))
        })?;
        let found = last(&messages).map(|(message, open)| Self { message: message.clone(), open, is_of_node: false });
        found.ok_or_else(|| {
            Error::new(Code::InvalidRoute, format!("no message of an assistant is in `{field}`"))
                .help("lead to a `ToolNode` only where `wants_tools` says so")
        })
    }

    /// What a call is known by in the records of its task. A node may come back with another call of the same id, which
    /// must not be given the first one's answer or approval; in a message its place tells a call apart.
    pub(super) fn name(&self, place: usize) -> String {
        let ToolCall { id, name, args, .. } = &self.message.tool_calls[place];
        if !self.is_of_node {
            return format!("{place} {id}");
        }
        let what = derive(&[name.as_bytes(), args.to_string().as_bytes()]);
        format!("{place} {id} {what:032x}")
    }

    /// The open calls with their places.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        self.open.iter().map(|place| (*place, &self.message.tool_calls[*place]))
    }
}
