//! Candidate time slots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// A candidate time for an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawTimeSlot")]
pub struct TimeSlot {
    /// Start of the slot.
    #[schemars(with = "String")]
    pub start_time: Time,
    /// End of the slot.
    #[schemars(with = "String")]
    pub end_time: Time,
    /// Score of the slot.
    pub score: Score,
    /// Ids of the participants who are available.
    pub available_participants: Vec<String>,
    /// Descriptions of the violated soft constraints.
    pub constraint_violations: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawTimeSlot {
    #[schemars(with = "String")]
    start_time: Time,
    #[schemars(with = "String")]
    end_time: Time,
    score: Score,
    available_participants: Vec<String>,
    constraint_violations: Vec<String>,
}

impl TryFrom<RawTimeSlot> for TimeSlot {
    type Error = String;

    fn try_from(raw: RawTimeSlot) -> Result<Self, String> {
        let RawTimeSlot { start_time, end_time, score, available_participants, constraint_violations } = raw;
        if end_time <= start_time {
            return Err(format!("end_time is {end_time}, but must be after start_time, {start_time}"));
        }
        Ok(Self { start_time, end_time, score, available_participants, constraint_violations })
    }
}

/// Score of a candidate, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(#[schemars(range(min = 0.0, max = 1.0))] f64);

impl Score {
    /// Creates the score nearest to a number: clamped to 0 to 1, and rounded to two digits for display.
    #[must_use]
    pub fn clamped(value: f64) -> Self {
        Self((value.clamp(0.0, 1.0) * 100.0).round() / 100.0)
    }

    /// Returns the score as a number from 0 to 1.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Score {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_score = (0.0..=1.0).contains(&value);
        is_score.then_some(Self(value)).ok_or_else(|| format!("score is {value}, but must be from 0 to 1"))
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> Self {
        score.0
    }
}

/// Candidate times for an event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulingData {
    /// Candidate times, best first.
    pub candidate_times: Vec<TimeSlot>,
    /// Start of the best candidate.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub recommended_time: Option<Time>,
}
