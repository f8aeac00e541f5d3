//! The engine through its public door: every test here does what a user would do.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod agents;
mod attributes;
mod breakpoints;
mod compile_errors;
mod context;
mod corners;
mod cost;
mod crash;
mod engine;
mod errors;
mod fields;
mod files;
mod forks;
mod functional;
mod graph;
mod memory;
mod migrations;
mod models;
mod people;
mod properties;
mod redaction;
mod reference;
mod retention;
mod running;
mod schemas;
mod smoke;
mod state;
mod streams;
mod subgraphs;
mod support;
mod tape;
mod telemetry;
mod threads;
mod tools;
mod transfer;
mod updates;
