//! What checkpoints of a line were built of the last time they were read: asked for along with them, it most often saves
//! a journey. A help, never the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::Namespace;
use superstep_core::id::ThreadId;

/// Lines that are remembered.
const LINES: usize = 1_024;
/// Rows that are remembered of each.
const ROWS: usize = 16;

#[derive(Default)]
pub(super) struct Hints(Mutex<BTreeMap<(ThreadId, Namespace), Hint>>);

#[derive(Default)]
struct Hint {
    /// The numbers of rows that were needed.
    rows: Vec<i64>,
    /// Values were in parts.
    has_parts: bool,
}

impl Hints {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ThreadId, Namespace), Hint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_parts(&self, thread: &ThreadId, namespace: &Namespace) -> bool {
        self.lock().get(&(thread.clone(), namespace.clone())).is_some_and(|hint| hint.has_parts)
    }

    /// The numbers of rows that were needed.
    pub(super) fn of(&self, thread: &ThreadId, namespace: &Namespace) -> Vec<i64> {
        let key = (thread.clone(), namespace.clone());
        self.lock().get(&key).map(|hint| hint.rows.clone()).unwrap_or_default()
    }

    /// Remembers rows that were needed and not there; the newest are kept.
    pub(super) fn remember(
        &self,
        (thread, namespace): (&ThreadId, &Namespace),
        numbers: &BTreeSet<u64>,
        has_parts: bool,
    ) {
        if numbers.is_empty() && !has_parts {
            return;
        }
        let mut lines = self.lock();
        if lines.len() >= LINES {
            lines.clear();
        }
        let rows = numbers.iter().rev().take(ROWS).map(|number| number.cast_signed()).collect();
        lines.insert((thread.clone(), namespace.clone()), Hint { rows, has_parts });
    }
}
