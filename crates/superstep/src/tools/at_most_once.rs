//! At-most-once markers: saved before a tool call starts.
//!
//! The result of an ended call is recorded. If there is a marker and no result, the outcome of the call is unknown:
//! the process ended in between. A call that raises an interrupt is dropped and runs again with the resume value;
//! this is recorded with a second marker.

use crate::engine::context::TaskContext;
use crate::graph::output::NodeError;

/// Marker of one call.
#[derive(Clone)]
pub(super) struct AtMostOnceMarker {
    pub(super) cx: TaskContext,
    /// Key of the call in the recorded results of the task.
    pub(super) key: String,
}

impl AtMostOnceMarker {
    /// Marks the call as started. Returns false if it was started before and its outcome is unknown.
    pub(super) async fn mark_started(&self) -> Result<bool, NodeError> {
        let mut run = 0;
        while self.cx.is_recorded(&self.started_key(run)) {
            if !self.cx.is_recorded(&self.interrupted_key(run)) {
                return Ok(false);
            }
            run += 1;
        }
        self.mark(&self.started_key(run)).await?;
        Ok(true)
    }

    /// Marks the call as interrupted, so that it may start again.
    pub(super) async fn mark_interrupted(&self) -> Result<(), NodeError> {
        let last_started = (0..).take_while(|run| self.cx.is_recorded(&self.started_key(*run))).last();
        match last_started {
            Some(run) => self.mark(&self.interrupted_key(run)).await,
            None => Ok(()),
        }
    }

    async fn mark(&self, name: &str) -> Result<(), NodeError> {
        self.cx.once(name, async { Ok::<(), NodeError>(()) }).await
    }

    fn started_key(&self, run: u32) -> String {
        format!("{} begun {run}", self.key)
    }

    fn interrupted_key(&self, run: u32) -> String {
        format!("{} waits {run}", self.key)
    }
}
