//! The command line with weights, as people and programs meet it: the real binary, without a model and with one that talks.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod real;
mod refusals;
mod support;
