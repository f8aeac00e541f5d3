//! The only place where a run changes its state: inputs, task updates and external updates are applied here.
//!
//! The rules of applying are in `apply`; this file clears ephemeral fields before a write and restores them if the
//! updates are rejected.

use std::sync::Arc;

use super::Machine;
use super::ephemeral::ClearedFields;
use crate::apply::{Applied, ApplyOptions, TaskUpdate, UndoLog, apply_with_undo};
use crate::error::Result;

/// Undo data of one application of updates.
pub(super) struct AppliedUpdates {
    undo_log: UndoLog,
    cleared: ClearedFields,
}

impl Machine {
    /// Returns the options for updates of nodes.
    pub(super) fn node_apply_options(&self, undoable: bool) -> ApplyOptions {
        ApplyOptions { strict_set_once: self.config.strict_set_once, undoable, external_source: None }
    }

    /// Returns the options for external updates: a second value for a `set_once` field is rejected, never ignored.
    /// The input of a subgraph counts as an update of a node, because a node of the parent graph made it.
    pub(super) fn external_apply_options(&self, undoable: bool, message: &'static str) -> ApplyOptions {
        let external_source = self.config.parent_task.is_none().then_some(message);
        ApplyOptions { strict_set_once: true, undoable, external_source }
    }

    /// Applies updates to the state, all or nothing.
    pub(super) fn apply<U>(&mut self, updates: U, options: ApplyOptions) -> Result<(Applied, AppliedUpdates)>
    where
        U: AsRef<[TaskUpdate]> + IntoIterator<Item = TaskUpdate>,
    {
        let graph = self.graph.clone();
        let cleared =
            ClearedFields::clear_before_write(&graph.schema, &mut self.state, &self.written, updates.as_ref());
        match apply_with_undo(&graph.schema, &mut self.state, &mut self.written, updates, options) {
            Ok((mut applied, undo_log)) => {
                cleared.record_changes(&mut applied);
                Ok((applied, AppliedUpdates { undo_log, cleared }))
            }
            Err(error) => {
                cleared.restore(&mut self.state);
                Err(error)
            }
        }
    }

    /// Undoes updates that were applied with [`ApplyOptions::undoable`].
    pub(super) fn undo(&mut self, applied: AppliedUpdates) {
        if let Some(state) = Arc::get_mut(&mut self.state) {
            applied.undo_log.run(state, &mut self.written);
        }
        applied.cleared.restore(&mut self.state);
    }
}
