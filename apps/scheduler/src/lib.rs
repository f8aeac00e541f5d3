//! Family scheduler: turns requests in natural language into calendar events without double bookings.
//!
//! [`calendar`] holds the calendar types, [`models`] the data that agents exchange, [`store`] the database backends,
//! and [`create_scheduler_graph()`] builds the graph that processes one request. [`app()`] combines them into an
//! application for the server.

pub mod agents;
mod app;
pub mod calendar;
mod context;
pub mod eval;
mod http;
pub mod ics;
pub mod models;
mod nodes;
pub mod orchestrator;
pub mod parser;
mod planning;
pub mod sample;
pub mod state;
pub mod state_utils;
pub mod store;
pub mod time_zone;

pub use app::{SchedulerSettings, app};
pub use context::SchedulerContext;
pub use http::{ConversationOptions, run_request};
pub use nodes::{ConfirmationAnswer, EditedResolution, ResolutionChoice};
pub use orchestrator::{create_scheduler_graph, state_graph};
pub use state::request_state::{ClarificationAnswer, ClarificationFields, NewFamilyName, NewNameKind};

/// The scheduler page of the book, included so that its examples are compiled and run as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../book/src/guides/scheduler-app.md")]
mod guide {}
