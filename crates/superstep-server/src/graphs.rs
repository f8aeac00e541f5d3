//! Graphs without their types, so that one registry serves all of them.

pub(crate) mod registry;
pub(crate) mod served_graph;
pub(crate) mod thread_state;
