//! Results of tool calls as tool messages and commands, and their combined output for the graph.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_core::checkpoint::{StoredParentCommand, StoredSend};
use superstep_core::command::{CommandScope, Goto, ParentCommand, SendTo, TaskOutput};
use superstep_core::error::{Error, ErrorCode};
use superstep_core::json_reducer::as_overwrite;
use superstep_core::message::{
    Content, ContentPart, Message, MessageUpdate, MessageUpdates, Role, ToolCall, ToolStatus,
};
use superstep_core::redaction::RedactionCounts;
use superstep_core::schema::Schema;
use superstep_core::state::UncheckedUpdate;
use superstep_core::tool::ToolOutput;
use superstep_core::update::{Update, Write, WriteMode};
use superstep_core::value::AnyValue;

use super::call::MAX_OUTPUT_BYTES;
use super::error_handling::ToolFailureKind;
use super::pending_calls::PendingToolCalls;
use super::truncate::truncate_output;
use crate::engine::context::TaskContext;
use crate::graph::output::{NodeError, update_by_field_name};

/// Result of one call, in a form that is recorded.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ToolCallResult {
    /// The tool message; `None` if the command contains it.
    message: Option<Message>,
    /// Command for this graph.
    #[serde(rename = "here")]
    graph_command: Option<StoredParentCommand>,
    /// Command for an ancestor graph.
    #[serde(rename = "out")]
    parent_command: Option<StoredParentCommand>,
    /// True if the command has a goto.
    #[serde(rename = "turns")]
    has_goto: bool,
    /// True if the command removes the existing messages.
    #[serde(rename = "clears")]
    clears_messages: bool,
}

impl ToolCallResult {
    fn with_message(message: Message) -> Self {
        Self {
            message: Some(message),
            graph_command: None,
            parent_command: None,
            has_goto: false,
            clears_messages: false,
        }
    }

    /// Returns the content for events: the content for the model, truncated to 256 KiB, regardless of the stored
    /// size. Events are stored too, and are sent to all subscribers.
    pub(crate) fn event_output(&self) -> Value {
        let short = |message: &Message| {
            serde_json::to_value(truncate_content(message.content.clone(), MAX_OUTPUT_BYTES).0).ok()
        };
        let content = self.message.as_ref().map(short);
        content.flatten().unwrap_or(Value::Null)
    }

    /// Returns the reason in one word if the call has no result.
    pub(crate) fn failure_name(&self) -> Option<&str> {
        // For a successful call, the tool itself sets the metadata.
        let message = self.message.as_ref().filter(|message| message.status == ToolStatus::Error)?;
        message.metadata.get("error").and_then(Value::as_str)
    }
}

/// Data of a call that is independent of its result.
pub(super) struct CallFrame<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) pending_calls: &'a PendingToolCalls,
    pub(super) field: &'a str,
    /// Maximum size of the output in bytes.
    pub(super) max_bytes: usize,
    pub(super) duration: Duration,
    /// Id of the message.
    pub(super) id: String,
    /// Number of redactions in its result.
    pub(super) redacted: RedactionCounts,
}

