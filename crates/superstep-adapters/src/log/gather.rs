//! Puts checkpoints together from rows, asking for what is missing until they are whole.
//!
//! Reads nothing itself: a store asks [`Gather::needs`], gives the rows, and asks again, so that one that is far away can
//! fetch many rows at once. Every row is read once, however many checkpoints share it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, Mark, Namespace, Origin, Pending};
use superstep_core::datum::Datum;
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{FieldLog, Loaded};

use super::form::{is_squeezed, unpack_on};
use super::head::{End, Head, Heads};
use super::plan::Base;
use super::row::{PartRow, Row, damaged, of_checkpoint, value_of};

/// Rows that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The checkpoint with this number.
    Row(u64),
    /// The short values of the checkpoint with this number, which may be all that is left of it.
    Values(u64),
    /// The part with this number, and those it builds on that are not known.
    Parts(u64),
}

/// Checkpoints of one line that are being put together.
pub(crate) struct Gather {
    place: (ThreadId, Namespace),
    names: Arc<[Arc<str>]>,
    wanted: Vec<Wanted>,
    heads: BTreeMap<u64, Heads>,
    values: BTreeMap<u64, Values>,
    parts: BTreeMap<u64, Part>,
    /// The last checkpoint that was put together, with what lies ahead of it as it stands in its row: those around it
    /// often differ in their mark alone.
    last: Option<(Vec<u8>, u64, Checkpoint)>,
    is_many: bool,
}

struct Wanted {
    row: Row,
    origin: Arc<Origin>,
    pending: Vec<Pending>,
}

/// The short values of a checkpoint, read when they are asked for.
struct Values {
    bytes: Vec<u8>,
    read: Vec<(u32, Datum)>,
}

/// For each field where its value is.
type Ends = SmallVec<[Option<Head>; 4]>;

struct Part {
    before: Option<End>,
    change: Change,
    /// As it is stored, and as it was when it was read once.
    body: Vec<u8>,
    value: Option<Datum>,
}

