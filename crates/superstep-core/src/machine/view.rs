//! What tasks and callers see of a state: private fields and fields outside the output are hidden.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Machine;
use crate::change::Change;
use crate::field::AnyState;
use crate::graph::Topology;
use crate::id::{FieldId, NodeId};

impl Machine {
    /// The state as a node sees it, without the private fields it does not declare: those of a struct are as on a new
    /// thread, those of a record end the node that reads them.
    pub(super) fn view_of(&self, node: NodeId) -> Arc<AnyState> {
        let private = &self.graph.schema.private;
        if private.is_empty() {
            return self.state.clone();
        }
        let spec = self.graph.node(node);
        let declared =
            |id: &FieldId| [&spec.reads, &spec.writes].into_iter().flatten().any(|fields| fields.contains(id));
        let hidden: Vec<FieldId> = private.iter().filter(|id| !declared(id)).copied().collect();
        if hidden.is_empty() {
            return self.state.clone();
        }
        let mut copy = self.graph.schema.copy(&self.state);
        if let Some(view) = Arc::get_mut(&mut copy) {
            hidden.iter().for_each(|id| self.graph.schema.field(*id).ops.hide(view));
        }
        copy
    }

    /// What changed since the input, where it began in this process.
    #[must_use]
    pub fn since_input(&self) -> Option<&BTreeMap<FieldId, Change>> {
        self.since_input.as_ref()
    }
}

/// A state with some fields as on a new thread; the state itself when there is nothing to leave out.
#[must_use]
pub fn without(graph: &Topology, state: &Arc<AnyState>, fields: &[FieldId]) -> Arc<AnyState> {
    if fields.is_empty() {
        return state.clone();
    }
    let mut copy = graph.schema.copy(state);
    if let Some(target) = Arc::get_mut(&mut copy) {
        fields.iter().for_each(|id| graph.schema.field(*id).ops.clear(target));
    }
    copy
}
