//! What a fold did to one field: one record that storage writes, streams send and the studio draws.
//!
//! Holds no values. The piece of the field a change speaks of is read from the state after the fold
//! (see [`crate::field::FieldOps::part`]).

use serde::{Deserialize, Serialize};

/// What a fold did to one field.
///
/// ```
/// use superstep_core::change::Change;
/// assert_eq!(Change::Appended { from: 2 }.then(Change::Appended { from: 5 }), Change::Appended { from: 2 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// The value is as it was.
    Unchanged,
    /// The whole value is new.
    Set,
    /// Items were added at the end; `from` is the length before.
    Appended {
        /// The length of the list before the fold.
        from: usize,
    },
    /// Edits of a list, ascending and disjoint, in coordinates of the list as it becomes when they are
    /// applied in order.
    Spliced {
        /// The edits, in ascending order of their place.
        edits: Vec<Splice>,
    },
    /// Keys of a map that were set and removed.
    Merged {
        /// Keys whose value is new.
        set: Vec<String>,
        /// Keys that are gone.
        removed: Vec<String>,
    },
}

/// One edit of a list: at `at`, `removed` old items went and `inserted` new ones came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splice {
    /// The place, in the list as it is once the edits before this one are applied.
    pub at: usize,
    /// How many old items went.
    pub removed: usize,
    /// How many new items came.
    pub inserted: usize,
}

impl Change {
    /// True when the value is as it was.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }

    /// The one change that says the same as `self` followed by `next`, both on one field.
    ///
    /// Falls back to [`Change::Set`] where the two do not combine into something smaller.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        match (self, next) {
            (first, Self::Unchanged) => first,
            (Self::Unchanged, next) => next,
            (Self::Appended { from }, Self::Appended { .. }) => Self::Appended { from },
            (Self::Merged { set, removed }, Self::Merged { set: later, removed: gone }) => {
                let mut set: Vec<String> = set.into_iter().filter(|key| !gone.contains(key)).collect();
                let mut removed: Vec<String> = removed.into_iter().filter(|key| !later.contains(key)).collect();
                set.extend(later);
                removed.extend(gone);
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
        let own = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Change::Merged { set: own(set), removed: own(removed) }
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
