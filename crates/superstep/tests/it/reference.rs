//! The cases of the reference, by number, in both profiles where these differ.

mod definition;
mod fields;
mod formats;
mod growth;
mod recovery;
mod stores;
mod supersteps;
mod turns;

use superstep::Compat;

/// Ours by default, and the reference's habits.
const PROFILES: [Compat; 2] = [Compat::Strict, Compat::LangGraph];
