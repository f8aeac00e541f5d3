//! The agents that compute: times, capacity, rules, conflicts, ways out and answers.
//!
//! All are functions of a [`Board`](crate::calendar::Board) and their arguments: no clock, no store, no chance. What they
//! look at is taken from the board once (`taken`) and then asked many times (`look`). Wording is in [`words`].

pub mod capacity;
pub mod conflicts;
pub mod query;
pub mod resolution;
pub mod rules;
pub mod scan;
pub mod slots;
pub mod words;

mod finding;
mod look;
mod moments;
mod seen;
mod taken;
mod windows;

pub(crate) use seen::{BUSY, may_change, may_change_which, seen_by, sees, title_for, zone_of};
pub(crate) use taken::is_transparent;
