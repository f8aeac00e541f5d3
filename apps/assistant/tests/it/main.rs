//! The assistant from outside: one module for each thing it promises.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod clarification;
mod crash;
mod end_to_end;
mod eval;
mod executing;
mod fields;
mod generating;
mod http;
mod installation;
mod planning;
mod redaction;
mod refusals;
mod remembering;
mod routing;
mod rules;
mod served;
mod sessions;
mod support;
mod tools;
