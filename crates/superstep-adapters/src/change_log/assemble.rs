//! Assembly of checkpoints from rows, which reports missing rows until the checkpoints are complete.
//!
//! Performs no I/O: a checkpointer calls [`CheckpointAssembler::missing_rows`], adds the rows, and calls it again, so
//! that a remote checkpointer can fetch many rows at once. Every row is read once, even if several checkpoints share
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, CheckpointHeader, CheckpointNamespace, PendingEntry, RunInfo};
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{CheckpointTuple, FieldLog};
use superstep_core::value::AnyValue;

use super::encoding::{decode_after, is_compressed};
use super::history_writer::ParentCheckpoint;
use super::rows::{CheckpointRow, PartRow, corrupt_row_error, value_of, with_checkpoint};
use super::value_index::{ValueHead, ValueIndex, ValueLocation};

/// Missing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MissingRows {
    /// The checkpoint with this number.
    Row(u64),
    /// The short values of the checkpoint with this number, which may be its only remaining row.
    Values(u64),
    /// The part with this number and the missing parts it builds on.
    Parts(u64),
}

/// Checkpoints of one history that are being assembled.
pub(crate) struct CheckpointAssembler {
    history_key: (ThreadId, CheckpointNamespace),
    names: Arc<[Arc<str>]>,
    requested: Vec<RequestedCheckpoint>,
    heads: BTreeMap<u64, ValueIndex>,
    values: BTreeMap<u64, ShortValues>,
    parts: BTreeMap<u64, AssembledPart>,
    /// The last assembled checkpoint with its schedule as stored: neighbors often differ only in their header.
    last: Option<(Vec<u8>, u64, Checkpoint)>,
    has_several_requests: bool,
}

struct RequestedCheckpoint {
    row: CheckpointRow,
    origin: Arc<RunInfo>,
    pending: Vec<PendingEntry>,
}

/// The short values of a checkpoint, parsed on demand.
struct ShortValues {
    bytes: Vec<u8>,
    parsed: Vec<(u32, AnyValue)>,
}

/// Location of the value of each field.
type ValueLocations = SmallVec<[Option<ValueHead>; 4]>;

struct AssembledPart {
    before: Option<ValueLocation>,
    change: Change,
    /// The stored bytes; decompressed after the first read.
    body: Vec<u8>,
    value: Option<AnyValue>,
}

