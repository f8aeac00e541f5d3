//! What a run tells of itself as a whole: where it goes, how it begins and how it ends.

use std::pin::pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::machine::Outcome;
use superstep_core::port::{EventsQuery, SharedCheckpointer};
use superstep_core::state::Draft;

use crate::call::{Call, Input};
use crate::context::Shared;
use crate::run::{save_events, save_start, unless_cancelled};
use crate::stream::{GraphEnd, GraphRun, Keeper, Sink};
use crate::subgraph::{told_end, told_input};

/// Where events go: to the reader, and to the store where they are to be kept.
pub(super) async fn sink(call: &mut Call, thread: Option<&ThreadId>) -> Result<Option<Sink>> {
    let sink = call.sink.take();
    if !call.keeps_events {
        return Ok(sink);
    }
    let (Some(saver), Some(thread)) = (&call.checkpointer, thread) else {
        return Err(Error::new(Code::NoCheckpointer, "keeping events needs a store, and there is none")
            .help("give one: `graph.checkpointer(..)` or `run.checkpointer(..)`"));
    };
    let last = saver.last_event(thread).await?;
    let keeper = Keeper::new(last, is_whole(saver, thread, last).await?);
    Ok(Some(Sink::keeping(sink, Arc::new(keeper))))
}

/// Whether the last run on a thread has saved its end: then it told nothing that is not there.
async fn is_whole(saver: &SharedCheckpointer, thread: &ThreadId, last: u64) -> Result<bool> {
    let query = EventsQuery { after: last.checked_sub(1), limit: Some(1), ..EventsQuery::default() };
    let found = saver.events(thread, &query).await?;
    // One that was forgotten says nothing.
    let Some(stored) = found.first() else { return Ok(last == 0) };
    let event = stored.body.to_json().unwrap_or_default();
    let is_end = event["event"] == "on_chain_end" || event["event"] == "on_chain_error";
    Ok(is_end && event["parent_ids"].as_array().is_some_and(Vec::is_empty))
}

/// The outermost graph as events name it.
pub(super) fn graph_run(call: &Call, run: RunId, thread: Option<ThreadId>) -> Arc<GraphRun> {
    let metadata = call.metadata.iter().filter(|(key, _)| !key.starts_with("__"));
    let metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
    let said = (call.tags.clone().into(), Arc::new(metadata));
    Arc::new(GraphRun::new(run, &call.program.topology, (Namespace::root(), thread), said, None))
}

/// Tells that the run has begun, once that is saved where events are kept.
pub(super) async fn tell_start(shared: &Shared, input: Value, store: Option<&SharedCheckpointer>) -> Result<()> {
    let Some(sink) = &shared.sink else { return Ok(()) };
    let told = sink.started_once(shared, input, save_start(shared, store)).await;
    told.map_err(|error| error.on_thread(shared.thread.as_ref()))
}

/// Tells that the run is over: its last event, after all that it speaks of is saved.
pub(super) async fn told_last(shared: &Shared, ended: &Result<Outcome>, flushed: Result<()>) -> Result<()> {
    let Some(sink) = &shared.sink else { return flushed };
    let (end, output) = match &flushed {
        Ok(()) => told_end(shared, ended),
        Err(error) => (GraphEnd::Failed(error.clone()), Value::Null),
    };
    let last = pin!(async {
        sink.ended(shared, end, output).await;
        Ok(())
    });
    // A reader that is behind can be cancelled; what the run did cannot.
    let _ = match &shared.control {
        Some(control) if !control.is_cancelled() => unless_cancelled(control, last).await,
        _ => last.await,
    };
    flushed?;
    save_events(shared).await;
    // The run is saved, whatever becomes of its last events.
    let _ = shared.flush().await;
    Ok(())
}

/// What a run begins with, for whoever watches; null when it goes on.
pub(super) fn told_first(shared: &Shared, input: &Input) -> Option<Value> {
    match input {
        Input::Values(draft) => told_input(shared, draft, false),
        _ => told_input(shared, &Draft::Json(Map::new()), true),
    }
}
