//! Integration tests of the assistant, one module per feature.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod clarification;
mod config_file;
mod crash;
mod end_to_end;
mod eval;
mod generator;
mod http;
mod ingress;
mod planner;
mod redaction;
mod rule_model;
mod sessions;
mod state_fields;
mod summarizer;
mod support;
mod test_server;
mod tool_executor;
mod tool_router;
mod tools;
