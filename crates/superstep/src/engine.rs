//! Execution of a run: start, the loop, tasks, durability, subgraphs.

pub(crate) mod context;
pub(crate) mod driver;
pub(crate) mod durability;
pub(crate) mod environment;
pub(crate) mod executor;
pub(crate) mod outcome;
pub(crate) mod redaction;
pub(crate) mod start;
pub(crate) mod state_cache;
pub(crate) mod subgraph;
