//! Type-erased graphs, and the registry of the graphs that the server runs.

pub(crate) mod registry;
pub(crate) mod served_graph;
pub(crate) mod thread_state;
