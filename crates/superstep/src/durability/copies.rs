//! Whole values for commits that wait in line.
//!
//! Now and then a store cuts the changes of a field short with a whole value. A commit that waits cannot offer the state
//! for it: whoever holds the state makes the next superstep copy all of it. So the store is told that there is none,
//! keeps the change, and the next commit that changes the field brings a copy of that field along.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use superstep_core::change::Change;
use superstep_core::checkpoint::Namespace;
use superstep_core::datum::Datum;
use superstep_core::port::{Commit, StateRef};

use crate::context::lock;

/// The fields of which the store has asked for a whole value and got none. Clones are one and the same.
#[derive(Clone, Default)]
pub(super) struct Wanted(Arc<Mutex<BTreeSet<(Namespace, String)>>>);

impl Wanted {
    /// What a commit that has to wait offers in place of the state: copies of what was asked for, an ear for the rest.
    pub(super) fn copies(&self, commit: &Commit) -> Option<StateRef> {
        let state = commit.state.as_ref()?;
        let mut partly = commit.changes.iter().filter(|change| change.change != Change::Set).peekable();
        partly.peek()?;
        let fields: Vec<&str> = {
            let mut wanted = lock(&self.0);
            let mut is_wanted =
                |field: &str| !wanted.is_empty() && wanted.remove(&(commit.namespace.clone(), field.to_owned()));
            partly.map(|change| &*change.field).filter(|field| is_wanted(field)).collect()
        };
        let copy = |field: &str| Some((field.to_owned(), state.full(field)?));
        let found: Vec<(String, Datum)> = fields.into_iter().filter_map(copy).collect();
        let (wanted, namespace) = (self.0.clone(), commit.namespace.clone());
        Some(StateRef::through(state.schema.clone(), move |field| {
            let copy = found.iter().find(|(name, _)| name == field).map(|(_, copy)| copy.clone());
            if copy.is_none() {
                lock(&wanted).insert((namespace.clone(), field.to_owned()));
            }
            copy
        }))
    }
}
