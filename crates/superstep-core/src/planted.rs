//! Bugs planted on purpose: the test of the tests.
//!
//! The simulation in `sim/` switches them on one at a time and must find each of them. Without the feature `planted`
//! the only question there is, [`is_planted`], is a constant no and costs nothing; nothing else may ask for the feature.

use std::fmt;
#[cfg(feature = "planted")]
use std::sync::atomic::{AtomicU8, Ordering};

macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// A bug that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug { $($(#[$doc])* $name = $number,)* }

        impl Bug {
            /// Every bug.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name on a command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

bugs! {
    /// The updates of a superstep are folded as they came in.
    ArrivalOrderFold = 1, "arrival-order-fold";
    /// A run goes on, and ends, while its commits are still under way.
    AckBeforeCommit = 2, "ack-before-commit";
    /// Events are told before the commit they speak of.
    EventBeforeCommit = 3, "event-before-commit";
    /// A question that has its answer takes another.
    ResumeTwice = 4, "resume-twice";
    /// A graph that goes on inside another gets its input once more.
    InputTwice = 5, "input-twice";
    /// What has ended and is not kept yet is dropped when the run is cancelled.
    CancelDropsSibling = 6, "cancel-drops-sibling";
    /// A store saves the checkpoint first and the values of the step after it.
    WritesAfterCheckpoint = 7, "writes-after-checkpoint";
    /// A store lets a second checkpoint with the same id take the place of the first.
    IdClashReplaced = 8, "id-clash-replaced";
    /// A store does not compare fences.
    NoFence = 9, "no-fence";
    /// A store sends a commit again when it does not know what became of it.
    RetryUnknownCommit = 10, "retry-unknown-commit";
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "planted")]
static PLANTED: AtomicU8 = AtomicU8::new(0);

/// Plants a bug in this process, in place of the one before.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
}

/// Whether this bug is planted.
#[cfg(feature = "planted")]
#[must_use]
pub fn is_planted(bug: Bug) -> bool {
    PLANTED.load(Ordering::Relaxed) == bug as u8
}

/// Whether this bug is planted: never.
#[cfg(not(feature = "planted"))]
#[inline(always)]
#[must_use]
pub const fn is_planted(_bug: Bug) -> bool {
    false
}
