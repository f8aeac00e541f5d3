//! The computing agents: slots, capacity, constraints, conflicts, resolutions and calendar queries.
//!
//! All agents are pure functions of a [`CalendarSnapshot`](crate::calendar::CalendarSnapshot) and their arguments: they
//! use no clock, no store and no random numbers. Event instances are indexed once (`busy_index`) and then checked many
//! times (`availability_check`). User-visible wording is in [`mod@format`].

pub mod capacity;
pub mod conflicts;
pub mod constraints;
pub mod format;
pub mod query;
pub mod resolution;
pub mod scan;
pub mod slots;

pub(crate) mod agent_update;
mod availability_check;
mod busy_index;
pub(crate) mod conflict_detection_agent;
pub(crate) mod nl_parser_agent;
pub(crate) mod query_agent;
mod raw_conflict;
pub(crate) mod recurrence_text;
pub(crate) mod resolution_agent;
pub(crate) mod resource_manager_agent;
pub(crate) mod scheduling_agent;
mod time_math;
mod visibility;
mod windows;

pub(crate) use busy_index::is_transparent;
pub(crate) use visibility::{
    BUSY, can_modify, can_modify_instances, can_see_details, time_zone_of, visible_snapshot, visible_title,
};
