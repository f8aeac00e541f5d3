//! Converts a commit to rows on top of the cached state of its history.
//!
//! Decides for each value whether another change or the full value is written: the full value if reading its changes
//! would cost more than twice its length. So storage stays within a small multiple of the changes, and loading reads
//! at most about twice the state.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, CheckpointHeader, FieldChange, RunInfo, StoredSchedule};
use superstep_core::error::{Error, Result};
use superstep_core::id::CheckpointId;
use superstep_core::port::{Commit, StateRef};
use superstep_core::value::AnyValue;

use super::encoding::{CompressionPrefixes, ValueEncoding};
use super::rows::{CheckpointRow, PartRow, RunInfoRow, any_value_to_json, change_text, put_value, to_json};
use super::value_index::{ValueHead, ValueIndex, ValueLocation};

/// Full values up to this length in bytes are stored in the row of their checkpoint.
const INLINE_VALUE_BYTES: usize = 256;
/// Values up to this length in bytes are always written in full: a part would be longer.
const ALWAYS_FULL_BYTES: u64 = 96;
/// Cost of reading a row in addition to its bytes.
const ROW_READ_COST: u64 = 32;
/// Changes that cost less than this to read are never replaced by a full value.
const CHANGE_CHAIN_SLACK: u64 = 1_024;
/// Number of names up to which a linear search is faster than a map.
const LINEAR_SEARCH_MAX_NAMES: usize = 8;

/// A history as its writer needs it.
#[derive(Debug, Default)]
pub(crate) struct HistoryWriter {
    /// Number of the latest checkpoint; 0 if there is none.
    pub(crate) newest: u64,
    /// Number of the newest part; 0 if there is none.
    parts: u64,
    /// Field names by number, in the order in which they were first written.
    names: Vec<Arc<str>>,
    /// Numbers by name, filled if there are more than `LINEAR_SEARCH_MAX_NAMES` names.
    numbers: BTreeMap<Arc<str>, u32>,
    /// The checkpoint that the next one builds on.
    pub(crate) base: ParentCheckpoint,
}

/// The information about a checkpoint that its child builds on.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParentCheckpoint {
    /// Id of the checkpoint; `None` before the first one.
    pub(crate) id: Option<CheckpointId>,
    pub(crate) number: u64,
    pub(crate) heads: Vec<Option<ValueHead>>,
    /// Number of rows back to the last one with a full index.
    pub(crate) distance_to_full_index: u64,
    /// Run info, and the number of the checkpoint that stored it.
    pub(crate) origin: Option<(u64, RunInfo)>,
    /// Compression prefixes of its values, as far as they are in memory.
    pub(crate) prefixes: CompressionPrefixes,
}

/// The rows of one checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointRows {
    pub(crate) row: CheckpointRow,
    pub(crate) origin: Option<RunInfoRow>,
    pub(crate) parts: Vec<PartRow>,
    /// All field names, if there are new ones.
    pub(crate) names: Option<Vec<Arc<str>>>,
}

impl HistoryWriter {
    /// Returns a history with its latest checkpoint, its newest part and its field names.
    pub(crate) fn new((newest, parts): (u64, u64), names: Vec<Arc<str>>, base: ParentCheckpoint) -> Self {
        let mut writer = Self { newest, parts, names, numbers: BTreeMap::new(), base };
        writer.index();
        writer
    }

    /// Returns the rows of a checkpoint on top of `base`, and makes it the base of the next one.
    pub(crate) fn plan_rows(
        &mut self,
        checkpoint: &Checkpoint,
        commit: &Commit,
        encoding: ValueEncoding,
    ) -> Result<CheckpointRows> {
        let number = self.newest + 1;
        let name_count = self.names.len();
        let state = commit.state.as_ref();
        let (values, parts, prefixes) = (Vec::new(), Vec::new(), std::mem::take(&mut self.base.prefixes));
        let mut value_writer = ValueWriter { number, newest: self.parts, values, parts, state, encoding, prefixes };
        let mut changed_heads = SmallVec::new();
        for change in commit.changes.iter().filter(|change| !change.change.is_unchanged()) {
            let field = self.number(&change.field);
            if changed_heads.iter().any(|(other, _): &(u32, ValueHead)| *other == field) {
                return Err(Error::internal(format!("field `{}` changes twice in one commit", change.field)));
            }
            let head = self.base.heads.get(field as usize).copied().flatten();
            changed_heads.push((field, value_writer.change(field, change, head)?));
        }
        let ValueWriter { values, parts, newest, prefixes, .. } = value_writer;
        (self.parts, self.base.prefixes) = (newest, prefixes);
        let heads = self.heads(changed_heads);
        let origin = self.origin(number, checkpoint, encoding)?;
        let row = CheckpointRow {
            number,
            header: CheckpointHeader::from(checkpoint),
            origin: self.base.origin.as_ref().map_or(number, |(number, _)| *number),
            schedule: encoding.encode(to_json(&StoredSchedule::from(checkpoint))?),
            value_index: heads.to_bytes(number),
            values,
        };
        (self.newest, self.base.number, self.base.distance_to_full_index, self.base.id) =
            (number, number, heads.distance_to_full_index, Some(checkpoint.id));
        let names = (self.names.len() > name_count).then(|| self.names.clone());
        Ok(CheckpointRows { row, origin, parts, names })
    }

