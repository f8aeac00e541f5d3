//! What tasks wrote in LangGraph, as what is known of our tasks: results, failures, questions and answers.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep_core::checkpoint::{
    Answer, Entry, Namespace, Pending, Question, StoredDue, StoredError, StoredOutput, StoredSend, StoredWhy,
    StoredWrite, WhyKind,
};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Place, Result};
use superstep_core::id::TaskId;
use superstep_core::json_reducer::as_overwrite;
use superstep_core::machine::question_id;

use super::channels::{Task, Use, inside, question, use_of};
use super::convert::{Conversion, Item};
use super::row::{At, WriteRow};

/// Writes that say something about a task and are not its result.
const SIGNS: [&str; 5] = ["__error__", "__error_source_node__", "__interrupt__", "__resume__", "__scheduled__"];

/// What a task that is not there yet has.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// Questions by LangGraph's id: one of a graph inside stands with each task around it, too.
pub(super) type Questions = BTreeMap<String, Question>;

impl Conversion<'_> {
    /// Says of all checkpoints what is known of their tasks, graphs inside first: their questions are asked outside, too.
    pub(super) fn pending(&mut self) -> Result<()> {
        let mut questions = Questions::new();
        let mut graphs: Vec<String> = self.lines.keys().cloned().collect();
        graphs.sort_by_key(|namespace| {
            std::cmp::Reverse(namespace.split('|').count() + usize::from(!namespace.is_empty()))
        });
        for namespace in graphs {
            let mut items = self.lines.remove(&namespace).unwrap_or_default();
            for item in &mut items {
                item.copied.pending = self.known(&namespace, item, &mut questions)?;
            }
            self.lines.insert(namespace, items);
        }
        Ok(())
    }

    fn known(&mut self, namespace: &str, item: &Item, questions: &mut Questions) -> Result<Vec<Pending>> {
        let mut groups: Vec<(&str, Vec<&WriteRow>)> = Vec::new();
        for write in self.rows.writes_of(namespace, &item.id) {
            match groups.iter_mut().find(|(task, _)| *task == write.task) {
                Some((_, writes)) => writes.push(write),
                None => groups.push((&write.task, vec![write])),
            }
        }
        let mut known = Vec::new();
        for (id, writes) in groups {
            match find(item, id, &writes) {
                Some((task, ours)) => {
                    let path = format!("{}:{id}", inside(namespace, &task.node));
                    let told = Told::read(self.at_item(item), &writes)?;
                    let here = self.paths.get(namespace).cloned().unwrap_or_default();
                    let entries = told.entries((&path, &here), (task, *ours), item, questions);
                    known.extend(entries.into_iter().map(|entry| Pending {
                        checkpoint: item.copied.checkpoint.id,
                        task: *ours,
                        node: task.node.as_str().into(),
                        entry,
                    }));
                }
                None if item.is_last && !item.tasks.is_empty() && id != NOBODY => {
                    self.notes
                        .push(format!("checkpoint {}: what task {id} wrote belongs to no node that is due", item.id));
                }
                None => {}
            }
        }
        Ok(known)
    }

    fn at_item<'b>(&'b self, item: &'b Item) -> At<'b> {
        At { thread: &self.rows.thread, checkpoint: &item.id }
    }
}

/// The task that wrote something: by its id, or by where it comes from.
fn find<'a>(item: &'a Item, id: &str, writes: &[&WriteRow]) -> Option<&'a (Task, TaskId)> {
    if let Some(found) = item.tasks.iter().find(|(task, _)| task.id == id) {
        return Some(found);
    }
    let path = writes.first()?.path.strip_prefix('~')?;
    let (kind, rest) = path.split_once(", ")?;
    match kind {
        "__pregel_pull" => item.tasks.iter().find(|(task, _)| task.send.is_none() && task.node == rest),
        "__pregel_push" => {
            let index: u32 = rest.split(", ").next()?.parse().ok()?;
            item.tasks.iter().find(|(task, _)| task.send.as_ref().is_some_and(|(place, _)| *place == index))
        }
        _ => None,
    }
}

/// What a task told.
#[derive(Default)]
struct Told {
    answers: Vec<Value>,
    interrupts: Vec<Value>,
    error: Option<Value>,
    /// Its result, when it ended well.
    output: Option<Vec<(String, Value)>>,
}

impl Told {
    fn read(at: At<'_>, writes: &[&WriteRow]) -> Result<Self> {
        let mut told = Self::default();
        for write in writes {
            let value = write.value.read().map_err(|how| at.unreadable(Some(&write.channel), &how))?;
            match (write.channel.as_str(), value) {
                ("__resume__", Value::Array(answers)) => told.answers = answers,
                ("__resume__", answer) => told.answers = vec![answer],
                ("__interrupt__", Value::Array(interrupts)) => told.interrupts = interrupts,
                ("__interrupt__", interrupt) => told.interrupts = vec![interrupt],
                ("__error__", error) => told.error = Some(error),
                (channel, _) if SIGNS.contains(&channel) => {}
                (channel, value) => told.output.get_or_insert_default().push((channel.to_owned(), value)),
            }
        }
        Ok(told)
    }

