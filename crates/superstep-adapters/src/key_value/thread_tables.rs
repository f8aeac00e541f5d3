//! The tables of a thread in memory: the rows that result from its records.
//!
//! This module reads and writes no store. Long values are represented by their keys.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::id::{CheckpointId, RunId, TaskId};
use superstep_core::port::ThreadStatus;

use super::log_record::{AddedRows, LogRecord, RemovedRows};
use crate::change_log::{CheckpointRow, RetainedValuesRow, RunInfoRow, ValueLocation};

/// Number of recent records whose checksums are stored.
const MAX_RECENT: usize = 64;

/// All rows of a thread.
#[derive(Debug, Clone, Default)]
pub(super) struct ThreadTables {
    /// Number of the record with which this incarnation began: a thread that was deleted and created again has a new
    /// one.
    pub(super) first_record: u64,
    /// Fence of the last lease.
    pub(super) fence: u64,
    pub(super) lease_owner: Option<LeaseOwner>,
    /// Status of the thread; `None` until something is saved.
    pub(super) status: Option<ThreadStatus>,
    /// Time to live after the last commit in milliseconds; 0 means no expiry.
    pub(super) ttl_millis: u64,
    pub(super) histories: Vec<HistoryTable>,
    /// Numbers and checksums of the last records. A process whose put seemed to fail checks here whether its
    /// record was written.
    pub(super) recent: VecDeque<(u64, u64)>,
    /// Events that were not deleted, by number.
    pub(super) events: BTreeMap<u64, StoredEventRow>,
    /// Highest event number ever written.
    pub(super) last_event: u64,
}

/// Owner of the lease on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseOwner {
    pub(super) run: RunId,
    /// Random token of the process.
    pub(super) process_token: u64,
}

/// The history of one namespace of a thread.
#[derive(Debug, Clone)]
pub(super) struct HistoryTable {
    pub(super) namespace: CheckpointNamespace,
    pub(super) names: Arc<[Arc<str>]>,
    pub(super) rows: BTreeMap<u64, CheckpointRow>,
    pub(super) numbers: BTreeMap<CheckpointId, u64>,
    pub(super) origins: BTreeMap<u64, RunInfoRow>,
    pub(super) parts: BTreeMap<u64, FieldPart>,
    pub(super) retained_values: BTreeMap<u64, RetainedValuesRow>,
    /// Pending entries by checkpoint, in the order in which they were written.
    pub(super) pending: BTreeMap<u64, Vec<PendingRow>>,
}

/// A delta of one field, or a full value that is too long for the checkpoint row.
#[derive(Debug, Clone)]
pub(super) struct FieldPart {
    pub(super) number: u64,
    pub(super) field: u32,
    pub(super) before: Option<ValueLocation>,
    /// The change in its stored text form.
    pub(super) change: String,
    pub(super) body: ValueBody,
}

/// A pending entry of a task.
#[derive(Debug, Clone)]
pub(super) struct PendingRow {
    pub(super) checkpoint: u64,
    pub(super) task: TaskId,
    pub(super) slot: String,
    pub(super) body: ValueBody,
}

/// An event of the journal.
#[derive(Debug, Clone)]
pub(super) struct StoredEventRow {
    pub(super) number: u64,
    pub(super) run: RunId,
    /// Checksum of the event row, which identifies the event without its body.
    pub(super) sum: u32,
    pub(super) body: ValueBody,
}

/// A JSON value, or the key where it is stored.
#[derive(Debug, Clone)]
pub(super) enum ValueBody {
    Short(Vec<u8>),
    /// A value stored under its own key.
    Long {
        name: String,
        length: u64,
    },
}

impl ValueBody {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Short(bytes) => bytes.len() as u64,
            Self::Long { length, .. } => *length,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Short(_) => None,
            Self::Long { name, .. } => Some(name),
        }
    }
}

impl ThreadTables {
    /// Applies a record.
    pub(super) fn apply(&mut self, record: LogRecord, number: u64, sum: u64) {
        match record {
            LogRecord::Full(tables) => *self = *tables,
            LogRecord::Acquired { fence, owner } => (self.fence, self.lease_owner) = (fence, Some(owner)),
            LogRecord::Released { fence } if fence == self.fence => self.lease_owner = None,
            LogRecord::Released { .. } => {}
            LogRecord::Committed { status, ttl_millis, histories, events } => {
                (self.status, self.ttl_millis) = (Some(status), ttl_millis);
                for event in events {
                    self.last_event = event.number;
                    self.events.insert(event.number, event);
                }
                histories.into_iter().for_each(|added| self.history_mut(&added.namespace).add(added));
            }
            LogRecord::Pruned(histories) => {
                histories.into_iter().for_each(|removed| self.history_mut(&removed.namespace).remove(removed));
            }
            LogRecord::EventsDeleted { up_to } => self.events.retain(|number, _| *number > up_to),
        }
        self.recent.push_back((number, sum));
        if self.recent.len() > MAX_RECENT {
            self.recent.pop_front();
        }
    }

