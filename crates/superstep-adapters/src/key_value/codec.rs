//! Binary encoding of rows inside a record, without separators between the fields.

use superstep_core::checkpoint::{CheckpointHeader, CheckpointSource};
use superstep_core::id::{CheckpointId, RunId, TaskId};

use super::thread_tables::{FieldPart, PendingRow, StoredEventRow, ValueBody};
use crate::change_log::{CheckpointRow, RetainedValuesRow, RunInfoRow, ValueLocation, VarintReader, put};

/// Writer of encoded bytes.
#[derive(Default)]
pub(super) struct ByteWriter(pub(super) Vec<u8>);

impl ByteWriter {
    pub(super) fn number(&mut self, number: u64) {
        put(&mut self.0, number);
    }

    /// Writes a signed number in zigzag encoding, which is short for numbers near zero.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(super) fn id(&mut self, id: u128) {
        self.0.extend_from_slice(&id.to_le_bytes());
    }

    pub(super) fn write_bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn list<'a, T: 'a>(
        &mut self,
        items: impl ExactSizeIterator<Item = &'a T>,
        mut write: impl FnMut(&mut Self, &'a T),
    ) {
        self.number(items.len() as u64);
        items.for_each(|item| write(self, item));
    }

    pub(super) fn row(&mut self, row: &CheckpointRow) {
        let CheckpointRow { number, header, origin, schedule, value_index, values } = row;
        self.number(*number);
        self.id(header.id.bits());
        self.id(header.parent.map_or(0, CheckpointId::bits));
        self.number(u64::from(header.parent.is_some()));
        self.signed(header.step);
        self.number(u64::from(header.source.to_u8()));
        self.signed(header.time);
        self.number(*origin);
        [schedule, value_index, values].into_iter().for_each(|piece| self.write_bytes(piece));
    }

    pub(super) fn origin(&mut self, origin: &RunInfoRow) {
        self.number(origin.number);
        self.write_bytes(&origin.body);
    }

    pub(super) fn write_retained(&mut self, retained: &RetainedValuesRow) {
        self.number(retained.number);
        self.write_bytes(&retained.values);
    }

    pub(super) fn part(&mut self, part: &FieldPart) {
        self.number(part.number);
        self.number(u64::from(part.field));
        self.signed(ValueLocation::to_number(part.before));
        self.write_bytes(part.change.as_bytes());
        self.body(&part.body);
    }

    pub(super) fn write_pending(&mut self, pending: &PendingRow) {
        self.number(pending.checkpoint);
        self.id(pending.task.bits());
        self.write_bytes(pending.slot.as_bytes());
        self.body(&pending.body);
    }

    pub(super) fn event(&mut self, event: &StoredEventRow) {
        self.number(event.number);
        self.id(event.run.bits());
        self.number(u64::from(event.sum));
        self.body(&event.body);
    }

    fn body(&mut self, body: &ValueBody) {
        match body {
            ValueBody::Short(bytes) => {
                self.number(0);
                self.write_bytes(bytes);
            }
            ValueBody::Long { name, length } => {
                self.number(1);
                self.write_bytes(name.as_bytes());
                self.number(*length);
            }
        }
    }
}

/// Reader of encoded bytes; methods return `None` if the bytes are not valid.
pub(super) struct ByteReader<'a>(VarintReader<'a>);

impl<'a> ByteReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(VarintReader(bytes))
    }

    pub(super) fn rest(self) -> &'a [u8] {
        self.0.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.0.number()
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn id(&mut self) -> Option<u128> {
        Some(u128::from_le_bytes(self.0.piece(16)?.try_into().ok()?))
    }

    pub(super) fn read_bytes(&mut self) -> Option<Vec<u8>> {
        let length = self.number()?;
        Some(self.0.piece(length)?.to_vec())
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.read_bytes()?).ok()
    }

    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        // No capacity is reserved: the stored length may be corrupt.
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(read(self)?);
        }
        Some(items)
    }

    pub(super) fn row(&mut self) -> Option<CheckpointRow> {
        let number = self.number()?;
        let (id, parent) = (CheckpointId::from_bits(self.id()?), CheckpointId::from_bits(self.id()?));
        let parent = (self.number()? == 1).then_some(parent);
        let (step, source, time) =
            (self.signed()?, CheckpointSource::from_u8(self.number()?.try_into().ok()?)?, self.signed()?);
        let header = CheckpointHeader { id, parent, step, source, time };
        Some(CheckpointRow {
            number,
            header,
            origin: self.number()?,
            schedule: self.read_bytes()?,
            value_index: self.read_bytes()?,
            values: self.read_bytes()?,
        })
    }

    pub(super) fn origin(&mut self) -> Option<RunInfoRow> {
        Some(RunInfoRow { number: self.number()?, body: self.read_bytes()? })
    }

    pub(super) fn read_retained(&mut self) -> Option<RetainedValuesRow> {
        Some(RetainedValuesRow { number: self.number()?, values: self.read_bytes()? })
    }

    pub(super) fn part(&mut self) -> Option<FieldPart> {
        let (number, field) = (self.number()?, self.number()?.try_into().ok()?);
        let before = ValueLocation::from_number(self.signed()?);
        Some(FieldPart { number, field, before, change: self.text()?, body: self.body()? })
    }

    pub(super) fn read_pending(&mut self) -> Option<PendingRow> {
        let (checkpoint, task) = (self.number()?, TaskId::from_bits(self.id()?));
        Some(PendingRow { checkpoint, task, slot: self.text()?, body: self.body()? })
    }

    pub(super) fn event(&mut self) -> Option<StoredEventRow> {
        let (number, run, sum) = (self.number()?, RunId::from_bits(self.id()?), self.number()?.try_into().ok()?);
        Some(StoredEventRow { number, run, sum, body: self.body()? })
    }

    fn body(&mut self) -> Option<ValueBody> {
        match self.number()? {
            0 => Some(ValueBody::Short(self.read_bytes()?)),
            1 => Some(ValueBody::Long { name: self.text()?, length: self.number()? }),
            _ => None,
        }
    }
}
