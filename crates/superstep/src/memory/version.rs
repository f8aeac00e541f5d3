//! Values as chains of changes, shared by all checkpoints that have them.
//!
//! A chain begins with a whole value and holds about as many changes as that value has items, so that reading it costs
//! about as much as the value, and the whole values together about as much as the changes.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::datum::Datum;
use superstep_core::message::{Message, Messages};

/// Changes after which a whole value is kept again, however small it is.
const SHORTEST: usize = 16;
/// The same for values whose number of items nobody tells: reached by doubling.
const LONGEST_BLIND: usize = 1_024;

/// What one checkpoint did to one field, on top of what was there.
pub(super) struct Version {
    pub(super) change: Change,
    pub(super) part: Datum,
    /// The order of the checkpoint that made it.
    pub(super) made_by: u64,
    /// How many changes follow the whole value, this one included.
    depth: usize,
    /// How many changes may follow it before there is another whole value.
    room: usize,
    /// What it builds on; a whole value builds on nothing.
    prev: Option<Arc<Version>>,
}

impl Version {
    /// A whole value.
    pub(super) fn whole(part: Datum, made_by: u64) -> Self {
        let room = items(&part).unwrap_or(0).max(SHORTEST);
        Self { change: Change::Set, part, made_by, depth: 0, room, prev: None }
    }

    /// A whole value in place of one more change on `prev`.
    pub(super) fn whole_after(prev: &Self, part: Datum, made_by: u64) -> Self {
        let room = items(&part).unwrap_or_else(|| (prev.room * 2).min(LONGEST_BLIND.max(prev.room)));
        Self { change: Change::Set, part, made_by, depth: 0, room: room.max(SHORTEST), prev: None }
    }

    /// One more change.
    pub(super) fn after(prev: &Arc<Self>, change: Change, part: Datum, made_by: u64) -> Self {
        let room = prev.room_before(&change);
        Self { change, part, made_by, depth: prev.depth + 1, room, prev: Some(prev.clone()) }
    }

    /// Whether one more change would be one too many.
    pub(super) fn is_full(&self, next: &Change) -> bool {
        self.depth >= self.room_before(next)
    }

    /// A change may tell how long the list is.
    fn room_before(&self, change: &Change) -> usize {
        match change {
            Change::Appended { from } if self.depth == 0 => self.room.max(*from),
            Change::Spliced { edits } => {
                self.room.max(edits.iter().map(|edit| edit.at.saturating_add(edit.inserted)).max().unwrap_or(0))
            }
            _ => self.room,
        }
    }

    /// The chain from here back to the whole value.
    pub(super) fn back(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |version| version.prev.as_deref())
    }

    /// The changes that make the value, oldest first.
    pub(super) fn log(&self) -> Vec<(Change, Datum)> {
        let mut log = Vec::with_capacity(self.depth + 1);
        log.extend(self.back().map(|version| (version.change.clone(), version.part.clone())));
        log.reverse();
        log
    }

    /// How long the part is as JSON.
    pub(super) fn bytes(&self) -> u64 {
        length(&self.part)
    }

    /// The same without the messages that were seen before: a list holds pointers to them.
    pub(super) fn bytes_beside(&self, seen: &mut BTreeSet<*const Message>) -> u64 {
        let mut count = |message: &Arc<Message>| match seen.insert(Arc::as_ptr(message)) {
            true => json_length(&**message) + 1,
            false => 0,
        };
        match (self.part.get::<Messages>(), self.part.get::<Vec<Arc<Message>>>()) {
            (Some(messages), _) => messages.shared().map(&mut count).sum(),
            (None, Some(messages)) => messages.iter().map(&mut count).sum(),
            (None, None) => length(&self.part),
        }
    }
}

/// How long a value is as JSON.
pub(super) fn length(value: &Datum) -> u64 {
    let mut length = Length(0);
    value.write_json(&mut length).map_or(0, |()| length.0)
}

fn json_length(value: &impl Serialize) -> u64 {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, value).map_or(0, |()| length.0)
}

/// A chain may be as long as a list: dropping it link by link must not use up the stack.
impl Drop for Version {
    fn drop(&mut self) {
        let mut next = self.prev.take();
        while let Some(version) = next {
            next = Arc::into_inner(version).and_then(|mut version| version.prev.take());
        }
    }
}

