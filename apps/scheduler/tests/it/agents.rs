//! The deterministic agents: slots, capacity, constraints, conflicts, resolutions, queries.

mod builder;
mod capacity;
mod conflict_scan;
mod conflicts;
mod constraints;
mod format;
mod full_year;
mod privacy;
mod query;
mod resolution;
mod resolution_apply;
mod resolution_others;
mod slots;
