//! A set of field ids, stored as a bit set.

use smallvec::SmallVec;

use crate::id::FieldId;

/// A set of fields of one schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet(SmallVec<[u64; 2]>);

impl FieldSet {
    /// Returns true if the field is in the set.
    #[must_use]
    pub fn contains(&self, id: FieldId) -> bool {
        self.0.get(id.index() / 64).is_some_and(|word| word & (1 << (id.index() % 64)) != 0)
    }

    /// Adds a field; returns true if it was not in the set.
    pub fn insert(&mut self, id: FieldId) -> bool {
        let (word, bit) = (id.index() / 64, 1 << (id.index() % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    /// Removes a field.
    pub fn remove(&mut self, id: FieldId) {
        if let Some(word) = self.0.get_mut(id.index() / 64) {
            *word &= !(1 << (id.index() % 64));
        }
        // Trailing zero words are removed, so equal sets have equal words whatever was removed before.
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// Iterates over the fields in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = FieldId> + '_ {
        (0..self.0.len() * 64).map(|index| FieldId(index as u32)).filter(|id| self.contains(*id))
    }
}

impl FromIterator<FieldId> for FieldSet {
    fn from_iter<I: IntoIterator<Item = FieldId>>(ids: I) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| {
            set.insert(id);
        });
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_inserted_and_not_removed_ids() {
        let ids = [0, 63, 64, 127, 128, 500].map(FieldId);
        let mut set = FieldSet::default();
        for id in ids {
            assert!(!set.contains(id) && set.insert(id) && !set.insert(id) && set.contains(id));
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), ids);
        assert_eq!(set, ids.into_iter().rev().collect());
        for id in ids {
            set.remove(id);
            set.remove(FieldId(9_999));
        }
        assert_eq!(set, FieldSet::default());
    }
}
