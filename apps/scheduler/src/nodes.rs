//! The nodes: each looks at the state and the calendar, and returns what it found.
//!
//! What the agents compute is in `agents` and `parser`; here stands what of it goes into the state.

mod add;
mod apply_resolution;
mod clarify;
mod confirm;
mod conflict_detection;
mod hear;
mod nl_parser;
mod query;
mod resolution;
mod resource_manager;
mod scheduling;
mod told;

pub(crate) use apply_resolution::apply_resolution;
pub(crate) use clarify::request_clarification;
pub use confirm::Confirming;
pub(crate) use confirm::confirm_event;
pub(crate) use conflict_detection::conflict_detection;
pub(crate) use nl_parser::nl_parser;
pub(crate) use query::query;
pub(crate) use resolution::resolution;
pub use resolution::{ChangedWay, Choice};
pub(crate) use resource_manager::resource_manager;
pub(crate) use scheduling::scheduling;
pub(crate) use told::reject;
