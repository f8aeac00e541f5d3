//! The server through its public door: real requests over loopback, against a small application.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod bench;
mod dead;
mod guards;
mod life;
mod refusals;
mod reliable;
mod streams;
mod support;
mod system;
