//! Integration tests over HTTP: real requests over loopback, against a small application.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod faulty_storage;
mod problems;
mod recovery;
mod security;
mod shutdown_and_restart;
mod sse;
mod storage_faults;
mod support;
mod system;
