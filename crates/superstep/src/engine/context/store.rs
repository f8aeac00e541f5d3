//! Access of a node to the long-term store.

use superstep_core::error::{Error, ErrorCode, Result};

use super::TaskContext;
use crate::store::SharedStore;

impl TaskContext {
    /// Returns the long-term store of the run, whose items outlive threads.
    ///
    /// # Errors
    /// Returns an error if the run has no store.
    pub fn store(&self) -> Result<&SharedStore> {
        self.0.shared.store.as_ref().ok_or_else(|| {
            Error::new(ErrorCode::ConfigInvalid, "the node takes a `Store`, but the run has none").with_help(
                "configure one with `graph.store(MemoryStore::new())`, or for one run with \
                     `run.store(..)`",
            )
        })
    }
}
