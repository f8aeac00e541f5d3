//! The child that looks: it opens a store, tells every checkpoint of the threads it is asked for, and what the database
//! says of itself.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::checkpoint::Namespace;
use superstep::core::port::SharedCheckpointer;
use superstep::core::state::State;
use superstep::{Compiled, EventsQuery, HistoryQuery, Result, Snapshot};

use crate::effects::Effects;
use crate::store::Place;
use crate::told::{Kept, Seen, Told, digest, spoken};
use crate::victim::key_of;
use crate::work::{graph, inner_graph};

/// What a reader is told to do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Question {
    pub(crate) threads: Vec<String>,
    /// Also ask the database about itself.
    pub(crate) integrity: bool,
    /// Also tell the newest values as they are.
    pub(crate) values: bool,
}

/// Tells what is stored.
pub(crate) async fn look(place: &Place, question: &Question) {
    Told::Born { pid: std::process::id() }.tell();
    match place.open().await {
        Ok(store) => {
            Told::Opened.tell();
            for thread in &question.threads {
                tell_thread(&store, thread, question.values).await;
            }
        }
        Err(error) => Told::failed(&error).tell(),
    }
    if question.integrity {
        Told::Integrity { verdict: place.integrity() }.tell();
    }
}

/// Tells every checkpoint of a thread, newest first in each of its graphs, or why it cannot be read.
pub(crate) async fn tell_thread(store: &SharedCheckpointer, thread: &str, with_values: bool) {
    match read(store, thread, with_values).await {
        Ok((seen, values, kept)) => {
            seen.into_iter().for_each(|seen| Told::Seen(seen).tell());
            Told::Kept { thread: thread.to_owned(), kept }.tell();
            Told::Read { thread: thread.to_owned(), values }.tell();
        }
        Err(error) => {
            let (code, message) = (error.code().name().to_owned(), spoken(&error));
            Told::Unreadable { thread: thread.to_owned(), code, message }.tell();
        }
    }
}

async fn read(store: &SharedCheckpointer, thread: &str, with_values: bool) -> Result<(Vec<Seen>, Option<Value>, Kept)> {
    let seen = seen(store, thread).await?;
    let values = if with_values { Some(newest(store, thread).await?) } else { None };
    Ok((seen, values, kept(store, thread).await?))
}

/// What is kept of what the thread said: numbers rise (one is missing where the commit it belonged to failed), and every
/// task ends once.
async fn kept(store: &SharedCheckpointer, thread: &str) -> Result<Kept> {
    let events = graph()?.threads().checkpointer(store.clone()).events(thread, &EventsQuery::default()).await?;
    let mut kept = Kept { events: events.len() as u64, ..Kept::default() };
    let (mut tasks, mut last) = (BTreeSet::new(), 0);
    for event in &events {
        if event.number <= last {
            kept.problems.push(format!("event {} comes after {last}", event.number));
            break;
        }
        last = event.number;
        let (kind, name) = (&event.event["event"], &event.event["name"]);
        if kind == "on_chain_end" && *name == event.event["metadata"]["node"] {
            *kept.ends.entry(name.as_str().unwrap_or_default().to_owned()).or_default() += 1;
            if !tasks.insert(event.event["run_id"].to_string()) {
                kept.problems.push(format!("a task of {name} is told to have ended twice"));
            }
        }
    }
    Ok(kept)
}

async fn seen(store: &SharedCheckpointer, thread: &str) -> Result<Vec<Seen>> {
    let mut seen = history(&graph()?, store, thread, &Namespace::root()).await?;
    for path in store.namespaces(&thread.into()).await? {
        if !path.is_root() {
            seen.extend(history(&inner_graph()?, store, thread, &path).await?);
        }
    }
    Ok(seen)
}

async fn newest(store: &SharedCheckpointer, thread: &str) -> Result<Value> {
    let snapshot = graph()?.threads().checkpointer(store.clone()).state(thread).await?;
    Ok(serde_json::json!(*snapshot.state))
}

async fn history<S: State + Serialize>(
    flow: &Compiled<S, Effects>,
    store: &SharedCheckpointer,
    thread: &str,
    path: &Namespace,
) -> Result<Vec<Seen>> {
    let threads = flow.threads().checkpointer(store.clone());
    let history = threads.history_in(thread, path, &HistoryQuery::default()).await?;
    Ok(history.iter().map(|snapshot| one(thread, snapshot)).collect())
}

fn one<S: Serialize>(thread: &str, snapshot: &Snapshot<S>) -> Seen {
    let checkpoint = &snapshot.checkpoint;
    let done = snapshot.tasks.iter().filter(|task| task.is_done);
    Seen {
        thread: thread.to_owned(),
        path: checkpoint.namespace.as_str().to_owned(),
        step: checkpoint.step,
        id: checkpoint.id.to_string(),
        parent: checkpoint.parent.map(|parent| parent.to_string()),
        run: checkpoint.run.to_string(),
        time: checkpoint.time,
        digest: digest(&*snapshot.state),
        done: done.map(|task| key_of(thread, task.id).to_string()).collect(),
    }
}
