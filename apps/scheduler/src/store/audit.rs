//! Audit log of calendar changes: who changed which records, and when. Undo reads it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::time::Time;

/// One change of a family's calendar: everything that was written at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// The revision that it made.
    pub revision: u64,
    /// When.
    #[schemars(with = "String")]
    pub at: Time,
    /// Who did it: the id of a member, or the name of what did it by itself.
    pub who: String,
    /// What was done, in a word.
    pub action: String,
    /// The revision that it takes back.
    #[serde(default)]
    pub undoes: Option<u64>,
    /// The piece of work that did it, where that must not be done twice.
    #[serde(default)]
    pub task: Option<String>,
    /// All that it touched.
    pub images: Vec<RecordChange>,
}

/// One thing before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordChange {
    /// What kind of thing.
    pub kind: RecordKind,
    /// Its id; empty for all conflicts together.
    pub id: String,
    /// As it was; nothing when it is new.
    #[serde(default)]
    pub before: Option<Value>,
    /// As it is; nothing when it is gone.
    #[serde(default)]
    pub after: Option<Value>,
}

impl RecordChange {
    /// True if the change concerns an event that was or is confirmed, not only proposed or validated.
    pub(crate) fn is_on_calendar(&self) -> bool {
        let is_confirmed = |event: &Value| event["status"] == "confirmed";
        self.kind == RecordKind::Event && [&self.before, &self.after].into_iter().flatten().any(is_confirmed)
    }
}

/// What kind of thing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// The family itself.
    Family,
    /// A member.
    Member,
    /// A calendar.
    Calendar,
    /// A thing that is shared.
    Resource,
    /// A rule.
    Rule,
    /// An event.
    Event,
    /// All conflicts among confirmed events.
    Conflicts,
}
