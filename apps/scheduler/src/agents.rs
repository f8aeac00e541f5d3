//! The computing agents: slots, capacity, constraints, conflicts, resolutions and calendar queries.
//!
//! All agents are pure functions of a [`CalendarSnapshot`](crate::calendar::CalendarSnapshot) and their arguments: they use no clock, no
//! store and no random numbers. Event instances are indexed once (`taken`) and then checked many times (`look`).
//! User-visible wording is in [`words`].

pub mod capacity;
pub mod conflicts;
pub mod query;
pub mod resolution;
pub mod rules;
pub mod scan;
pub mod slots;
pub mod words;

pub(crate) mod agent_update;
pub(crate) mod conflict_detection_agent;
mod finding;
mod look;
mod moments;
pub(crate) mod nl_parser_agent;
pub(crate) mod query_agent;
pub(crate) mod resolution_agent;
pub(crate) mod resource_manager_agent;
pub(crate) mod scheduling_agent;
mod seen;
mod taken;
mod windows;

pub(crate) use seen::{
    BUSY, can_modify, can_modify_instances, can_see_details, time_zone_of, visible_snapshot, visible_title,
};
pub(crate) use taken::is_transparent;
