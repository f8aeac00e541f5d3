//! Constraints that a family has for its events.

use jiff::civil;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule, for one member or for the family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// Its id.
    pub id: String,
    /// What it is called, in words that a family understands.
    pub name: String,
    /// For whom; nobody is everybody.
    #[serde(default)]
    pub member: Option<String>,
    /// What it says.
    pub kind: ConstraintKind,
    /// Whether it may be broken.
    pub strength: ConstraintStrength,
    /// Whether it counts at present.
    #[serde(default = "yes")]
    pub is_active: bool,
}

fn yes() -> bool {
    true
}

/// Whether a rule may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintStrength {
    /// It may not.
    Hard,
    /// It may; 1 to 10 says how bad that is.
    Soft(u8),
}

/// What a rule says. Days are 1 for Monday to 7 for Sunday; none are all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConstraintKind {
    /// Nothing starts before this time.
    NoEventsBefore {
        /// The time on the wall.
        #[schemars(with = "String")]
        time: civil::Time,
    },
    /// Nothing ends after this time.
    NoEventsAfter {
        /// The time on the wall.
        #[schemars(with = "String")]
        time: civil::Time,
    },
    /// Nothing at these times.
    BlockedWindow {
        /// On which days.
        #[serde(default)]
        days: Vec<u8>,
        /// From when on the wall.
        #[schemars(with = "String")]
        from: civil::Time,
        /// Until when on the wall.
        #[schemars(with = "String")]
        to: civil::Time,
    },
    /// Best at these times; broken outside them.
    PreferredWindow {
        /// On which days.
        #[serde(default)]
        days: Vec<u8>,
        /// From when on the wall.
        #[schemars(with = "String")]
        from: civil::Time,
        /// Until when on the wall.
        #[schemars(with = "String")]
        to: civil::Time,
    },
    /// Between two events of one person.
    MinGapMinutes {
        /// At least so many.
        minutes: u32,
    },
    /// For one person on one day.
    MaxEventsPerDay {
        /// At most so many.
        count: u32,
    },
    /// For one person in one week of the family.
    MaxEventsPerWeek {
        /// At most so many.
        count: u32,
    },
    /// Who gets a thing first.
    ResourcePriority {
        /// The thing.
        resource: String,
        /// The members, the first one first.
        members: Vec<String>,
    },
}
