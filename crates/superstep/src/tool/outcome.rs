//! What a call gave, as a tool message and perhaps a command; and what all of them together mean for the graph.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_core::checkpoint::{StoredOutward, StoredSend};
use superstep_core::command::{Go, Output, Outward, Scope, Send};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error};
use superstep_core::json_reducer::as_overwrite;
use superstep_core::message::{Content, Message, MessageEdit, MessageEdits, Part, Role, ToolCall, ToolStatus};
use superstep_core::redact::Counts;
use superstep_core::schema::Schema;
use superstep_core::state::Draft;
use superstep_core::tool::ToolOutput;
use superstep_core::update::{How, Update, Write};

use super::call::CAP;
use super::cut::shortened;
use super::errors::FailureKind;
use super::turn::Turn;
use crate::context::Cx;
use crate::output::{NodeError, named};

/// What one call gave, in a form that is recorded.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// The answer; none where the command brings it.
    message: Option<Message>,
    /// What becomes of this graph.
    here: Option<StoredOutward>,
    /// What is asked of a graph around.
    out: Option<StoredOutward>,
    /// The command says where to go on.
    turns: bool,
    /// The command removes the messages that are there.
    clears: bool,
}

impl Settled {
    fn told_with(message: Message) -> Self {
        Self { message: Some(message), here: None, out: None, turns: false, clears: false }
    }

    /// What whoever watches is told: what the model is, and no more of it than a quarter of a megabyte, however much is
    /// kept. Events are kept as well, and sent to everybody who watches.
    pub(crate) fn told(&self) -> Value {
        let short = |message: &Message| serde_json::to_value(capped(message.content.clone(), CAP).0).ok();
        let content = self.message.as_ref().map(short);
        content.flatten().unwrap_or(Value::Null)
    }

    /// Why the call gave no result, in one word.
    pub(crate) fn trouble(&self) -> Option<&str> {
        // Of a call that went well the word would be the tool's own.
        let message = self.message.as_ref().filter(|message| message.status == ToolStatus::Error)?;
        message.metadata.get("error").and_then(Value::as_str)
    }
}

/// What is known of a call besides what it gave.
pub(super) struct Frame<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) turn: &'a Turn,
    pub(super) field: &'a str,
    /// The longest output, in bytes.
    pub(super) cap: usize,
    pub(super) took: Duration,
    /// The id of the message.
    pub(super) id: String,
    /// How much was taken out of what it gave.
    pub(super) redacted: Counts,
}

impl Frame<'_> {
    fn message(&self, content: Content) -> Message {
        let (content, whole) = capped(content, self.cap);
        let message = Message::tool(&self.call.id, content).with_name(&self.call.name).with_id(self.id.as_str());
        let took = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        let mut message = message.with_metadata("tool", self.call.name.as_str()).with_metadata("duration_ms", took);
        if !self.redacted.is_empty() {
            message = message.with_metadata("redacted", &self.redacted);
        }
        whole.into_iter().fold(message, |message, bytes| message.with_metadata("cut_from_bytes", bytes))
    }

    /// A call that was not made.
    pub(super) fn refused(&self, reason: &str) -> Settled {
        let message = self.message(format!("not executed: {reason}").into());
        Settled::told_with(message.with_status(ToolStatus::Error).with_metadata("error", "refused"))
    }

    /// A call that went wrong.
    pub(super) fn error(&self, text: &str, kind: FailureKind) -> Settled {
        let message = self.message(text.into()).with_status(ToolStatus::Error);
        Settled::told_with(message.with_metadata("error", kind.name()))
    }

    /// A call that went well.
    ///
    /// # Errors
    /// In words, when its command does not answer the call as it must.
    pub(super) fn settled(&self, cx: &Cx, output: ToolOutput) -> Result<Settled, String> {
        let ToolOutput { content, artifact, is_error, command, metadata, .. } = output;
        let mut message = self.message(content.unwrap_or_else(|| "done".into()));
        for (key, value) in metadata {
            message.metadata.entry(key).or_insert(value);
        }
        if let Some(artifact) = artifact {
            let bytes = artifact.to_string().len();
            let kept = if bytes > self.cap { serde_json::json!({ "cut_from_bytes": bytes }) } else { artifact };
            message.metadata.insert("artifact".to_owned(), kept);
        }
        if is_error {
            message = message.with_status(ToolStatus::Error).with_metadata("error", FailureKind::Failed.name());
        }
        let Some(command) = command else { return Ok(Settled::told_with(message)) };
        self.commanded(cx, message, *command)
    }

    fn commanded(&self, cx: &Cx, message: Message, command: Output) -> Result<Settled, String> {
        let schema = &cx.0.shared.program.topology.schema;
        let turns = command.goto.is_some();
        let mut goto = command.goto.unwrap_or_default();
        command.sends.into_iter().for_each(|send| goto = std::mem::take(&mut goto).and_send(send));
        let mut updates = Vec::new();
        for draft in command.updates {
            match draft {
                Draft::Json(map) => updates.push(map),
                Draft::Typed(update) => updates.extend(named(schema, update).map_err(|error| error.to_string())?),
            }
        }
        let here = Outward { scope: Scope::Here, updates, goto };
        let here = StoredOutward::from(&here);
        let out = command.outward.as_deref().map(StoredOutward::from);
        let (mut own, mut clears) = (0, false);
        let updates = here.updates.iter().chain(out.iter().flat_map(|out| &out.updates));
        for (edit, is_here) in updates.zip(0..).flat_map(|(update, place)| {
            let is_here = place < here.updates.len();
            edits(update, self.field).into_iter().map(move |edit| (edit, is_here))
        }) {
            match edit {
                MessageEdit::RemoveAll => clears |= is_here,
                MessageEdit::Put(message) => own += usize::from(self.is_answer(&message)?),
                MessageEdit::Remove(_) => {}
            }
        }
        if own > 1 {
            return Err(format!("`{}` answers its call {own} times", self.call.name));
        }
        let message = Some(message).filter(|_| own == 0);
        Ok(Settled { message, here: Some(here), out, turns, clears })
    }

    /// Whether a message answers this call.
    fn is_answer(&self, message: &Message) -> Result<bool, String> {
        let answered = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool);
        match answered {
            Some(id) if id == self.call.id => Ok(true),
            Some(id) if self.turn.calls().any(|(_, call)| call.id == id) => {
                Err(format!("`{}` answers a call that is not its own", self.call.name))
            }
            _ => Ok(false),
        }
    }
}

