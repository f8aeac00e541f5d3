//! Views of a state for tasks and callers: private fields and fields outside the output are hidden.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Machine;
use crate::change::Change;
use crate::field::AnyState;
use crate::graph::Topology;
use crate::id::{FieldId, NodeId};

impl Machine {
    /// Returns the state as a node sees it, without the private fields it does not declare: a struct has their
    /// initial values, a dynamic state panics in a node that reads them.
    pub(super) fn node_view(&self, node: NodeId) -> Arc<AnyState> {
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

    /// Returns the changes since the input, if this process received the input.
    #[must_use]
    pub fn changes_since_input(&self) -> Option<&BTreeMap<FieldId, Change>> {
        self.since_input.as_ref()
    }
}

/// Returns a copy of the state with these fields as on a new thread; the state itself if there is no such field.
#[must_use]
pub fn with_fields_reset(graph: &Topology, state: &Arc<AnyState>, fields: &[FieldId]) -> Arc<AnyState> {
    if fields.is_empty() {
        return state.clone();
    }
    let mut copy = graph.schema.copy(state);
    if let Some(target) = Arc::get_mut(&mut copy) {
        fields.iter().for_each(|id| graph.schema.field(*id).ops.clear(target));
    }
    copy
}