impl CallFrame<'_> {
    fn message(&self, content: Content) -> Message {
        let (content, original_bytes) = truncate_content(content, self.max_bytes);
        let message = Message::tool(&self.call.id, content).with_name(&self.call.name).with_id(self.id.as_str());
        let duration = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX);
        let mut message = message.with_metadata("tool", self.call.name.as_str()).with_metadata("duration_ms", duration);
        if !self.redacted.is_empty() {
            message = message.with_metadata("redacted", &self.redacted);
        }
        original_bytes.into_iter().fold(message, |message, bytes| message.with_metadata("cut_from_bytes", bytes))
    }

    /// Returns the result of a rejected call.
    pub(super) fn rejected(&self, reason: &str) -> ToolCallResult {
        let message = self.message(format!("not executed: {reason}").into());
        ToolCallResult::with_message(message.with_status(ToolStatus::Error).with_metadata("error", "refused"))
    }

    /// Returns the result of a failed call.
    pub(super) fn error(&self, text: &str, kind: ToolFailureKind) -> ToolCallResult {
        let message = self.message(text.into()).with_status(ToolStatus::Error);
        ToolCallResult::with_message(message.with_metadata("error", kind.name()))
    }

    /// Returns the result of a successful call.
    ///
    /// # Errors
    /// Returns an error message if its command does not contain a valid tool message for the call.
    pub(super) fn success(&self, cx: &TaskContext, output: ToolOutput) -> Result<ToolCallResult, String> {
        let ToolOutput { content, artifact, is_error, command, metadata, .. } = output;
        let mut message = self.message(content.unwrap_or_else(|| "done".into()));
        for (key, value) in metadata {
            message.metadata.entry(key).or_insert(value);
        }
        if let Some(artifact) = artifact {
            let bytes = artifact.to_string().len();
            let stored = if bytes > self.max_bytes { serde_json::json!({ "cut_from_bytes": bytes }) } else { artifact };
            message.metadata.insert("artifact".to_owned(), stored);
        }
        if is_error {
            message = message.with_status(ToolStatus::Error).with_metadata("error", ToolFailureKind::Failed.name());
        }
        let Some(command) = command else { return Ok(ToolCallResult::with_message(message)) };
        self.with_command(cx, message, *command)
    }

    fn with_command(&self, cx: &TaskContext, message: Message, command: TaskOutput) -> Result<ToolCallResult, String> {
        let schema = &cx.0.shared.program.topology.schema;
        let has_goto = command.goto.is_some();
        let mut goto = command.goto.unwrap_or_default();
        command.sends.into_iter().for_each(|send| goto = std::mem::take(&mut goto).and_send(send));
        let mut updates = Vec::new();
        for update in command.updates {
            match update {
                UncheckedUpdate::Json(map) => updates.push(map),
                UncheckedUpdate::Typed(update) => {
                    updates.extend(update_by_field_name(schema, update).map_err(|error| error.to_string())?)
                }
            }
        }
        let graph_command = ParentCommand { scope: CommandScope::Current, updates, goto };
        let graph_command = StoredParentCommand::from(&graph_command);
        let parent_command = command.parent_command.as_deref().map(StoredParentCommand::from);
        let (mut results, mut clears) = (0, false);
        let parent_updates = parent_command.iter().flat_map(|command| &command.updates);
        let updates = graph_command.updates.iter().chain(parent_updates);
        for (edit, is_here) in updates.zip(0..).flat_map(|(update, index)| {
            let is_here = index < graph_command.updates.len();
            edits(update, self.field).into_iter().map(move |edit| (edit, is_here))
        }) {
            match edit {
                MessageUpdate::RemoveAll => clears |= is_here,
                MessageUpdate::Put(message) => results += usize::from(self.is_result(&message)?),
                MessageUpdate::Remove(_) => {}
            }
        }
        if results > 1 {
            return Err(format!("tool `{}` returned {results} results for its call", self.call.name));
        }
        let message = Some(message).filter(|_| results == 0);
        Ok(ToolCallResult {
            message,
            graph_command: Some(graph_command),
            parent_command,
            has_goto,
            clears_messages: clears,
        })
    }

    /// Returns true if a message is the result of this call.
    fn is_result(&self, message: &Message) -> Result<bool, String> {
        let call_id = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool);
        match call_id {
            Some(id) if id == self.call.id => Ok(true),
            Some(id) if self.pending_calls.calls().any(|(_, call)| call.id == id) => {
                Err(format!("tool `{}` returned a result for another call", self.call.name))
            }
            _ => Ok(false),
        }
    }
}

