//! Integration tests of the suggestions agent, one module per area of requirements.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod files;
mod fixtures;
mod format;
mod graph;
mod http;
mod planner;
mod providers;
mod sources;
mod suggest;
mod test_server;
mod tools;
