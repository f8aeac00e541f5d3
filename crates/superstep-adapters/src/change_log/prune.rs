//! Decides which rows pruning removes from a history, and which remaining rows have to be rewritten to stay complete.
//!
//! Numbers of checkpoints and parts do not change, so a writer can continue with its cached state.

use std::collections::{BTreeMap, BTreeSet};

use superstep_core::checkpoint::{PendingEntry, RunInfo};
use superstep_core::error::Result;
use superstep_core::port::{self, Retention};

use super::rows::{CheckpointRow, RetainedValuesRow, corrupt_row_error, put_value, value_of};
use super::value_index::{ValueHead, ValueIndex, ValueLocation};

/// Changes to the rows of a history.
#[derive(Debug, Default)]
pub(crate) struct PrunePlan {
    /// Numbers of removed checkpoints.
    pub(crate) removed: Vec<u64>,
    /// Remaining checkpoints that referred to a removed one: their value index is now complete.
    pub(crate) rewritten: Vec<CheckpointRow>,
    /// Short values of removed checkpoints that others still need: all retained values that exist after pruning.
    pub(crate) retained_values: Vec<RetainedValuesRow>,
    /// Numbers of parts that are still needed.
    pub(crate) parts: BTreeSet<u64>,
    /// Numbers of run info rows that are still needed.
    pub(crate) origins: BTreeSet<u64>,
    /// Number of bytes of removed short values.
    pub(crate) bytes: u64,
}

/// A checkpoint as a candidate for removal.
pub(crate) struct PruneRow {
    row: CheckpointRow,
    candidate: port::PruneCandidate,
}

impl PruneRow {
    /// Creates a candidate from a row, its pending entries, and its run info, which is only required if the retention
    /// rule uses it.
    pub(crate) fn new(row: CheckpointRow, origin: Option<&RunInfo>, pending: &[PendingEntry]) -> Self {
        let candidate = port::PruneCandidate::from_columns(&row.header, origin, pending);
        Self { row, candidate }
    }
}

/// The rows of a history that are no checkpoints.
pub(crate) struct NonCheckpointRows {
    /// Retained values of checkpoints pruned earlier.
    pub(crate) retained_values: Vec<RetainedValuesRow>,
    /// Field and base of each part.
    pub(crate) parts: BTreeMap<u64, (u32, Option<ValueLocation>)>,
}

/// Decides which checkpoints of a history stay; `candidates` are all of its checkpoints, oldest first.
pub(crate) fn prune(
    candidates: Vec<PruneRow>,
    other_rows: NonCheckpointRows,
    retention: &Retention,
) -> Result<PrunePlan> {
    let (all, candidates): (Vec<CheckpointRow>, Vec<_>) =
        candidates.into_iter().map(|candidate| (candidate.row, candidate.candidate)).unzip();
    let (mut rows, mut retained) = (BTreeMap::new(), BTreeSet::new());
    for (row, is_retained) in all.into_iter().zip(retention.decide(&candidates)) {
        if is_retained {
            retained.insert(row.number);
        }
        let heads = row.heads()?;
        rows.insert(row.number, (row, heads));
    }
    let mut plan = PrunePlan::default();
    let mut short_values = BTreeSet::new();
    for number in &retained {
        for (field, head) in plan.retain_checkpoint(&rows, &retained, *number)? {
            plan.follow((field, head.end), &other_rows, &mut short_values);
        }
    }
    plan.remove_rows(&rows, &retained, &other_rows.retained_values, &short_values);
    Ok(plan)
}

impl PrunePlan {
    /// Returns the value locations of a remaining checkpoint.
    fn retain_checkpoint(
        &mut self,
        rows: &BTreeMap<u64, (CheckpointRow, ValueIndex)>,
        retained: &BTreeSet<u64>,
        number: u64,
    ) -> Result<BTreeMap<u32, ValueHead>> {
        let row = &rows[&number].0;
        let mut value_locations: BTreeMap<u32, ValueHead> = BTreeMap::new();
        let (mut next, mut references_removed) = (Some(number), false);
        while let Some(at) = next {
            let Some((_, heads)) = rows.get(&at) else {
                return Err(corrupt_row_error(
                    row.header.id,
                    &format!("it references checkpoint {at} of its history, which is missing"),
                ));
            };
            for (field, head) in &heads.entries {
                value_locations.entry(*field).or_insert(*head);
            }
            references_removed |= !retained.contains(&at);
            next = heads.base;
        }
        self.origins.insert(row.origin);
        if references_removed {
            let heads = ValueIndex {
                base: None,
                distance_to_full_index: 0,
                entries: value_locations.iter().map(|(field, head)| (*field, *head)).collect(),
            };
            self.rewritten.push(CheckpointRow { value_index: heads.to_bytes(number), ..row.clone() });
        }
        Ok(value_locations)
    }

    /// Records all rows that a value consists of.
    fn follow(
        &mut self,
        (field, end): (u32, ValueLocation),
        other_rows: &NonCheckpointRows,
        short_values: &mut BTreeSet<(u64, u32)>,
    ) {
        let mut next = Some(end);
        while let Some(end) = next {
            next = match end {
                ValueLocation::Row(number) => {
                    short_values.insert((number, field));
                    None
                }
                ValueLocation::Part(number) if self.parts.insert(number) => {
                    other_rows.parts.get(&number).and_then(|part| part.1)
                }
                ValueLocation::Part(_) => None,
            };
        }
    }

    /// Removes the other checkpoints, except their short values that are still needed.
    fn remove_rows(
        &mut self,
        rows: &BTreeMap<u64, (CheckpointRow, ValueIndex)>,
        retained: &BTreeSet<u64>,
        retained_values: &[RetainedValuesRow],
        short_values: &BTreeSet<(u64, u32)>,
    ) {
        let removed = rows.iter().filter(|(number, _)| !retained.contains(number));
        self.removed = removed.clone().map(|(number, _)| *number).collect();
        let removed = removed.map(|(number, (row, _))| (*number, &row.values));
        for (number, values) in
            removed.chain(retained_values.iter().map(|retained_row| (retained_row.number, &retained_row.values)))
        {
            let mut needed_values = Vec::new();
            for (_, field) in short_values.range((number, 0)..=(number, u32::MAX)) {
                if let Some(value) = value_of(values, *field) {
                    put_value(&mut needed_values, *field, value);
                }
            }
            self.bytes += (values.len() - needed_values.len()) as u64;
            if !needed_values.is_empty() {
                self.retained_values.push(RetainedValuesRow { number, values: needed_values });
            }
        }
    }
}
