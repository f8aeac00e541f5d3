//! What the tests share: dynamic graphs in a line, a list of calls, and a look at everything that is stored.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::core::checkpoint::{Question, Source};
use superstep::core::id::CheckpointId;
use superstep::core::port::{Checkpointer, HistoryQuery};
use superstep::prelude::*;
use superstep::{Compiled, Error, Outcome, Record, Schema, Snapshot};

/// What was called, in order.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// What was called since the last look.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A node that notes its name here and in the field `log`.
    pub(crate) fn step(&self, name: &'static str) -> impl Fn() -> Value + std::marker::Send + Sync + 'static {
        let calls = self.clone();
        move || {
            calls.note(name);
            json!({ "log": name })
        }
    }
}

/// A graph over a dynamic state, kept in memory.
pub(crate) fn dynamic(fields: Value) -> Graph<Record> {
    let mut graph = Graph::with_schema("test", Schema::from_json("state", &fields).unwrap());
    graph.checkpointer(Memory::new());
    graph
}

/// The field most tests look at: a list of what happened.
pub(crate) fn log_field() -> Value {
    json!({ "type": "array", "reducer": "append", "default": [] })
}

/// A graph of nodes in a row, each of which notes its name.
pub(crate) fn line(calls: &Calls, names: &[&'static str]) -> Graph<Record> {
    let mut graph = dynamic(json!({ "log": log_field(), "topic": null }));
    let mut row = vec![START];
    for name in names {
        row.push(graph.node(name, calls.step(name)).into());
    }
    row.push(END);
    graph.sequence(row);
    graph
}

/// The states of a thread, newest first.
pub(crate) async fn history<S: State>(graph: &Compiled<S>, thread: &str) -> Vec<Snapshot<S>> {
    graph.threads().history(thread, &HistoryQuery::default()).await.unwrap()
}

/// A thread's checkpoints oldest first: id, parent, step, source, what is due.
pub(crate) type Row = (CheckpointId, Option<CheckpointId>, i64, Source, Vec<String>);

pub(crate) async fn rows<S: State>(graph: &Compiled<S>, thread: &str) -> Vec<Row> {
    let row = |seen: &Snapshot<S>| {
        let saved = &seen.checkpoint;
        (saved.id, saved.parent, saved.step, saved.source, seen.next.clone())
    };
    history(graph, thread).await.iter().rev().map(row).collect()
}

/// The checkpoint after which these nodes are due.
pub(crate) async fn due_at(graph: &Compiled<Record>, thread: &str, next: &[&str]) -> CheckpointId {
    let found = history(graph, thread).await.into_iter().rev().find(|seen| seen.next == next);
    found.unwrap_or_else(|| panic!("no checkpoint at which {next:?} is due")).id()
}

/// The log of a dynamic state.
pub(crate) fn log(state: &Record) -> Vec<String> {
    serde_json::from_value(state.get("log").into_owned()).unwrap()
}

/// The one question a run waits for.
pub(crate) fn only_question<S: std::marker::Send + Sync + 'static>(outcome: &Outcome<S>) -> Question {
    let [question] = outcome.questions() else { panic!("{} questions", outcome.questions().len()) };
    question.clone()
}

/// The error of a call that must fail.
pub(crate) fn refused<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("it went well"),
        Err(error) => error,
    }
}

/// Everything stored of a thread, as one text: checkpoints, values, what is known of tasks.
pub(crate) async fn stored(memory: &impl Checkpointer, thread: &str) -> String {
    let thread = thread.into();
    let mut text = String::new();
    for namespace in memory.namespaces(&thread).await.unwrap() {
        for loaded in memory.history(&thread, &namespace, &HistoryQuery::default()).await.unwrap() {
            text += &serde_json::to_string(&*loaded.checkpoint).unwrap();
            text += &serde_json::to_string(&loaded.pending).unwrap();
            for (name, changes) in &loaded.fields {
                text += name;
                for (_, part) in changes {
                    text += &serde_json::to_string(part).unwrap();
                }
            }
        }
    }
    text
}
