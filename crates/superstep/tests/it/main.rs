//! The engine through its public door: every test here does what a user would do.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod attributes;
mod compile_errors;
mod cost;
mod crash;
mod properties;
mod smoke;
mod state;