/// How many items a whole value has, where that can be told without reading it.
fn items(value: &Datum) -> Option<usize> {
    match value {
        Datum::Json(value) => match &**value {
            serde_json::Value::Array(items) => Some(items.len()),
            serde_json::Value::Object(map) => Some(map.len()),
            _ => Some(1),
        },
        Datum::Live(_) => value.get::<Messages>().map(Messages::len),
    }
}

struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The version of each field, by the number of the field in its line.
pub(super) type Heads = Vec<Option<Arc<Version>>>;

/// Some fields with their versions.
pub(super) type Slots = SmallVec<[(u32, Arc<Version>); 2]>;

/// With so few fields every checkpoint names all of them.
const FEW: usize = 4;
/// Bounds what a drop of a row of tables needs of the stack.
const LONGEST_ROW: usize = 256;

/// The versions a checkpoint made, and the way to those it did not touch.
pub(super) struct Table {
    slots: Slots,
    /// The table of its parent; `None` when all fields are in `slots`.
    prev: Option<Arc<Table>>,
    depth: usize,
}

impl Table {
    /// A table of all fields.
    pub(super) fn whole(heads: &Heads) -> Self {
        let known = heads.iter().enumerate().filter_map(|(field, head)| Some((field as u32, head.clone()?)));
        Self { slots: known.collect(), prev: None, depth: 0 }
    }

    /// The table after `made` came on top of `prev`: whole as often as there are fields, so that a step pays for one.
    pub(super) fn after(prev: &Arc<Self>, made: Slots, heads: &Heads) -> Self {
        if heads.len() <= FEW || prev.depth + 1 >= heads.len().min(LONGEST_ROW) {
            return Self::whole(heads);
        }
        Self { slots: made, prev: Some(prev.clone()), depth: prev.depth + 1 }
    }

    /// Each field's version, out of `fields` fields.
    pub(super) fn heads(&self, fields: usize) -> Vec<Option<&Arc<Version>>> {
        let mut heads = vec![None; fields];
        for table in std::iter::successors(Some(self), |table| table.prev.as_deref()) {
            for (field, version) in &table.slots {
                heads[*field as usize].get_or_insert(version);
            }
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Folds `count` changes as a line does and gives the longest chain.
    fn longest(first: Datum, count: usize, change: impl Fn(usize) -> Change, whole: impl Fn(usize) -> Datum) -> usize {
        let mut head = Arc::new(Version::whole(first, 0));
        let mut longest = 0;
        for index in 0..count {
            let change = change(index);
            let next = match head.is_full(&change) {
                true => Version::whole_after(&head, whole(index), 0),
                false => Version::after(&head, change, Datum::json(json!([])), 0),
            };
            head = Arc::new(next);
            longest = longest.max(head.back().count());
        }
        longest
    }

    #[test]
    fn chains_are_about_as_long_as_the_value_has_items() {
        let merged = |_| Change::Merged { set: vec!["a".to_owned()], removed: Vec::new() };
        let appended = |index| Change::Appended { from: 100 + index };
        let list = |length: usize| Datum::json(vec![0; length].into());
        let hidden = |length: usize| Datum::live(vec![0_u8; length]);
        assert_eq!(longest(list(0), 1_000, merged, |_| list(0)), 17);
        assert_eq!(longest(list(100), 90, appended, |_| unreachable!()), 91);
        assert_eq!(longest(list(100), 250, appended, |index| list(101 + index)), 150);
        assert_eq!(longest(hidden(100), 250, appended, |index| hidden(101 + index)), 150);
        assert_eq!(longest(hidden(5), 100_000, merged, |_| hidden(5)), LONGEST_BLIND + 1);
    }

    #[test]
    fn a_very_long_chain_is_dropped_without_using_up_the_stack() {
        let mut head = Arc::new(Version::whole(Datum::json(json!([])), 0));
        for index in 0..1_000_000 {
            head = Arc::new(Version::after(&head, Change::Appended { from: index }, Datum::json(json!([])), 0));
        }
        assert_eq!(head.depth, 1_000_000);
        drop(head);
    }
}
