//! Partial states: the result of a node, and the input of a run.
//!
//! An update is a short list of writes. The schema defines the reducers.

use smallvec::SmallVec;

use crate::id::FieldId;
use crate::value::AnyValue;

/// The mode of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Reduces the value with the field's reducer.
    Reduce,
    /// Replaces the current value.
    Overwrite,
}

/// One value for one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Id of the field.
    pub field: FieldId,
    /// Mode: with the reducer or without.
    pub mode: WriteMode,
    /// Value to write.
    pub value: AnyValue,
}

/// A partial state: writes in the order they were made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    writes: SmallVec<[Write; 2]>,
}

impl Update {
    /// Creates an update without writes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a write.
    pub fn push(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Adds a write in place of earlier ones to the same field.
    pub fn replace(&mut self, write: Write) {
        self.writes.retain(|earlier| earlier.field != write.field);
        self.writes.push(write);
    }

    /// Appends the writes of another update.
    pub fn extend(&mut self, other: Self) {
        self.writes.extend(other.writes);
    }

    /// Returns the writes, in order.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Returns the writes for modification.
    pub(crate) fn writes_mut(&mut self) -> &mut [Write] {
        &mut self.writes
    }

    /// Returns true if there is no write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

impl IntoIterator for Update {
    type Item = Write;
    type IntoIter = smallvec::IntoIter<[Write; 2]>;
    fn into_iter(self) -> Self::IntoIter {
        self.writes.into_iter()
    }
}

/// A value that replaces the current one without the reducer.
///
/// ```
/// use superstep_core::update::Overwrite;
/// let fresh_start = Overwrite(Vec::<String>::new());
/// assert!(fresh_start.0.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overwrite<T>(pub T);

/// A key to be removed from a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remove<K>(pub K);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn write(field: u32, value: i32) -> Write {
        Write { field: FieldId(field), mode: WriteMode::Reduce, value: json!(value).into() }
    }

    fn writes_of(update: &Update) -> Vec<(u32, String)> {
        update.writes().iter().map(|write| (write.field.0, format!("{:?}", write.value))).collect()
    }

    /// R-GRA-46: an update may be empty; writes keep their order, and a replaced one goes to the end.
    #[test]
    fn writes_keep_their_order() {
        let mut update = Update::new();
        assert!(update.is_empty());
        update.push(write(0, 1));
        update.push(write(1, 2));
        update.push(write(0, 3));
        let mut other = Update::new();
        other.push(write(2, 4));
        update.extend(other);
        assert_eq!(writes_of(&update), [(0, "1".into()), (1, "2".into()), (0, "3".into()), (2, "4".into())]);
        update.replace(write(0, 5));
        assert_eq!(writes_of(&update), [(1, "2".into()), (2, "4".into()), (0, "5".into())]);
    }
}
