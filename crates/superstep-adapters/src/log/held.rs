//! What is known of the lines of threads that this process holds.
//!
//! A help, never the truth: whoever writes compares it with the tables in the same transaction, and when somebody else
//! was there it is read anew.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::Namespace;
use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::Lease;

use super::form::Form;
use super::plan::{Base, Line};

/// Threads that are remembered after they were given back.
const REMEMBERED: usize = 1_024;

/// Lines of a thread that are remembered.
const LINES: usize = 16;

/// A thread that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// The row of the thread.
    pub(crate) row: i64,
    pub(crate) fence: u64,
    /// The fence of whoever had it before.
    pub(crate) before: u64,
    /// Nobody ever had it: there is nothing of it in the tables.
    pub(crate) is_new: bool,
}

/// What is known of threads.
pub(crate) struct Held {
    threads: Mutex<BTreeMap<ThreadId, Arc<Thread>>>,
    form: Form,
}

/// A thread that is held, or was.
pub(crate) struct Thread {
    pub(super) row: i64,
    fence: u64,
    is_held: bool,
    /// There is nothing of it in the tables, and nothing is on its way there.
    is_new: AtomicBool,
    /// A graph and those inside it that were written last.
    lines: Mutex<Vec<(Namespace, Entry)>>,
}

/// A line and its row.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(super) row: Option<i64>,
    pub(super) line: Line,
    /// A checkpoint is added to it.
    pub(super) is_planned: bool,
}

impl Entry {
    pub(crate) fn new(row: Option<i64>, line: Line) -> Self {
        Self { row, line, is_planned: false }
    }

    /// As much of it as is needed to say something about tasks.
    fn outline(&self) -> Self {
        let Base { id, number, .. } = self.line.base;
        let base = Base { id, number, ..Base::default() };
        Self::new(self.row, Line::new((self.line.newest, 0), Vec::new(), base))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Thread {
    /// What is known of a line. To be added to it is taken out: until that is written nobody else can build on what may
    /// come to nothing.
    pub(super) fn entry(&self, namespace: &Namespace, is_outline: bool) -> Option<Entry> {
        let mut lines = lock(&self.lines);
        let Some(place) = lines.iter().position(|(known, _)| known == namespace) else {
            // Only the first time: whatever comes of it, afterwards the tables tell.
            return (!is_outline && self.is_new.swap(false, Ordering::Relaxed)).then(Entry::default);
        };
        Some(if is_outline { lines[place].1.outline() } else { lines.swap_remove(place).1 })
    }

    /// Remembers a line as it was written.
    pub(super) fn remember(&self, namespace: Namespace, entry: Entry) {
        let mut lines = lock(&self.lines);
        lines.retain(|(other, _)| *other != namespace);
        // A graph inside has a line for each call: one that is forgotten is read again.
        if lines.len() >= LINES {
            lines.remove(0);
        }
        lines.push((namespace, entry));
    }
}

impl Held {
    /// Nothing is known yet; what is written is written in this form.
    pub(crate) fn new(form: Form) -> Self {
        Self { threads: Mutex::default(), form }
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Remembers that a thread was taken. What was known of it still holds when nobody else had it in between.
    pub(crate) fn take(&self, thread: &ThreadId, taken: Taken) -> Lease {
        let mut threads = lock(&self.threads);
        let known = threads.remove(thread).filter(|known| known.row == taken.row && known.fence == taken.before);
        let lines = known.map(|known| std::mem::take(&mut *lock(&known.lines))).unwrap_or_default();
        if threads.len() >= REMEMBERED {
            threads.retain(|_, thread| thread.is_held);
        }
        let (Taken { row, fence, is_new, .. }, lines) = (taken, Mutex::new(lines));
        let held = Thread { row, fence, is_held: true, is_new: AtomicBool::new(is_new), lines };
        threads.insert(thread.clone(), Arc::new(held));
        Lease { thread: thread.clone(), fence: taken.fence }
    }

    /// The row of a thread that is given back by whoever has it.
    pub(crate) fn give_back(&self, lease: &Lease) -> Option<i64> {
        let mut threads = lock(&self.threads);
        let known = threads.get(&lease.thread).filter(|known| known.fence == lease.fence && known.is_held)?;
        let (row, fence, lines) = (known.row, known.fence, std::mem::take(&mut *lock(&known.lines)));
        let given = Thread { row, fence, is_held: false, is_new: AtomicBool::new(false), lines: Mutex::new(lines) };
        threads.insert(lease.thread.clone(), Arc::new(given));
        Some(row)
    }

    /// Whether a thread is held here and there is nothing of it in the tables.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_new(&self, thread: &ThreadId) -> bool {
        lock(&self.threads).get(thread).is_some_and(|known| known.is_held && known.is_new.load(Ordering::Relaxed))
    }

    /// The row and the fence of a thread that was given back.
    #[cfg(feature = "sqlite")]
    pub(crate) fn given_back(&self, thread: &ThreadId) -> Option<(i64, u64)> {
        lock(&self.threads).get(thread).filter(|known| !known.is_held).map(|known| (known.row, known.fence))
    }

    /// Forgets a thread that was deleted, unless it was taken anew.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        let mut threads = lock(&self.threads);
        if threads.get(thread).is_some_and(|known| !known.is_held) {
            threads.remove(thread);
        }
    }

    /// The fence a thread is held with.
    #[cfg(any(feature = "key-value", feature = "postgres"))]
    pub(crate) fn fence_of(&self, thread: &ThreadId) -> Option<u64> {
        lock(&self.threads).get(thread).filter(|known| known.is_held).map(|known| known.fence)
    }

    #[cfg(any(feature = "key-value", feature = "postgres"))]
    pub(crate) fn has_any(&self) -> bool {
        lock(&self.threads).values().any(|known| known.is_held)
    }

    pub(super) fn find(&self, lease: &Lease) -> Result<Arc<Thread>> {
        let known = lock(&self.threads).get(&lease.thread).cloned();
        known.filter(|known| known.fence == lease.fence && known.is_held).ok_or_else(|| super::fenced(lease))
    }
}
