//! Pending tool calls: the calls of the last model message without a result.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_core::change::Change;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::hash_id;
use superstep_core::message::{Message, Messages, Role, ToolCall};

use crate::engine::context::TaskContext;

/// Returns true if the last model message has tool calls without results: for a conditional edge to a
/// [`crate::tools::ToolNode`].
///
/// ```
/// use superstep::core::message::ToolCall;
/// use superstep::prelude::*;
/// use superstep::tools::has_pending_tool_calls;
///
/// let asks = Message::assistant("").with_tool_calls([ToolCall::new("c1", "add", serde_json::json!({}))]);
/// let messages: Messages = [Message::user("1 + 1?"), asks].into_iter().collect();
/// assert!(has_pending_tool_calls(&messages));
/// ```
#[must_use]
pub fn has_pending_tool_calls(messages: &Messages) -> bool {
    last_with_open_calls(messages).is_some_and(|(_, open)| !open.is_empty())
}

/// Rejects a history that providers do not accept: one with tool calls without results.
///
/// # Errors
/// Returns an error that names the open calls.
pub fn ensure_tool_results(messages: &Messages) -> Result<()> {
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
    Err(Error::new(ErrorCode::InputInvalid, format!("tool calls without a result: {}", open.join(", ")))
        .with_help("run them in a `ToolNode`, or close them with `add_missing_tool_results`"))
}

/// Returns the last model message, and the indexes of its open calls.
fn last_with_open_calls(messages: &Messages) -> Option<(&Arc<Message>, Vec<usize>)> {
    let mut answered_ids = BTreeSet::new();
    for message in messages.iter_arcs().rev() {
        match message.role {
            Role::Assistant => {
                let calls = message.tool_calls.iter().enumerate();
                let open = calls.filter(|(_, call)| !answered_ids.contains(call.id.as_str())).map(|(index, _)| index);
                return Some((message, open.collect()));
            }
            Role::Tool => answered_ids.extend(message.tool_call_id.as_deref()),
            _ => {}
        }
    }
    None
}

/// The last model message, with the indexes of its open calls.
pub(super) struct PendingToolCalls {
    pub(super) message: Arc<Message>,
    open: Vec<usize>,
    /// True if the calls come from a node instead of a model message.
    is_direct_call: bool,
}

impl PendingToolCalls {
    /// Creates the calls of a node, all of them open.
    pub(super) fn from_node(message: Message) -> Self {
        let open = (0..message.tool_calls.len()).collect();
        Self { message: Arc::new(message), open, is_direct_call: true }
    }

    /// Reads the pending calls from the state of a task.
    pub(super) fn read(cx: &TaskContext, field: &str) -> Result<Self> {
        let schema = &cx.0.shared.program.topology.schema;
        let Some(id) = schema.find(field) else {
            return Err(Error::new(
                ErrorCode::UnknownField,
                format!("a `ToolNode` reads the messages of field `{field}`, which the state does not have"),
            )
            .with_help("set the field: `ToolNode::new(..).messages_field(\"..\")`"));
        };
        let value = schema.field(id).ops.delta(&**cx.view(), &Change::Set);
        let messages: Messages = value.into_value().map_err(|error| {
            Error::new(ErrorCode::TypeMismatch, format!("field `{field}` is not a message list: {error}"))
        })?;
        let pending = last_with_open_calls(&messages).map(|(message, open)| Self {
            message: message.clone(),
            open,
            is_direct_call: false,
        });
        pending.ok_or_else(|| {
            Error::new(ErrorCode::InvalidRoute, format!("`{field}` contains no assistant message"))
                .with_help("route to a `ToolNode` only if `has_pending_tool_calls` returns true")
        })
    }

    /// Returns the name of a call in the recorded results of its task. A node may run another call with the same id,
    /// which must not get the result or approval of the first one; in a message the index distinguishes calls.
    pub(super) fn name(&self, index: usize) -> String {
        let ToolCall { id, name, args, .. } = &self.message.tool_calls[index];
        if !self.is_direct_call {
            return format!("{index} {id}");
        }
        let call_hash = hash_id(&[name.as_bytes(), args.to_string().as_bytes()]);
        format!("{index} {id} {call_hash:032x}")
    }

    /// Returns the open calls with their indexes.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        self.open.iter().map(|index| (*index, &self.message.tool_calls[*index]))
    }
}
