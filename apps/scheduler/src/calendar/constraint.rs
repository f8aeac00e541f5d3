//! Constraints that a family has for its events.

use jiff::civil;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scheduling constraint of a member or of the family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// Id of the constraint.
    pub id: String,
    /// Display name of the constraint.
    pub name: String,
    /// Id of the member that the constraint applies to; absent for all members.
    #[serde(default)]
    pub member: Option<String>,
    /// Condition of the constraint.
    pub kind: ConstraintKind,
    /// Strength of the constraint.
    pub strength: ConstraintStrength,
    /// Check the constraint (default: true).
    #[serde(default = "yes")]
    pub is_active: bool,
}

fn yes() -> bool {
    true
}

/// Strength of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintStrength {
    /// The constraint must not be violated.
    Hard,
    /// The constraint may be violated; the weight is from 1 to 10.
    Soft(u8),
}

/// Condition of a constraint. Days are numbered from 1 (Monday) to 7 (Sunday); an empty list means every day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConstraintKind {
    /// No event may start before this time.
    NoEventsBefore {
        /// Local time.
        #[schemars(with = "String")]
        time: civil::Time,
    },
    /// No event may end after this time.
    NoEventsAfter {
        /// Local time.
        #[schemars(with = "String")]
        time: civil::Time,
    },
    /// No event may overlap this time window.
    BlockedWindow {
        /// Days of the week.
        #[serde(default)]
        days: Vec<u8>,
        /// Local start time.
        #[schemars(with = "String")]
        from: civil::Time,
        /// Local end time.
        #[schemars(with = "String")]
        to: civil::Time,
    },
    /// Events should be within this time window.
    PreferredWindow {
        /// Days of the week.
        #[serde(default)]
        days: Vec<u8>,
        /// Local start time.
        #[schemars(with = "String")]
        from: civil::Time,
        /// Local end time.
        #[schemars(with = "String")]
        to: civil::Time,
    },
    /// Minimum gap between two events of a member.
    MinGapMinutes {
        /// Minimum gap in minutes.
        minutes: u32,
    },
    /// Maximum number of events of a member per day.
    MaxEventsPerDay {
        /// Maximum number of events.
        count: u32,
    },
    /// Maximum number of events of a member per week.
    MaxEventsPerWeek {
        /// Maximum number of events.
        count: u32,
    },
    /// Order in which members may use a resource.
    ResourcePriority {
        /// Id of the resource.
        resource: String,
        /// Ids of the members, highest precedence first.
        members: Vec<String>,
    },
}
