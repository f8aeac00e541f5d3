//! Puts checkpoints together from rows, asking for what is missing until they are whole.
//!
//! Reads nothing itself: a store asks [`Gather::needs`], gives the rows, and asks again, so that one that is far away can
//! fetch many rows at once. Every row is read once, however many checkpoints share it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, Namespace, Origin, Pending};
use superstep_core::datum::Datum;
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{FieldLog, Loaded};

use super::head::{Head, Heads};
use super::plan::Base;
use super::row::{Link, Row, damaged, value_of};

/// Rows that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The checkpoint with this number.
    Row(u64),
    /// The changes of a chain up to and including this one.
    Chain { field: u32, chain: u64, last: u64 },
}

/// A part as it was read: its place in the chain, what it is, its value.
pub(crate) type Given = (u64, Link, Vec<u8>);

/// Checkpoints of one line that are being put together.
pub(crate) struct Gather {
    place: (ThreadId, Namespace),
    names: Arc<[Arc<str>]>,
    wanted: Vec<Wanted>,
    rows: BTreeMap<u64, Option<Known>>,
    chains: BTreeMap<(u32, u64), Chain>,
}

struct Wanted {
    row: Row,
    origin: Arc<Origin>,
    pending: Vec<Pending>,
}

/// What matters of a row for other rows.
struct Known {
    heads: Heads,
    values: Vec<u8>,
}

#[derive(Default)]
struct Chain {
    /// How far it was asked for.
    until: u64,
    links: BTreeMap<u64, (Link, Datum)>,
}

impl Gather {
    pub(crate) fn new(thread: &ThreadId, namespace: &Namespace, names: Arc<[Arc<str>]>) -> Self {
        let place = (thread.clone(), namespace.clone());
        Self { place, names, wanted: Vec::new(), rows: BTreeMap::new(), chains: BTreeMap::new() }
    }

    /// Adds a checkpoint that is wanted.
    pub(crate) fn want(&mut self, row: Row, origin: Arc<Origin>, pending: Vec<Pending>) -> Result<()> {
        self.give_row(row.number, Some(&row))?;
        self.wanted.push(Wanted { row, origin, pending });
        Ok(())
    }

    /// Gives a row that was asked for, or says that it is not there.
    pub(crate) fn give_row(&mut self, number: u64, row: Option<&Row>) -> Result<()> {
        let known = row.map(|row| Ok::<_, Error>(Known { heads: row.heads()?, values: row.values.clone() }));
        self.rows.insert(number, known.transpose()?);
        Ok(())
    }

    /// The error of a part of a value that is not what was written.
    pub(crate) fn damaged(&self, field: u32, how: &str) -> Error {
        let name = self.names.get(field as usize).map_or("?", |name| name);
        let id = self.wanted.first().map_or(CheckpointId::from_bits(0), |wanted| wanted.row.mark.id);
        damaged(id, &format!("a change of field `{name}`: {how}"))
    }

    /// Gives the changes of a chain that were asked for.
    pub(crate) fn give_chain(&mut self, (field, chain, last): (u32, u64, u64), given: Vec<Given>) -> Result<()> {
        let mut known = self.chains.remove(&(field, chain)).unwrap_or_default();
        known.until = known.until.max(last + 1);
        for (number, link, body) in given {
            let value = match (&link, known.links.contains_key(&number)) {
                (_, true) => continue,
                (Link::To { .. }, _) => Datum::json(serde_json::Value::Null),
                (Link::Change(_), _) => match serde_json::from_slice(&body) {
                    Ok(value) => Datum::json(value),
                    Err(error) => return Err(self.damaged(field, &error.to_string())),
                },
            };
            known.links.insert(number, (link, value));
        }
        self.chains.insert((field, chain), known);
        Ok(())
    }

    /// What has to be read before the checkpoints are whole; empty when they are.
    pub(crate) fn needs(&self) -> Result<Vec<Need>> {
        let mut needs = BTreeSet::new();
        let mut ends: BTreeMap<(u32, u64), (Head, CheckpointId)> = BTreeMap::new();
        for wanted in &self.wanted {
            match self.heads(wanted.row.number, wanted.row.mark.id)? {
                Err(row) => drop(needs.insert(Need::Row(row))),
                Ok(heads) => {
                    for (field, head) in heads.into_iter().enumerate().filter_map(|(field, head)| Some((field, head?)))
                    {
                        let end = ends.entry((field as u32, head.chain)).or_insert((head, wanted.row.mark.id));
                        if end.0.last < head.last {
                            end.0 = head;
                        }
                    }
                }
            }
        }
        for ((field, _), (head, _)) in ends {
            self.needs_of(field, head, &mut needs);
        }
        // One range of a chain, not one for each checkpoint that ends in it.
        let mut longest: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        for need in &needs {
            if let Need::Chain { field, chain, last } = need {
                let until = longest.entry((*field, *chain)).or_default();
                *until = (*until).max(*last);
            }
        }
        needs.retain(|need| match need {
            Need::Row(_) => true,
            Need::Chain { field, chain, last } => longest.get(&(*field, *chain)) == Some(last),
        });
        Ok(needs.into_iter().collect())
    }

