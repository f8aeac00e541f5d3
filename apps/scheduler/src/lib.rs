//! The family scheduler: plain words in, a real calendar out, and nothing booked twice.
//!
//! What a family has is in [`calendar`], what the agents say to each other in [`models`], where calendars are kept in
//! [`store`], and the graph of a request is [`graph()`]. For a server all of it is [`app()`].

pub mod agents;
mod app;
pub mod audit;
pub mod calendar;
mod draft;
pub mod eval;
mod graph;
mod home;
mod http;
pub mod ics;
pub mod models;
mod nodes;
mod notes;
pub mod parser;
mod plan;
pub mod route;
pub mod sample;
pub mod sample_year;
pub mod state;
pub mod store;
pub mod workflow;
pub mod zone;

pub use app::{Settings, app};
pub use graph::{draw, graph};
pub use home::Home;
pub use http::{Options, order};
pub use nodes::{ChangedWay, Choice, Confirming};
pub use notes::{Fields, NewKind, NewName, Said as Clarifying};

/// The page of the book, so that its examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../book/src/guides/scheduler.md")]
mod guide {}
