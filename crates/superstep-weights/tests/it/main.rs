//! Integration tests of `superstep-weights`: with a tiny generated model, with malicious files, and with a real
//! model.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod answers;
mod hostile;
mod real;
mod support;