/// Returns the message edits of an update; an update that replaces the list removes all messages first.
fn edits(update: &Map<String, Value>, field: &str) -> Vec<MessageUpdate> {
    let Some(value) = update.get(field) else { return Vec::new() };
    let (value, replaces) = match as_overwrite(value.clone()) {
        Ok(value) => (value, true),
        Err(value) => (value, false),
    };
    // An invalid value is rejected by the reducer, which reports its location.
    let edits = MessageUpdates::try_from(value).unwrap_or_default().0;
    replaces.then_some(MessageUpdate::RemoveAll).into_iter().chain(edits).collect()
}

/// Truncates content to `max_bytes` bytes, and returns its original size if it was longer.
fn truncate_content(content: Content, max_bytes: usize) -> (Content, Option<usize>) {
    let size = |part: &ContentPart| match part {
        ContentPart::Text { text, .. } => text.len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    };
    let total = match &content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts.iter().map(size).sum(),
    };
    if total <= max_bytes {
        return (content, None);
    }
    let mut remaining = max_bytes;
    let mut cut = |part: ContentPart| {
        let length = size(&part);
        let fits = length <= remaining;
        let available = remaining;
        remaining = remaining.saturating_sub(length);
        match part {
            part if fits => part,
            ContentPart::Text { text, .. } => ContentPart::text(truncate_output(&text, available)),
            _ => ContentPart::text(format!("[omitted: a part of {length} bytes]")),
        }
    };
    let content = match content {
        Content::Text(text) => Content::Text(truncate_output(&text, max_bytes)),
        Content::Parts(parts) => Content::Parts(parts.into_iter().map(&mut cut).collect()),
    };
    (content, Some(total))
}

/// Combines the results of all calls of a message: messages and updates in the order of the calls, and all goto
/// targets.
pub(super) fn combine(
    cx: &TaskContext,
    field: &str,
    pending_calls: &PendingToolCalls,
    all: Vec<ToolCallResult>,
) -> Result<TaskOutput, NodeError> {
    let schema = &cx.0.shared.program.topology.schema;
    let parent_command = merge_parent_commands(cx, field, pending_calls, &all)?;
    // If the history was removed, a result would have no call.
    let clears = all.iter().any(|completed| completed.clears_messages);
    let mut output = TaskOutput::default();
    let mut tool_results = Vec::new();
    for completed in all {
        tool_results.extend(completed.message.filter(|_| !clears).map(MessageUpdate::Put));
        let Some(command) = completed.graph_command else { continue };
        if !command.updates.is_empty() {
            output.updates.extend(tool_result_update(schema, field, &mut tool_results));
            output.updates.extend(command.updates.into_iter().map(UncheckedUpdate::Json));
        }
        if completed.has_goto {
            let goto = output.goto.get_or_insert_default();
            *goto = merge_goto(std::mem::take(goto), &command.goto, command.sends);
        } else {
            output.sends.extend(command.sends.into_iter().map(restore_send));
        }
    }
    output.updates.extend(tool_result_update(schema, field, &mut tool_results));
    output.parent_command = parent_command.map(|command| Box::new(command.into()));
    Ok(output)
}

/// Returns the tool messages of all calls.
///
/// # Errors
/// Returns an error if a call returned a command.
pub(super) fn messages(completed: Vec<ToolCallResult>) -> Result<Vec<Message>, NodeError> {
    let all = completed.into_iter().map(|completed| match completed {
        ToolCallResult { message: Some(message), graph_command: None, parent_command: None, .. } => Ok(message),
        _ => {
            let error = Error::new(ErrorCode::InvalidRoute, "the tool returned a command, but runs outside a graph");
            Err(error.with_help("run it in a `ToolNode` of the graph").into())
        }
    });
    all.collect()
}

/// Returns the tool messages so far as an update.
fn tool_result_update(schema: &Schema, field: &str, tool_results: &mut Vec<MessageUpdate>) -> Option<UncheckedUpdate> {
    let field = schema.find(field).filter(|_| !tool_results.is_empty())?;
    let value = AnyValue::native(MessageUpdates(std::mem::take(tool_results)));
    let mut update = Update::new();
    update.push(Write { field, mode: WriteMode::Reduce, value });
    Some(UncheckedUpdate::Typed(update))
}

