//! Nodes of the graph: each reads the state and the calendar, and returns an update.
//!
//! `agents` and `parser` do the computation; the nodes translate results into state updates.

pub(crate) mod add_family_names;
mod apply_resolution;
mod confirm_event;
mod request_clarification;

pub(crate) use crate::agents::agent_update::reject_proposal;
pub(crate) use crate::agents::conflict_detection_agent::conflict_detection;
pub(crate) use crate::agents::nl_parser_agent::nl_parser;
pub(crate) use crate::agents::query_agent::query;
pub(crate) use crate::agents::resolution_agent::resolution;
pub use crate::agents::resolution_agent::{EditedResolution, ResolutionChoice};
pub(crate) use crate::agents::resource_manager_agent::resource_manager;
pub(crate) use crate::agents::scheduling_agent::scheduling;
pub(crate) use apply_resolution::apply_resolution;
pub use confirm_event::ConfirmationAnswer;
pub(crate) use confirm_event::confirm_event;
pub(crate) use request_clarification::request_clarification;
