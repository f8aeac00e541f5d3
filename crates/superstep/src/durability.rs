//! When what a run does is saved: with each superstep, behind it, or at the end of the run.
//!
//! The loop knows nothing of it: it saves to a store, and here is what stands between the two. Saving at the end is
//! decided in the machine; only what graphs inside do waits here (see `stage`).

use std::sync::{Arc, Mutex};

use serde::Serialize;
use superstep_core::checkpoint::Pending;
use superstep_core::error::{Error, Result};
use superstep_core::machine::Machine;
use superstep_core::port::{Commit, SharedCheckpointer};

use crate::context::{Shared, lock};
use crate::launch::Place;

mod backlog;
mod copies;
mod stage;

pub(crate) use backlog::Backlog;
pub(crate) use stage::Stage;

/// When what a run does is saved, and so what a crash may lose.
///
/// `Ok`, a question and a breakpoint are returned only when everything is saved, in every mode.
///
/// ```
/// use superstep::Durability;
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
/// # let mut graph = Graph::<Count>::new("count");
/// # let one = graph.node("one", || Count::update().n(1u64));
/// # graph.edge(START, one).edge(one, END).checkpointer(Memory::new());
/// let count = graph.durability(Durability::Async).compile()?;
/// let run = count.run(Count::input().n(41u64)).durability(Durability::Exit);
/// assert_eq!(run.wait()?.state.n, 42);
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Durability {
    /// Each superstep before the next one starts. A crash loses the superstep that runs, less its finished tasks.
    #[default]
    Sync,
    /// In the background and in order, while the next supersteps run. A crash loses what waits to be saved, too: see
    /// [`crate::Run::backlog`]. What [`crate::Cx::once`] recorded is saved before it is returned.
    Async,
    /// All at once when the run ends, however it ends. A crash loses the run, and what [`crate::Cx::once`] recorded in
    /// it: whatever it did may be done again, under other idempotency keys. Then the thread is as it was before.
    Exit,
}

/// How many commits may wait to be saved, unless told.
pub(crate) const BACKLOG: usize = 16;

/// What stands between a run and its store.
#[derive(Default)]
pub(crate) struct Saving {
    pub(crate) saver: Option<SharedCheckpointer>,
    pub(crate) backlog: Option<Backlog>,
    pub(crate) stage: Option<Stage>,
    pub(crate) records: Option<Mutex<Vec<Pending>>>,
}

impl Saving {
    pub(crate) fn new(durability: Durability, store: SharedCheckpointer, place: &Arc<Place>, most: usize) -> Self {
        match durability {
            Durability::Sync => Self { saver: Some(store), ..Self::default() },
            Durability::Async => {
                let backlog = Backlog::new(store, Arc::downgrade(place), most);
                Self { saver: Some(backlog.clone().into()), backlog: Some(backlog), ..Self::default() }
            }
            Durability::Exit => {
                let stage = Stage::new(store);
                let (saver, records) = (stage.clone().into(), Mutex::default());
                Self { saver: Some(saver), backlog: None, stage: Some(stage), records: Some(records) }
            }
        }
    }
}

impl Shared {
    /// Returns when everything that was handed over is saved.
    pub(crate) async fn flush(&self) -> Result<()> {
        match &self.backlog {
            Some(backlog) => backlog.flush().await,
            None => Ok(()),
        }
    }

    /// The error of a run whose store failed. In the background that may have been an earlier commit than the last.
    pub(crate) fn not_saved(&self, machine: &mut Machine, error: Error) -> Error {
        if self.backlog.is_some() {
            machine.forget_saved();
        }
        machine.failure(error)
    }

    /// Gives the machine what tasks recorded, where records wait for the end of the run.
    pub(crate) fn hand_over_records(&self, machine: &mut Machine) {
        if let Some(records) = &self.records {
            machine.keep(std::mem::take(&mut lock(records)));
        }
    }
}

/// A commit that may wait: holding the state would make the next superstep copy it.
fn without_state(commit: &Commit) -> Commit {
    let Commit { lease, namespace, checkpoint, changes, pending, status, events, .. } = commit;
    let empty = Commit::empty(lease.clone(), namespace.clone());
    let (checkpoint, changes, pending) = (checkpoint.clone(), changes.clone(), pending.clone());
    Commit { checkpoint, changes, pending, status: *status, events: events.clone(), ..empty }
}
