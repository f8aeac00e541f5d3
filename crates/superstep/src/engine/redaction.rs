//! Redaction of everything that enters a graph: inputs, updates, commands, interrupts, resume values.
//!
//! Applied to node outputs before they are reduced. A live value is converted through JSON only if something in it is
//! redacted, and is deserialized again by its reducer.

use std::iter::successors;

use serde_json::Value;
use superstep_core::checkpoint::Interrupt;
use superstep_core::command::{Goto, GotoTarget, SendTo, TaskOutput};
use superstep_core::error::Error;
use superstep_core::machine::{Resume, StateUpdate, TaskEnd};
use superstep_core::message::{MessageUpdate, MessageUpdates};
use superstep_core::redaction::{Redaction, RedactionCounts};
use superstep_core::schema::Schema;
use superstep_core::state::UncheckedUpdate;
use superstep_core::update::{Update, Write};
use superstep_core::value::AnyValue;

use crate::engine::context::{RunShared, TaskContext};
use crate::events::event::ToolEvent;
use crate::graph::program::Program;
use crate::run::builder::{RunSpec, StartInput};

impl RunShared {
    /// Returns the redaction of the graph, or that of its nearest ancestor with one.
    pub(crate) fn redaction(&self) -> Option<&Redaction> {
        let redaction = self.program.settings.redaction.as_ref();
        redaction.or_else(|| self.parent_task.as_ref().and_then(|outer| outer.0.shared.redaction()))
    }

    /// Returns the redactions for events and errors of the graph: its own, and those of the tool calls in which the
    /// graph runs. Values inside the graph are not affected by the latter until they are the result of the tool.
    pub(crate) fn event_redactions(&self) -> impl Iterator<Item = &Redaction> {
        let ancestors = successors(self.parent_task.as_ref(), |cx| cx.0.shared.parent_task.as_ref());
        self.redaction().into_iter().chain(ancestors.filter_map(|cx| cx.0.cell.redaction.as_ref()))
    }

    /// Reports redactions to telemetry.
    pub(crate) fn count_redacted(&self, counts: &RedactionCounts) {
        if let Some(observer) = &self.observer {
            observer.redacted(counts);
        }
    }
}

/// Redacts the output of a node.
#[cold]
pub(crate) fn redact_node_output(cx: &TaskContext, redaction: &Redaction, output: &mut TaskOutput) {
    let schema = &cx.0.shared.program.topology.schema;
    let mut counts = RedactionCounts::default();
    redact_output(redaction, schema, output, &mut counts);
    cx.0.shared.count_redacted(&counts);
}

/// Returns the interrupts of a task after redaction.
pub(crate) fn redacted_interrupts(cx: &TaskContext) -> Vec<Interrupt> {
    let mut interrupts = cx.0.cell.take_interrupts();
    if let Some(redaction) = cx.0.shared.redaction() {
        cx.0.shared.count_redacted(&redact_interrupts(redaction, &mut interrupts));
    }
    interrupts
}

/// Redacts the error of a task, so that it can be stored. Retry policies have seen the original error.
#[cold]
pub(crate) fn redact_task_error(cx: &TaskContext, end: &mut TaskEnd) {
    if let TaskEnd::Failed(error) = end {
        *error = redact_error(cx, error.clone());
    }
}

/// Redacts an error, so that it can be stored.
pub(crate) fn redact_error(cx: &TaskContext, error: Error) -> Error {
    cx.0.shared.event_redactions().fold(error, |error, redaction| redaction.redact_error(error))
}

/// Redacts the input of a run.
pub(crate) fn redact_call(call: &mut RunSpec) {
    let program = call.program.clone();
    let Some(redaction) = &program.settings.redaction else { return };
    let (schema, mut counts) = (&program.topology.schema, RedactionCounts::default());
    match &mut call.input {
        StartInput::Values(update) => redact_update(redaction, schema, update, &mut counts),
        StartInput::Resume(Resume::Single(resume_value)) => redaction.redact_typed_json(resume_value, &mut counts),
        StartInput::Resume(Resume::ById(resume_values)) => {
            resume_values.values_mut().for_each(|resume_value| redaction.redact_typed_json(resume_value, &mut counts));
        }
        StartInput::Continue | StartInput::Invalid(_) => {}
    }
    if let Some(command) = &mut call.command {
        redact_output(redaction, schema, command, &mut counts);
    }
    redaction.redact_metadata(&mut call.metadata, &mut counts);
    if let Some(metrics) = &call.telemetry.metrics {
        metrics.all_redacted(&counts);
    }
}

/// Redacts external updates.
pub(crate) fn redact_updates(program: &Program, updates: &mut [StateUpdate]) {
    let (settings, schema, mut counts) = (&program.settings, &program.topology.schema, RedactionCounts::default());
    let Some(redaction) = &settings.redaction else { return };
    updates.iter_mut().for_each(|update| redact_update(redaction, schema, &mut update.update, &mut counts));
    if let Some(metrics) = &settings.telemetry.metrics {
        metrics.all_redacted(&counts);
    }
}

