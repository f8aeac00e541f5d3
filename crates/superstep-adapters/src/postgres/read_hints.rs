//! Hints about the rows that checkpoints of a history needed the last time: requesting them together with the
//! checkpoint usually saves a round trip. Hints may be outdated without affecting results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::id::ThreadId;

/// Maximum number of histories with hints.
const MAX_HISTORIES: usize = 1_024;
/// Maximum number of rows per hint.
const MAX_ROWS_PER_HINT: usize = 16;

#[derive(Default)]
pub(super) struct ReadHints(Mutex<BTreeMap<(ThreadId, CheckpointNamespace), ReadHint>>);

#[derive(Default)]
struct ReadHint {
    /// Numbers of the needed rows.
    rows: Vec<i64>,
    /// True if values were stored in parts.
    has_parts: bool,
}

impl ReadHints {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ThreadId, CheckpointNamespace), ReadHint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_parts(&self, thread: &ThreadId, namespace: &CheckpointNamespace) -> bool {
        self.lock().get(&(thread.clone(), namespace.clone())).is_some_and(|hint| hint.has_parts)
    }

    /// Returns the numbers of the rows needed the last time.
    pub(super) fn rows_for(&self, thread: &ThreadId, namespace: &CheckpointNamespace) -> Vec<i64> {
        let key = (thread.clone(), namespace.clone());
        self.lock().get(&key).map(|hint| hint.rows.clone()).unwrap_or_default()
    }

    /// Stores the rows that were missing in the first request; only the newest are kept.
    pub(super) fn record(
        &self,
        (thread, namespace): (&ThreadId, &CheckpointNamespace),
        numbers: &BTreeSet<u64>,
        has_parts: bool,
    ) {
        if numbers.is_empty() && !has_parts {
            return;
        }
        let mut hints = self.lock();
        if hints.len() >= MAX_HISTORIES {
            hints.clear();
        }
        let rows = numbers.iter().rev().take(MAX_ROWS_PER_HINT).map(|number| number.cast_signed()).collect();
        hints.insert((thread.clone(), namespace.clone()), ReadHint { rows, has_parts });
    }
}
