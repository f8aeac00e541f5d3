//! Which time of the day is meant: `2pm`, `half past three`, `from 2 to 4`, `after school`.
//!
//! A time without its half of the day is the one that lies in the waking hours of who speaks; if both do, that is a doubt.

use jiff::civil::{self, Time};

use super::reader::{Reader, Value};
use super::sense::{ClockSense, Half};
use super::token::Kind;
use crate::calendar::Preferences;

/// A time of the day as it was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) half: Half,
    /// Whether it has a name, such as `after school`: then a question is about all that comes after.
    pub(super) is_named: bool,
}

/// The time of the day that begins at a token.
pub(super) fn clock(reader: &Reader<'_>, at: usize) -> Option<(Clock, usize)> {
    let fits = reader.language.clocks.iter().filter_map(|(pattern, sense)| {
        let (values, end) = reader.fits(pattern, at)?;
        Some((meant(reader, *sense, &values)?, end))
    });
    fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// The same, or a number that is an hour after words such as `at`.
pub(super) fn clock_or_hour(reader: &Reader<'_>, at: usize) -> Option<(Clock, usize)> {
    if let Some(found) = clock(reader, at) {
        return Some(found);
    }
    let hour = reader.number(reader.tokens.get(at)?)?;
    let next = reader.tokens.get(at + 1);
    // `to 90 minutes` and `for 2 kids` are no times.
    let is_measure = next.is_some_and(|next| {
        reader.language.words.units.iter().any(|(unit, _)| *unit == next.lower) || next.kind == Kind::Sign('%')
    });
    (hour <= 24 && !is_measure).then_some((Clock { hour, minute: 0, half: Half::Open, is_named: false }, at + 1))
}

fn meant(reader: &Reader<'_>, sense: ClockSense, values: &[Value]) -> Option<Clock> {
    let (hour, minute, is_whole) = match values {
        // `08:00` and `14:00` are on a clock of 24 hours, `8:00` and `10:30` may be either.
        [Value::Time(hour, minute, has_two)] => (*hour, *minute, (*has_two && *hour < 10) || *hour > 12),
        [Value::Number(hour)] => (*hour, 0, false),
        [Value::Number(first), Value::Number(second)] => match sense {
            ClockSense::HourMinutes => (*first, *second, true),
            ClockSense::Spoken | ClockSense::Am | ClockSense::Pm => (*first, *second, false),
            ClockSense::MinutesTo => before(*second, *first)?,
            _ => (*second, *first, false),
        },
        _ => (0, 0, false),
    };
    let open = if is_whole { Half::Whole } else { Half::Open };
    let is_named = matches!(sense, ClockSense::Named(_));
    let clock = |hour, minute, half| Some(Clock { hour, minute, half, is_named });
    match sense {
        ClockSense::Am => clock(hour, minute, Half::Am),
        ClockSense::Pm => clock(hour, minute, Half::Pm),
        ClockSense::Open | ClockSense::Spoken => clock(hour, minute, open),
        ClockSense::MinutesPast | ClockSense::MinutesTo => clock(hour, minute, open),
        ClockSense::Whole | ClockSense::HourMinutes => clock(hour, minute, Half::Whole),
        ClockSense::Noon => clock(12, 0, Half::Pm),
        ClockSense::Midnight => clock(24, 0, Half::Whole),
        ClockSense::Past(minutes) => clock(hour, minutes, Half::Open),
        ClockSense::To(minutes) => {
            let (hour, minute, _) = before(hour, minutes)?;
            clock(hour, minute, Half::Open)
        }
        ClockSense::Named(name) => {
            let time = reader.times.get(name)?;
            clock(time.hour().unsigned_abs().into(), time.minute().unsigned_abs().into(), Half::Whole)
        }
    }
}

fn before(hour: u32, minutes: u32) -> Option<(u32, u32, bool)> {
    let hour = if hour <= 1 { 12 } else { hour - 1 };
    Some((hour, 60_u32.checked_sub(minutes)?, false))
}

/// A whole hour, as in `ten to four`.
pub(super) fn whole_hour(reader: &Reader<'_>, at: usize) -> Option<(Clock, usize)> {
    clock_or_hour(reader, at).filter(|(clock, _)| clock.minute == 0 && (1..=24).contains(&clock.hour))
}

/// What other words say about the half of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    Morning,
    Later,
}

/// A time of the day, settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settled {
    /// The time, in minutes since midnight; 1440 is the end of the day.
    pub(super) minute: i32,
    /// Whether the other half of the day is as likely.
    pub(super) is_doubtful: bool,
}

impl Clock {
    /// As it is written in answers.
    pub(super) fn written(self) -> String {
        let half = match self.half {
            Half::Am => "am",
            Half::Pm => "pm",
            Half::Whole | Half::Open => "",
        };
        format!("{}:{:02}{half}", self.hour, self.minute)
    }

