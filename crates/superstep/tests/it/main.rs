//! Tests of the engine through its public API only.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod agents;
mod breakpoints;
mod cassette;
mod compile_errors;
mod context;
mod crash;
mod edge_cases;
mod errors;
mod fields;
mod files;
mod fixtures;
mod forks;
mod functional;
mod graph;
mod interrupts;
mod migrations;
mod models;
mod overhead;
mod properties;
mod redaction;
mod reference;
mod retention;
mod running;
mod schemas;
mod smoke;
mod state;
mod store;
mod streams;
mod subgraphs;
mod support;
mod task_and_entrypoint_macros;
mod telemetry;
mod threads;
mod tools;
mod transfer;
mod updates;
