//! The one fold of a run: inputs, tasks and updates from outside all become part of the state here.
//!
//! What folding means is in `apply`; here fields that live for one superstep start empty, and a fold that is refused
//! leaves nothing behind.

use std::sync::Arc;

use super::Machine;
use super::ephemeral::Stale;
use crate::apply::{Applied, FoldRules, TakeBack, TaskUpdate, apply_with_undo};
use crate::error::Result;

/// What takes a whole fold back.
pub(super) struct Folded {
    back: TakeBack,
    stale: Stale,
}

impl Machine {
    /// How what nodes return is folded.
    pub(super) fn node_rules(&self, keep_undo: bool) -> FoldRules {
        FoldRules { strict_set_once: self.config.strict_set_once, keep_undo, from_outside: None }
    }

    /// How what somebody outside gives is folded: a second value for a field that is set once is refused, never ignored.
    /// What a graph is given by one around it comes from a node of that.
    pub(super) fn outside_rules(&self, keep_undo: bool, refusal: &'static str) -> FoldRules {
        let from_outside = self.config.outer_task.is_none().then_some(refusal);
        FoldRules { strict_set_once: true, keep_undo, from_outside }
    }

    /// Folds updates into the state, all or nothing.
    pub(super) fn fold<U>(&mut self, updates: U, rules: FoldRules) -> Result<(Applied, Folded)>
    where
        U: AsRef<[TaskUpdate]> + IntoIterator<Item = TaskUpdate>,
    {
        let graph = self.graph.clone();
        let stale = Stale::empty(&graph.schema, &mut self.state, &self.written, updates.as_ref());
        match apply_with_undo(&graph.schema, &mut self.state, &mut self.written, updates, rules) {
            Ok((mut applied, back)) => {
                stale.note(&mut applied);
                Ok((applied, Folded { back, stale }))
            }
            Err(error) => {
                stale.put_back(&mut self.state);
                Err(error)
            }
        }
    }

    /// Takes back a fold that was made with `keep_undo`.
    pub(super) fn unfold(&mut self, folded: Folded) {
        if let Some(state) = Arc::get_mut(&mut self.state) {
            folded.back.run(state, &mut self.written);
        }
        folded.stale.put_back(&mut self.state);
    }
}