    /// So many minutes before a whole hour: `ten to four`.
    pub(super) fn earlier_by(self, minutes: u32) -> Self {
        let half = match self.half {
            // Twelve is where the halves of the day meet.
            Half::Pm if self.hour == 12 => Half::Am,
            Half::Am if self.hour == 12 => Half::Pm,
            half => half,
        };
        let hour = if self.hour <= 1 { 12 } else { self.hour - 1 };
        Self { hour, minute: 60_u32.saturating_sub(minutes), half, is_named: false }
    }

    /// What is wrong with it.
    pub(super) fn problem(self) -> Option<String> {
        let most = if matches!(self.half, Half::Am | Half::Pm) { 12 } else { 24 };
        let is_wrong = self.hour > most || self.minute > 59 || (self.hour == 24 && self.minute > 0);
        let is_wrong = is_wrong || (self.hour == 0 && self.half == Half::Pm);
        is_wrong.then(|| format!("{} is no time", self.written()))
    }

    /// The minutes since midnight that it may be, the first half first.
    fn choices(self, hint: Option<Hint>) -> Vec<i32> {
        let at = |hour: u32| i32::try_from(hour.saturating_mul(60).saturating_add(self.minute)).unwrap_or(0);
        let (first, second) = (at(self.hour % 12), at(self.hour % 12 + 12));
        match (self.half, hint) {
            (Half::Am, _) => vec![first],
            (Half::Pm, _) => vec![second],
            (Half::Whole, Some(Hint::Later)) if (1..12).contains(&self.hour) => vec![second],
            (Half::Whole, _) => vec![at(self.hour)],
            (Half::Open, _) if self.hour > 12 || self.hour == 0 => vec![at(self.hour)],
            (Half::Open, Some(Hint::Morning)) if self.hour != 12 => vec![first],
            (Half::Open, Some(_)) => vec![second],
            (Half::Open, None) if self.hour == 12 => vec![second],
            (Half::Open, None) => vec![first, second],
        }
    }

    /// The time that is meant.
    pub(super) fn settle(self, hint: Option<Hint>, preferences: &Preferences) -> Settled {
        let choices = self.choices(hint);
        let awake: Vec<i32> = choices.iter().copied().filter(|minute| is_awake(*minute, preferences)).collect();
        match (choices.as_slice(), awake.as_slice()) {
            ([minute], _) | (_, [minute]) => Settled { minute: *minute, is_doubtful: false },
            (_, [minute, ..]) => Settled { minute: *minute, is_doubtful: true },
            (choices, []) => Settled { minute: choices.last().copied().unwrap_or(0), is_doubtful: true },
        }
    }
}

/// From one time until another, or nothing when that ends before it starts.
///
/// Where nothing says the half of the day of either, it starts in the waking hours. An end that is said decides: `9 to 11pm`
/// is in the evening and `6 to 7am` in the morning, however early or late; but nobody means four at night by `4 to 3pm`.
pub(super) fn settle_range(
    from: Clock,
    to: Clock,
    hint: Option<Hint>,
    preferences: &Preferences,
) -> Option<(Settled, Settled)> {
    let starts = from.choices(hint);
    let is_open = starts.len() > 1;
    let ends = to.choices(hint.filter(|_| from.half == Half::Open));
    let is_end_said = ends.len() == 1;
    let mut pairs = Vec::new();
    for start in starts {
        // Midnight at the end is the end of the day.
        let ends = ends.iter().map(|end| if *end == 0 { 1440 } else { *end });
        let is_same_half = |end: i32| is_end_said && (end - 1) / 720 == start / 720;
        let fits = |end: &i32| *end > start && (!is_open || is_awake(start, preferences) || is_same_half(*end));
        pairs.extend(ends.filter(fits).map(|end| (end - start, start, end)));
    }
    let (shortest, start, end) = *pairs.iter().min()?;
    let is_doubtful = pairs.iter().filter(|pair| pair.0 == shortest).count() > 1;
    Some((Settled { minute: start, is_doubtful }, Settled { minute: end, is_doubtful: false }))
}

fn is_awake(minute: i32, preferences: &Preferences) -> bool {
    let of = |time: Time| i32::from(time.hour()) * 60 + i32::from(time.minute());
    (of(preferences.day_start)..of(preferences.day_end)).contains(&minute)
}

/// A wall time on a day, by minutes since midnight.
pub(super) fn at(day: civil::Date, minute: i32) -> civil::DateTime {
    let start = day.to_datetime(Time::midnight());
    jiff::Span::new().try_minutes(minute).map_or(start, |span| start.saturating_add(span))
}
