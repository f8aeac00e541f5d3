//! Calendar events, single or recurring.

use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;

use super::time_range::TimeRange;
use crate::models::EventStatus;

/// An event of a calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Id of the event.
    pub id: String,
    /// UID in calendar files; the events of a series share it.
    pub uid: String,
    /// Id of the calendar.
    pub calendar: String,
    /// Title of the event.
    pub title: String,
    /// Time range of the event; for a series, of the first instance.
    pub span: TimeRange,
    /// IANA time zone of the event, used for recurrence and calendar files.
    pub zone: String,
    /// True for an all-day event, which lasts from midnight to midnight in its time zone.
    #[serde(default)]
    pub is_all_day: bool,
    /// Participants of the event.
    #[serde(default)]
    pub participants: Vec<Participant>,
    /// Ids of the resources that the event uses.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Recurrence of the event, if it is a series.
    #[serde(default)]
    pub recurrence: Option<Recurrence>,
    /// The instance of a series that this event replaces.
    #[serde(default)]
    #[serde(rename = "exception_of")]
    pub recurrence_override: Option<RecurrenceOverride>,
    /// Priority of the event.
    #[serde(default)]
    pub priority: Priority,
    /// Flexibility of the event.
    #[serde(default)]
    pub flexibility: Flexibility,
    /// Status of the event.
    pub status: EventStatus,
    /// Id of the member who created the event.
    pub owner: String,
    /// Number of changes, as SEQUENCE in calendar files.
    #[serde(default)]
    pub sequence: u32,
    /// Location of the event.
    #[serde(default)]
    pub location: String,
    /// Notes about the event.
    #[serde(default)]
    pub notes: String,
    /// Unsupported properties and alarms of an imported calendar file, unfolded and otherwise unchanged.
    #[serde(default)]
    #[serde(rename = "extra")]
    pub preserved_properties: Vec<String>,
    /// Time of creation.
    #[schemars(with = "String")]
    pub created_at: Time,
    /// Time of the last change.
    #[schemars(with = "String")]
    pub updated_at: Time,
}

/// A participant of an event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    /// Id of the member.
    pub member: String,
    /// True if the event cannot take place without the member.
    pub is_required: bool,
}

/// Recurrence of an event. Only the rule is stored; instances are computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recurrence {
    /// Value of RRULE, such as `FREQ=WEEKLY;BYDAY=TU`; empty if only `rdates` defines instances.
    pub rule: String,
    /// EXDATE: excluded starts, in the local time of the event.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    #[serde(rename = "left_out")]
    pub exdates: Vec<DateTime>,
    /// RDATE: additional starts, in the local time of the event.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    #[serde(rename = "added")]
    pub rdates: Vec<DateTime>,
}

/// Reference to the instance of a series that an event replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecurrenceOverride {
    /// Id of the event that is the series.
    pub series: String,
    /// RECURRENCE-ID: the original start of the instance, in the local time of the series.
    #[schemars(with = "String")]
    pub start: DateTime,
}

/// Priority of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Low priority.
    Low,
    /// Normal priority.
    #[default]
    Medium,
    /// High priority.
    High,
    /// Highest priority.
    Critical,
}

/// Flexibility of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flexibility {
    /// Must not be moved.
    Fixed,
    /// Can be moved if necessary.
    #[default]
    Preferred,
    /// Can be moved freely.
    Flexible,
}
