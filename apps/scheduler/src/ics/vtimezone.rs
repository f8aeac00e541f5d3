//! Writes a time zone as VTIMEZONE, for readers that do not know its name.
//!
//! The VTIMEZONE contains every transition of the years in use. Transitions that recur every year become one rule;
//! a rule that still applies in the last examined year has no end.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use superstep::{Error, ErrorCode, Result};

use super::datetime::format_local_time;

/// Number of years that are examined beyond those in use. After 28 years every date has been on every weekday, so
/// that "first Sunday of the month" can be distinguished from "first Sunday on or after the 2nd".
const YEARS_BEYOND: i16 = 28;

/// Returns the lines of the VTIMEZONE for events in a range of years.
pub(super) fn lines(name: &str, first: i16, last: i16) -> Result<Vec<String>> {
    let rules = TimeZone::get(name).map_err(|error| Error::new(ErrorCode::ConfigInvalid, error.to_string()))?;
    let last = last.saturating_add(YEARS_BEYOND).min(9_990);
    let mut lines = vec!["BEGIN:VTIMEZONE".to_owned(), format!("TZID:{name}")];
    for group in groups(transitions(&rules, first, last)) {
        lines.extend(group.lines(last));
    }
    lines.push("END:VTIMEZONE".to_owned());
    Ok(lines)
}

/// A transition of the UTC offset.
#[derive(Debug, Clone)]
struct OffsetTransition {
    at: Timestamp,
    from: Offset,
    to: Offset,
    name: String,
    is_summer: bool,
}

impl OffsetTransition {
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

    /// Returns the local time before the transition.
    fn local_time(&self) -> DateTime {
        self.from.to_datetime(self.at)
    }

    /// Returns the ordinals of the weekday in its month: from the start, and -1 if it is the last one.
    fn nth(&self) -> Vec<i8> {
        let day = self.local_time().date();
        let from_start = (day.day() - 1) / 7 + 1;
        if day.day() + 7 > day.days_in_month() { vec![from_start, -1] } else { vec![from_start] }
    }
}

/// Returns the transition that is in effect when the first year begins, and all later ones.
fn transitions(rules: &TimeZone, first: i16, last: i16) -> Vec<OffsetTransition> {
    // Local time may be up to a day away from UTC.
    let bound = |year: i16, days: i64| {
        let day = jiff::civil::date(year.clamp(1, 9_998), 1, 1).saturating_add(days.days());
        Offset::UTC.to_timestamp(day.into()).unwrap_or(Timestamp::UNIX_EPOCH)
    };
    let (start, end) = (bound(first, -1), bound(last.saturating_add(1), 0));
    let before = rules.preceding(start).next().map(|change| change.timestamp());
    let after = rules.following(start).map(|change| change.timestamp()).take_while(|at| *at < end);
    let mut transitions = vec![OffsetTransition::at(rules, before.unwrap_or(start))];
    if before.is_none() {
        // A zone without earlier transitions has a constant offset.
        transitions[0].from = transitions[0].to;
    }
    transitions.extend(after.map(|at| OffsetTransition::at(rules, at)));
    transitions
}

/// Transitions of consecutive years in the same month, on the same weekday, within the same seven days.
struct TransitionGroup {
    first: OffsetTransition,
    last: OffsetTransition,
    days: (i8, i8),
    /// Weekday ordinals that fit all transitions of the group.
    nth: Vec<i8>,
}

fn groups(transitions: Vec<OffsetTransition>) -> Vec<TransitionGroup> {
    let mut groups: Vec<TransitionGroup> = Vec::new();
    for change in transitions {
        if let Some(group) = groups.iter_mut().find(|group| group.continues_with(&change)) {
            group.add(change);
        } else {
            let (day, nth) = (change.local_time().day(), change.nth());
            groups.push(TransitionGroup { first: change.clone(), last: change, days: (day, day), nth });
        }
    }
    groups
}

