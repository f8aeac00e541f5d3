//! Ephemeral fields, which live for one superstep: cleared before a write, and when they are not written again.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Machine;
use crate::apply::{Applied, FieldSet, TaskUpdate};
use crate::change::Change;
use crate::field::AnyState;
use crate::id::FieldId;
use crate::schema::Schema;

impl Machine {
    /// Clears ephemeral fields that this superstep did not write.
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

/// Ephemeral fields that were cleared so that new writes are not reduced into the values of the last superstep.
#[derive(Default)]
pub(super) struct ClearedFields {
    fields: SmallVec<[FieldId; 1]>,
    before: Option<Arc<AnyState>>,
}

impl ClearedFields {
    /// Clears the ephemeral fields that have a value and are about to be written.
    pub(super) fn clear_before_write(
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

    /// Records a full new value for each cleared field, whatever its reducer reported.
    pub(super) fn record_changes(&self, applied: &mut Applied) {
        for id in &self.fields {
            applied.changes.retain(|(changed, _)| changed != id);
            applied.changes.push((*id, Change::Set));
        }
        applied.changes.sort_by_key(|(field, _)| *field);
    }

    /// Restores the values, because the updates were not applied.
    pub(super) fn restore(self, state: &mut Arc<AnyState>) {
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