impl Gather {
    pub(crate) fn new(thread: &ThreadId, namespace: &Namespace, names: Arc<[Arc<str>]>) -> Self {
        let (place, wanted) = ((thread.clone(), namespace.clone()), Vec::new());
        let (heads, values, parts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { place, names, wanted, heads, values, parts, last: None, is_many: false }
    }

    /// Adds a checkpoint that is wanted.
    pub(crate) fn want(&mut self, mut row: Row, origin: Arc<Origin>, pending: Vec<Pending>) -> Result<()> {
        self.heads.insert(row.number, row.heads()?);
        self.give_values(row.number, std::mem::take(&mut row.values));
        self.wanted.push(Wanted { row, origin, pending });
        Ok(())
    }

    /// A checkpoint without its values.
    pub(crate) fn outline(&self, row: Row, origin: &Origin, pending: Vec<Pending>) -> Result<Loaded> {
        let checkpoint = Checkpoint::from_pieces(self.place.clone(), row.mark.clone(), origin, row.ahead()?);
        Ok(Loaded { checkpoint: Arc::new(checkpoint), fields: Vec::new(), pending })
    }

    /// Gives a row that was asked for.
    pub(crate) fn give_row(&mut self, mut row: Row) -> Result<()> {
        self.heads.insert(row.number, row.heads()?);
        self.give_values(row.number, std::mem::take(&mut row.values));
        Ok(())
    }

    /// Gives the short values of a checkpoint that were asked for.
    pub(crate) fn give_values(&mut self, number: u64, bytes: Vec<u8>) {
        self.values.insert(number, Values { bytes, read: Vec::new() });
    }

    /// Gives a part; it is asked for with those it builds on.
    pub(crate) fn give_part(&mut self, part: PartRow) {
        let PartRow { number, before, change, body, .. } = part;
        self.parts.insert(number, Part { before, change, body, value: None });
    }

    pub(crate) fn has_part(&self, number: u64) -> bool {
        self.parts.contains_key(&number)
    }

    /// The error of rows that are not what was written.
    pub(crate) fn damaged(&self, field: Option<u32>, how: &str) -> Error {
        let id = self.wanted.first().map_or(CheckpointId::from_bits(0), |wanted| wanted.row.mark.id);
        match field.and_then(|field| self.names.get(field as usize)) {
            Some(name) => damaged(id, &format!("field `{name}`: {how}")),
            None => damaged(id, how),
        }
    }

    /// What has to be read before the checkpoints are whole; empty when they are.
    pub(crate) fn needs(&self) -> Result<Vec<Need>> {
        let mut needs = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for wanted in &self.wanted {
            match self.ends(wanted.row.number, wanted.row.mark.id)? {
                Err(row) => drop(needs.insert(Need::Row(row))),
                Ok(ends) => ends.iter().flatten().for_each(|head| self.follow(head.end, &mut seen, &mut needs)),
            }
        }
        Ok(needs.into_iter().collect())
    }

    /// About how many bytes the values of the wanted checkpoints are, those of each counted by themselves.
    #[cfg(feature = "sqlite")]
    pub(crate) fn weight(&self) -> u64 {
        let weight = |heads: &Heads| heads.entries.iter().map(|(_, head)| head.weight).sum::<u64>();
        self.wanted.iter().filter_map(|wanted| self.heads.get(&wanted.row.number)).map(weight).sum()
    }

    /// Follows a value to where it begins, or to what is missing.
    fn follow(&self, end: End, seen: &mut BTreeSet<u64>, needs: &mut BTreeSet<Need>) {
        let mut next = Some(end);
        while let Some(end) = next {
            next = match end {
                End::Row(number) => {
                    if !self.values.contains_key(&number) {
                        needs.insert(Need::Values(number));
                    }
                    None
                }
                End::Part(number) if !seen.insert(number) => None,
                End::Part(number) => match self.parts.get(&number) {
                    Some(part) => part.before,
                    None => {
                        needs.insert(Need::Parts(number));
                        None
                    }
                },
            };
        }
    }

    /// Where the values of a checkpoint are, or the row that is missing to tell.
    fn ends(&self, number: u64, id: CheckpointId) -> Result<std::result::Result<Ends, u64>> {
        let mut ends = Ends::from_elem(None, self.names.len());
        let mut next = Some(number);
        while let Some(number) = next {
            let Some(heads) = self.heads.get(&number) else { return Ok(Err(number)) };
            for (field, head) in &heads.entries {
                let place =
                    ends.get_mut(*field as usize).ok_or_else(|| damaged(id, "it has a field without a name"))?;
                place.get_or_insert(*head);
            }
            next = heads.base;
        }
        Ok(Ok(ends))
    }

    /// What the next checkpoint builds on, when the wanted one is its parent, or the row that is missing to tell.
    pub(crate) fn base(&self) -> Result<std::result::Result<Option<Base>, u64>> {
        let Some(wanted) = self.wanted.first() else { return Ok(Ok(None)) };
        let number = wanted.row.number;
        let heads = match self.ends(number, wanted.row.mark.id)? {
            Err(missing) => return Ok(Err(missing)),
            Ok(heads) => heads.into_vec(),
        };
        let way = self.heads.get(&number).map_or(0, |heads| heads.way);
        let origin = Some((wanted.row.origin, (*wanted.origin).clone()));
        Ok(Ok(Some(Base { id: Some(wanted.row.mark.id), number, heads, way, origin, ..Base::default() })))
    }

    /// The checkpoints, in the order they were wanted.
    pub(crate) fn finish(mut self) -> Result<Vec<Loaded>> {
        let wanted = std::mem::take(&mut self.wanted);
        self.is_many = wanted.len() > 1;
        wanted.into_iter().map(|wanted| self.loaded(wanted)).collect()
    }

    fn loaded(&mut self, wanted: Wanted) -> Result<Loaded> {
        let Wanted { row, origin, pending } = wanted;
        let id = row.mark.id;
        let ends = self.ends(row.number, id)?.map_err(|_| damaged(id, "a row it builds on was not read"))?;
        let mut fields = Vec::with_capacity(ends.len());
        for (field, head) in ends.into_iter().enumerate() {
            if let Some(head) = head {
                fields.push((self.names[field].clone(), self.log(field as u32, head.end, id)?));
            }
        }
        Ok(Loaded { checkpoint: Arc::new(self.checkpoint(row, &origin)?), fields, pending })
    }

    /// A checkpoint out of its row, or out of the last one where that says the same.
    fn checkpoint(&mut self, row: Row, origin: &Origin) -> Result<Checkpoint> {
        if let Some((ahead, origin, last)) = &self.last
            && (ahead, origin) == (&row.ahead, &row.origin)
        {
            let Mark { id, parent, step, source, time } = row.mark;
            return Ok(Checkpoint { id, parent, step, source, time, ..last.clone() });
        }
        let checkpoint = Checkpoint::from_pieces(self.place.clone(), row.mark.clone(), origin, row.ahead()?);
        // One alone has none around it.
        if self.is_many {
            self.last = Some((row.ahead, row.origin, checkpoint.clone()));
        }
        Ok(checkpoint)
    }

    /// The changes that make a value, oldest first.
    fn log(&mut self, field: u32, end: End, id: CheckpointId) -> Result<FieldLog> {
        let mut numbers = Vec::new();
        let mut next = Some(end);
        while let Some(End::Part(number)) = next {
            let Some(part) = self.parts.get(&number) else { return Err(self.lost(field, id)) };
            // Parts build on earlier ones: another way round would be followed for ever.
            if matches!(part.before, Some(End::Part(before)) if before >= number) {
                return Err(damaged(id, "a change builds on itself"));
            }
            numbers.push(number);
            next = part.before;
        }
        let mut log = FieldLog::with_capacity(numbers.len() + 1);
        if let Some(End::Row(number)) = next {
            log.push((Change::Set, self.value(number, field, id)?));
        }
        for number in numbers.into_iter().rev() {
            log.push(self.change(number, field, id)?);
        }
        Ok(log)
    }

    /// One change; those it builds on were read before.
    fn change(&mut self, number: u64, field: u32, id: CheckpointId) -> Result<(Change, Datum)> {
        let Some(part) = self.parts.get(&number) else { return Err(self.lost(field, id)) };
        if let Some(value) = &part.value {
            return Ok((part.change.clone(), value.clone()));
        }
        let of_field = |error: Error| self.of_field(field, of_checkpoint(error, id));
        let plain = match is_squeezed(&part.body) {
            true => Some(unpack_on(&part.body, self.before(part.before)).map_err(of_field)?),
            false => None,
        };
        let value = serde_json::from_slice(plain.as_ref().unwrap_or(&part.body));
        let value = Datum::json(value.map_err(|error| self.of_field(field, damaged(id, &error.to_string())))?);
        let Some(part) = self.parts.get_mut(&number) else { return Err(self.lost(field, id)) };
        part.value = Some(value.clone());
        if let Some(plain) = plain {
            part.body = plain;
        }
        Ok((part.change.clone(), value))
    }

    /// The pieces that one builds on, the last first.
    fn before(&self, end: Option<End>) -> impl Iterator<Item = &[u8]> {
        let part = |end: Option<End>| match end {
            Some(End::Part(number)) => self.parts.get(&number),
            _ => None,
        };
        std::iter::successors(part(end), move |last| part(last.before)).map(|part| part.body.as_slice())
    }

    fn of_field(&self, field: u32, error: Error) -> Error {
        let name = self.names.get(field as usize).map_or("", |name| name);
        Error::new(error.code(), format!("{}, field `{name}`", error.message()))
            .help(error.advice().unwrap_or_default())
    }

    fn lost(&self, field: u32, id: CheckpointId) -> Error {
        damaged(id, &format!("field `{}`: a part of its value is missing", self.names[field as usize]))
    }

    /// A short value, read once.
    fn value(&mut self, number: u64, field: u32, id: CheckpointId) -> Result<Datum> {
        let Some(values) = self.values.get_mut(&number) else { return Err(self.lost(field, id)) };
        if let Some((_, value)) = values.read.iter().find(|(known, _)| *known == field) {
            return Ok(value.clone());
        }
        let Some(bytes) = value_of(&values.bytes, field) else { return Err(self.lost(field, id)) };
        let value = serde_json::from_slice(bytes).map_err(|error| damaged(id, &error.to_string()))?;
        let value = Datum::json(value);
        values.read.push((field, value.clone()));
        Ok(value)
    }
}
