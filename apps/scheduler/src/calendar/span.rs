//! A stretch of time, half-open: what ends at three and what starts at three do not meet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// The longest that something is, in minutes: a leap year, and a day for what clocks are moved within it.
pub const LONGEST_MINUTES: i64 = 367 * 24 * 60;

/// From `start` until just before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Its first moment.
    #[schemars(with = "String")]
    pub start: Time,
    /// The first moment after it.
    #[schemars(with = "String")]
    pub end: Time,
}

impl Span {
    /// From `start` until just before `end`; nothing where that is not later.
    #[must_use]
    pub fn new(start: Time, end: Time) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// Whether some moment is in both.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether every moment of the other is in this one.
    #[must_use]
    pub fn holds(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// How long it is.
    #[must_use]
    pub fn minutes(&self) -> i64 {
        (self.end.as_unix_micros() - self.start.as_unix_micros()) / 60_000_000
    }

    /// Whether it is longer than anything on a calendar is: about a year.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.minutes() > LONGEST_MINUTES
    }
}
