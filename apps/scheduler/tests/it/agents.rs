//! The agents that compute: times, capacity, rules, conflicts, ways out, answers.

mod builder;
mod capacity;
mod conflicts;
mod privacy;
mod query;
mod resolution;
mod resolution_apply;
mod resolution_others;
mod rules;
mod scan;
mod slots;
mod words;
mod year;
