//! What a family has: its people, things, rules and events, and all of it at once as a [`Board`].

mod board;
mod event;
mod family;
mod index;
mod recurrence;
mod rule;
pub mod series;
mod span;

pub use board::{Board, Change, Instance};
pub use event::{Event, ExceptionOf, Flexibility, Participant, Priority, Recurrence};
pub(crate) use family::free_id;
pub use family::{Calendar, Family, Member, Preferences, Resource, Role, Visibility, WeekStart};
pub use recurrence::{Checked, MOST_INSTANCES, check_rule};
pub use rule::{Rule, RuleKind, Strength};
pub use span::{LONGEST_MINUTES, Span};
