//! The store of threads, with an ear on it: the hub hears which events are stored.

use std::sync::Arc;

use superstep::core::forward_checkpointer;
use superstep::core::port::{Checkpointer, Commit, SharedCheckpointer};

use super::Hub;

/// A store that tells the hub what it has stored.
pub(crate) struct Heard {
    pub(crate) store: SharedCheckpointer,
    pub(crate) hub: Arc<Hub>,
}

impl Checkpointer for Heard {
    forward_checkpointer!(this => this.store; acquire, release, load, history, threads, status, namespaces);
    forward_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.store; events, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> superstep::Result<()> {
        self.store.commit(commit).await?;
        let inside = commit.inside.iter().flat_map(|inside| &inside.events);
        if let Some(newest) = commit.events.iter().chain(inside).map(|event| event.number).max() {
            self.hub.stored(&commit.lease.thread, newest);
        }
        Ok(())
    }
}
