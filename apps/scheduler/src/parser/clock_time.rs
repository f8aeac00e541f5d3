//! Parses times of day: `2pm`, `half past three`, `from 2 to 4`, `after school`.
//!
//! A time without am or pm is in the waking hours of the speaker. If both halves of the day are, the time is
//! ambiguous.

use jiff::civil::{self, Time};

use super::phrase_meaning::{ClockMeaning, DayHalf};
use super::phrase_reader::{PhraseReader, SlotValue};
use super::token::TokenKind;
use crate::calendar::Preferences;

/// A time of day as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockTime {
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) half: DayHalf,
    /// True for a named time, such as `after school`. A query with a named time is about everything after it.
    pub(super) is_named: bool,
}

/// Parses a time of day at a token.
pub(super) fn clock(reader: &PhraseReader<'_>, index: usize) -> Option<(ClockTime, usize)> {
    let fits = reader.language.clocks.iter().filter_map(|(pattern, meaning)| {
        let (values, end) = reader.match_pattern(pattern, index)?;
        Some((resolve_meaning(reader, *meaning, &values)?, end))
    });
    fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// Parses a time of day, or a number that is an hour after words such as `at`.
pub(super) fn clock_or_hour(reader: &PhraseReader<'_>, index: usize) -> Option<(ClockTime, usize)> {
    if let Some(matched) = clock(reader, index) {
        return Some(matched);
    }
    let hour = reader.number(reader.tokens.get(index)?)?;
    let next = reader.tokens.get(index + 1);
    // `to 90 minutes` and `for 2 kids` contain no time.
    let is_measure = next.is_some_and(|next| {
        reader.language.words.units.iter().any(|(unit, _)| *unit == next.lower) || next.kind == TokenKind::Sign('%')
    });
    (hour <= 24 && !is_measure)
        .then_some((ClockTime { hour, minute: 0, half: DayHalf::Open, is_named: false }, index + 1))
}

fn resolve_meaning(reader: &PhraseReader<'_>, meaning: ClockMeaning, values: &[SlotValue]) -> Option<ClockTime> {
    let (hour, minute, is_whole) = match values {
        // `08:00` and `14:00` use the 24-hour clock, `8:00` and `10:30` may use either.
        [SlotValue::Time(hour, minute, has_two)] => (*hour, *minute, (*has_two && *hour < 10) || *hour > 12),
        [SlotValue::Number(hour)] => (*hour, 0, false),
        [SlotValue::Number(first), SlotValue::Number(second)] => match meaning {
            ClockMeaning::HourMinutes => (*first, *second, true),
            ClockMeaning::TwelveHourMinutes | ClockMeaning::Am | ClockMeaning::Pm => (*first, *second, false),
            ClockMeaning::MinutesTo => minutes_before(*second, *first)?,
            _ => (*second, *first, false),
        },
        _ => (0, 0, false),
    };
    let open = if is_whole { DayHalf::TwentyFourHour } else { DayHalf::Open };
    let is_named = matches!(meaning, ClockMeaning::Named(_));
    let clock = |hour, minute, half| Some(ClockTime { hour, minute, half, is_named });
    match meaning {
        ClockMeaning::Am => clock(hour, minute, DayHalf::Am),
        ClockMeaning::Pm => clock(hour, minute, DayHalf::Pm),
        ClockMeaning::Open | ClockMeaning::TwelveHourMinutes => clock(hour, minute, open),
        ClockMeaning::MinutesPast | ClockMeaning::MinutesTo => clock(hour, minute, open),
        ClockMeaning::TwentyFourHour | ClockMeaning::HourMinutes => clock(hour, minute, DayHalf::TwentyFourHour),
        ClockMeaning::Noon => clock(12, 0, DayHalf::Pm),
        ClockMeaning::Midnight => clock(24, 0, DayHalf::TwentyFourHour),
        ClockMeaning::Past(minutes) => clock(hour, minutes, DayHalf::Open),
        ClockMeaning::To(minutes) => {
            let (hour, minute, _) = minutes_before(hour, minutes)?;
            clock(hour, minute, DayHalf::Open)
        }
        ClockMeaning::Named(name) => {
            let time = reader.times.get(name)?;
            clock(time.hour().unsigned_abs().into(), time.minute().unsigned_abs().into(), DayHalf::TwentyFourHour)
        }
    }
}

fn minutes_before(hour: u32, minutes: u32) -> Option<(u32, u32, bool)> {
    let hour = if hour <= 1 { 12 } else { hour - 1 };
    Some((hour, 60_u32.checked_sub(minutes)?, false))
}

/// Parses a full hour, as in `ten to four`.
pub(super) fn whole_hour(reader: &PhraseReader<'_>, index: usize) -> Option<(ClockTime, usize)> {
    clock_or_hour(reader, index).filter(|(clock, _)| clock.minute == 0 && (1..=24).contains(&clock.hour))
}

/// Half of the day that other words imply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayHalfHint {
    Morning,
    Later,
}

/// A resolved time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResolvedClockTime {
    /// Minutes since midnight; 1440 is the end of the day.
    pub(super) minute: i32,
    /// True if the other half of the day is equally likely.
    pub(super) is_ambiguous: bool,
}

impl ClockTime {
    /// Formats the time for messages: `2:00 pm`, or `2:00` if the half of the day is not known.
    pub(super) fn text(self) -> String {
        let half = match self.half {
            DayHalf::Am => " am",
            DayHalf::Pm => " pm",
            DayHalf::TwentyFourHour | DayHalf::Open => "",
        };
        format!("{}:{:02}{half}", self.hour, self.minute)
    }

