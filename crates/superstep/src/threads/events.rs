//! Journaled events of a thread, read without running anything.

use serde_json::Value;
use superstep_core::error::Result;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::EventsQuery;
use superstep_core::state::GraphState;

use super::Threads;

/// A journaled event of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JournalEvent {
    /// Number of the event on the thread. A client that reconnects requests the events after its last one.
    pub number: u64,
    /// Id of the run.
    pub run: RunId,
    /// The event in protocol version 2, serialized like [`crate::StreamEvent`].
    pub event: Value,
}

impl<S: GraphState, C: Send + Sync + 'static> Threads<S, C> {
    /// Returns the journaled events of a thread in the order of their numbers. Only runs with
    /// [`crate::RunBuilder::journal_events`] journal events.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails or its data is corrupt.
    pub async fn events(&self, thread: impl Into<ThreadId>, query: &EventsQuery) -> Result<Vec<JournalEvent>> {
        let stored = self.require_checkpointer()?.events(&thread.into(), query).await?;
        let events = stored.into_iter().map(|stored| {
            Ok(JournalEvent {
                number: stored.number,
                run: stored.run,
                event: stored.payload.to_json().map_err(corrupt_event)?,
            })
        });
        events.collect()
    }

    /// Deletes the events of a thread up to and including a number.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn delete_events(&self, thread: impl Into<ThreadId>, up_to: u64) -> Result<()> {
        self.require_checkpointer()?.delete_events(&thread.into(), up_to).await
    }
}

fn corrupt_event(error: superstep_core::validation_error::ValidationError) -> superstep_core::error::Error {
    superstep_core::error::Error::internal(error.to_string())
}