/// Redacts the output of a task, for this graph and its ancestors.
pub(crate) fn redact_output(
    redaction: &Redaction,
    schema: &Schema,
    output: &mut TaskOutput,
    counts: &mut RedactionCounts,
) {
    output.updates.iter_mut().for_each(|update| redact_update(redaction, schema, update, counts));
    output.sends.iter_mut().for_each(|send| redact_send(redaction, send, counts));
    if let Some(goto) = &mut output.goto {
        redact_goto(redaction, goto, counts);
    }
    if let Some(parent_command) = &mut output.parent_command {
        parent_command.updates.iter_mut().for_each(|update| redaction.redact_fields(update, counts));
        redact_goto(redaction, &mut parent_command.goto, counts);
    }
}

fn redact_goto(redaction: &Redaction, goto: &mut Goto, counts: &mut RedactionCounts) {
    if !goto.targets().any(|target| matches!(target, GotoTarget::Send(_))) {
        return;
    }
    let mut redacted = Goto::none();
    for target in std::mem::take(goto) {
        redacted = match target {
            GotoTarget::Node(node) => redacted.and_node(node),
            GotoTarget::Send(mut send) => {
                redact_send(redaction, &mut send, counts);
                redacted.and_send(*send)
            }
        };
    }
    *goto = redacted;
}

fn redact_send(redaction: &Redaction, send: &mut SendTo, counts: &mut RedactionCounts) {
    redact_any_value(&mut send.payload, counts, |value, counts| redaction.redact_typed_json(value, counts));
}

/// Redacts an update with fields of this schema.
pub(crate) fn redact_update(
    redaction: &Redaction,
    schema: &Schema,
    update: &mut UncheckedUpdate,
    counts: &mut RedactionCounts,
) {
    let typed = match update {
        UncheckedUpdate::Json(map) => return redaction.redact_fields(map, counts),
        UncheckedUpdate::Typed(typed) => std::mem::take(typed),
    };
    let mut redacted = Update::new();
    for mut write in typed {
        redact_write(redaction, schema, &mut write, counts);
        redacted.push(write);
    }
    *update = UncheckedUpdate::Typed(redacted);
}

fn redact_write(redaction: &Redaction, schema: &Schema, write: &mut Write, counts: &mut RedactionCounts) {
    // Message edits are redacted in place, because message ids must not change.
    if let Some(edits) = write.value.get::<MessageUpdates>() {
        let (mut edits, before) = (edits.clone(), counts.total());
        for edit in &mut edits.0 {
            if let MessageUpdate::Put(message) = edit {
                redaction.redact_message(message, counts);
            }
        }
        if counts.total() > before {
            write.value = AnyValue::native(edits);
        }
        return;
    }
    let field = &schema.field(write.field).name;
    redact_any_value(&mut write.value, counts, |value, counts| redaction.redact_field_value(field, value, counts));
}

/// Replaces a value by JSON if something in it is redacted. Returns true in that case.
pub(crate) fn redact_any_value(
    any_value: &mut AnyValue,
    counts: &mut RedactionCounts,
    redact: impl FnOnce(&mut Value, &mut RedactionCounts),
) -> bool {
    // A value that does not serialize to JSON cannot be stored either, and is rejected elsewhere.
    let Ok(mut value) = any_value.to_json() else { return false };
    let before = counts.total();
    redact(&mut value, counts);
    let is_changed = counts.total() > before;
    if is_changed {
        *any_value = AnyValue::json(value);
    }
    is_changed
}

fn redact_interrupts(redaction: &Redaction, interrupts: &mut [Interrupt]) -> RedactionCounts {
    let mut counts = RedactionCounts::default();
    for interrupt in interrupts {
        redaction.redact_typed_json(&mut interrupt.value, &mut counts);
        let texts = interrupt.prompt.iter_mut().chain([&mut interrupt.name]);
        texts.for_each(|text| redact_text(redaction, text, &mut counts));
    }
    counts
}

pub(crate) fn redact_text(redaction: &Redaction, text: &mut String, counts: &mut RedactionCounts) {
    if let std::borrow::Cow::Owned(redacted) = redaction.redact_text_counted(text, counts) {
        *text = redacted;
    }
}

/// Redacts an event of a tool call.
pub(crate) fn redact_tool_event(redaction: &Redaction, event: &mut ToolEvent) {
    let mut counts = RedactionCounts::default();
    match event {
        ToolEvent::Started { input: value }
        | ToolEvent::Progress { value }
        | ToolEvent::Ended { output: value, .. } => {
            redaction.redact_value(value, &mut counts);
        }
        ToolEvent::Failed { error, .. } => redact_text(redaction, error, &mut counts),
    }
}
