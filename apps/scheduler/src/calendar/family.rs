//! The family, its members, calendars and resources.

use std::collections::BTreeMap;

use jiff::civil;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::span::LONGEST_MINUTES;

/// A family: one calendar in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Its IANA time zone.
    pub zone: String,
    /// The first day of its weeks.
    #[serde(default)]
    pub week_start: WeekStart,
    /// Whether every event is confirmed by a person.
    #[serde(default)]
    pub always_ask: bool,
}

/// The first day of a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeekStart {
    /// As in most of the world, and in RFC 5545.
    #[default]
    Monday,
    /// As in the United States.
    Sunday,
    /// As in much of the Arab world.
    Saturday,
}

/// Somebody of the family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Their id.
    pub id: String,
    /// Their name.
    pub name: String,
    /// What else they are called.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Their place in the family.
    pub role: MemberRole,
    /// Where they are, if not where the family is.
    #[serde(default)]
    pub zone: Option<String>,
    /// What suits them.
    #[serde(default)]
    pub preferences: Preferences,
}

/// A place in a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberRole {
    /// May change everything.
    Parent,
    /// May change their own events.
    Child,
    /// A grandparent, a sitter: sees what the family shares, changes their own events.
    Other,
}

/// What suits somebody; what is not said is as in `Default`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Preferences {
    /// How long an event is unless told.
    pub default_minutes: u32,
    /// When their day starts.
    #[schemars(with = "String")]
    pub day_start: civil::Time,
    /// When it ends.
    #[schemars(with = "String")]
    pub day_end: civil::Time,
    /// What they call times of the day: `after school` is 15:30 unless told.
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
        let is_length = (1..=LONGEST_MINUTES).contains(&i64::from(self.default_minutes));
        let fact = || format!("an event is at least a minute and at most {LONGEST_MINUTES} minutes long");
        (!is_length).then(|| ("/preferences/default_minutes", fact()))
    }
}

/// Derives a free id from a name. Default: `usual`, if the name has no ASCII letters or digits.
pub(crate) fn free_id(name: &str, usual: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = name.to_lowercase();
    let name: String =
        name.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).take(40).collect();
    let name = Some(name.trim_matches('-')).filter(|name| !name.is_empty()).unwrap_or(usual);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut ids = std::iter::once(name.to_owned()).chain(numbered);
    ids.find(|id| !is_taken(id)).unwrap_or_default()
}

/// One of several calendars of a family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Whose it is; nobody's is everybody's.
    #[serde(default)]
    pub owner: Option<String>,
    /// Who sees what is in it.
    #[serde(default)]
    pub visibility: Visibility,
}

/// Who sees what is in a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The family.
    #[default]
    Family,
    /// Its owner and who takes part; others see "busy".
    Private,
}

/// Something that is used one after another: a car, a kitchen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What else it is called.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it is; one of the same kind may stand in for it.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many may use it at once.
    pub capacity: u32,
    /// What else is known of it.
    #[serde(default)]
    pub attributes: BTreeMap<String, Value>,
}
