//! What every proof is given: a seed, and how much it is to do.

use crate::arguments::{Arguments, SHORT};

/// A proof's share of what was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    pub(crate) seed: u64,
    pub(crate) kills: u64,
}

impl Stage {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        Self { seed: arguments.seed, kills: arguments.kills }
    }

    /// As many as in a test run, or as much more as more kills were asked for.
    pub(crate) fn times(&self, short: u64) -> u64 {
        (short * self.kills / SHORT).max(1)
    }
}