    fn entries(
        self,
        (path, here): (&str, &Namespace),
        (task, ours): (&Task, TaskId),
        item: &Item,
        questions: &mut Questions,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        for interrupt in &self.interrupts {
            let foreign = foreign_id(interrupt);
            let inside = foreign.as_ref().and_then(|foreign| questions.get(foreign)).cloned();
            let asked = inside.unwrap_or_else(|| {
                let ordinal = self.ordinal(path, foreign.as_deref().unwrap_or_default());
                ask(interrupt, (task, ours), here, ordinal)
            });
            if let Some(foreign) = foreign {
                questions.insert(foreign, asked.clone());
            }
            entries.push(Entry::Question(asked));
        }
        let time = item.copied.checkpoint.time;
        for (value, ordinal) in self.answers.into_iter().zip(0..) {
            entries.push(Entry::Answer(Answer { id: question_id(ours, ordinal), value, time }));
        }
        match (self.output, self.error) {
            // In a superstep that is whole, what tasks did is in the next checkpoint.
            (Some(output), _) if item.is_last => entries.push(Entry::Done(done(output, task))),
            (None, Some(error)) => entries.push(Entry::Failed(failed(&error, task, item))),
            _ => {}
        }
        entries
    }

    /// Which of its task's questions this is. Since 1.2.20 the id tells; before, all of a task had the same.
    fn ordinal(&self, path: &str, foreign: &str) -> u32 {
        let answers = self.answers.len();
        let named = (1..=answers).find(|place| question(path, *place) == foreign);
        let is_over = self.output.is_some() && answers > 0;
        named.unwrap_or(if is_over { answers - 1 } else { answers }) as u32
    }
}

/// LangGraph's id of a question; before 0.6 it says the path instead.
fn foreign_id(interrupt: &Value) -> Option<String> {
    if let Some(id) = interrupt.get("id").and_then(Value::as_str) {
        return Some(id.to_owned());
    }
    let path: Option<Vec<&str>> = interrupt.get("ns")?.as_array()?.iter().map(Value::as_str).collect();
    path.map(|path| question(&path.join("|"), 0))
}

fn ask(interrupt: &Value, (task, ours): (&Task, TaskId), here: &Namespace, ordinal: u32) -> Question {
    Question {
        id: question_id(ours, ordinal),
        node: task.node.as_str().into(),
        namespace: here.clone(),
        name: "interrupt".to_owned(),
        value: interrupt.get("value").cloned().unwrap_or(Value::Null),
        schema: interrupt.get("response_schema").filter(|schema| schema.is_object()).cloned(),
        text: None,
    }
}

/// A result. Edges are drawn in the graph; where routes and commands led stands in what was written.
fn done(output: Vec<(String, Value)>, task: &Task) -> StoredOutput {
    let mut done = StoredOutput { follow_edges: true, ..StoredOutput::default() };
    let mut sends = 0;
    for (channel, value) in output {
        match use_of(&channel) {
            Use::Branch(node) => done.ways.push(way(node, WhyKind::Goto, task, None)),
            Use::Sends => {
                let payload = Datum::json(value.get("arg").cloned().unwrap_or(Value::Null));
                let node = value.get("node").and_then(Value::as_str).unwrap_or_default();
                let send = StoredSend { index: sends, payload, timeout: None };
                sends += 1;
                done.ways.push(way(node, WhyKind::Send, task, Some(send)));
            }
            Use::Field => {
                let (overwrite, value) = as_overwrite(value).map_or_else(|value| (false, value), |value| (true, value));
                done.writes.push(StoredWrite { field: channel.as_str().into(), overwrite, value: Datum::json(value) });
            }
            Use::Join(..) | Use::Inner => {}
        }
    }
    done
}

fn way(node: &str, kind: WhyKind, from: &Task, send: Option<StoredSend>) -> StoredDue {
    let why = StoredWhy { kind, from: Some(from.node.as_str().into()) };
    StoredDue { node: node.into(), why, send, since: None }
}

fn failed(error: &Value, task: &Task, item: &Item) -> StoredError {
    let message = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
    let checkpoint = &item.copied.checkpoint;
    StoredError {
        code: Code::NodeFailed,
        message,
        help: None,
        retryable: false,
        place: Place {
            thread: Some(checkpoint.thread.clone()),
            step: Some(checkpoint.step + 1),
            node: Some(task.node.clone()),
        },
        causes: Vec::new(),
    }
}
