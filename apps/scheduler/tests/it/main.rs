//! Integration tests of the family scheduler.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod agents;
mod examples;
mod fixtures;
mod http;
mod ics;
mod model_parse;
mod models;
mod modify_requests;
mod parser;
mod pruning;
mod recurrence;
mod requests;
mod route;
mod series;
mod state;
mod state_utils;
mod store;
mod test_server;
mod unknown_names;
