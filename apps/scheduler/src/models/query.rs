//! Results of queries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Result of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryData {
    /// Kind of the query.
    pub query_type: QueryType,
    /// Results: `free`, `events`, `resources`, or `fits`, `conflicts` and `slots`.
    pub results: Map<String, Value>,
}

/// Kind of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueryType {
    /// Free times of members.
    Availability,
    /// Events on the calendar.
    EventLookup,
    /// Availability of a resource.
    ResourceStatus,
    /// Conflicts of an event, or of the calendar.
    ConflictCheck,
}
