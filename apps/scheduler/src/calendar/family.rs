//! The family, its members, calendars and resources.

use std::collections::BTreeMap;

use jiff::civil;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time_range::MAX_MINUTES;

/// A family with a common calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Id of the family.
    pub id: String,
    /// Name of the family.
    pub name: String,
    /// IANA time zone of the family.
    pub zone: String,
    /// First day of the week.
    #[serde(default)]
    pub week_start: WeekStart,
    /// Require confirmation of every event by a user (default: false).
    #[serde(default)]
    pub always_ask: bool,
}

/// First day of a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeekStart {
    /// As in RFC 5545.
    #[default]
    Monday,
    /// As in the United States.
    Sunday,
    /// As in much of the Arab world.
    Saturday,
}

/// A member of a family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Id of the member.
    pub id: String,
    /// Name of the member.
    pub name: String,
    /// Other names of the member.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Role in the family.
    pub role: MemberRole,
    /// IANA time zone of the member, if it differs from that of the family.
    #[serde(default)]
    pub zone: Option<String>,
    /// Preferences of the member.
    #[serde(default)]
    pub preferences: Preferences,
}

/// Role of a member in a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberRole {
    /// Can change everything.
    Parent,
    /// Can change their own events.
    Child,
    /// A grandparent or sitter: sees shared events and can change their own events.
    Other,
}

/// Preferences of a member. Missing fields have the values of `Default`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preferences {
    /// Default duration of an event in minutes.
    pub default_minutes: u32,
    /// Start of the member's day.
    #[schemars(with = "String")]
    pub day_start: civil::Time,
    /// End of the member's day.
    #[schemars(with = "String")]
    pub day_end: civil::Time,
    /// Names for times of day, such as `after school` (default: 15:30).
    #[schemars(with = "BTreeMap<String, String>")]
    pub times: BTreeMap<String, civil::Time>,
}

impl Default for Preferences {
    fn default() -> Self {
        let times = [("after school", civil::time(15, 30, 0, 0))];
        Self {
            default_minutes: 60,
            day_start: civil::time(8, 0, 0, 0),
            day_end: civil::time(21, 0, 0, 0),
            times: times.into_iter().map(|(name, time)| (name.to_owned(), time)).collect(),
        }
    }
}

impl Preferences {
    /// Checks constraints that the types cannot express. Returns the JSON pointer of the invalid value and the
    /// reason.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        let is_valid = (1..=MAX_MINUTES).contains(&i64::from(self.default_minutes));
        let reason = || format!("an event is at least a minute and at most {MAX_MINUTES} minutes long");
        (!is_valid).then(|| ("/preferences/default_minutes", reason()))
    }
}

/// Derives a free id from a name. Default: `fallback`, if the name has no ASCII letters or digits.
pub(crate) fn free_id(name: &str, fallback: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = name.to_lowercase();
    let name: String =
        name.chars().map(|symbol| if symbol.is_ascii_alphanumeric() { symbol } else { '-' }).take(40).collect();
    let name = Some(name.trim_matches('-')).filter(|name| !name.is_empty()).unwrap_or(fallback);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut ids = std::iter::once(name.to_owned()).chain(numbered);
    ids.find(|id| !is_taken(id)).unwrap_or_default()
}

/// One of the calendars of a family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// Id of the calendar.
    pub id: String,
    /// Name of the calendar.
    pub name: String,
    /// Id of the member who owns the calendar; absent for a shared calendar.
    #[serde(default)]
    pub owner: Option<String>,
    /// Visibility of the events.
    #[serde(default)]
    pub visibility: Visibility,
}

/// Visibility of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Visible to the family.
    #[default]
    Family,
    /// Visible to the owner and participants; other members see "busy".
    Private,
}

/// A shared resource of limited capacity, such as a car or a kitchen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Id of the resource.
    pub id: String,
    /// Name of the resource.
    pub name: String,
    /// Other names of the resource.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Kind of the resource. A resource of the same kind can replace it.
    #[serde(rename = "type")]
    pub kind: String,
    /// Maximum number of events that can use the resource at the same time.
    pub capacity: u32,
    /// Additional attributes of the resource.
    #[serde(default)]
    pub attributes: BTreeMap<String, Value>,
}