    /// Updates the value locations of `base` and returns the index of the new row.
    fn heads(&mut self, mut changed_heads: SmallVec<[(u32, ValueHead); 2]>) -> ValueIndex {
        self.base.heads.resize(self.names.len(), None);
        for (field, head) in &changed_heads {
            self.base.heads[*field as usize] = Some(*head);
        }
        let distance = self.base.distance_to_full_index.saturating_add(1);
        if self.base.number == 0 || ValueIndex::is_whole(self.names.len(), distance) {
            let all = self.base.heads.iter().enumerate();
            let entries = all.filter_map(|(field, head)| Some((field as u32, (*head)?))).collect();
            return ValueIndex { base: None, distance_to_full_index: 0, entries };
        }
        changed_heads.sort_unstable_by_key(|(field, _)| *field);
        ValueIndex { base: Some(self.base.number), distance_to_full_index: distance, entries: changed_heads }
    }

    fn origin(&mut self, number: u64, checkpoint: &Checkpoint, encoding: ValueEncoding) -> Result<Option<RunInfoRow>> {
        if self.base.origin.as_ref().is_some_and(|(_, origin)| origin.matches(checkpoint)) {
            return Ok(None);
        }
        let origin = RunInfo::from(checkpoint);
        let row = RunInfoRow::new(number, &origin, encoding)?;
        self.base.origin = Some((number, origin));
        Ok(Some(row))
    }

    fn number(&mut self, field: &Arc<str>) -> u32 {
        if let Some(number) = self.find(field) {
            return number;
        }
        self.names.push(field.clone());
        self.index();
        (self.names.len() - 1) as u32
    }

    fn find(&self, field: &Arc<str>) -> Option<u32> {
        if self.names.len() > LINEAR_SEARCH_MAX_NAMES {
            return self.numbers.get(field).copied();
        }
        let position = self.names.iter().position(|name| Arc::ptr_eq(name, field) || name == field);
        position.map(|position| position as u32)
    }

    fn index(&mut self) {
        if self.names.len() > LINEAR_SEARCH_MAX_NAMES {
            let indexed = self.numbers.len();
            self.numbers.extend(self.names[indexed..].iter().cloned().zip(indexed as u32..));
        }
    }
}

/// The values of one checkpoint while its rows are built.
struct ValueWriter<'a> {
    number: u64,
    /// Number of the newest part.
    newest: u64,
    values: Vec<u8>,
    parts: Vec<PartRow>,
    state: Option<&'a StateRef>,
    encoding: ValueEncoding,
    prefixes: CompressionPrefixes,
}

impl ValueWriter<'_> {
    /// Adds a change on top of a value, or the full value if that is cheaper or there is no base value.
    fn change(&mut self, field: u32, change: &FieldChange, head: Option<ValueHead>) -> Result<ValueHead> {
        let FieldChange { field: name, change, delta: part } = change;
        if *change == Change::Set {
            return self.write_full_value(field, name, part);
        }
        let full_value = || self.state.and_then(|state| state.full_value(name));
        let Some(head) = head else {
            let missing = || Error::internal(format!("field `{name}` has no value to apply the change to"));
            let full_value = full_value().ok_or_else(missing)?;
            return self.write_full_value(field, name, &full_value);
        };
        if head.full <= ALWAYS_FULL_BYTES
            && let Some(full_value) = full_value()
        {
            return self.write_full_value(field, name, &full_value);
        }
        let body = any_value_to_json(part, name)?;
        let length = body.len() as u64;
        let full = if matches!(change, Change::Appended { .. }) { head.full + length } else { head.full };
        let weight = head.weight + length + ROW_READ_COST + change_text(change)?.len() as u64;
        if weight > 2 * full + CHANGE_CHAIN_SLACK
            && let Some(full_value) = full_value()
        {
            return self.write_full_value(field, name, &full_value);
        }
        let end = self.part(field, Some(head.end), change.clone(), body);
        Ok(ValueHead { end, weight, full })
    }

    fn write_full_value(&mut self, field: u32, name: &str, value: &AnyValue) -> Result<ValueHead> {
        let body = any_value_to_json(value, name)?;
        let full = body.len() as u64;
        if body.len() <= INLINE_VALUE_BYTES {
            put_value(&mut self.values, field, &body);
            return Ok(ValueHead { end: ValueLocation::Row(self.number), weight: full, full });
        }
        let end = self.part(field, None, Change::Set, body);
        Ok(ValueHead { end, weight: full, full })
    }

    fn part(&mut self, field: u32, before: Option<ValueLocation>, change: Change, body: Vec<u8>) -> ValueLocation {
        self.newest += 1;
        let end = ValueLocation::Part(self.newest);
        let mut prefix = self.prefixes.take(field, before);
        let stored = self.encoding.encode_after(&body, &prefix);
        if self.encoding == ValueEncoding::Compressed {
            prefix.push(&body);
            self.prefixes.push(field, end, prefix);
        }
        let body = stored.unwrap_or(body);
        self.parts.push(PartRow { number: self.newest, field, before, change, body });
        end
    }
}

/// Returns true if the last stored change of a field matches a commit; the stored form may be the full value instead
/// of the change.
pub(crate) fn matches_change(last: &(Change, AnyValue), change: &FieldChange, state: Option<&StateRef>) -> bool {
    if last.0 == change.change {
        return last.1 == change.delta;
    }
    let full_value = state.and_then(|state| state.full_value(&change.field));
    last.0 == Change::Set && full_value.is_none_or(|full_value| full_value == last.1)
}

/// Rejects a checkpoint whose thread or namespace differs from its commit: it would be stored in the wrong history
/// permanently.
pub(crate) fn check_thread_and_namespace(commit: &Commit) -> Result<()> {
    let Some(checkpoint) = &commit.checkpoint else { return Ok(()) };
    if checkpoint.thread == commit.lease.thread && checkpoint.namespace == commit.namespace {
        return Ok(());
    }
    let (thread, namespace) = (&checkpoint.thread, checkpoint.namespace.as_str());
    Err(Error::internal(format!("checkpoint {} belongs to thread `{thread}`, graph `{namespace}`", checkpoint.id)))
}
