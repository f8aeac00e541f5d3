//! The suggestions agent from outside: one module for each thing it promises.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod files;
mod format;
mod graph;
mod http;
mod planner;
mod providers;
mod served;
mod sources;
mod stage;
mod suggest;
mod tools;
