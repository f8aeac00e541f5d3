//! Takes what must not be stored out of what enters a graph: inputs, updates, commands, questions, answers.
//!
//! Works on what nodes give before it is folded. A live value stays as it is unless something was taken out of it: only
//! then it goes through JSON, and is read as its type again when it is folded.

use std::iter::successors;

use serde_json::Value;
use superstep_core::checkpoint::Question;
use superstep_core::command::{Go, Hop, Output, Send};
use superstep_core::datum::Datum;
use superstep_core::error::Error;
use superstep_core::machine::{Resume, StateUpdate, TaskEnd};
use superstep_core::message::{MessageEdit, MessageEdits};
use superstep_core::redact::{Counts, Redaction};
use superstep_core::schema::Schema;
use superstep_core::state::Draft;
use superstep_core::update::{Update, Write};

use crate::call::{Call, Input};
use crate::context::{Cx, Shared};
use crate::program::Program;
use crate::stream::ToolEvent;

impl Shared {
    /// What the graph redacts with: what it says itself, or else the graph around it.
    pub(crate) fn redaction(&self) -> Option<&Redaction> {
        let own = self.program.settings.redaction.as_ref();
        own.or_else(|| self.outer.as_ref().and_then(|outer| outer.0.shared.redaction()))
    }

    /// What is taken out of all that is told of the graph while it runs and of its errors: also with that of the calls of
    /// tools that it is inside of. What it works with is its own matter until it is the result of the tool.
    pub(crate) fn told_without(&self) -> impl Iterator<Item = &Redaction> {
        let around = successors(self.outer.as_ref(), |cx| cx.0.shared.outer.as_ref());
        self.redaction().into_iter().chain(around.filter_map(|cx| cx.0.cell.redaction.as_ref()))
    }

    /// Tells whoever measures the run how much was taken out.
    pub(crate) fn count_redacted(&self, counts: &Counts) {
        if let Some(watch) = &self.watch {
            watch.redacted(counts);
        }
    }
}

/// Takes out of what a node gives what its graph takes out.
#[cold]
pub(crate) fn redact_given(cx: &Cx, redaction: &Redaction, output: &mut Output) {
    let schema = &cx.0.shared.program.topology.schema;
    let mut counts = Counts::default();
    redact_output(redaction, schema, output, &mut counts);
    cx.0.shared.count_redacted(&counts);
}

/// What a task asks, without what its graph takes out.
pub(crate) fn redacted_questions(cx: &Cx) -> Vec<Question> {
    let mut questions = cx.0.cell.take_asked();
    if let Some(redaction) = cx.0.shared.redaction() {
        cx.0.shared.count_redacted(&redact_questions(redaction, &mut questions));
    }
    questions
}

/// Puts why a task failed in words that may be kept. A retry policy has seen the error as it was.
#[cold]
pub(crate) fn put_in_words(cx: &Cx, end: &mut TaskEnd) {
    if let TaskEnd::Failed(error) = end {
        *error = in_words(cx, error.clone());
    }
}

/// An error in words that may be kept.
pub(crate) fn in_words(cx: &Cx, error: Error) -> Error {
    cx.0.shared.told_without().fold(error, |error, redaction| redaction.error(error))
}

/// What a run is started with.
pub(crate) fn redact_call(call: &mut Call) {
    let program = call.program.clone();
    let Some(redaction) = &program.settings.redaction else { return };
    let (schema, mut counts) = (&program.topology.schema, Counts::default());
    match &mut call.input {
        Input::Values(draft) => redact_draft(redaction, schema, draft, &mut counts),
        Input::Resume(Resume::One(answer)) => redaction.typed_value(answer, &mut counts),
        Input::Resume(Resume::ById(answers)) => {
            answers.values_mut().for_each(|answer| redaction.typed_value(answer, &mut counts));
        }
        Input::GoOn | Input::Invalid(_) => {}
    }
    if let Some(command) = &mut call.command {
        redact_output(redaction, schema, command, &mut counts);
    }
    redaction.notes(&mut call.metadata, &mut counts);
    if let Some(metrics) = &call.observed.metrics {
        metrics.all_redacted(&counts);
    }
}

/// Updates from outside.
pub(crate) fn redact_updates(program: &Program, updates: &mut [StateUpdate]) {
    let (settings, schema, mut counts) = (&program.settings, &program.topology.schema, Counts::default());
    let Some(redaction) = &settings.redaction else { return };
    updates.iter_mut().for_each(|update| redact_draft(redaction, schema, &mut update.update, &mut counts));
    if let Some(metrics) = &settings.observed.metrics {
        metrics.all_redacted(&counts);
    }
}

