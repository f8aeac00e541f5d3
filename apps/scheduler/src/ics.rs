//! Calendar files (RFC 5545): what a family brings along from elsewhere, and what it takes away.
//!
//! Pure both ways: reading gives changes and a report and writes nothing, writing gives text. What a file says and a
//! family's calendar has no room for stays in [`Event::extra`](crate::calendar::Event::extra), line by line, and is
//! written again as it was.

mod component;
mod draft;
mod export;
mod import;
mod kept;
mod lines;
mod matching;
mod people;
mod property;
mod recurrence;
mod report;
mod vtimezone;
mod when;
mod write;
mod zones;

pub use export::{Options, Reader, export};
pub use import::{Imported, MOST_BYTES, MOST_EVENTS, import};
pub use report::{Entry, Problem, Report, Skipped};
