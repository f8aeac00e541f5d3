//! A child process that reads: it opens a checkpointer and reports every checkpoint of the requested threads, and the
//! integrity check of the database.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::port::SharedCheckpointer;
use superstep::core::state::GraphState;
use superstep::{CompiledGraph, EventsQuery, HistoryQuery, Result, StateSnapshot};

use crate::checkpointer::CheckpointerLocation;
use crate::protocol::{CheckpointSummary, ChildMessage, JournalSummary, describe_error, digest};
use crate::side_effects::SideEffectLog;
use crate::worker::idempotency_key;
use crate::workload::{graph, inner_graph};

/// Arguments of a reader.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReaderArgs {
    pub(crate) threads: Vec<String>,
    /// Also run the integrity check of the database.
    pub(crate) integrity: bool,
    /// Also report the newest values.
    pub(crate) values: bool,
}

/// Reports the stored data.
pub(crate) async fn report_all(location: &CheckpointerLocation, args: &ReaderArgs) {
    ChildMessage::Started { pid: std::process::id() }.send();
    match location.open().await {
        Ok(checkpointer) => {
            ChildMessage::Opened.send();
            for thread in &args.threads {
                report_thread(&checkpointer, thread, args.values).await;
            }
        }
        Err(error) => ChildMessage::failed(&error).send(),
    }
    if args.integrity {
        ChildMessage::Integrity { result: location.integrity() }.send();
    }
}

/// Reports every checkpoint of a thread, newest first in each namespace, or the reason why it cannot be read.
pub(crate) async fn report_thread(checkpointer: &SharedCheckpointer, thread: &str, with_values: bool) {
    match read(checkpointer, thread, with_values).await {
        Ok((checkpoints, values, journal)) => {
            checkpoints.into_iter().for_each(|checkpoint| ChildMessage::StoredCheckpoint(checkpoint).send());
            ChildMessage::Journal { thread: thread.to_owned(), journal }.send();
            ChildMessage::Read { thread: thread.to_owned(), values }.send();
        }
        Err(error) => {
            let (code, message) = (error.code().name().to_owned(), describe_error(&error));
            ChildMessage::Unreadable { thread: thread.to_owned(), code, message }.send();
        }
    }
}

async fn read(
    checkpointer: &SharedCheckpointer,
    thread: &str,
    with_values: bool,
) -> Result<(Vec<CheckpointSummary>, Option<Value>, JournalSummary)> {
    let checkpoints = checkpoints(checkpointer, thread).await?;
    let values = if with_values { Some(newest_values(checkpointer, thread).await?) } else { None };
    Ok((checkpoints, values, journal_summary(checkpointer, thread).await?))
}

/// Returns a summary of the event journal: event numbers increase (with a gap where a commit failed), and every task
/// ends once.
async fn journal_summary(checkpointer: &SharedCheckpointer, thread: &str) -> Result<JournalSummary> {
    let events = graph()?.threads().checkpointer(checkpointer.clone()).events(thread, &EventsQuery::default()).await?;
    let mut summary = JournalSummary { events: events.len() as u64, ..JournalSummary::default() };
    let (mut tasks, mut last) = (BTreeSet::new(), 0);
    for event in &events {
        if event.number <= last {
            summary.violations.push(format!("event {} comes after {last}", event.number));
            break;
        }
        last = event.number;
        let (kind, name) = (&event.event["event"], &event.event["name"]);
        if kind == "on_chain_end" && *name == event.event["metadata"]["node"] {
            *summary.ends.entry(name.as_str().unwrap_or_default().to_owned()).or_default() += 1;
            if !tasks.insert(event.event["run_id"].to_string()) {
                summary.violations.push(format!("the journal has two ends of a task of {name}"));
            }
        }
    }
    Ok(summary)
}

async fn checkpoints(checkpointer: &SharedCheckpointer, thread: &str) -> Result<Vec<CheckpointSummary>> {
    let mut checkpoints = history(&graph()?, checkpointer, thread, &CheckpointNamespace::root()).await?;
    for path in checkpointer.namespaces(&thread.into()).await? {
        if !path.is_root() {
            checkpoints.extend(history(&inner_graph()?, checkpointer, thread, &path).await?);
        }
    }
    Ok(checkpoints)
}

async fn newest_values(checkpointer: &SharedCheckpointer, thread: &str) -> Result<Value> {
    let snapshot = graph()?.threads().checkpointer(checkpointer.clone()).get_state(thread).await?;
    Ok(serde_json::json!(*snapshot.state))
}

async fn history<S: GraphState + Serialize>(
    graph: &CompiledGraph<S, SideEffectLog>,
    checkpointer: &SharedCheckpointer,
    thread: &str,
    path: &CheckpointNamespace,
) -> Result<Vec<CheckpointSummary>> {
    let threads = graph.threads().checkpointer(checkpointer.clone());
    let history = threads.get_subgraph_state_history(thread, path, &HistoryQuery::default()).await?;
    Ok(history.iter().map(|snapshot| summarize(thread, snapshot)).collect())
}

fn summarize<S: Serialize>(thread: &str, snapshot: &StateSnapshot<S>) -> CheckpointSummary {
    let checkpoint = &snapshot.checkpoint;
    let done = snapshot.tasks.iter().filter(|task| task.is_finished);
    CheckpointSummary {
        thread: thread.to_owned(),
        path: checkpoint.namespace.as_str().to_owned(),
        step: checkpoint.step,
        id: checkpoint.id.to_string(),
        parent: checkpoint.parent.map(|parent| parent.to_string()),
        run: checkpoint.run.to_string(),
        time: checkpoint.time,
        digest: digest(&*snapshot.state),
        done: done.map(|task| idempotency_key(thread, task.id).to_string()).collect(),
    }
}
