//! Results of queries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryData {
    /// What was asked.
    pub query_type: QueryType,
    /// The answer: `free`, `events`, `resources`, or `fits`, `conflicts` and `slots`.
    pub results: Map<String, Value>,
}

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueryType {
    /// When people are free.
    Availability,
    /// What is on the calendar.
    EventLookup,
    /// Whether a thing can be had.
    ResourceStatus,
    /// Whether something would fit.
    ConflictCheck,
}
