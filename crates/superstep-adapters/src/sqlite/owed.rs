//! Threads that were given back and whose rows do not say so yet.
//!
//! Kept until that is written: a disk that is full for a while must not keep a thread busy for ever. Until then the row
//! still says that this store has the thread, so that the next run here may go on with it as it is, without a transaction.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::id::RunId;

use super::lease::next_fence;
use crate::log::Taken;

/// How long a thread that was given back may still be written as held, when nothing else is written before.
pub(super) const LINGER: Duration = Duration::from_millis(5);

/// What is owed to the file.
#[derive(Clone, Default)]
pub(super) struct Owed(Arc<Mutex<Debts>>);

#[derive(Default)]
struct Debts {
    list: Vec<Debt>,
    /// Nobody will look at them unless woken.
    is_asleep: bool,
    /// How many works are on their way to the file.
    works: usize,
    /// Runs that have a thread whose row names the run before, each with its fence, which the row only stands for.
    runs: BTreeMap<i64, (RunId, u64)>,
}

/// A thread that was given back: its row and its fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Debt {
    pub(super) row: i64,
    pub(super) fence: u64,
    since: Instant,
}

impl Owed {
    fn look(&self) -> MutexGuard<'_, Debts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a thread that is given back. True when somebody has to be woken for it.
    pub(super) fn give(&self, row: i64, fence: u64) -> bool {
        let mut debts = self.look();
        debts.list.push(Debt { row, fence, since: Instant::now() });
        debts.is_asleep
    }

    /// Takes a thread that was given back a moment ago, when its row does not say so yet.
    ///
    /// Not while anything is on its way to the file: it could be of whoever had the thread. And not later: a process that
    /// stood still may have been taken over, which only the row can tell.
    pub(super) fn take_back(&self, (row, before): (i64, u64), run: RunId) -> Option<Taken> {
        let mut debts = self.look();
        let fence = next_fence(before).filter(|_| debts.works == 0)?;
        let is_it = |debt: &Debt| (debt.row, debt.fence) == (row, before) && debt.since.elapsed() < LINGER;
        let place = debts.list.iter().position(is_it)?;
        debts.list.remove(place);
        debts.runs.insert(row, (run, fence));
        Some(Taken { row, fence, before, is_new: false })
    }

    /// The run that has a thread and its fence, where its row names another.
    pub(super) fn run_of(&self, row: i64) -> Option<(RunId, u64)> {
        self.look().runs.get(&row).copied()
    }

    /// Notes that the row of a thread names the run that has it.
    pub(super) fn is_written(&self, row: i64) {
        self.look().runs.remove(&row);
    }

    /// Notes that something is on its way to the file.
    pub(super) fn has_sent(&self) {
        self.look().works += 1;
    }

    /// Notes that this many works have ended, whatever became of them.
    pub(super) fn has_ended(&self, works: usize) {
        let mut debts = self.look();
        debts.works = debts.works.saturating_sub(works);
    }

    /// Whether nothing is on its way to the file.
    pub(super) fn is_idle(&self) -> bool {
        self.look().works == 0
    }

    /// What is to be written now. Nobody can take those threads back any more.
    pub(super) fn collect(&self) -> Vec<Debt> {
        let mut debts = self.look();
        let list = std::mem::take(&mut debts.list);
        for debt in &list {
            if debts.runs.get(&debt.row).is_some_and(|(_, fence)| *fence == debt.fence) {
                debts.runs.remove(&debt.row);
            }
        }
        list
    }

    /// What could not be written is still owed.
    pub(super) fn put_back(&self, list: Vec<Debt>) {
        let mut debts = self.look();
        let newer = std::mem::replace(&mut debts.list, list);
        debts.list.extend(newer);
    }

    /// What is owed now.
    pub(super) fn list(&self) -> Vec<Debt> {
        self.look().list.clone()
    }

    pub(super) fn wake(&self) {
        self.look().is_asleep = false;
    }

    /// Sleeps when nothing more can be done: nothing is owed, or only what could not be written. Says whether.
    pub(super) fn sleep_unless_new(&self, before: &[Debt]) -> bool {
        let mut debts = self.look();
        debts.is_asleep = debts.list.is_empty() || debts.list == before;
        debts.is_asleep
    }
}

/// A thread that was taken for somebody who may have stopped waiting: it is then given back.
pub(super) struct Loan {
    taken: Taken,
    owed: Option<Owed>,
}

impl Loan {
    pub(super) fn new(taken: Taken, owed: &Owed) -> Self {
        Self { taken, owed: Some(owed.clone()) }
    }

    pub(super) fn keep(mut self) -> Taken {
        self.owed = None;
        self.taken
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(owed) = self.owed.take() {
            owed.give(self.taken.row, self.taken.fence);
        }
    }
}
