//! User-visible formatting of times, durations and names.

use jiff::civil::{self, DateTime};

use crate::calendar::{CalendarSnapshot, TimeRange};
use crate::time_zone::NamedTimeZone;

/// Formats a local date and time: `Saturday 10 January, 2:00 pm`.
///
/// ```
/// use superstep_scheduler::agents::format;
/// assert_eq!(format::format_datetime(jiff::civil::datetime(2026, 1, 10, 14, 0, 0, 0)), "Saturday 10 January, 2:00 pm");
/// ```
#[must_use]
pub fn format_datetime(local_time: DateTime) -> String {
    format!("{}, {}", format_date(local_time.date()), format_time(local_time.time()))
}

/// Formats a date: `Saturday 10 January`.
#[must_use]
pub fn format_date(date: civil::Date) -> String {
    date.strftime("%A %-d %B").to_string()
}

/// Formats a time of day: `2:00 pm`.
#[must_use]
pub fn format_time(time: civil::Time) -> String {
    time.strftime("%-I:%M %P").to_string()
}

/// Formats a time range in a time zone: `Saturday 10 January, 2:00 pm to 3:00 pm`.
#[must_use]
pub fn format_range(zone: &NamedTimeZone, span: &TimeRange) -> String {
    let (start, end) = (zone.to_local(span.start), zone.to_local(span.end));
    if start.date() == end.date() {
        return format!("{} to {}", format_datetime(start), format_time(end.time()));
    }
    format!("{} to {}", format_datetime(start), format_datetime(end))
}

/// Formats a duration: `1 hour 30 minutes`.
#[must_use]
pub fn format_duration(minutes: i64) -> String {
    let parts = [(minutes / 1440, "day"), (minutes % 1440 / 60, "hour"), (minutes % 60, "minute")];
    let texts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| pluralize(*count, unit)).collect();
    if texts.is_empty() { pluralize(0, "minute") } else { texts.join(" ") }
}

/// Formats a count with its unit: `1 hour`, `2 hours`.
#[must_use]
pub fn pluralize(count: i64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Joins several items: `Mom, Dad and Emma`.
#[must_use]
pub fn join_list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [rest @ .., last] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", rest.join(", "), last.as_ref())
        }
    }
}

/// Joins the names of members. An unknown member is `somebody`.
#[must_use]
pub fn names<T: AsRef<str>>(snapshot: &CalendarSnapshot, members: &[T]) -> String {
    let name = |id: &T| snapshot.members.get(id.as_ref()).map_or("somebody", |member| member.name.as_str()).to_owned();
    join_list(&members.iter().map(name).collect::<Vec<String>>())
}

/// Formats the name of a resource at the start of a sentence: `The car`, but `Dad's car`.
#[must_use]
pub fn resource_as_subject(name: &str) -> String {
    if name.starts_with(char::is_lowercase) { format!("The {name}") } else { name.to_owned() }
}

/// Quotes a title within a sentence.
#[must_use]
pub fn quoted(title: &str) -> String {
    format!("“{title}”")
}
