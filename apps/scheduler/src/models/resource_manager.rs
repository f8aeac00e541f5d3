//! Availability of resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Availability of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceAvailability {
    /// Id of the resource.
    pub resource_id: String,
    /// Name of the resource.
    pub resource_name: String,
    /// True if the resource is available.
    pub available: bool,
    /// Maximum number of events that use the resource at the same time.
    pub current_capacity: u32,
    /// Capacity of the resource.
    pub max_capacity: u32,
    /// Ids of the events that use the resource.
    pub conflicts: Vec<String>,
}

/// Availability of all requested resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceManagerData {
    /// Availability of each resource.
    pub resource_availability: Vec<ResourceAvailability>,
    /// True if all resources are available, or if none was requested.
    pub all_resources_available: bool,
}