    /// Formats the time as the value of a parsed span: `2:00pm`.
    pub(super) fn to_span_value(self) -> String {
        let half = match self.half {
            DayHalf::Am => "am",
            DayHalf::Pm => "pm",
            DayHalf::TwentyFourHour | DayHalf::Open => "",
        };
        format!("{}:{:02}{half}", self.hour, self.minute)
    }

    /// Subtracts minutes from a full hour: `ten to four`.
    pub(super) fn minus_minutes(self, minutes: u32) -> Self {
        let half = match self.half {
            // The half of the day changes at twelve.
            DayHalf::Pm if self.hour == 12 => DayHalf::Am,
            DayHalf::Am if self.hour == 12 => DayHalf::Pm,
            half => half,
        };
        let hour = if self.hour <= 1 { 12 } else { self.hour - 1 };
        Self { hour, minute: 60_u32.saturating_sub(minutes), half, is_named: false }
    }

    /// Returns the error if the time does not exist.
    pub(super) fn problem(self) -> Option<String> {
        let max_hour = if matches!(self.half, DayHalf::Am | DayHalf::Pm) { 12 } else { 24 };
        let is_invalid = self.hour > max_hour || self.minute > 59 || (self.hour == 24 && self.minute > 0);
        let is_invalid = is_invalid || (self.hour == 0 && self.half == DayHalf::Pm);
        is_invalid.then(|| format!("{} is not a valid time.", self.text()))
    }

    /// Returns the possible minutes since midnight, morning first.
    fn choices(self, hint: Option<DayHalfHint>) -> Vec<i32> {
        let at = |hour: u32| i32::try_from(hour.saturating_mul(60).saturating_add(self.minute)).unwrap_or(0);
        let (first, second) = (at(self.hour % 12), at(self.hour % 12 + 12));
        match (self.half, hint) {
            (DayHalf::Am, _) => vec![first],
            (DayHalf::Pm, _) => vec![second],
            (DayHalf::TwentyFourHour, Some(DayHalfHint::Later)) if (1..12).contains(&self.hour) => vec![second],
            (DayHalf::TwentyFourHour, _) => vec![at(self.hour)],
            (DayHalf::Open, _) if self.hour > 12 || self.hour == 0 => vec![at(self.hour)],
            (DayHalf::Open, Some(DayHalfHint::Morning)) if self.hour != 12 => vec![first],
            (DayHalf::Open, Some(_)) => vec![second],
            (DayHalf::Open, None) if self.hour == 12 => vec![second],
            (DayHalf::Open, None) => vec![first, second],
        }
    }

    /// Resolves the half of the day.
    pub(super) fn resolve(self, hint: Option<DayHalfHint>, preferences: &Preferences) -> ResolvedClockTime {
        let choices = self.choices(hint);
        let awake: Vec<i32> = choices.iter().copied().filter(|minute| is_awake(*minute, preferences)).collect();
        match (choices.as_slice(), awake.as_slice()) {
            ([minute], _) | (_, [minute]) => ResolvedClockTime { minute: *minute, is_ambiguous: false },
            (_, [minute, ..]) => ResolvedClockTime { minute: *minute, is_ambiguous: true },
            (choices, []) => ResolvedClockTime { minute: choices.last().copied().unwrap_or(0), is_ambiguous: true },
        }
    }
}

/// Resolves a range of times; `None` if the range ends before it starts.
///
/// Without am or pm, the range starts in the waking hours. An end with am or pm decides about the start: `9 to
/// 11pm` is in the evening and `6 to 7am` in the morning, even outside of the waking hours. But the start of `4 to
/// 3pm` is not 4 am.
pub(super) fn resolve_range(
    from: ClockTime,
    to: ClockTime,
    hint: Option<DayHalfHint>,
    preferences: &Preferences,
) -> Option<(ResolvedClockTime, ResolvedClockTime)> {
    let starts = from.choices(hint);
    let is_open = starts.len() > 1;
    let ends = to.choices(hint.filter(|_| from.half == DayHalf::Open));
    let is_end_explicit = ends.len() == 1;
    let mut pairs = Vec::new();
    for start in starts {
        // Midnight as an end is the end of the day.
        let ends = ends.iter().map(|end| if *end == 0 { 1440 } else { *end });
        let is_same_half = |end: i32| is_end_explicit && (end - 1) / 720 == start / 720;
        let fits = |end: &i32| *end > start && (!is_open || is_awake(start, preferences) || is_same_half(*end));
        pairs.extend(ends.filter(fits).map(|end| (end - start, start, end)));
    }
    let (shortest, start, end) = *pairs.iter().min()?;
    let is_ambiguous = pairs.iter().filter(|pair| pair.0 == shortest).count() > 1;
    Some((ResolvedClockTime { minute: start, is_ambiguous }, ResolvedClockTime { minute: end, is_ambiguous: false }))
}

fn is_awake(minute: i32, preferences: &Preferences) -> bool {
    let minute_of = |time: Time| i32::from(time.hour()) * 60 + i32::from(time.minute());
    (minute_of(preferences.day_start)..minute_of(preferences.day_end)).contains(&minute)
}

/// Returns the local time on a date, by minutes since midnight.
pub(super) fn at(day: civil::Date, minute: i32) -> civil::DateTime {
    let start = day.to_datetime(Time::midnight());
    jiff::Span::new().try_minutes(minute).map_or(start, |span| start.saturating_add(span))
}
