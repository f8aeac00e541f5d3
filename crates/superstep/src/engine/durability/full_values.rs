//! Full values for queued commits.
//!
//! From time to time a checkpointer replaces the deltas of a field by a full value. A queued commit cannot hold the
//! state for that, because then the next superstep would have to copy the whole state. So the checkpointer gets no
//! full value and stores the delta, and the next commit that changes the field carries a copy of that field.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use superstep_core::change::Change;
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::port::{Commit, StateRef};
use superstep_core::value::AnyValue;

use crate::engine::context::lock;

/// Fields for which the checkpointer requested a full value and got none. Clones share one set.
#[derive(Clone, Default)]
pub(super) struct FullValueRequests(Arc<Mutex<BTreeSet<(CheckpointNamespace, String)>>>);

impl FullValueRequests {
    /// Returns the source of full values for a queued commit: copies of previously requested fields. Requests for
    /// other fields are noted for the next commit.
    pub(super) fn state_for_commit(&self, commit: &Commit) -> Option<StateRef> {
        let state = commit.state.as_ref()?;
        let mut partly = commit.changes.iter().filter(|change| change.change != Change::Set).peekable();
        partly.peek()?;
        let fields: Vec<&str> = {
            let mut requests = lock(&self.0);
            let mut is_wanted =
                |field: &str| !requests.is_empty() && requests.remove(&(commit.namespace.clone(), field.to_owned()));
            partly.map(|change| &*change.field).filter(|field| is_wanted(field)).collect()
        };
        let copy = |field: &str| Some((field.to_owned(), state.full_value(field)?));
        let values: Vec<(String, AnyValue)> = fields.into_iter().filter_map(copy).collect();
        let (requests, namespace) = (self.0.clone(), commit.namespace.clone());
        Some(StateRef::from_full_values(state.schema.clone(), move |field| {
            let copy = values.iter().find(|(name, _)| name == field).map(|(_, copy)| copy.clone());
            if copy.is_none() {
                lock(&requests).insert((namespace.clone(), field.to_owned()));
            }
            copy
        }))
    }
}
