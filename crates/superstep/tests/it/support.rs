//! Shared test utilities: sequential dynamic graphs, a list of calls, and access to stored data.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::core::checkpoint::{CheckpointSource, Interrupt};
use superstep::core::id::CheckpointId;
use superstep::core::port::{Checkpointer, HistoryQuery};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, Error, Outcome, Schema, StateSnapshot};

/// Recorded calls, in order.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(crate) fn note(&self, call: impl Into<String>) {
        self.0.lock().unwrap().push(call.into());
    }

    /// Returns the calls since the last use.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A node that records its name here and in the field `log`.
    pub(crate) fn step(&self, name: &'static str) -> impl Fn() -> Value + std::marker::Send + Sync + 'static {
        let calls = self.clone();
        move || {
            calls.note(name);
            json!({ "log": name })
        }
    }
}

/// A graph over a dynamic state, with an in-memory checkpointer.
pub(crate) fn dynamic(fields: Value) -> StateGraph<DynamicState> {
    let mut graph = StateGraph::with_schema("test", Schema::from_json("state", &fields).unwrap());
    graph.checkpointer(MemoryCheckpointer::new());
    graph
}

/// The field that most tests read: a list of events.
pub(crate) fn log_field() -> Value {
    json!({ "type": "array", "reducer": "append", "default": [] })
}

/// A graph of sequential nodes, each of which records its name.
pub(crate) fn line(calls: &Calls, names: &[&'static str]) -> StateGraph<DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field(), "topic": null }));
    let mut row = vec![START];
    for name in names {
        row.push(graph.add_node(name, calls.step(name)).into());
    }
    row.push(END);
    graph.add_sequence(row);
    graph
}

/// Returns the states of a thread, newest first.
pub(crate) async fn history<S: GraphState>(graph: &CompiledGraph<S>, thread: &str) -> Vec<StateSnapshot<S>> {
    graph.threads().get_state_history(thread, &HistoryQuery::default()).await.unwrap()
}

/// A checkpoint of a thread: id, parent, step, source, next nodes.
pub(crate) type Row = (CheckpointId, Option<CheckpointId>, i64, CheckpointSource, Vec<String>);

pub(crate) async fn rows<S: GraphState>(graph: &CompiledGraph<S>, thread: &str) -> Vec<Row> {
    let row = |seen: &StateSnapshot<S>| {
        let saved = &seen.checkpoint;
        (saved.id, saved.parent, saved.step, saved.source, seen.next.clone())
    };
    history(graph, thread).await.iter().rev().map(row).collect()
}

/// Returns the checkpoint with these next nodes.
pub(crate) async fn due_at(graph: &CompiledGraph<DynamicState>, thread: &str, next: &[&str]) -> CheckpointId {
    let snapshot = history(graph, thread).await.into_iter().rev().find(|seen| seen.next == next);
    snapshot.unwrap_or_else(|| panic!("no checkpoint at which {next:?} is due")).id()
}

/// Returns the log of a dynamic state.
pub(crate) fn log(state: &DynamicState) -> Vec<String> {
    serde_json::from_value(state.get("log").into_owned()).unwrap()
}

/// Returns the only open interrupt of a run.
pub(crate) fn only_question<S: std::marker::Send + Sync + 'static>(outcome: &Outcome<S>) -> Interrupt {
    let [question] = outcome.interrupts() else { panic!("{} questions", outcome.interrupts().len()) };
    question.clone()
}

/// Returns the error of a call that must fail.
pub(crate) fn expect_error<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("it went well"),
        Err(error) => error,
    }
}

/// Returns all stored data of a thread as text: checkpoints, values, pending entries.
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
