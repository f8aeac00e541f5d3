//! Availability of resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether one thing can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceAvailability {
    /// Which.
    pub resource_id: String,
    /// What it is called.
    pub resource_name: String,
    /// Whether it can.
    pub available: bool,
    /// The most that use it at one moment.
    pub current_capacity: u32,
    /// How many may.
    pub max_capacity: u32,
    /// The ids of the events that use it.
    pub conflicts: Vec<String>,
}

/// Whether all things can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceManagerData {
    /// One by one.
    pub resource_availability: Vec<ResourceAvailability>,
    /// Whether all can; true when none was asked for.
    pub all_resources_available: bool,
}
