//! The last event of a run that had ended when its process died, and had not saved that it says so.
//!
//! Readers wait for the end of a run, so a stream without one looks as if it went on. What the end says is in the checkpoints.

use serde_json::{Value, json};
use superstep::core::datum::Datum;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{Commit, StoredEvent};
use superstep::{EventsQuery, KeptEvent, after_a_crash};

use super::Desk;
use super::standing::Turn;
use crate::ledger::{Record, RunStatus, now};
use crate::problem::Problem;
use crate::registry::{Served, Shown, outward};

impl Desk {
    /// Sees to it that the events of a run that has ended have an end.
    pub(super) async fn tell_end(&self, served: &dyn Served, record: &Record, turn: &Turn) {
        if let Err(problem) = self.try_tell_end(served, record, turn).await {
            tracing::warn!(run = %record.order.run, "the end of a run could not be told: {}", problem.detail());
        }
    }

    async fn try_tell_end(&self, served: &dyn Served, record: &Record, turn: &Turn) -> Result<(), Problem> {
        let (thread, run) = (&record.order.thread, record.order.run);
        let newest = self.last_event(thread).await?;
        let last = first_event(served, thread, (newest.checked_sub(1), None)).await?;
        let start = first_event(served, thread, (None, Some(run))).await?;
        let Some(start) = start.filter(|_| !last.is_some_and(|last| is_end(&last.event))) else { return Ok(()) };
        let number = after_a_crash(newest) + 1;
        let event = end_event(start.event, number, end_data(served, record, &served.state(thread).await?));
        let event = StoredEvent { number, run, body: Datum::json(event) };
        let commit = Commit { events: vec![event], ..Commit::empty(turn.lease.clone(), "".into()) };
        Ok(self.checkpoints().commit(&commit).await?)
    }
}

async fn first_event(
    served: &dyn Served,
    thread: &ThreadId,
    (after, run): (Option<u64>, Option<RunId>),
) -> Result<Option<KeptEvent>, Problem> {
    let found = served.events(thread, &EventsQuery { after, run, limit: Some(1) }).await?;
    Ok(found.into_iter().next())
}

fn is_end(event: &Value) -> bool {
    let is_end = event["event"] == "on_chain_end" || event["event"] == "on_chain_error";
    is_end && event["parent_ids"].as_array().is_some_and(Vec::is_empty)
}

/// The end of a run, made of its start: both name the same graph, run and thread.
fn end_event(mut event: Value, number: u64, (kind, data): (&str, Value)) -> Value {
    (event["event"], event["data"]) = (json!(kind), data);
    (event["metadata"]["seq"], event["metadata"]["time"]) = (json!(number), json!(now()));
    event
}

fn end_data(served: &dyn Served, record: &Record, state: &Shown) -> (&'static str, Value) {
    if record.status == RunStatus::Failed {
        return ("on_chain_error", json!({ "error": record.failure }));
    }
    let mut output = outward(state.values.clone(), &served.output_schema());
    if state.questions().next().is_some() {
        let asked = state.tasks.iter().flat_map(|task| {
            task.questions.iter().map(move |question| {
                let mut asked = json!({"id": question.id.to_string(), "value": question.value, "node": task.name});
                if let Some(schema) = &question.schema {
                    asked["schema"] = schema.clone();
                }
                asked
            })
        });
        output["__interrupt__"] = asked.collect();
    }
    ("on_chain_end", json!({ "output": output }))
}