/// What an update says about the messages; one that replaces the list removes all first.
fn edits(update: &Map<String, Value>, field: &str) -> Vec<MessageEdit> {
    let Some(value) = update.get(field) else { return Vec::new() };
    let (value, replaces) = match as_overwrite(value.clone()) {
        Ok(value) => (value, true),
        Err(value) => (value, false),
    };
    // What does not read is refused when it is folded, with its place.
    let edits = MessageEdits::try_from(value).unwrap_or_default().0;
    replaces.then_some(MessageEdit::RemoveAll).into_iter().chain(edits).collect()
}

/// A content that is not longer than `cap`, and how long it was when it was.
fn capped(content: Content, cap: usize) -> (Content, Option<usize>) {
    let size = |part: &Part| match part {
        Part::Text { text, .. } => text.len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    };
    let whole = match &content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts.iter().map(size).sum(),
    };
    if whole <= cap {
        return (content, None);
    }
    let mut room = cap;
    let mut cut = |part: Part| {
        let length = size(&part);
        let fits = length <= room;
        let left = room;
        room = room.saturating_sub(length);
        match part {
            part if fits => part,
            Part::Text { text, .. } => Part::text(shortened(&text, left)),
            _ => Part::text(format!("[left out: a part of {length} bytes]")),
        }
    };
    let content = match content {
        Content::Text(text) => Content::Text(shortened(&text, cap)),
        Content::Parts(parts) => Content::Parts(parts.into_iter().map(&mut cut).collect()),
    };
    (content, Some(whole))
}

/// What all calls of a turn mean together: answers and updates in the order of the calls, and every way they lead.
pub(super) fn combine(cx: &Cx, field: &str, turn: &Turn, all: Vec<Settled>) -> Result<Output, NodeError> {
    let schema = &cx.0.shared.program.topology.schema;
    let outward = outward(cx, field, turn, &all)?;
    // Where the history was removed, an answer would stand without its call.
    let clears = all.iter().any(|settled| settled.clears);
    let mut output = Output::default();
    let mut answers = Vec::new();
    for settled in all {
        answers.extend(settled.message.filter(|_| !clears).map(MessageEdit::Put));
        let Some(here) = settled.here else { continue };
        if !here.updates.is_empty() {
            output.updates.extend(answered(schema, field, &mut answers));
            output.updates.extend(here.updates.into_iter().map(Draft::Json));
        }
        if settled.turns {
            let goto = output.goto.get_or_insert_default();
            *goto = united(std::mem::take(goto), &here.goto, here.sends);
        } else {
            output.sends.extend(here.sends.into_iter().map(sent));
        }
    }
    output.updates.extend(answered(schema, field, &mut answers));
    output.outward = outward.map(|outward| Box::new(outward.into()));
    Ok(output)
}

