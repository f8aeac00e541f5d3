//! Seeded bugs: deliberate bugs that the simulation must find.
//!
//! The simulation in `testing/sim/` enables them one at a time and must find each of them. Without the feature
//! `seeded-bugs`, [`is_enabled`] is a constant `false` and costs nothing; no other code may depend on the feature.

use std::fmt;
#[cfg(feature = "seeded-bugs")]
use std::sync::atomic::{AtomicU8, Ordering};

macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// A deliberate bug that can be enabled.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum SeededBug { $($(#[$doc])* $name = $number,)* }

        impl SeededBug {
            /// All seeded bugs.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the name for the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

bugs! {
    /// The updates of a superstep are applied in order of arrival.
    ArrivalOrderFold = 1, "arrival-order-fold";
    /// A run continues, and ends, while its commits are still in flight.
    AckBeforeCommit = 2, "ack-before-commit";
    /// Events are published before the commit that they describe.
    EventBeforeCommit = 3, "event-before-commit";
    /// An interrupt that was resumed accepts another resume value.
    ResumeTwice = 4, "resume-twice";
    /// A subgraph that continues gets its input a second time.
    InputTwice = 5, "input-twice";
    /// Finished tasks that are not saved yet are dropped when the run is cancelled.
    CancelDropsSibling = 6, "cancel-drops-sibling";
    /// A checkpointer saves the checkpoint first and the values of its superstep afterwards.
    WritesAfterCheckpoint = 7, "writes-after-checkpoint";
    /// A checkpointer replaces a checkpoint by a second one with the same id.
    IdClashReplaced = 8, "id-clash-replaced";
    /// A checkpointer does not compare fences.
    NoFence = 9, "no-fence";
    /// A checkpointer sends a commit again if its result is unknown.
    RetryUnknownCommit = 10, "retry-unknown-commit";
}

impl fmt::Display for SeededBug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "seeded-bugs")]
static ENABLED: AtomicU8 = AtomicU8::new(0);

/// Enables a bug in this process, in place of the previous one.
#[cfg(feature = "seeded-bugs")]
pub fn enable(bug: Option<SeededBug>) {
    ENABLED.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
}

/// Returns true if this bug is enabled.
#[cfg(feature = "seeded-bugs")]
#[must_use]
pub fn is_enabled(bug: SeededBug) -> bool {
    ENABLED.load(Ordering::Relaxed) == bug as u8
}

/// Returns false: without the feature no bug is enabled.
#[cfg(not(feature = "seeded-bugs"))]
#[inline(always)]
#[must_use]
pub const fn is_enabled(_bug: SeededBug) -> bool {
    false
}
