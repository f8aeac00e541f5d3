//! Options that every test receives: a seed and the amount of work.

use crate::arguments::{Arguments, DEFAULT_KILLS};

/// Options of a test.
#[derive(Debug, Clone)]
pub(crate) struct TestOptions {
    pub(crate) seed: u64,
    pub(crate) kills: u64,
}

impl TestOptions {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        Self { seed: arguments.seed, kills: arguments.kills }
    }

    /// Scales the default count of a test by the requested number of kills.
    pub(crate) fn times(&self, default: u64) -> u64 {
        (default * self.kills / DEFAULT_KILLS).max(1)
    }

    /// Scales a count as [`TestOptions::times`] does, but never below the default, for tests that depend on chance.
    pub(crate) fn at_least(&self, default: u64) -> u64 {
        self.times(default).max(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_kills_never_shorten_a_test_that_depends_on_chance() {
        let options = |kills| TestOptions { seed: 1, kills };
        assert_eq!((options(20).times(50), options(20).times(2), options(20).at_least(10)), (10, 1, 10));
        assert_eq!((options(1_000).times(50), options(1_000).at_least(10)), (500, 100));
    }
}
