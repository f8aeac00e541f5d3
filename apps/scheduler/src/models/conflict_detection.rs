//! Conflicts of an event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A conflict of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Id of the conflict.
    pub id: String,
    /// Kind of the conflict.
    #[serde(rename = "type")]
    pub kind: ConflictType,
    /// Severity of the conflict.
    pub severity: Severity,
    /// Id of the other event.
    #[serde(default)]
    pub conflicting_event_id: Option<String>,
    /// Title of the other event.
    #[serde(default)]
    pub conflicting_event_title: Option<String>,
    /// Ids of the members who would be double-booked.
    #[serde(default)]
    pub participants_affected: Vec<String>,
    /// Description of the conflict in a sentence.
    pub details: String,
}

/// Kind of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// A member would be double-booked.
    TimeConflict,
    /// A resource would be over capacity.
    ResourceConflict,
    /// A constraint would be violated.
    ConstraintViolation,
}

/// Severity of a conflict. `high` and `critical` block the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Low severity.
    Low,
    /// Medium severity.
    Medium,
    /// Blocks the event.
    High,
    /// Blocks the event; the other event has the highest priority.
    Critical,
}

impl Severity {
    /// Returns true if a conflict of this severity blocks the confirmation of an event.
    #[must_use]
    pub fn is_blocking(self) -> bool {
        self >= Self::High
    }
}

/// Result of the conflict detection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawConflictDetectionData")]
pub struct ConflictDetectionData {
    /// All conflicts.
    pub conflicts: Vec<Conflict>,
    /// True if there are conflicts.
    pub has_conflicts: bool,
    /// Ids of the blocking conflicts.
    pub blocking_conflicts: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawConflictDetectionData {
    conflicts: Vec<Conflict>,
    has_conflicts: bool,
    blocking_conflicts: Vec<String>,
}

impl TryFrom<RawConflictDetectionData> for ConflictDetectionData {
    type Error = String;

    fn try_from(raw: RawConflictDetectionData) -> Result<Self, String> {
        let RawConflictDetectionData { conflicts, has_conflicts, blocking_conflicts } = raw;
        if has_conflicts == conflicts.is_empty() {
            return Err(format!("has_conflicts is {has_conflicts}, but conflicts has {}", conflicts.len()));
        }
        let is_unknown = |id: &&String| !conflicts.iter().any(|conflict| conflict.id == **id);
        if let Some(unknown) = blocking_conflicts.iter().find(is_unknown) {
            return Err(format!("blocking_conflicts has `{unknown}`, which is not in conflicts"));
        }
        Ok(Self { conflicts, has_conflicts, blocking_conflicts })
    }
}

impl From<Vec<Conflict>> for ConflictDetectionData {
    fn from(conflicts: Vec<Conflict>) -> Self {
        let blocking = conflicts.iter().filter(|conflict| conflict.severity.is_blocking());
        let blocking_conflicts = blocking.map(|conflict| conflict.id.clone()).collect();
        Self { has_conflicts: !conflicts.is_empty(), blocking_conflicts, conflicts }
    }
}
