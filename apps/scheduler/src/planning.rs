//! Planning of a change: candidate times, conflicts, resolutions.

pub(crate) mod event_plan;
pub(crate) mod event_request;
