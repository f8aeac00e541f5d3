//! The change of one field by a reducer: one value that checkpointers store, streams send and the studio displays.
//!
//! Holds no values. The delta of the field is read from the state after the change (see
//! [`crate::field::FieldOps::delta`]).

use serde::{Deserialize, Serialize};

/// The change of one field.
///
/// ```
/// use superstep_core::change::Change;
/// assert_eq!(Change::Appended { from: 2 }.then(Change::Appended { from: 5 }), Change::Appended { from: 2 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// The value is unchanged.
    Unchanged,
    /// The full value is replaced.
    Set,
    /// Items were appended; `from` is the previous length.
    Appended {
        /// Length of the list before the change.
        from: usize,
    },
    /// Splices of a list, ascending and disjoint, in coordinates of the list as it becomes when they are applied in
    /// order.
    Spliced {
        /// The splices, in ascending order of position.
        edits: Vec<Splice>,
    },
    /// Keys of a map that were set and removed.
    Merged {
        /// Keys with a new value.
        set: Vec<String>,
        /// Removed keys.
        removed: Vec<String>,
    },
}

/// One splice of a list: at `at`, `removed` old items are replaced by `inserted` new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splice {
    /// Position in the list after the preceding splices are applied.
    pub at: usize,
    /// Number of removed items.
    pub removed: usize,
    /// Number of inserted items.
    pub inserted: usize,
}

impl Change {
    /// Returns true if the value is unchanged.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }

    /// Combines `self` and the following change `next` of the same field into one equivalent change.
    ///
    /// Returns [`Change::Set`] if the two cannot be combined into a smaller change.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (first, Self::Unchanged) => first,
            (Self::Unchanged, next) => next,
            (Self::Appended { from }, Self::Appended { .. }) => Self::Appended { from },
            (Self::Merged { set, removed }, Self::Merged { set: later, removed: later_removed }) => {
                let mut set: Vec<String> = set.into_iter().filter(|key| !later_removed.contains(key)).collect();
                let mut removed: Vec<String> = removed.into_iter().filter(|key| !later.contains(key)).collect();
                set.extend(later);
                removed.extend(later_removed);
                set.sort();
                set.dedup();
                removed.sort();
                removed.dedup();
                Self::Merged { set, removed }
            }
            _ => Self::Set,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(set: &[&str], removed: &[&str]) -> Change {
        let to_strings = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Change::Merged { set: to_strings(set), removed: to_strings(removed) }
    }

    #[test]
    fn two_changes_of_one_field_become_one() {
        let rows = [
            (Change::Unchanged, Change::Set, Change::Set),
            (Change::Appended { from: 1 }, Change::Unchanged, Change::Appended { from: 1 }),
            (Change::Appended { from: 1 }, Change::Appended { from: 4 }, Change::Appended { from: 1 }),
            (merged(&["a", "b"], &["c"]), merged(&["c"], &["a"]), merged(&["b", "c"], &["a"])),
            (Change::Appended { from: 1 }, Change::Set, Change::Set),
            (Change::Set, Change::Appended { from: 1 }, Change::Set),
        ];
        for (first, next, both) in rows {
            assert_eq!(first.clone().then(next.clone()), both, "{first:?} then {next:?}");
        }
    }
}
