//! Audit log of calendar changes: who changed which records, and when. Undo reads it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::time::Time;

/// A change of a family's calendar in one transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// Revision that the change created.
    pub revision: u64,
    /// Time of the change.
    #[schemars(with = "String")]
    pub at: Time,
    /// Author of the change: the id of a member, or the name of an automatic job.
    #[serde(rename = "who")]
    pub actor: String,
    /// Name of the action.
    pub action: String,
    /// Revision that this change undoes.
    #[serde(default)]
    pub undoes: Option<u64>,
    /// Idempotency key of the change, if it must not be applied twice.
    #[serde(default)]
    pub task: Option<String>,
    /// All changed records.
    pub images: Vec<RecordChange>,
}

/// A record before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordChange {
    /// Kind of the record.
    pub kind: RecordKind,
    /// Id of the record; empty for the conflicts, which are one record.
    pub id: String,
    /// The record before the change; absent if it is new.
    #[serde(default)]
    pub before: Option<Value>,
    /// The record after the change; absent if it was removed.
    #[serde(default)]
    pub after: Option<Value>,
}

impl RecordChange {
    /// Returns true if the change concerns an event that was or is confirmed, not only proposed or validated.
    pub(crate) fn is_on_calendar(&self) -> bool {
        let is_confirmed = |event: &Value| event["status"] == "confirmed";
        self.kind == RecordKind::Event && [&self.before, &self.after].into_iter().flatten().any(is_confirmed)
    }
}

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// The family.
    Family,
    /// A member.
    Member,
    /// A calendar.
    Calendar,
    /// A resource.
    Resource,
    /// A constraint.
    Rule,
    /// An event.
    Event,
    /// All conflicts among confirmed events.
    Conflicts,
}
