//! Rows as bytes: what stands in a record, one piece behind the other.

use superstep_core::checkpoint::{Mark, Source};
use superstep_core::id::{CheckpointId, RunId, TaskId};

use super::tables::{Body, Event, Known, Part};
use crate::log::{Bytes, End, OriginRow, RemnantRow, Row, put};

/// Bytes that are being written.
#[derive(Default)]
pub(super) struct Out(pub(super) Vec<u8>);

impl Out {
    pub(super) fn number(&mut self, number: u64) {
        put(&mut self.0, number);
    }

    /// Small numbers stay short on both sides of zero.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(super) fn id(&mut self, id: u128) {
        self.0.extend_from_slice(&id.to_le_bytes());
    }

    pub(super) fn piece(&mut self, bytes: &[u8]) {
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

    pub(super) fn row(&mut self, row: &Row) {
        let Row { number, mark, origin, ahead, heads, values } = row;
        self.number(*number);
        self.id(mark.id.bits());
        self.id(mark.parent.map_or(0, CheckpointId::bits));
        self.number(u64::from(mark.parent.is_some()));
        self.signed(mark.step);
        self.number(u64::from(mark.source.number()));
        self.signed(mark.time);
        self.number(*origin);
        [ahead, heads, values].into_iter().for_each(|piece| self.piece(piece));
    }

    pub(super) fn origin(&mut self, origin: &OriginRow) {
        self.number(origin.number);
        self.piece(&origin.body);
    }

    pub(super) fn remnant(&mut self, remnant: &RemnantRow) {
        self.number(remnant.number);
        self.piece(&remnant.values);
    }

    pub(super) fn part(&mut self, part: &Part) {
        self.number(part.number);
        self.number(u64::from(part.field));
        self.signed(End::to_number(part.before));
        self.piece(part.change.as_bytes());
        self.body(&part.body);
    }

    pub(super) fn known(&mut self, known: &Known) {
        self.number(known.checkpoint);
        self.id(known.task.bits());
        self.piece(known.slot.as_bytes());
        self.body(&known.body);
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.number(event.number);
        self.id(event.run.bits());
        self.number(u64::from(event.sum));
        self.body(&event.body);
    }

    fn body(&mut self, body: &Body) {
        match body {
            Body::Short(bytes) => {
                self.number(0);
                self.piece(bytes);
            }
            Body::Long { name, length } => {
                self.number(1);
                self.piece(name.as_bytes());
                self.number(*length);
            }
        }
    }
}

/// Bytes that are being read; `None` where they are not what was written.
pub(super) struct In<'a>(Bytes<'a>);

impl<'a> In<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(Bytes(bytes))
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

    pub(super) fn piece(&mut self) -> Option<Vec<u8>> {
        let length = self.number()?;
        Some(self.0.piece(length)?.to_vec())
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.piece()?).ok()
    }

    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        // Not made as long as it says it is: that may be wrong.
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(read(self)?);
        }
        Some(items)
    }

    pub(super) fn row(&mut self) -> Option<Row> {
        let number = self.number()?;
        let (id, parent) = (CheckpointId::from_bits(self.id()?), CheckpointId::from_bits(self.id()?));
        let parent = (self.number()? == 1).then_some(parent);
        let (step, source, time) =
            (self.signed()?, Source::from_number(self.number()?.try_into().ok()?)?, self.signed()?);
        let mark = Mark { id, parent, step, source, time };
        Some(Row {
            number,
            mark,
            origin: self.number()?,
            ahead: self.piece()?,
            heads: self.piece()?,
            values: self.piece()?,
        })
    }

    pub(super) fn origin(&mut self) -> Option<OriginRow> {
        Some(OriginRow { number: self.number()?, body: self.piece()? })
    }

    pub(super) fn remnant(&mut self) -> Option<RemnantRow> {
        Some(RemnantRow { number: self.number()?, values: self.piece()? })
    }

    pub(super) fn part(&mut self) -> Option<Part> {
        let (number, field) = (self.number()?, self.number()?.try_into().ok()?);
        let before = End::from_number(self.signed()?);
        Some(Part { number, field, before, change: self.text()?, body: self.body()? })
    }

    pub(super) fn known(&mut self) -> Option<Known> {
        let (checkpoint, task) = (self.number()?, TaskId::from_bits(self.id()?));
        Some(Known { checkpoint, task, slot: self.text()?, body: self.body()? })
    }

    pub(super) fn event(&mut self) -> Option<Event> {
        let (number, run, sum) = (self.number()?, RunId::from_bits(self.id()?), self.number()?.try_into().ok()?);
        Some(Event { number, run, sum, body: self.body()? })
    }

    fn body(&mut self) -> Option<Body> {
        match self.number()? {
            0 => Some(Body::Short(self.piece()?)),
            1 => Some(Body::Long { name: self.text()?, length: self.number()? }),
            _ => None,
        }
    }
}
