//! The rules of a place as a VTIMEZONE, for readers that do not know its name.
//!
//! Every change of the clocks in the years in use is in it. Changes that come back each year are one rule, and a rule
//! that still holds at the end of them goes on for ever.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use superstep::{Code, Error, Result};

use super::when::digits;

/// How many years beyond those in use are looked at: in so many, every date has been on every weekday, so that the
/// first Sunday of a month can be told from the first one after the first.
const YEARS_BEYOND: i16 = 28;

/// The lines of the VTIMEZONE of a place, for events from one year to another.
pub(super) fn lines(name: &str, first: i16, last: i16) -> Result<Vec<String>> {
    let rules = TimeZone::get(name).map_err(|error| Error::new(Code::ConfigInvalid, error.to_string()))?;
    let last = last.saturating_add(YEARS_BEYOND).min(9_990);
    let mut lines = vec!["BEGIN:VTIMEZONE".to_owned(), format!("TZID:{name}")];
    for group in groups(changes(&rules, first, last)) {
        lines.extend(group.lines(last));
    }
    lines.push("END:VTIMEZONE".to_owned());
    Ok(lines)
}

/// One change of the clocks.
#[derive(Debug, Clone)]
struct Change {
    at: Timestamp,
    from: Offset,
    to: Offset,
    name: String,
    is_summer: bool,
}

impl Change {
    fn at(rules: &TimeZone, at: Timestamp) -> Self {
        let after = rules.to_offset_info(at);
        let before = at.checked_sub(1.second()).unwrap_or(at);
        Self {
            at,
            from: rules.to_offset(before),
            to: after.offset(),
            name: after.abbreviation().to_owned(),
            is_summer: after.dst().is_dst(),
        }
    }

    /// What the clock showed when it was changed.
    fn wall(&self) -> DateTime {
        self.from.to_datetime(self.at)
    }

    /// Which weekday of the month it is, counted from its beginning and, the last one, from its end.
    fn nth(&self) -> Vec<i8> {
        let day = self.wall().date();
        let from_start = (day.day() - 1) / 7 + 1;
        if day.day() + 7 > day.days_in_month() { vec![from_start, -1] } else { vec![from_start] }
    }
}

/// The change that made the clocks what they are when the first year begins, and all after it.
fn changes(rules: &TimeZone, first: i16, last: i16) -> Vec<Change> {
    // A wall may be up to a day away from UTC.
    let bound = |year: i16, days: i64| {
        let day = jiff::civil::date(year.clamp(1, 9_998), 1, 1).saturating_add(days.days());
        Offset::UTC.to_timestamp(day.into()).unwrap_or(Timestamp::UNIX_EPOCH)
    };
    let (start, end) = (bound(first, -1), bound(last.saturating_add(1), 0));
    let before = rules.preceding(start).next().map(|change| change.timestamp());
    let after = rules.following(start).map(|change| change.timestamp()).take_while(|at| *at < end);
    let mut changes = vec![Change::at(rules, before.unwrap_or(start))];
    if before.is_none() {
        // Clocks that were never changed before are at every time what they are.
        changes[0].from = changes[0].to;
    }
    changes.extend(after.map(|at| Change::at(rules, at)));
    changes
}

/// Changes of successive years in the same month, on the same weekday, within the same seven days.
struct Group {
    first: Change,
    last: Change,
    days: (i8, i8),
    /// The ways to count the weekday that fit all of them.
    nth: Vec<i8>,
}

fn groups(changes: Vec<Change>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for change in changes {
        if let Some(group) = groups.iter_mut().find(|group| group.goes_on_with(&change)) {
            group.add(change);
        } else {
            let (day, nth) = (change.wall().day(), change.nth());
            groups.push(Group { first: change.clone(), last: change, days: (day, day), nth });
        }
    }
    groups
}

impl Group {
    fn goes_on_with(&self, change: &Change) -> bool {
        let (last, wall) = (self.last.wall(), change.wall());
        let days = self.days_with(wall.day());
        (self.last.from, self.last.to, &self.last.name) == (change.from, change.to, &change.name)
            && self.last.is_summer == change.is_summer
            && (last.year() + 1, last.month(), last.weekday()) == (wall.year(), wall.month(), wall.weekday())
            && last.time() == wall.time()
            && days.1 - days.0 < 7
    }

    fn days_with(&self, day: i8) -> (i8, i8) {
        (self.days.0.min(day), self.days.1.max(day))
    }

    fn add(&mut self, change: Change) {
        let here = change.nth();
        self.nth.retain(|nth| here.contains(nth));
        self.days = self.days_with(change.wall().day());
        self.last = change;
    }