    /// Follows a chain and those it leads to.
    fn needs_of(&self, field: u32, head: Head, needs: &mut BTreeSet<Need>) {
        let Head { mut chain, mut last, mut is_inline, .. } = head;
        loop {
            let row = self.rows.get(&chain);
            if is_inline && row.is_none() {
                needs.insert(Need::Row(chain));
            }
            // A short value whose checkpoint was pruned has a row of its own.
            let has_own_row = !is_inline || row.is_some_and(Option::is_none);
            let known = self.chains.get(&(field, chain));
            if (has_own_row || last > 0) && known.is_none_or(|known| known.until <= last) {
                needs.insert(Need::Chain { field, chain, last });
                return;
            }
            match known.and_then(|known| known.links.get(&0)) {
                Some((Link::To { chain: next, last: until, is_inline: inline }, _)) if *next < chain => {
                    (chain, last, is_inline) = (*next, *until, *inline);
                }
                _ => return,
            }
        }
    }

    /// The ends of all chains of a checkpoint, or the row that is missing to tell.
    fn heads(&self, number: u64, id: CheckpointId) -> Result<std::result::Result<Vec<Option<Head>>, u64>> {
        let mut heads: Vec<Option<Head>> = vec![None; self.names.len()];
        let mut next = Some(number);
        while let Some(number) = next {
            let known = match self.rows.get(&number) {
                None => return Ok(Err(number)),
                Some(None) => {
                    return Err(damaged(id, &format!("it builds on checkpoint {number} of its line, which is gone")));
                }
                Some(Some(known)) => known,
            };
            for (field, head) in &known.heads.entries {
                let place =
                    heads.get_mut(*field as usize).ok_or_else(|| damaged(id, "it has a field without a name"))?;
                place.get_or_insert(*head);
            }
            next = known.heads.base;
        }
        Ok(Ok(heads))
    }

    /// What the next checkpoint builds on, when the wanted one is a parent; `None` while rows are missing.
    pub(crate) fn base(&self) -> Result<std::result::Result<Option<Base>, u64>> {
        let Some(wanted) = self.wanted.first() else { return Ok(Ok(None)) };
        let number = wanted.row.number;
        let heads = match self.heads(number, wanted.row.mark.id)? {
            Err(missing) => return Ok(Err(missing)),
            Ok(heads) => heads,
        };
        let way = self.rows.get(&number).and_then(Option::as_ref).map_or(0, |known| known.heads.way);
        let origin = Some((wanted.row.origin, (*wanted.origin).clone()));
        Ok(Ok(Some(Base { id: Some(wanted.row.mark.id), number, heads, way, origin })))
    }

    /// The checkpoints, in the order they were wanted.
    pub(crate) fn finish(mut self) -> Result<Vec<Loaded>> {
        let wanted = std::mem::take(&mut self.wanted);
        wanted.into_iter().map(|wanted| self.loaded(wanted)).collect()
    }

    fn loaded(&self, wanted: Wanted) -> Result<Loaded> {
        let Wanted { row, origin, pending } = wanted;
        let id = row.mark.id;
        let heads = self.heads(row.number, id)?.map_err(|_| damaged(id, "a row it builds on was not read"))?;
        let mut fields = Vec::with_capacity(heads.len());
        for (field, head) in heads.into_iter().enumerate() {
            if let Some(head) = head {
                fields.push((self.names[field].clone(), self.log(field as u32, head, id)?));
            }
        }
        let checkpoint = Checkpoint::from_pieces(self.place.clone(), row.mark.clone(), &origin, row.ahead()?);
        Ok(Loaded { checkpoint: Arc::new(checkpoint), fields, pending })
    }

    /// The changes that make a value, oldest first.
    fn log(&self, field: u32, head: Head, id: CheckpointId) -> Result<FieldLog> {
        let incomplete = || damaged(id, &format!("a change of field `{}` is missing", self.names[field as usize]));
        let Head { mut chain, mut last, mut is_inline, .. } = head;
        let mut log = FieldLog::new();
        loop {
            let known = self.chains.get(&(field, chain));
            for number in (1..=last).rev() {
                match known.and_then(|known| known.links.get(&number)) {
                    Some((Link::Change(change), value)) => log.push((change.clone(), value.clone())),
                    _ => return Err(incomplete()),
                }
            }
            if is_inline && let Some(Some(row)) = self.rows.get(&chain) {
                let value = value_of(&row.values, field).ok_or_else(incomplete)?;
                let value = serde_json::from_slice(value).map_err(|error| damaged(id, &error.to_string()))?;
                log.push((Change::Set, Datum::json(value)));
                break;
            }
            match known.and_then(|known| known.links.get(&0)).ok_or_else(incomplete)? {
                (Link::Change(change), value) => {
                    log.push((change.clone(), value.clone()));
                    break;
                }
                (Link::To { chain: next, last: until, is_inline: inline }, _) if *next < chain => {
                    (chain, last, is_inline) = (*next, *until, *inline);
                }
                (Link::To { .. }, _) => return Err(damaged(id, "a chain of changes leads back to itself")),
            }
        }
        log.reverse();
        Ok(log)
    }
}
