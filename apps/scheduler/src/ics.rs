//! Import and export of iCalendar files (RFC 5545).
//!
//! Both directions are pure: the import returns changes and a report and writes nothing, the export returns text.
//! Properties that the calendar has no field for stay in
//! [`Event::preserved_properties`](crate::calendar::Event::preserved_properties), line by line, and are exported
//! unchanged.

mod attendee;
mod component;
mod content_line;
mod datetime;
mod export;
mod import;
mod merge;
mod parsed_event;
mod preserved;
mod property;
mod recurrence;
mod report;
mod timezone_lookup;
mod vevent_writer;
mod vtimezone;

pub use export::{ExportAudience, ExportOptions, export};
pub use import::{ImportResult, MAX_BYTES, MAX_EVENTS, import};
pub use report::{ImportProblem, ImportReport, ReportEntry, SkippedEntry};
