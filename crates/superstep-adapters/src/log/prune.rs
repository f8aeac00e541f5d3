//! Which rows go when a line is pruned, and what has to change in those that stay so that they remain whole.
//!
//! Numbers of checkpoints and chains stay as they are: whoever goes on with the line builds on what it knew.

use std::collections::{BTreeMap, BTreeSet};

use superstep_core::change::Change;
use superstep_core::checkpoint::{Entry, Pending};
use superstep_core::error::Result;
use superstep_core::port::Retention;

use super::head::{Head, Heads};
use super::row::{Link, PartRow, Row, damaged, value_of};

/// What is to be done to the rows of a line.
#[derive(Debug, Default)]
pub(crate) struct Pruning {
    /// Checkpoints that go.
    pub(crate) gone: Vec<u64>,
    /// Checkpoints that stay and lead to one that goes: they now name all chains themselves.
    pub(crate) rewritten: Vec<Row>,
    /// Short values of checkpoints that go, which others still have.
    pub(crate) moved: Vec<PartRow>,
    /// The chains that are still needed, by field and beginning, with the last change that is.
    pub(crate) chains: BTreeMap<(u32, u64), u64>,
    /// Origins that are still needed.
    pub(crate) origins: BTreeSet<u64>,
    /// Bytes of short values that go.
    pub(crate) bytes: u64,
}

/// A checkpoint as pruning sees it.
pub(crate) struct Candidate {
    pub(crate) row: Row,
    pub(crate) has_pending: bool,
    pub(crate) has_open_question: bool,
}

/// The chains that begin by leading to another, by field and beginning.
pub(crate) type Links = BTreeMap<(u32, u64), Link>;

/// Whether a person is still asked something.
pub(crate) fn has_open_question(pending: &[Pending]) -> bool {
    let is_answered = |id| pending.iter().any(|known| matches!(&known.entry, Entry::Answer(answer) if answer.id == id));
    pending.iter().any(|known| matches!(&known.entry, Entry::Question(question) if !is_answered(question.id)))
}

/// Decides what stays of a line; `candidates` are all of its checkpoints, oldest first.
pub(crate) fn prune(candidates: Vec<Candidate>, links: &Links, retention: &Retention) -> Result<Pruning> {
    let first_kept = candidates.len().saturating_sub(retention.keep_last);
    let newest = candidates.last().map_or(0, |candidate| candidate.row.number);
    let is_kept = |place: usize, candidate: &Candidate| {
        place >= first_kept || candidate.has_open_question || (candidate.row.number == newest && candidate.has_pending)
    };
    let (mut rows, mut kept) = (BTreeMap::new(), BTreeSet::new());
    for (place, candidate) in candidates.into_iter().enumerate() {
        if is_kept(place, &candidate) {
            kept.insert(candidate.row.number);
        }
        let heads = candidate.row.heads()?;
        rows.insert(candidate.row.number, (candidate.row, heads));
    }
    let mut pruning = Pruning::default();
    let mut inline = BTreeSet::new();
    for number in &kept {
        pruning.keep(&rows, &kept, *number, |field, head| {
            inline.extend(head.is_inline.then_some((field, head.chain)));
        })?;
    }
    pruning.follow(links, &mut inline);
    pruning.part_with(&rows, &kept, &inline);
    Ok(pruning)
}

impl Pruning {
    /// Notes what a checkpoint that stays needs.
    fn keep(
        &mut self,
        rows: &BTreeMap<u64, (Row, Heads)>,
        kept: &BTreeSet<u64>,
        number: u64,
        mut see: impl FnMut(u32, &Head),
    ) -> Result<()> {
        let mut ends: BTreeMap<u32, Head> = BTreeMap::new();
        let (mut next, mut is_cut_off) = (Some(number), false);
        while let Some(at) = next {
            let Some((_, heads)) = rows.get(&at) else {
                let id = rows[&number].0.mark.id;
                return Err(damaged(id, &format!("it builds on checkpoint {at} of its line, which is gone")));
            };
            for (field, head) in &heads.entries {
                ends.entry(*field).or_insert(*head);
            }
            is_cut_off |= !kept.contains(&at);
            next = heads.base;
        }
        for (field, head) in &ends {
            self.need(*field, head.chain, head.last);
            see(*field, head);
        }
        let row = &rows[&number].0;
        self.origins.insert(row.origin);
        if is_cut_off {
            let heads = Heads { base: None, way: 0, entries: ends.into_iter().collect() };
            self.rewritten.push(Row { heads: heads.to_bytes(number), ..row.clone() });
        }
        Ok(())
    }

    fn need(&mut self, field: u32, chain: u64, last: u64) {
        let until = self.chains.entry((field, chain)).or_insert(last);
        *until = (*until).max(last);
    }

    /// Adds the chains that those that stay lead to.
    fn follow(&mut self, links: &Links, inline: &mut BTreeSet<(u32, u64)>) {
        let mut open: Vec<(u32, u64)> = self.chains.keys().copied().collect();
        while let Some((field, chain)) = open.pop() {
            if let Some(Link::To { chain: next, last, is_inline }) = links.get(&(field, chain)) {
                self.need(field, *next, *last);
                inline.extend(is_inline.then_some((field, *next)));
                if *next < chain {
                    open.push((field, *next));
                }
            }
        }
    }

    /// Lets the others go, but for their short values that are still needed.
    fn part_with(&mut self, rows: &BTreeMap<u64, (Row, Heads)>, kept: &BTreeSet<u64>, inline: &BTreeSet<(u32, u64)>) {
        for (number, (row, _)) in rows.iter().filter(|(number, _)| !kept.contains(number)) {
            self.gone.push(*number);
            self.bytes += row.values.len() as u64;
        }
        for (field, chain) in inline.iter().filter(|(_, chain)| !kept.contains(chain)) {
            if let Some(value) = rows.get(chain).and_then(|(row, _)| value_of(&row.values, *field)) {
                let (link, body) = (Link::Change(Change::Set), value.to_vec());
                self.bytes = self.bytes.saturating_sub(body.len() as u64);
                self.moved.push(PartRow { field: *field, chain: *chain, number: 0, link, body });
            }
        }
    }
}
