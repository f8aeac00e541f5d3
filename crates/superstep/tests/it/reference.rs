//! The reference's conformance cases, its defects and the probes of its peers, each held against this engine.
//!
//! Where the two profiles differ a test runs in both; what other tests assert already carries the id there.

use superstep::Compat;

mod calls;
mod defects;
mod definition;
mod door;
mod durability;
mod failures;
mod fields;
mod forks;
mod formats;
mod growth;
mod inner_graphs;
mod probes;
mod questions;
mod recovery;
mod stores;
mod supersteps;
mod turns;
mod watched;

/// Ours by default, and the reference's habits.
const PROFILES: [Compat; 2] = [Compat::Strict, Compat::LangGraph];