/// The tool messages of all calls.
///
/// # Errors
/// When one gave a command.
pub(super) fn messages(settled: Vec<Settled>) -> Result<Vec<Message>, NodeError> {
    let all = settled.into_iter().map(|settled| match settled {
        Settled { message: Some(message), here: None, out: None, .. } => Ok(message),
        _ => {
            let error = Error::new(Code::InvalidRoute, "a tool gave a command, and runs where nobody can carry it out");
            Err(error.help("run it in a `ToolNode` of the graph").into())
        }
    });
    all.collect()
}

/// The answers so far as an update.
fn answered(schema: &Schema, field: &str, answers: &mut Vec<MessageEdit>) -> Option<Draft> {
    let field = schema.find(field).filter(|_| !answers.is_empty())?;
    let value = Datum::live(MessageEdits(std::mem::take(answers)));
    let mut update = Update::new();
    update.push(Write { field, how: How::Reduce, value });
    Some(Draft::Typed(update))
}

fn united(mut go: Go, names: &[String], sends: Vec<(String, StoredSend)>) -> Go {
    for name in names {
        let hop = Go::to(name.as_str());
        if !go.hops().any(|known| hop.hops().any(|hop| hop == known)) {
            go.extend(hop);
        }
    }
    sends.into_iter().for_each(|send| go = std::mem::take(&mut go).and_send(sent(send)));
    go
}

fn sent((node, StoredSend { payload, timeout, .. }): (String, StoredSend)) -> Send {
    Send { node: node.as_str().into(), payload, timeout }
}

/// The one command for a graph around, out of those of all calls. What ends this graph would lose the results of the
/// other calls with it: they go along where that graph has a list of messages of the same name.
fn outward(cx: &Cx, field: &str, turn: &Turn, all: &[Settled]) -> Result<Option<StoredOutward>, NodeError> {
    let mut commands = all.iter().filter_map(|settled| settled.out.as_ref());
    let Some(mut whole) = commands.next().cloned() else { return Ok(None) };
    for command in commands {
        if command.graph != whole.graph {
            let error = Error::new(Code::InvalidRoute, "two tools speak to different graphs around this one");
            return Err(error.help("hand over to one graph at a time").into());
        }
        whole.updates.extend(command.updates.iter().cloned());
        whole.sends.extend(command.sends.iter().cloned());
        let new: Vec<String> = command.goto.iter().filter(|name| !whole.goto.contains(name)).cloned().collect();
        whole.goto.extend(new);
    }
    if !has_messages(cx, whole.graph.as_deref(), field) {
        return Ok(Some(whole));
    }
    let said: Vec<MessageEdit> = whole.updates.iter().flat_map(|update| edits(update, field)).collect();
    let is_said = |wanted: &Message| {
        said.iter()
            .any(|edit| matches!(edit, MessageEdit::Put(message) if message.id.is_some() && message.id == wanted.id))
    };
    let answers = all.iter().filter_map(|settled| settled.message.as_ref());
    let missing: Vec<&Message> =
        std::iter::once(&*turn.message).chain(answers).filter(|wanted| !is_said(wanted)).collect();
    let missing = serde_json::to_value(missing)?;
    whole.updates.insert(0, Map::from_iter([(field.to_owned(), missing)]));
    Ok(Some(whole))
}

/// Whether the graph around that is meant keeps messages in a field of this name.
fn has_messages(cx: &Cx, graph: Option<&str>, field: &str) -> bool {
    let mut outer = cx.0.shared.outer.as_ref();
    while let Some(around) = outer {
        let topology = &around.0.shared.program.topology;
        if graph.is_none_or(|name| *topology.name == *name) {
            let known = topology.schema.find(field).map(|id| topology.schema.field(id));
            return known.is_some_and(|known| known.reducer.as_deref() == Some("add_messages"));
        }
        outer = around.0.shared.outer.as_ref();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-79: a result that is kept whole is told in an event as far as others are.
    #[test]
    fn an_event_tells_no_more_than_the_usual_length() {
        for (length, is_whole) in [(200_000, true), (4_000_000, false)] {
            let settled = Settled::told_with(Message::tool("c1", "x".repeat(length)));
            let told = settled.told();
            let told = told.as_str().unwrap();
            assert!(told.len() <= CAP + 100, "{}", told.len());
            assert_eq!(told.len() == length, is_whole, "{length}");
        }
    }
}