impl TransitionGroup {
    fn continues_with(&self, change: &OffsetTransition) -> bool {
        let (last, local_time) = (self.last.local_time(), change.local_time());
        let days = self.days_with(local_time.day());
        (self.last.from, self.last.to, &self.last.name) == (change.from, change.to, &change.name)
            && self.last.is_summer == change.is_summer
            && (last.year() + 1, last.month(), last.weekday())
                == (local_time.year(), local_time.month(), local_time.weekday())
            && last.time() == local_time.time()
            && days.1 - days.0 < 7
    }

    fn days_with(&self, day: i8) -> (i8, i8) {
        (self.days.0.min(day), self.days.1.max(day))
    }

    fn add(&mut self, change: OffsetTransition) {
        let ordinals = change.nth();
        self.nth.retain(|nth| ordinals.contains(nth));
        self.days = self.days_with(change.local_time().day());
        self.last = change;
    }

    fn lines(&self, horizon: i16) -> Vec<String> {
        let kind = if self.first.is_summer { "DAYLIGHT" } else { "STANDARD" };
        let mut lines = vec![
            format!("BEGIN:{kind}"),
            format!("DTSTART:{}", format_local_time(self.first.local_time())),
            format!("TZOFFSETFROM:{}", format_offset(self.first.from)),
            format!("TZOFFSETTO:{}", format_offset(self.first.to)),
            format!("TZNAME:{}", self.first.name),
        ];
        if self.first.at < self.last.at {
            lines.push(self.rule(horizon));
        }
        lines.push(format!("END:{kind}"));
        lines
    }

    fn rule(&self, horizon: i16) -> String {
        let local_time = self.first.local_time();
        let (month, weekday) = (local_time.month(), weekday(local_time.weekday()));
        // If both fit, "last of the month" is the more likely rule.
        let day = match self.nth.last() {
            Some(nth) => format!("BYDAY={nth}{weekday}"),
            None => {
                let days: Vec<String> = (self.days.0..=self.days.1).map(|day| day.to_string()).collect();
                format!("BYMONTHDAY={};BYDAY={weekday}", days.join(","))
            }
        };
        let until = if self.last.local_time().year() >= horizon {
            String::new()
        } else {
            // One day later, for readers that take UNTIL for local time.
            format!(";UNTIL={}Z", format_local_time(Offset::UTC.to_datetime(self.last.at).saturating_add(1.day())))
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

fn format_offset(offset: Offset) -> String {
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
    use crate::calendar::{CalendarSnapshot, Family, WeekStart};
    use crate::ics::component::split;
    use crate::ics::content_line::ContentLine;
    use crate::ics::report::ImportReport;
    use crate::ics::timezone_lookup::OffsetTimeline;

    /// Parses the written VTIMEZONE and compares it with the time zone every third day, one hour later each time.
    fn check(name: &str, first: i16, last: i16) {
        let written = lines(name, first, last).unwrap();
        let text =
            written.into_iter().enumerate().map(|(index, text)| ContentLine { number: index + 1, text }).collect();
        let mut report = ImportReport::default();
        let begin = ContentLine { number: 1, text: "BEGIN:VCALENDAR".to_owned() };
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
        // Rules without an end also apply beyond the examined years.
        let end = bound(last + 25);
        let timeline = OffsetTimeline::from_component(
            &components[0],
            &CalendarSnapshot::new(family),
            Time::from_unix_micros(end * 1_000_000).unwrap(),
        )
        .unwrap();
        let mut at = bound(first);
        while at < end {
            let time = Time::from_unix_micros(at * 1_000_000).unwrap();
            let expected = rules.to_offset(Timestamp::from_second(at).unwrap()).seconds();
            assert_eq!(timeline.offset_at(time), i64::from(expected), "{name} at {time}");
            at += 3 * 86_400 + 3_600;
        }
    }

    /// R-FAM-99: a written VTIMEZONE has the offsets of its time zone, also after the years in use.
    #[test]
    fn a_written_zone_has_the_offsets_of_its_time_zone() {
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

    /// R-FAM-99: transitions that recur every year are one rule.
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
