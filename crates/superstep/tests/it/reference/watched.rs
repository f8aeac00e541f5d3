//! A store that says what it is asked to save and when, and that breaks where a test tells it to.

use std::sync::{Arc, Mutex};

use superstep::core::checkpoint::Entry;
use superstep::core::forward_checkpointer;
use superstep::core::port::{Checkpointer, Commit};
use superstep::{Code, Error, Memory, Result};

/// What a store can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Acquire,
    Commit,
    Load,
    History,
    Threads,
    Status,
    Namespaces,
    Delete,
    Copy,
    Prune,
    Stats,
    Events,
}

/// A store over one in memory. Commits take their time, so that whoever does not wait for them shows.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<Inner>);

#[derive(Default)]
struct Inner {
    disk: Memory,
    said: Mutex<Vec<String>>,
    broken: Mutex<Option<(Ask, usize)>>,
}

impl Watched {
    /// The store underneath, which always works.
    pub(super) fn disk(&self) -> &Memory {
        &self.0.disk
    }

    /// Breaks at this kind of request, after it has worked this often. `None` mends it.
    pub(super) fn break_at(&self, ask: Option<(Ask, usize)>) {
        *self.0.broken.lock().unwrap() = ask;
    }

    /// Begin and end of every commit since the last look, with what was in it.
    pub(super) fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.said.lock().unwrap())
    }

    fn say(&self, what: String) {
        self.0.said.lock().unwrap().push(what);
    }

    fn asked(&self, ask: Ask) -> Result<&Memory> {
        if let Some((broken, works)) = &mut *self.0.broken.lock().unwrap()
            && *broken == ask
        {
            if *works == 0 {
                return Err(Error::new(Code::StoreUnavailable, format!("the disk is gone ({ask:?})")));
            }
            *works -= 1;
        }
        Ok(&self.0.disk)
    }
}

/// The tasks whose results a commit keeps, and the step of the checkpoint it makes.
fn contents(commit: &Commit) -> String {
    let kept = commit.pending.iter().filter(|pending| matches!(pending.entry, Entry::Done(_)));
    let mut words: Vec<String> = kept.map(|pending| pending.node.to_string()).collect();
    words.extend(commit.checkpoint.iter().map(|checkpoint| format!("step {}", checkpoint.step)));
    words.join(" ")
}

impl Checkpointer for Watched {
    forward_checkpointer!(this => this.0.disk; release);
    forward_checkpointer!(this => this.asked(Ask::Acquire)?; acquire);
    forward_checkpointer!(this => this.asked(Ask::Load)?; load);
    forward_checkpointer!(this => this.asked(Ask::History)?; history);
    forward_checkpointer!(this => this.asked(Ask::Threads)?; threads);
    forward_checkpointer!(this => this.asked(Ask::Status)?; status);
    forward_checkpointer!(this => this.asked(Ask::Namespaces)?; namespaces);
    forward_checkpointer!(this => this.asked(Ask::Delete)?; delete_thread);
    forward_checkpointer!(this => this.asked(Ask::Copy)?; copy_thread);
    forward_checkpointer!(this => this.asked(Ask::Prune)?; prune);
    forward_checkpointer!(this => this.asked(Ask::Stats)?; stats);
    forward_checkpointer!(this => this.asked(Ask::Events)?; events, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let disk = self.asked(Ask::Commit)?;
        let contents = contents(commit);
        self.say(format!("begin {contents}"));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        disk.commit(commit).await?;
        self.say(format!("end {contents}"));
        Ok(())
    }
}
