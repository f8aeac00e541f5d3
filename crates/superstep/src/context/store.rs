//! The way from a node to the long-term store.

use superstep_core::error::{Code, Error, Result};

use super::Cx;
use crate::store::SharedStore;

impl Cx {
    /// The long-term store of the run: values that outlive threads.
    ///
    /// # Errors
    /// When the run has none.
    pub fn store(&self) -> Result<&SharedStore> {
        self.0.shared.store.as_ref().ok_or_else(|| {
            Error::new(Code::ConfigInvalid, "it takes a `Store`, and the run has none")
                .help("give one: `graph.store(MemoryStore::new())`, or to one run: `run.store(..)`")
        })
    }
}