    fn lines(&self, horizon: i16) -> Vec<String> {
        let kind = if self.first.is_summer { "DAYLIGHT" } else { "STANDARD" };
        let mut lines = vec![
            format!("BEGIN:{kind}"),
            format!("DTSTART:{}", digits(self.first.wall())),
            format!("TZOFFSETFROM:{}", written(self.first.from)),
            format!("TZOFFSETTO:{}", written(self.first.to)),
            format!("TZNAME:{}", self.first.name),
        ];
        if self.first.at < self.last.at {
            lines.push(self.rule(horizon));
        }
        lines.push(format!("END:{kind}"));
        lines
    }

    fn rule(&self, horizon: i16) -> String {
        let wall = self.first.wall();
        let (month, weekday) = (wall.month(), weekday(wall.weekday()));
        // The last of the month is the likelier rule where both fit.
        let day = match self.nth.last() {
            Some(nth) => format!("BYDAY={nth}{weekday}"),
            None => {
                let days: Vec<String> = (self.days.0..=self.days.1).map(|day| day.to_string()).collect();
                format!("BYMONTHDAY={};BYDAY={weekday}", days.join(","))
            }
        };
        let until = if self.last.wall().year() >= horizon {
            String::new()
        } else {
            // A day later, for readers that take it for a time on the wall.
            format!(";UNTIL={}Z", digits(Offset::UTC.to_datetime(self.last.at).saturating_add(1.day())))
        };
        format!("RRULE:FREQ=YEARLY;BYMONTH={month};{day}{until}")
    }
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

fn written(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes, rest) = (seconds.abs() / 3_600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    let rest = if rest == 0 { String::new() } else { format!("{rest:02}") };
    format!("{sign}{hours:02}{minutes:02}{rest}")
}

#[cfg(test)]
mod tests {
    use superstep::core::time::Time;

    use super::*;
    use crate::calendar::{Board, Family, WeekStart};
    use crate::ics::component::split;
    use crate::ics::lines::Line;
    use crate::ics::report::Report;
    use crate::ics::zones::Hours;

    /// Reads what was written and compares it with the rules on every third day, hour by hour shifted.
    fn check(name: &str, first: i16, last: i16) {
        let written = lines(name, first, last).unwrap();
        let text = written.into_iter().enumerate().map(|(index, text)| Line { number: index + 1, text }).collect();
        let mut report = Report::default();
        let begin = Line { number: 1, text: "BEGIN:VCALENDAR".to_owned() };
        let components = split([vec![begin], text].concat(), &mut report).unwrap();
        let family = Family {
            id: "f".into(),
            name: "F".into(),
            zone: "UTC".into(),
            week_start: WeekStart::Monday,
            always_ask: false,
        };
        let rules = TimeZone::get(name).unwrap();
        let bound = |year| Offset::UTC.to_timestamp(jiff::civil::date(year, 1, 1).into()).unwrap().as_second();
        // Rules that go on hold beyond the years that were looked at.
        let end = bound(last + 25);
        let hours =
            Hours::read(&components[0], &Board::new(family), Time::from_unix_micros(end * 1_000_000).unwrap()).unwrap();
        let mut at = bound(first);
        while at < end {
            let time = Time::from_unix_micros(at * 1_000_000).unwrap();
            let expected = rules.to_offset(Timestamp::from_second(at).unwrap()).seconds();
            assert_eq!(hours.at(time), i64::from(expected), "{name} at {time}");
            at += 3 * 86_400 + 3_600;
        }
    }

    /// R-FAM-99: what a VTIMEZONE says is what the zone does, also in the years after those in use.
    #[test]
    fn the_hours_of_a_written_zone_are_its_hours() {
        for name in [
            "America/New_York",
            "Europe/Berlin",
            "Europe/London",
            "Europe/Dublin",
            "Australia/Lord_Howe",
            "America/Santiago",
            "Asia/Kolkata",
            "Asia/Kathmandu",
            "Pacific/Apia",
            "America/Sao_Paulo",
            "Africa/Casablanca",
        ] {
            check(name, 2026, 2027);
            check(name, 1995, 2026);
        }
        check("America/New_York", 1875, 1980);
    }

    /// R-FAM-99: what comes back each year is one rule.
    #[test]
    fn a_zone_with_summer_time_is_two_rules() {
        assert_eq!(
            lines("Europe/Berlin", 2026, 2026).unwrap().join("\n"),
            "BEGIN:VTIMEZONE\nTZID:Europe/Berlin\n\
             BEGIN:STANDARD\nDTSTART:20251026T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nTZNAME:CET\n\
             RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nEND:STANDARD\n\
             BEGIN:DAYLIGHT\nDTSTART:20260329T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nTZNAME:CEST\n\
             RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\nEND:DAYLIGHT\n\
             END:VTIMEZONE"
        );
    }
}
