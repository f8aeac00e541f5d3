//! Conformance cases of LangGraph, its defects, and probes of other frameworks, each compared with this engine.
//!
//! If the two modes differ, a test runs in both; cases that other tests cover have their id there.

use superstep::Compat;

mod calls;
mod completion_order;
mod defects;
mod definition;
mod durability;
mod failures;
mod fields;
mod forks;
mod formats;
mod gated_checkpointer;
mod growth;
mod interrupts;
mod json_checkpointer;
mod probes;
mod recording_checkpointer;
mod recovery;
mod subgraphs;
mod supersteps;

/// Strict checks, which are the default, and the compatibility mode.
const COMPAT_MODES: [Compat; 2] = [Compat::Strict, Compat::LangGraph];
