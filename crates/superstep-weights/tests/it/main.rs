//! What `superstep-weights` promises, on a tiny model made here, on files that mean harm, and on a model that really talks.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod answers;
mod hostile;
mod real;
mod support;
