//! Parsed request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

use crate::calendar::{Flexibility, Priority};

/// Parsed content of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NlParserData {
    /// Intent of the sentence.
    pub event_type: EventType,
    /// Title of the event.
    #[serde(default)]
    pub title: Option<String>,
    /// Start of the event; for a query, start of the queried time range.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub start_time: Option<Time>,
    /// End of the event; for a query, exclusive end of the queried time range.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub end_time: Option<Time>,
    /// Ids of the participants.
    #[serde(default)]
    pub participants: Vec<String>,
    /// Ids of the required resources.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Recurrence as a value of RRULE.
    #[serde(default)]
    pub recurrence_rule: Option<String>,
    /// Priority of the event.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// Flexibility of the event.
    #[serde(default)]
    pub flexibility: Option<Flexibility>,
}

/// Intent of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// Create an event.
    Create,
    /// Modify an event.
    Modify,
    /// Cancel an event.
    Cancel,
    /// Query the calendar.
    Query,
}
