//! Proposed events, and the results of their validation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

/// An event on its way onto the calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedEvent {
    /// Its id in the calendar.
    pub event_id: String,
    /// What it is.
    pub title: String,
    /// When it starts.
    #[schemars(with = "String")]
    pub start_time: Time,
    /// When it ends.
    #[schemars(with = "String")]
    pub end_time: Time,
    /// Who takes part.
    pub participants: Vec<String>,
    /// What it uses.
    pub resources: Vec<String>,
    /// How far it is.
    pub status: EventStatus,
    /// When it was proposed.
    #[schemars(with = "String")]
    pub created_at: Time,
}

/// How far an event is on its way onto the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    /// Somebody asked for it.
    Proposed,
    /// Nothing stands in its way.
    Validated,
    /// It is on the calendar.
    Confirmed,
    /// It will not be.
    Rejected,
}

/// What a step found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationResult {
    /// Which step.
    pub step: ValidationStep,
    /// Whether all is well.
    pub passed: bool,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Time,
    /// What is not.
    #[serde(default)]
    pub issues: Vec<String>,
}

/// A step that checks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidationStep {
    /// The words were understood.
    NlParsing,
    /// There is a time.
    Scheduling,
    /// The things are there.
    ResourceCheck,
    /// Nothing stands in the way.
    ConflictDetection,
    /// A way out was found.
    Resolution,
}