impl CheckpointAssembler {
    pub(crate) fn new(thread: &ThreadId, namespace: &CheckpointNamespace, names: Arc<[Arc<str>]>) -> Self {
        let (history_key, requested) = ((thread.clone(), namespace.clone()), Vec::new());
        let (heads, values, parts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { history_key, names, requested, heads, values, parts, last: None, has_several_requests: false }
    }

    /// Requests a checkpoint.
    pub(crate) fn request(
        &mut self,
        mut row: CheckpointRow,
        origin: Arc<RunInfo>,
        pending: Vec<PendingEntry>,
    ) -> Result<()> {
        self.heads.insert(row.number, row.heads()?);
        self.add_values(row.number, std::mem::take(&mut row.values));
        self.requested.push(RequestedCheckpoint { row, origin, pending });
        Ok(())
    }

    /// Returns a checkpoint without its values.
    pub(crate) fn without_values(
        &self,
        row: CheckpointRow,
        origin: &RunInfo,
        pending: Vec<PendingEntry>,
    ) -> Result<CheckpointTuple> {
        let checkpoint =
            Checkpoint::from_columns(self.history_key.clone(), row.header.clone(), origin, row.stored_schedule()?);
        Ok(CheckpointTuple { checkpoint: Arc::new(checkpoint), fields: Vec::new(), pending })
    }

    /// Adds a missing row.
    pub(crate) fn add_row(&mut self, mut row: CheckpointRow) -> Result<()> {
        self.heads.insert(row.number, row.heads()?);
        self.add_values(row.number, std::mem::take(&mut row.values));
        Ok(())
    }

    /// Adds the missing short values of a checkpoint.
    pub(crate) fn add_values(&mut self, number: u64, bytes: Vec<u8>) {
        self.values.insert(number, ShortValues { bytes, parsed: Vec::new() });
    }

    /// Adds a part; the parts it builds on have to be added as well.
    pub(crate) fn add_part(&mut self, part: PartRow) {
        let PartRow { number, before, change, body, .. } = part;
        self.parts.insert(number, AssembledPart { before, change, body, value: None });
    }

    pub(crate) fn has_part(&self, number: u64) -> bool {
        self.parts.contains_key(&number)
    }

    /// Returns the error of corrupt rows.
    pub(crate) fn corrupt_rows_error(&self, field: Option<u32>, reason: &str) -> Error {
        let id = self.requested.first().map_or(CheckpointId::from_bits(0), |request| request.row.header.id);
        match field.and_then(|field| self.names.get(field as usize)) {
            Some(name) => corrupt_row_error(id, &format!("field `{name}`: {reason}")),
            None => corrupt_row_error(id, reason),
        }
    }

    /// Returns the rows that are missing to complete the checkpoints; empty if they are complete.
    pub(crate) fn missing_rows(&self) -> Result<Vec<MissingRows>> {
        let mut needs = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for request in &self.requested {
            match self.value_locations(request.row.number, request.row.header.id)? {
                Err(row) => drop(needs.insert(MissingRows::Row(row))),
                Ok(value_locations) => {
                    value_locations.iter().flatten().for_each(|head| self.follow(head.end, &mut seen, &mut needs))
                }
            }
        }
        Ok(needs.into_iter().collect())
    }

    /// Estimates the size of the values of the requested checkpoints in bytes; shared values count once per
    /// checkpoint.
    #[cfg(feature = "sqlite")]
    pub(crate) fn estimated_bytes(&self) -> u64 {
        let weight = |heads: &ValueIndex| heads.entries.iter().map(|(_, head)| head.weight).sum::<u64>();
        self.requested.iter().filter_map(|request| self.heads.get(&request.row.number)).map(weight).sum()
    }

    /// Follows a value to its beginning or to the first missing row.
    fn follow(&self, end: ValueLocation, seen: &mut BTreeSet<u64>, needs: &mut BTreeSet<MissingRows>) {
        let mut next = Some(end);
        while let Some(end) = next {
            next = match end {
                ValueLocation::Row(number) => {
                    if !self.values.contains_key(&number) {
                        needs.insert(MissingRows::Values(number));
                    }
                    None
                }
                ValueLocation::Part(number) if !seen.insert(number) => None,
                ValueLocation::Part(number) => match self.parts.get(&number) {
                    Some(part) => part.before,
                    None => {
                        needs.insert(MissingRows::Parts(number));
                        None
                    }
                },
            };
        }
    }

    /// Returns the locations of the values of a checkpoint, or the number of the row that is missing to determine
    /// them.
    fn value_locations(&self, number: u64, id: CheckpointId) -> Result<std::result::Result<ValueLocations, u64>> {
        let mut value_locations = ValueLocations::from_elem(None, self.names.len());
        let mut next = Some(number);
        while let Some(number) = next {
            let Some(heads) = self.heads.get(&number) else { return Ok(Err(number)) };
            for (field, head) in &heads.entries {
                let location = value_locations
                    .get_mut(*field as usize)
                    .ok_or_else(|| corrupt_row_error(id, "a field has no name"))?;
                location.get_or_insert(*head);
            }
            next = heads.base;
        }
        Ok(Ok(value_locations))
    }

    /// Returns the data that a child of the requested checkpoint builds on, or the number of a missing row.
    pub(crate) fn base(&self) -> Result<std::result::Result<Option<ParentCheckpoint>, u64>> {
        let Some(request) = self.requested.first() else { return Ok(Ok(None)) };
        let number = request.row.number;
        let heads = match self.value_locations(number, request.row.header.id)? {
            Err(missing) => return Ok(Err(missing)),
            Ok(heads) => heads.into_vec(),
        };
        let distance_to_full_index = self.heads.get(&number).map_or(0, |heads| heads.distance_to_full_index);
        let origin = Some((request.row.origin, (*request.origin).clone()));
        Ok(Ok(Some(ParentCheckpoint {
            id: Some(request.row.header.id),
            number,
            heads,
            distance_to_full_index,
            origin,
            ..ParentCheckpoint::default()
        })))
    }

    /// Returns the checkpoints in the order of the requests.
    pub(crate) fn finish(mut self) -> Result<Vec<CheckpointTuple>> {
        let requested = std::mem::take(&mut self.requested);
        self.has_several_requests = requested.len() > 1;
        requested.into_iter().map(|request| self.assemble(request)).collect()
    }

    fn assemble(&mut self, request: RequestedCheckpoint) -> Result<CheckpointTuple> {
        let RequestedCheckpoint { row, origin, pending } = request;
        let id = row.header.id;
        let value_locations = self
            .value_locations(row.number, id)?
            .map_err(|base| corrupt_row_error(id, &format!("it references base {base}, which is missing")))?;
        let mut fields = Vec::with_capacity(value_locations.len());
        for (field, head) in value_locations.into_iter().enumerate() {
            if let Some(head) = head {
                fields.push((self.names[field].clone(), self.log(field as u32, head.end, id)?));
            }
        }
        Ok(CheckpointTuple { checkpoint: Arc::new(self.checkpoint(row, &origin)?), fields, pending })
    }

    /// Builds a checkpoint from its row, or from the last one if both have the same schedule and run info.
    fn checkpoint(&mut self, row: CheckpointRow, origin: &RunInfo) -> Result<Checkpoint> {
        if let Some((schedule, origin, last)) = &self.last
            && (schedule, origin) == (&row.schedule, &row.origin)
        {
            let CheckpointHeader { id, parent, step, source, time } = row.header;
            return Ok(Checkpoint { id, parent, step, source, time, ..last.clone() });
        }
        let checkpoint =
            Checkpoint::from_columns(self.history_key.clone(), row.header.clone(), origin, row.stored_schedule()?);
        // A single checkpoint has no neighbors.
        if self.has_several_requests {
            self.last = Some((row.schedule, row.origin, checkpoint.clone()));
        }
        Ok(checkpoint)
    }

    /// Returns the changes that make up a value, oldest first.
    fn log(&mut self, field: u32, end: ValueLocation, id: CheckpointId) -> Result<FieldLog> {
        let mut numbers = Vec::new();
        let mut next = Some(end);
        while let Some(ValueLocation::Part(number)) = next {
            let Some(part) = self.parts.get(&number) else { return Err(self.missing_part_error(field, id)) };
            // A part builds on earlier ones only; following a later one could loop forever.
            if let Some(ValueLocation::Part(base)) = part.before
                && base >= number
            {
                let reason = format!("delta {number} references base {base}, which is not earlier");
                return Err(corrupt_row_error(id, &reason));
            }
            numbers.push(number);
            next = part.before;
        }
        let mut log = FieldLog::with_capacity(numbers.len() + 1);
        if let Some(ValueLocation::Row(number)) = next {
            log.push((Change::Set, self.value(number, field, id)?));
        }
        for number in numbers.into_iter().rev() {
            log.push(self.change(number, field, id)?);
        }
        Ok(log)
    }

    /// Decodes one change; the parts it builds on are decoded already.
    fn change(&mut self, number: u64, field: u32, id: CheckpointId) -> Result<(Change, AnyValue)> {
        let Some(part) = self.parts.get(&number) else { return Err(self.missing_part_error(field, id)) };
        if let Some(value) = &part.value {
            return Ok((part.change.clone(), value.clone()));
        }
        let add_field = |error: Error| self.with_field(field, with_checkpoint(error, id));
        let plain = match is_compressed(&part.body) {
            true => Some(decode_after(&part.body, self.preceding_bodies(part.before)).map_err(add_field)?),
            false => None,
        };
        let value = serde_json::from_slice(plain.as_ref().unwrap_or(&part.body));
        let value =
            AnyValue::json(value.map_err(|error| self.with_field(field, corrupt_row_error(id, &error.to_string())))?);
        let Some(part) = self.parts.get_mut(&number) else { return Err(self.missing_part_error(field, id)) };
        part.value = Some(value.clone());
        if let Some(plain) = plain {
            part.body = plain;
        }
        Ok((part.change.clone(), value))
    }

    /// Returns the bodies of the parts that `end` builds on, the last first.
    fn preceding_bodies(&self, end: Option<ValueLocation>) -> impl Iterator<Item = &[u8]> {
        let part = |end: Option<ValueLocation>| match end {
            Some(ValueLocation::Part(number)) => self.parts.get(&number),
            _ => None,
        };
        std::iter::successors(part(end), move |last| part(last.before)).map(|part| part.body.as_slice())
    }

    fn with_field(&self, field: u32, error: Error) -> Error {
        let name = self.names.get(field as usize).map_or("", |name| name);
        Error::new(error.code(), format!("{}, field `{name}`", error.message()))
            .with_help(error.help().unwrap_or_default())
    }

    fn missing_part_error(&self, field: u32, id: CheckpointId) -> Error {
        corrupt_row_error(id, &format!("field `{}`: a part of its value is missing", self.names[field as usize]))
    }

    /// Returns a short value, parsed once.
    fn value(&mut self, number: u64, field: u32, id: CheckpointId) -> Result<AnyValue> {
        let Some(values) = self.values.get_mut(&number) else { return Err(self.missing_part_error(field, id)) };
        if let Some((_, value)) = values.parsed.iter().find(|(cached_field, _)| *cached_field == field) {
            return Ok(value.clone());
        }
        let Some(bytes) = value_of(&values.bytes, field) else { return Err(self.missing_part_error(field, id)) };
        let value = serde_json::from_slice(bytes).map_err(|error| corrupt_row_error(id, &error.to_string()))?;
        let value = AnyValue::json(value);
        values.parsed.push((field, value.clone()));
        Ok(value)
    }
}
