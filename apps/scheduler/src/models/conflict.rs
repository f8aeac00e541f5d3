//! Conflicts of an event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Its id.
    pub id: String,
    /// What kind it is.
    #[serde(rename = "type")]
    pub kind: ConflictType,
    /// How bad it is.
    pub severity: Severity,
    /// The other event.
    #[serde(default)]
    pub conflicting_event_id: Option<String>,
    /// What the other event is called.
    #[serde(default)]
    pub conflicting_event_title: Option<String>,
    /// Who would be in two places.
    #[serde(default)]
    pub participants_affected: Vec<String>,
    /// What is wrong, in a sentence.
    pub details: String,
}

/// What kind of thing stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictType {
    /// Somebody would be in two places.
    TimeConflict,
    /// Something would be used by too many.
    ResourceConflict,
    /// A rule would be broken.
    ConstraintViolation,
}

/// How bad something is; from `high` on it blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Hardly.
    Low,
    /// Somewhat.
    Medium,
    /// It blocks.
    High,
    /// It blocks, and the other event matters more than anything.
    Critical,
}

impl Severity {
    /// True if a conflict of this severity blocks the confirmation of an event.
    #[must_use]
    pub fn is_blocking(self) -> bool {
        self >= Self::High
    }
}

/// Everything that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawConflictDetectionData")]
pub struct ConflictDetectionData {
    /// All of it.
    pub conflicts: Vec<Conflict>,
    /// Whether there is any.
    pub has_conflicts: bool,
    /// The ids of those that block.
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

    fn try_from(given: RawConflictDetectionData) -> Result<Self, String> {
        let RawConflictDetectionData { conflicts, has_conflicts, blocking_conflicts } = given;
        if has_conflicts == conflicts.is_empty() {
            return Err(format!("has_conflicts is {has_conflicts}, and conflicts has {}", conflicts.len()));
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
