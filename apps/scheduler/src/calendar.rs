//! Calendar data of a family: members, resources, constraints and events, and a snapshot of all of them,
//! [`CalendarSnapshot`].

mod constraint;
mod event;
mod family;
mod index;
mod recurrence;
pub mod series;
mod snapshot;
mod time_range;

pub use constraint::{Constraint, ConstraintKind, ConstraintStrength};
pub use event::{Event, Flexibility, Participant, Priority, Recurrence, RecurrenceOverride};
pub(crate) use family::free_id;
pub use family::{Calendar, Family, Member, MemberRole, Preferences, Resource, Visibility, WeekStart};
pub(crate) use recurrence::rule_parts;
pub use recurrence::{MAX_INSTANCES, ValidatedRule, validate_rrule};
pub(crate) use snapshot::NEXT_INSTANCE_HORIZON_DAYS;
pub use snapshot::{CalendarChange, CalendarSnapshot, EventInstance};
pub use time_range::{MAX_MINUTES, TimeRange};
