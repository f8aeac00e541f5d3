//! Which rows go when a line is pruned, and what has to change in those that stay so that they remain whole.
//!
//! Numbers of checkpoints and parts stay as they are: whoever goes on with the line builds on what it knew.

use std::collections::{BTreeMap, BTreeSet};

use superstep_core::checkpoint::{Origin, Pending};
use superstep_core::error::Result;
use superstep_core::port::{self, Retention};

use super::head::{End, Head, Heads};
use super::row::{RemnantRow, Row, damaged, put_value, value_of};

/// What is to be done to the rows of a line.
#[derive(Debug, Default)]
pub(crate) struct Pruning {
    /// Checkpoints that go.
    pub(crate) gone: Vec<u64>,
    /// Checkpoints that stay and lead to one that goes: they now say themselves where all values are.
    pub(crate) rewritten: Vec<Row>,
    /// Short values of checkpoints that go or went, which others still have: all remnants there are to be.
    pub(crate) remnants: Vec<RemnantRow>,
    /// Parts that are still needed.
    pub(crate) parts: BTreeSet<u64>,
    /// Origins that are still needed.
    pub(crate) origins: BTreeSet<u64>,
    /// Bytes of short values that go.
    pub(crate) bytes: u64,
}

/// A checkpoint as pruning sees it.
pub(crate) struct Candidate {
    row: Row,
    seen: port::Candidate,
}

impl Candidate {
    /// A row with what its run has in common, which is only needed where the rules ask for it, and with what is known of
    /// its tasks.
    pub(crate) fn new(row: Row, origin: Option<&Origin>, pending: &[Pending]) -> Self {
        let seen = port::Candidate::from_pieces(&row.mark, origin, pending);
        Self { row, seen }
    }
}

/// The rows of a line that hold no checkpoints.
pub(crate) struct Holdings {
    /// What is left of checkpoints that were pruned before.
    pub(crate) remnants: Vec<RemnantRow>,
    /// For each part its field and what it builds on.
    pub(crate) parts: BTreeMap<u64, (u32, Option<End>)>,
}

/// Decides what stays of a line; `candidates` are all of its checkpoints, oldest first.
pub(crate) fn prune(candidates: Vec<Candidate>, holdings: Holdings, retention: &Retention) -> Result<Pruning> {
    let (all, seen): (Vec<Row>, Vec<_>) =
        candidates.into_iter().map(|candidate| (candidate.row, candidate.seen)).unzip();
    let (mut rows, mut kept) = (BTreeMap::new(), BTreeSet::new());
    for (row, stays) in all.into_iter().zip(retention.stays(&seen)) {
        if stays {
            kept.insert(row.number);
        }
        let heads = row.heads()?;
        rows.insert(row.number, (row, heads));
    }
    let mut pruning = Pruning::default();
    let mut short = BTreeSet::new();
    for number in &kept {
        for (field, head) in pruning.keep(&rows, &kept, *number)? {
            pruning.follow((field, head.end), &holdings, &mut short);
        }
    }
    pruning.part_with(&rows, &kept, &holdings.remnants, &short);
    Ok(pruning)
}

impl Pruning {
    /// Where the values of a checkpoint that stays are.
    fn keep(
        &mut self,
        rows: &BTreeMap<u64, (Row, Heads)>,
        kept: &BTreeSet<u64>,
        number: u64,
    ) -> Result<BTreeMap<u32, Head>> {
        let row = &rows[&number].0;
        let mut ends: BTreeMap<u32, Head> = BTreeMap::new();
        let (mut next, mut is_cut_off) = (Some(number), false);
        while let Some(at) = next {
            let Some((_, heads)) = rows.get(&at) else {
                return Err(damaged(row.mark.id, &format!("it builds on checkpoint {at} of its line, which is gone")));
            };
            for (field, head) in &heads.entries {
                ends.entry(*field).or_insert(*head);
            }
            is_cut_off |= !kept.contains(&at);
            next = heads.base;
        }
        self.origins.insert(row.origin);
        if is_cut_off {
            let heads =
                Heads { base: None, way: 0, entries: ends.iter().map(|(field, head)| (*field, *head)).collect() };
            self.rewritten.push(Row { heads: heads.to_bytes(number), ..row.clone() });
        }
        Ok(ends)
    }

    /// Notes everything that a value is made of.
    fn follow(&mut self, (field, end): (u32, End), holdings: &Holdings, short: &mut BTreeSet<(u64, u32)>) {
        let mut next = Some(end);
        while let Some(end) = next {
            next = match end {
                End::Row(number) => {
                    short.insert((number, field));
                    None
                }
                End::Part(number) if self.parts.insert(number) => holdings.parts.get(&number).and_then(|part| part.1),
                End::Part(_) => None,
            };
        }
    }

    /// Lets the others go, but for their short values that are still needed.
    fn part_with(
        &mut self,
        rows: &BTreeMap<u64, (Row, Heads)>,
        kept: &BTreeSet<u64>,
        remnants: &[RemnantRow],
        short: &BTreeSet<(u64, u32)>,
    ) {
        let gone = rows.iter().filter(|(number, _)| !kept.contains(number));
        self.gone = gone.clone().map(|(number, _)| *number).collect();
        let gone = gone.map(|(number, (row, _))| (*number, &row.values));
        for (number, values) in gone.chain(remnants.iter().map(|remnant| (remnant.number, &remnant.values))) {
            let mut left = Vec::new();
            for (_, field) in short.range((number, 0)..=(number, u32::MAX)) {
                if let Some(value) = value_of(values, *field) {
                    put_value(&mut left, *field, value);
                }
            }
            self.bytes += (values.len() - left.len()) as u64;
            if !left.is_empty() {
                self.remnants.push(RemnantRow { number, values: left });
            }
        }
    }
}
