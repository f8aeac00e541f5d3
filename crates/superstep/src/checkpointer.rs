//! The in-memory checkpointer.

pub(crate) mod memory;
