//! Parsed request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

use crate::calendar::{Flexibility, Priority};

/// What a sentence says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NlParserData {
    /// What is wanted.
    pub event_type: EventType,
    /// What it is about.
    #[serde(default)]
    pub title: Option<String>,
    /// When it starts; of a question, the first moment asked about.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub start_time: Option<Time>,
    /// When it ends; of a question, the first moment not asked about.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub end_time: Option<Time>,
    /// Who takes part: ids of members.
    #[serde(default)]
    pub participants: Vec<String>,
    /// What is needed: ids of resources.
    #[serde(default)]
    pub resources: Vec<String>,
    /// How it repeats: the value of RRULE.
    #[serde(default)]
    pub recurrence_rule: Option<String>,
    /// How much it matters.
    #[serde(default)]
    pub priority: Option<Priority>,
    /// How far it may be moved.
    #[serde(default)]
    pub flexibility: Option<Flexibility>,
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// Something new.
    Create,
    /// A change.
    Modify,
    /// That something is not.
    Cancel,
    /// To know something.
    Query,
}