/// What a task gives, for this graph and for those around it.
pub(crate) fn redact_output(redaction: &Redaction, schema: &Schema, output: &mut Output, counts: &mut Counts) {
    output.updates.iter_mut().for_each(|draft| redact_draft(redaction, schema, draft, counts));
    output.sends.iter_mut().for_each(|send| redact_send(redaction, send, counts));
    if let Some(goto) = &mut output.goto {
        redact_go(redaction, goto, counts);
    }
    if let Some(outward) = &mut output.outward {
        outward.updates.iter_mut().for_each(|update| redaction.fields(update, counts));
        redact_go(redaction, &mut outward.goto, counts);
    }
}

fn redact_go(redaction: &Redaction, goto: &mut Go, counts: &mut Counts) {
    if !goto.hops().any(|hop| matches!(hop, Hop::Send(_))) {
        return;
    }
    let mut redacted = Go::none();
    for hop in std::mem::take(goto) {
        redacted = match hop {
            Hop::To(node) => redacted.and(node),
            Hop::Send(mut send) => {
                redact_send(redaction, &mut send, counts);
                redacted.and_send(*send)
            }
        };
    }
    *goto = redacted;
}

fn redact_send(redaction: &Redaction, send: &mut Send, counts: &mut Counts) {
    redact_datum(&mut send.payload, counts, |value, counts| redaction.typed_value(value, counts));
}

pub(crate) fn redact_draft(redaction: &Redaction, schema: &Schema, draft: &mut Draft, counts: &mut Counts) {
    let update = match draft {
        Draft::Json(map) => return redaction.fields(map, counts),
        Draft::Typed(update) => std::mem::take(update),
    };
    let mut redacted = Update::new();
    for mut write in update {
        redact_write(redaction, schema, &mut write, counts);
        redacted.push(write);
    }
    *draft = Draft::Typed(redacted);
}

fn redact_write(redaction: &Redaction, schema: &Schema, write: &mut Write, counts: &mut Counts) {
    // Messages have ids, which stay what they are.
    if let Some(edits) = write.value.get::<MessageEdits>() {
        let (mut edits, before) = (edits.clone(), counts.total());
        for edit in &mut edits.0 {
            if let MessageEdit::Put(message) = edit {
                redaction.message(message, counts);
            }
        }
        if counts.total() > before {
            write.value = Datum::live(edits);
        }
        return;
    }
    let field = &schema.field(write.field).name;
    redact_datum(&mut write.value, counts, |value, counts| redaction.field_value(field, value, counts));
}

/// Puts JSON in place of a value where something was taken out of it. Says whether.
pub(crate) fn redact_datum(
    datum: &mut Datum,
    counts: &mut Counts,
    redact: impl FnOnce(&mut Value, &mut Counts),
) -> bool {
    // What is no JSON cannot be stored either, and is refused elsewhere.
    let Ok(mut value) = datum.to_json() else { return false };
    let before = counts.total();
    redact(&mut value, counts);
    let is_changed = counts.total() > before;
    if is_changed {
        *datum = Datum::json(value);
    }
    is_changed
}

fn redact_questions(redaction: &Redaction, questions: &mut [Question]) -> Counts {
    let mut counts = Counts::default();
    for question in questions {
        redaction.typed_value(&mut question.value, &mut counts);
        let texts = question.text.iter_mut().chain([&mut question.name]);
        texts.for_each(|text| redact_text(redaction, text, &mut counts));
    }
    counts
}

pub(crate) fn redact_text(redaction: &Redaction, text: &mut String, counts: &mut Counts) {
    if let std::borrow::Cow::Owned(redacted) = redaction.text_counted(text, counts) {
        *text = redacted;
    }
}

/// What is said about a call of a tool.
pub(crate) fn redact_tool_event(redaction: &Redaction, event: &mut ToolEvent) {
    let mut counts = Counts::default();
    match event {
        ToolEvent::Started { input: value }
        | ToolEvent::Progress { value }
        | ToolEvent::Ended { output: value, .. } => {
            redaction.value(value, &mut counts);
        }
        ToolEvent::Failed { error, .. } => redact_text(redaction, error, &mut counts),
    }
}