    /// Returns empty tables for the incarnation that begins with this record; keeps the fence and the recent records.
    pub(super) fn restarted(&self, first_record: u64) -> Self {
        Self { first_record, fence: self.fence, recent: self.recent.clone(), ..Self::default() }
    }

    /// Returns a history and its index, which never changes.
    pub(super) fn history(&self, namespace: &CheckpointNamespace) -> Option<(usize, &HistoryTable)> {
        self.histories.iter().enumerate().find(|(_, history)| history.namespace == *namespace)
    }

    fn history_mut(&mut self, namespace: &CheckpointNamespace) -> &mut HistoryTable {
        let index = match self.history(namespace) {
            Some((index, _)) => index,
            None => {
                self.histories.push(HistoryTable::new(namespace.clone()));
                self.histories.len() - 1
            }
        };
        &mut self.histories[index]
    }

    pub(super) fn checkpoints(&self) -> usize {
        self.histories.iter().map(|history| history.rows.len()).sum()
    }

    /// Returns the bodies of all values that may be long.
    pub(super) fn bodies(&self) -> impl Iterator<Item = &ValueBody> {
        let history_bodies = self.histories.iter().flat_map(|history| {
            let parts = history.parts.values().map(|part| &part.body);
            parts.chain(history.pending.values().flatten().map(|pending| &pending.body))
        });
        history_bodies.chain(self.events.values().map(|event| &event.body))
    }

    pub(super) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut ValueBody> {
        let history_bodies = self.histories.iter_mut().flat_map(|history| {
            let parts = history.parts.values_mut().map(|part| &mut part.body);
            parts.chain(history.pending.values_mut().flatten().map(|pending| &mut pending.body))
        });
        history_bodies.chain(self.events.values_mut().map(|event| &mut event.body))
    }
}

impl HistoryTable {
    pub(super) fn new(namespace: CheckpointNamespace) -> Self {
        Self {
            namespace,
            names: Arc::from([]),
            rows: BTreeMap::new(),
            numbers: BTreeMap::new(),
            origins: BTreeMap::new(),
            parts: BTreeMap::new(),
            retained_values: BTreeMap::new(),
            pending: BTreeMap::new(),
        }
    }

    /// Returns the number of the latest checkpoint; 0 if there is none.
    pub(super) fn newest(&self) -> u64 {
        self.rows.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Returns true if this checkpoint has this number.
    pub(super) fn has(&self, number: u64, id: CheckpointId) -> bool {
        self.rows.get(&number).is_some_and(|row| row.header.id == id)
    }

    pub(super) fn add(&mut self, added: AddedRows) {
        if let Some(names) = added.names {
            self.names = names.into();
        }
        for row in added.rows {
            self.numbers.insert(row.header.id, row.number);
            self.rows.insert(row.number, row);
        }
        self.origins.extend(added.origins.into_iter().map(|origin| (origin.number, origin)));
        self.parts.extend(added.parts.into_iter().map(|part| (part.number, part)));
        for pending in added.pending {
            let all = self.pending.entry(pending.checkpoint).or_default();
            // An entry with the same task and slot is replaced in place.
            match all.iter_mut().find(|other| (other.task, &other.slot) == (pending.task, &pending.slot)) {
                Some(other) => *other = pending,
                None => all.push(pending),
            }
        }
    }

    fn remove(&mut self, removed: RemovedRows) {
        for number in removed.checkpoints {
            if let Some(row) = self.rows.remove(&number) {
                self.numbers.remove(&row.header.id);
            }
            self.pending.remove(&number);
        }
        for (number, heads) in removed.heads {
            if let Some(row) = self.rows.get_mut(&number) {
                row.value_index = heads;
            }
        }
        self.retained_values =
            removed.retained_values.into_iter().map(|retained| (retained.number, retained)).collect();
        removed.parts.iter().for_each(|number| drop(self.parts.remove(number)));
        removed.origins.iter().for_each(|number| drop(self.origins.remove(number)));
    }
}
