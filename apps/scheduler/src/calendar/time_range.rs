//! Half-open time ranges: a range that ends at three and one that starts at three do not overlap.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// Maximum duration of an event in minutes: a leap year, plus a day for clock changes.
pub const MAX_MINUTES: i64 = 367 * 24 * 60;

/// A time range from `start` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TimeRange {
    /// First instant of the range.
    #[schemars(with = "String")]
    pub start: Time,
    /// First instant after the range.
    #[schemars(with = "String")]
    pub end: Time,
}

impl TimeRange {
    /// Creates a time range; `None` if `end` is not after `start`.
    #[must_use]
    pub fn new(start: Time, end: Time) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// Returns true if the two ranges overlap.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns true if the other range lies within this one.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the duration in minutes, rounded down.
    #[must_use]
    pub fn minutes(&self) -> i64 {
        (self.end.as_unix_micros() - self.start.as_unix_micros()) / 60_000_000
    }

    /// Returns true if the range is longer than [`MAX_MINUTES`].
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.minutes() > MAX_MINUTES
    }
}
