//! A store on paper: what it hands out was written as text and read back, and it refuses what a test tells it to.

use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use superstep::core::checkpoint::Namespace;
use superstep::core::forward_checkpointer;
use superstep::core::id::ThreadId;
use superstep::core::port::{At, Checkpointer, Commit, HistoryQuery, Loaded};
use superstep::prelude::*;
use superstep::{Code, Error, Result};

/// What a store can be made to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refuses {
    Nothing,
    /// Saving a checkpoint.
    Checkpoints,
    /// Keeping what is known of tasks.
    Results,
    /// Loading.
    Loads,
}

/// A store on paper. Clones are one and the same.
#[derive(Clone)]
pub(super) struct Paper {
    disk: Memory,
    refuses: Arc<Mutex<Refuses>>,
}

impl Paper {
    pub(super) fn on(disk: &Memory) -> Self {
        Self { disk: disk.clone(), refuses: Arc::new(Mutex::new(Refuses::Nothing)) }
    }

    pub(super) fn refuse(&self, what: Refuses) {
        *self.refuses.lock().unwrap() = what;
    }

    fn check(&self, what: Refuses) -> Result<()> {
        match *self.refuses.lock().unwrap() == what {
            true => Err(Error::new(Code::StoreUnavailable, format!("{what:?} are refused, as the test asked"))),
            false => Ok(()),
        }
    }
}

fn reread<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn on_paper(loaded: &Loaded) -> Loaded {
    Loaded {
        checkpoint: Arc::new(reread(&*loaded.checkpoint)),
        fields: reread(&loaded.fields),
        pending: reread(&loaded.pending),
    }
}

impl Checkpointer for Paper {
    forward_checkpointer!(this => this.disk; acquire, release, threads, status, namespaces);
    forward_checkpointer!(this => this.disk; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.disk; events, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        if commit.checkpoint.is_some() {
            self.check(Refuses::Checkpoints)?;
        } else if !commit.pending.is_empty() {
            self.check(Refuses::Results)?;
        }
        self.disk.commit(commit).await
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        self.check(Refuses::Loads)?;
        Ok(self.disk.load(thread, namespace, at).await?.as_ref().map(on_paper))
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        self.check(Refuses::Loads)?;
        Ok(self.disk.history(thread, namespace, query).await?.iter().map(on_paper).collect())
    }
}
