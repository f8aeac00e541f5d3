//! Events that were kept of a thread: shown again without running anything.

use serde_json::Value;
use superstep_core::error::Result;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::EventsQuery;
use superstep_core::state::State;

use super::Threads;

/// One event of a run that was kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeptEvent {
    /// Its number on the thread: whoever comes back asks for what is after the last one it has.
    pub number: u64,
    /// The run.
    pub run: RunId,
    /// The event of version 2, as [`crate::StreamEvent`] is written.
    pub event: Value,
}

impl<S: State, C: Send + Sync + 'static> Threads<S, C> {
    /// The events that were kept of a thread, in the order of their numbers: of runs with [`crate::Run::keep_events`].
    ///
    /// # Errors
    /// When the store fails, or what it has is damaged.
    pub async fn events(&self, thread: impl Into<ThreadId>, query: &EventsQuery) -> Result<Vec<KeptEvent>> {
        let stored = self.saver()?.events(&thread.into(), query).await?;
        let kept = stored.into_iter().map(|stored| {
            Ok(KeptEvent { number: stored.number, run: stored.run, event: stored.body.to_json().map_err(unread)? })
        });
        kept.collect()
    }

    /// Forgets the events of a thread up to and including a number.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_events(&self, thread: impl Into<ThreadId>, up_to: u64) -> Result<()> {
        self.saver()?.forget_events(&thread.into(), up_to).await
    }
}

fn unread(fault: superstep_core::fault::Fault) -> superstep_core::error::Error {
    superstep_core::error::Error::internal(fault.to_string())
}
