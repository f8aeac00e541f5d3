//! A checkpointer wrapper that reports persisted events to the broadcaster.

use std::sync::Arc;

use superstep::core::delegate_checkpointer;
use superstep::core::port::{Checkpointer, Commit, SharedCheckpointer};

use crate::events::broadcast::EventBroadcaster;

/// A checkpointer that reports to the broadcaster up to which number events are persisted.
pub(crate) struct NotifyingCheckpointer {
    pub(crate) checkpointer: SharedCheckpointer,
    pub(crate) broadcaster: Arc<EventBroadcaster>,
}

impl Checkpointer for NotifyingCheckpointer {
    delegate_checkpointer!(this => this.checkpointer; acquire, release, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.checkpointer; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.checkpointer; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> superstep::Result<()> {
        self.checkpointer.commit(commit).await?;
        let nested = commit.subgraph_commits.iter().flat_map(|nested| &nested.events);
        if let Some(newest) = commit.events.iter().chain(nested).map(|event| event.number).max() {
            self.broadcaster.mark_persisted(&commit.lease.thread, newest);
        }
        Ok(())
    }
}
