//! Publishes the missing final event of a run that ended before its process died.
//!
//! Subscribers wait for the final event of a run, so without one the stream never ends. The data of the event comes
//! from the checkpoints.

use serde_json::{Value, json};
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{Commit, StoredEvent};
use superstep::core::value::AnyValue;
use superstep::{EventsQuery, JournalEvent, next_number_after_crash};

use crate::api::problem::Problem;
use crate::graphs::registry::{ServedGraph, ThreadState, output_values};
use crate::runs::repository::{RunRecord, RunStatus, now};
use crate::runs::service::RunService;
use crate::runs::status::ThreadLease;

impl RunService {
    /// Publishes the final event of a run that has ended, if the journal lacks it.
    pub(crate) async fn publish_final_event(&self, graph: &dyn ServedGraph, record: &RunRecord, lease: &ThreadLease) {
        if let Err(problem) = self.try_publish_final_event(graph, record, lease).await {
            let run = record.request.run;
            tracing::warn!(%run, "the final event of a run could not be published: {}", problem.detail());
        }
    }

    async fn try_publish_final_event(
        &self,
        graph: &dyn ServedGraph,
        record: &RunRecord,
        lease: &ThreadLease,
    ) -> Result<(), Problem> {
        let (thread, run) = (&record.request.thread, record.request.run);
        let newest = self.last_event_number(thread).await?;
        let last = first_event(graph, thread, (newest.checked_sub(1), None)).await?;
        let start = first_event(graph, thread, (None, Some(run))).await?;
        let Some(start) = start.filter(|_| !last.is_some_and(|last| is_final_event(&last.event))) else {
            return Ok(());
        };
        let number = next_number_after_crash(newest) + 1;
        let event =
            build_final_event(start.event, number, final_event_data(graph, record, &graph.state(thread).await?));
        let event = StoredEvent { number, run, payload: AnyValue::json(event) };
        let commit = Commit { events: vec![event], ..Commit::empty(lease.lease.clone(), "".into()) };
        Ok(self.checkpointer().commit(&commit).await?)
    }
}

async fn first_event(
    graph: &dyn ServedGraph,
    thread: &ThreadId,
    (after, run): (Option<u64>, Option<RunId>),
) -> Result<Option<JournalEvent>, Problem> {
    let events = graph.events(thread, &EventsQuery { after, run, limit: Some(1) }).await?;
    Ok(events.into_iter().next())
}

fn is_final_event(event: &Value) -> bool {
    let is_end = event["event"] == "on_chain_end" || event["event"] == "on_chain_error";
    is_end && event["parent_ids"].as_array().is_some_and(Vec::is_empty)
}

/// Builds the final event of a run from its first event: both name the same graph, run and thread.
fn build_final_event(mut event: Value, number: u64, (kind, data): (&str, Value)) -> Value {
    (event["event"], event["data"]) = (json!(kind), data);
    (event["metadata"]["seq"], event["metadata"]["time"]) = (json!(number), json!(now()));
    event
}

fn final_event_data(graph: &dyn ServedGraph, record: &RunRecord, state: &ThreadState) -> (&'static str, Value) {
    if record.status == RunStatus::Failed {
        return ("on_chain_error", json!({ "error": record.error }));
    }
    let mut output = output_values(state.values.clone(), &graph.output_schema());
    if state.interrupts().next().is_some() {
        let interrupts = state.tasks.iter().flat_map(|task| {
            task.interrupts.iter().map(move |interrupt| {
                let mut value = json!({"id": interrupt.id.to_string(), "value": interrupt.value, "node": task.name});
                if let Some(schema) = &interrupt.schema {
                    value["schema"] = schema.clone();
                }
                value
            })
        });
        output["__interrupt__"] = interrupts.collect();
    }
    ("on_chain_end", json!({ "output": output }))
}
