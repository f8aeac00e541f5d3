//! Calendar events, single or recurring.

use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

use super::span::TimeRange;
use crate::models::EventStatus;

/// Something at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// Its name in calendar files; those of one series share it.
    pub uid: String,
    /// The calendar it is in.
    pub calendar: String,
    /// What it is.
    pub title: String,
    /// When it is; of a series, when the first one is.
    pub span: TimeRange,
    /// The IANA zone in which it repeats and is written.
    pub zone: String,
    /// Whether it is a matter of days: from midnight to midnight in its zone.
    #[serde(default)]
    pub is_all_day: bool,
    /// Who takes part.
    #[serde(default)]
    pub participants: Vec<Participant>,
    /// The things it uses.
    #[serde(default)]
    pub resources: Vec<String>,
    /// How it repeats.
    #[serde(default)]
    pub recurrence: Option<Recurrence>,
    /// The instance of a series that it stands for.
    #[serde(default)]
    #[serde(rename = "exception_of")]
    pub recurrence_override: Option<RecurrenceOverride>,
    /// How much it matters.
    #[serde(default)]
    pub priority: Priority,
    /// How far it may be moved.
    #[serde(default)]
    pub flexibility: Flexibility,
    /// How far it is on its way onto the calendar.
    pub status: EventStatus,
    /// Who made it.
    pub owner: String,
    /// How often it was changed, as calendar files count.
    #[serde(default)]
    pub sequence: u32,
    /// Where it is.
    #[serde(default)]
    pub location: String,
    /// What else is said of it.
    #[serde(default)]
    pub notes: String,
    /// Properties and alarms of a calendar file that mean nothing here, as they were, unfolded.
    #[serde(default)]
    #[serde(rename = "extra")]
    pub preserved_properties: Vec<String>,
    /// When it was made.
    #[schemars(with = "String")]
    pub created_at: Time,
    /// When it was last changed.
    #[schemars(with = "String")]
    pub updated_at: Time,
}

/// Somebody who takes part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    /// Who: the id of a member.
    pub member: String,
    /// Whether it cannot be without them.
    pub is_required: bool,
}

/// How an event repeats. Only this is stored; instances are computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recurrence {
    /// The value of RRULE, such as `FREQ=WEEKLY;BYDAY=TU`; empty when only `added` repeats it.
    pub rule: String,
    /// EXDATE: starts that are left out, on the wall of the event's zone.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    #[serde(rename = "left_out")]
    pub exdates: Vec<DateTime>,
    /// RDATE: starts that come on top, on the wall of the event's zone.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    #[serde(rename = "added")]
    pub rdates: Vec<DateTime>,
}

/// Which instance of a series an event stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecurrenceOverride {
    /// The series: the id of its event.
    pub series: String,
    /// RECURRENCE-ID: when the instance was to start, on the wall of the series' zone.
    #[schemars(with = "String")]
    pub start: DateTime,
}

/// How much something matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Little.
    Low,
    /// As most things.
    #[default]
    Medium,
    /// Much.
    High,
    /// More than anything else.
    Critical,
}

/// How far something may be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flexibility {
    /// Not at all.
    Fixed,
    /// If need be.
    #[default]
    Preferred,
    /// Anywhere.
    Flexible,
}
