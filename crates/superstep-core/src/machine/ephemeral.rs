//! Fields that live for one superstep: emptied when they are not written again, and before they are.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Machine;
use crate::apply::{Applied, FieldSet, TaskUpdate};
use crate::change::Change;
use crate::field::AnyState;
use crate::id::FieldId;
use crate::schema::Schema;

impl Machine {
    /// Empties fields that live for one superstep and were not written again in this one.
    pub(super) fn clear_ephemeral(&mut self, applied: &mut Applied) {
        let schema = self.graph.schema.clone();
        for id in &schema.ephemeral {
            if !self.written.contains(*id) || applied.changes.iter().any(|(changed, _)| changed == id) {
                continue;
            }
            clear(&schema, &mut self.state, &[*id]);
            self.written.remove(*id);
            applied.changes.push((*id, Change::Set));
        }
    }
}

/// Ephemeral fields that were emptied so that new writes are not folded onto what the last superstep left.
#[derive(Default)]
pub(super) struct Stale {
    fields: SmallVec<[FieldId; 1]>,
    before: Option<Arc<AnyState>>,
}

impl Stale {
    /// Empties the ephemeral fields that hold something and are about to be written.
    pub(super) fn empty(
        schema: &Schema,
        state: &mut Arc<AnyState>,
        written: &FieldSet,
        updates: &[TaskUpdate],
    ) -> Self {
        let is_written = |id: &FieldId| {
            let mut writes = updates.iter().flat_map(|update| update.update.writes());
            written.contains(*id) && writes.any(|write| write.field == *id)
        };
        let fields: SmallVec<[FieldId; 1]> = schema.ephemeral.iter().copied().filter(is_written).collect();
        if fields.is_empty() {
            return Self::default();
        }
        let before = Some(state.clone());
        clear(schema, state, &fields);
        Self { fields, before }
    }

    /// The fields have whole new values, however they were folded.
    pub(super) fn note(&self, applied: &mut Applied) {
        for id in &self.fields {
            applied.changes.retain(|(changed, _)| changed != id);
            applied.changes.push((*id, Change::Set));
        }
        applied.changes.sort_by_key(|(field, _)| *field);
    }

    /// Nothing was folded after all.
    pub(super) fn put_back(self, state: &mut Arc<AnyState>) {
        if let Some(before) = self.before {
            *state = before;
        }
    }
}

fn clear(schema: &Schema, state: &mut Arc<AnyState>, fields: &[FieldId]) {
    if Arc::get_mut(state).is_none() {
        *state = schema.ops.copy(&**state);
    }
    if let Some(state) = Arc::get_mut(state) {
        fields.iter().for_each(|id| schema.field(*id).ops.clear(state));
    }
}
