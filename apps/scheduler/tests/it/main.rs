//! Tests of the family scheduler.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod agents;
mod changes;
mod examples;
mod heard;
mod http;
mod ics;
mod models;
mod names;
mod parser;
mod pruned;
mod recurrence;
mod requests;
mod route;
mod series;
mod served;
mod stage;
mod state;
mod store;
mod workflow;
