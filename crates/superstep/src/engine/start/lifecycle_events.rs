//! Lifecycle events of a run: event publisher, start, end.

use std::pin::pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::machine::MachineOutcome;
use superstep_core::port::{EventsQuery, SharedCheckpointer};
use superstep_core::state::UncheckedUpdate;

use crate::engine::context::RunShared;
use crate::engine::driver::{cancellable, save_events, save_start};
use crate::engine::subgraph::{end_json, input_json};
use crate::events::event::{EventJournal, EventPublisher, GraphEnd, GraphRun};
use crate::run::builder::{RunSpec, StartInput};

/// Opens the event publisher of a run: to the subscriber, and to the journal if events are journaled.
pub(super) async fn open_publisher(call: &mut RunSpec, thread: Option<&ThreadId>) -> Result<Option<EventPublisher>> {
    let publisher = call.publisher.take();
    if !call.journals_events {
        return Ok(publisher);
    }
    let (Some(checkpointer), Some(thread)) = (&call.checkpointer, thread) else {
        return Err(Error::new(ErrorCode::NoCheckpointer, "the event journal requires a checkpointer")
            .with_help("configure one with `graph.checkpointer(..)` or `run.checkpointer(..)`"));
    };
    let last = checkpointer.last_event_number(thread).await?;
    let journal = EventJournal::new(last, last_run_completed(checkpointer, thread, last).await?);
    Ok(Some(EventPublisher::with_journal(publisher, Arc::new(journal))))
}

/// Returns true if the last run on a thread persisted its end event, so that no published event is missing in the
/// journal.
async fn last_run_completed(checkpointer: &SharedCheckpointer, thread: &ThreadId, last: u64) -> Result<bool> {
    let query = EventsQuery { after: last.checked_sub(1), limit: Some(1), ..EventsQuery::default() };
    let events = checkpointer.events(thread, &query).await?;
    // If the last event was deleted, the end of its run is unknown.
    let Some(stored) = events.first() else { return Ok(last == 0) };
    let event = stored.payload.to_json().unwrap_or_default();
    let is_end = event["event"] == "on_chain_end" || event["event"] == "on_chain_error";
    Ok(is_end && event["parent_ids"].as_array().is_some_and(Vec::is_empty))
}

/// Returns the identity of the root graph in events.
pub(super) fn graph_run(call: &RunSpec, run: RunId, thread: Option<ThreadId>) -> Arc<GraphRun> {
    let metadata = call.metadata.iter().filter(|(key, _)| !key.starts_with("__"));
    let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
    let tags_and_metadata = (call.tags.clone().into(), Arc::new(metadata));
    Arc::new(GraphRun::new(run, &call.program.topology, (CheckpointNamespace::root(), thread), tags_and_metadata, None))
}

/// Publishes the start of the run, after the start is persisted if events are journaled.
pub(super) async fn publish_start(shared: &RunShared, input: Value, store: Option<&SharedCheckpointer>) -> Result<()> {
    let Some(publisher) = &shared.publisher else { return Ok(()) };
    let published = publisher.started_once(shared, input, save_start(shared, store)).await;
    published.map_err(|error| error.with_thread(shared.thread.as_ref()))
}

/// Publishes the end of the run as its last event, after everything that the run did is persisted.
pub(super) async fn publish_end(shared: &RunShared, ended: &Result<MachineOutcome>, flushed: Result<()>) -> Result<()> {
    let Some(publisher) = &shared.publisher else { return flushed };
    let (end, output) = match &flushed {
        Ok(()) => end_json(shared, ended),
        Err(error) => (GraphEnd::Failed(error.clone()), Value::Null),
    };
    let last = pin!(async {
        publisher.ended(shared, end, output).await;
        Ok(())
    });
    // Waiting for a slow subscriber can be cancelled; the outcome of the run cannot.
    let _ = match &shared.control {
        Some(control) if !control.is_cancelled() => cancellable(control, last).await,
        _ => last.await,
    };
    flushed?;
    save_events(shared).await;
    // The run is persisted, even if its last events are not.
    let _ = shared.flush().await;
    Ok(())
}

/// Returns the input of a run for its start event; null if the run continues.
pub(super) fn start_input_json(shared: &RunShared, input: &StartInput) -> Option<Value> {
    match input {
        StartInput::Values(update) => input_json(shared, update, false),
        _ => input_json(shared, &UncheckedUpdate::Json(Map::new()), true),
    }
}