fn merge_goto(mut goto: Goto, names: &[String], sends: Vec<(String, StoredSend)>) -> Goto {
    for name in names {
        let target = Goto::node(name.as_str());
        if !goto.targets().any(|existing| target.targets().any(|new| new == existing)) {
            goto.extend(target);
        }
    }
    sends.into_iter().for_each(|send| goto = std::mem::take(&mut goto).and_send(restore_send(send)));
    goto
}

fn restore_send((node, StoredSend { payload, timeout, .. }): (String, StoredSend)) -> SendTo {
    SendTo { node: node.as_str().into(), payload, timeout }
}

/// Combines the commands for ancestor graphs into one. A command that ends this graph would discard the results of
/// the other calls: they are added to the command if the target graph has a message list with the same name.
fn merge_parent_commands(
    cx: &TaskContext,
    field: &str,
    pending_calls: &PendingToolCalls,
    all: &[ToolCallResult],
) -> Result<Option<StoredParentCommand>, NodeError> {
    let mut commands = all.iter().filter_map(|completed| completed.parent_command.as_ref());
    let Some(mut merged) = commands.next().cloned() else { return Ok(None) };
    for command in commands {
        if command.graph != merged.graph {
            let error = Error::new(
                ErrorCode::InvalidRoute,
                "two tools returned commands for different parent \
                 graphs",
            );
            return Err(error.with_help("hand off to one graph at a time").into());
        }
        merged.updates.extend(command.updates.iter().cloned());
        merged.sends.extend(command.sends.iter().cloned());
        let new: Vec<String> = command.goto.iter().filter(|name| !merged.goto.contains(name)).cloned().collect();
        merged.goto.extend(new);
    }
    if !has_messages(cx, merged.graph.as_deref(), field) {
        return Ok(Some(merged));
    }
    let message_updates: Vec<MessageUpdate> = merged.updates.iter().flat_map(|update| edits(update, field)).collect();
    let is_included = |candidate: &Message| {
        message_updates.iter().any(
            |edit| matches!(edit, MessageUpdate::Put(message) if message.id.is_some() && message.id == candidate.id),
        )
    };
    let tool_results = all.iter().filter_map(|completed| completed.message.as_ref());
    let missing: Vec<&Message> =
        std::iter::once(&*pending_calls.message).chain(tool_results).filter(|message| !is_included(message)).collect();
    let missing = serde_json::to_value(missing)?;
    merged.updates.insert(0, Map::from_iter([(field.to_owned(), missing)]));
    Ok(Some(merged))
}

/// Returns true if the target graph has a message list with this name.
fn has_messages(cx: &TaskContext, graph: Option<&str>, field: &str) -> bool {
    let mut outer = cx.0.shared.parent_task.as_ref();
    while let Some(parent_cx) = outer {
        let topology = &parent_cx.0.shared.program.topology;
        if graph.is_none_or(|name| *topology.name == *name) {
            let target_field = topology.schema.find(field).map(|id| topology.schema.field(id));
            return target_field.is_some_and(|target_field| target_field.reducer.as_deref() == Some("add_messages"));
        }
        outer = parent_cx.0.shared.parent_task.as_ref();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-79: a long stored result is truncated in events.
    #[test]
    fn events_truncate_long_output() {
        for (length, is_complete) in [(200_000, true), (4_000_000, false)] {
            let completed = ToolCallResult::with_message(Message::tool("c1", "x".repeat(length)));
            let output = completed.event_output();
            let output = output.as_str().unwrap();
            assert!(output.len() <= MAX_OUTPUT_BYTES + 100, "{}", output.len());
            assert_eq!(output.len() == length, is_complete, "{length}");
        }
    }
}
