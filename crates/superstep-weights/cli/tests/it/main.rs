//! Integration tests of the command line with weights: the real binary, without a model and with a real one.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod real;
mod startup_errors;
mod support;
