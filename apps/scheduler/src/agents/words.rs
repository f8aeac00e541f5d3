//! How times, lengths and names are said to a family.

use jiff::civil::{self, DateTime};

use crate::calendar::{Board, Span};
use crate::zone::Zone;

/// A moment on the wall: `Saturday 10 January, 2:00 pm`.
///
/// ```
/// use superstep_scheduler::agents::words;
/// assert_eq!(words::moment(jiff::civil::datetime(2026, 1, 10, 14, 0, 0, 0)), "Saturday 10 January, 2:00 pm");
/// ```
#[must_use]
pub fn moment(wall: DateTime) -> String {
    format!("{}, {}", day(wall.date()), clock(wall.time()))
}

/// A day: `Saturday 10 January`.
#[must_use]
pub fn day(date: civil::Date) -> String {
    date.strftime("%A %-d %B").to_string()
}

/// A time of the day: `2:00 pm`.
#[must_use]
pub fn clock(time: civil::Time) -> String {
    time.strftime("%-I:%M %P").to_string()
}

/// A stretch of time on the wall of a place: `Saturday 10 January, 2:00 pm to 3:00 pm`.
#[must_use]
pub fn stretch(zone: &Zone, span: &Span) -> String {
    let (start, end) = (zone.wall(span.start), zone.wall(span.end));
    if start.date() == end.date() {
        return format!("{} to {}", moment(start), clock(end.time()));
    }
    format!("{} to {}", moment(start), moment(end))
}

/// A length: `1 hour 30 minutes`.
#[must_use]
pub fn length(minutes: i64) -> String {
    let parts = [(minutes / 1440, "day"), (minutes % 1440 / 60, "hour"), (minutes % 60, "minute")];
    let said: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| some(*count, unit)).collect();
    if said.is_empty() { some(0, "minute") } else { said.join(" ") }
}

/// So many of something: `1 hour`, `2 hours`.
#[must_use]
pub fn some(count: i64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Several things in a row: `Mom, Dad and Emma`.
#[must_use]
pub fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [rest @ .., last] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", rest.join(", "), last.as_ref())
        }
    }
}

/// The names of members; somebody who left is `somebody`.
#[must_use]
pub fn names<T: AsRef<str>>(board: &Board, members: &[T]) -> String {
    let name = |id: &T| board.members.get(id.as_ref()).map_or("somebody", |member| member.name.as_str()).to_owned();
    list(&members.iter().map(name).collect::<Vec<String>>())
}

/// A thing as the start of a sentence: `The car`, but `Dad's car`.
#[must_use]
pub fn thing(name: &str) -> String {
    if name.starts_with(char::is_lowercase) { format!("The {name}") } else { name.to_owned() }
}

/// A title inside a sentence.
#[must_use]
pub fn quoted(title: &str) -> String {
    format!("“{title}”")
}
