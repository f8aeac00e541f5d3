//! Proposed events, and the results of their validation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// A proposed event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedEvent {
    /// Id of the event in the calendar.
    pub event_id: String,
    /// Title of the event.
    pub title: String,
    /// Start of the event.
    #[schemars(with = "String")]
    pub start_time: Time,
    /// End of the event.
    #[schemars(with = "String")]
    pub end_time: Time,
    /// Ids of the participants.
    pub participants: Vec<String>,
    /// Ids of the resources.
    pub resources: Vec<String>,
    /// Status of the event.
    pub status: EventStatus,
    /// Time of the proposal.
    #[schemars(with = "String")]
    pub created_at: Time,
}

/// Status of an event on its way to the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    /// Proposed by a user.
    Proposed,
    /// Checked, without blocking conflicts.
    Validated,
    /// On the calendar.
    Confirmed,
    /// Rejected.
    Rejected,
}

/// Validation result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationResult {
    /// The validated step.
    pub step: ValidationStep,
    /// True if the step has no issues.
    pub passed: bool,
    /// Time of the validation.
    #[schemars(with = "String")]
    pub timestamp: Time,
    /// Issues of the step.
    #[serde(default)]
    pub issues: Vec<String>,
}

/// A step with a validation result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidationStep {
    /// The request was parsed.
    NlParsing,
    /// A time was found.
    Scheduling,
    /// The resources are available.
    ResourceCheck,
    /// No conflict blocks the event.
    ConflictDetection,
    /// A resolution was found.
    Resolution,
}
