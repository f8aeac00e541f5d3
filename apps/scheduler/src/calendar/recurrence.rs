//! When a series is: rules of RFC 5545, computed on the wall of the event's zone.
//!
//! What clocks skip or repeat is settled in one place, [`Zone::instant`]. From there on a start is an instant: two times
//! on the wall that are the same moment are one start, and EXDATE and RECURRENCE-ID name an instance by its moment.
//!
//! How long an instance is follows RFC 5545, 3.8.5.3: a timed event with an end is exactly as long each time, whatever
//! clocks do meanwhile; an event of days lasts as many days.

mod pattern;
mod walls;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;
use jiff::civil::{self, DateTime};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use self::pattern::{End, Frequency, Pattern, joined, parts, wrong};
pub(super) use self::pattern::{Moved, joined as rule_text, moved_rule, parts as rule_parts};
use self::walls::Walls;
use super::event::Event;
use super::span::Span;
use crate::zone::Zone;

/// The most instances that a series with an end may have.
pub const MOST_INSTANCES: usize = 10_000;

/// The most instances of a series that is more than once a day.
const MOST_WITHIN_DAYS: usize = 1_000;

/// The most times on one day of a rule that names hours, minutes and seconds. A year of it has fewer than
/// [`MOST_INSTANCES`]; it is computed whole, be it the first of a rule that ends soon.
const MOST_A_DAY: usize = 24;

/// February has all of its days in it.
const A_LEAP_YEAR: i16 = 2024;

/// A rule that was found good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The rule in capitals, without `RRULE:`.
    pub rule: String,
    /// When it falls first, on the wall; later than what was given when the rule does not fall then.
    pub first: DateTime,
    /// How often it falls; none when it has no end.
    pub count: Option<usize>,
}

/// Checks a rule for a series that starts then on the wall.
///
/// ```
/// use superstep_scheduler::calendar::check_rule;
/// use superstep_scheduler::zone::Zone;
/// let (zone, first) = (Zone::named("America/New_York")?, jiff::civil::date(2026, 3, 3).at(17, 0, 0, 0));
/// assert_eq!(check_rule("RRULE:FREQ=WEEKLY;BYDAY=TU", first, &zone)?.rule, "FREQ=WEEKLY;BYDAY=TU");
/// let refused = check_rule("FREQ=WEEKLY;BYDAY=XX", first, &zone).unwrap_err();
/// assert!(refused.to_string().contains("RRULE part `BYDAY=XX`: `XX` is none of MO, TU"));
/// # Ok::<(), superstep::Error>(())
/// ```
///
/// # Errors
/// When a part is wrong, or nothing meets them together, or there are too many instances; the error names the part.
pub fn check_rule(rule: &str, first: DateTime, zone: &Zone) -> Result<Checked> {
    let parts = parts(rule)?;
    let ruled = Ruled::read(rule, first, zone.instant(first)?, zone)?;
    let Some(found) = ruled.all().next() else { return Err(nothing(&parts, &ruled, zone)) };
    let count = match (count_through(&ruled)?, &ruled.pattern.end) {
        (Some(counted), _) => Some(counted.len()),
        (None, End::Never) => None,
        // Counted as far as need be: too many are refused.
        (None, _) => Some(ruled.all().take(MOST_INSTANCES + 1).count()),
    };
    if count.is_some_and(|count| count > MOST_INSTANCES) {
        let until = parts.iter().find(|(name, _)| name == "UNTIL").map_or("", |(_, value)| value);
        let why = format!("a series has at most {MOST_INSTANCES} instances until its end, or no end");
        return Err(wrong(format_args!("UNTIL={until}"), why));
    }
    Ok(Checked { rule: joined(&parts), first: found.1, count })
}

/// Names the parts without which there would be something.
fn nothing(parts: &[(String, String)], ruled: &Ruled, zone: &Zone) -> Error {
    let first = ruled.first;
    let has_some =
        |rule: &str| -> Result<bool> { Ok(Ruled::read(rule, first, ruled.start, zone)?.all().next().is_some()) };
    let others = |part: &(String, String)| -> Vec<_> { parts.iter().filter(|one| *one != part).cloned().collect() };
    // Without its days a rule has the day of the start, which those months may not have either.
    let names_day = |name: &str| ruled.has_no_day() && matches!(name, "BYMONTH" | "BYMONTHDAY");
    let is_guilty = |part: &&(String, String)| names_day(&part.0) || has_some(&joined(&others(part))).unwrap_or(false);
    let mut guilty: Vec<_> = parts.iter().filter(is_guilty).cloned().collect();
    if guilty.is_empty() {
        guilty = parts.iter().filter(|(name, _)| name.starts_with("BY")).cloned().collect();
    }
    wrong(joined(&guilty), format_args!("with this the rule never falls from {first} on"))
}

/// A rule with where it starts.
#[derive(Debug, Clone)]
struct Ruled {
    zone: Zone,
    pattern: Pattern,
    /// The first start on the wall, and when that is.
    first: DateTime,
    start: Time,
    until: Option<Time>,
}

impl Ruled {
    fn read(rule: &str, first: DateTime, start: Time, zone: &Zone) -> Result<Self> {
        let pattern = Pattern::read(rule)?.settled(first);
        check_day(&pattern, rule)?;
        let until = match &pattern.end {
            End::Until(until) => Some(until.instant(zone)?),
            _ => None,
        };
        Ok(Self { zone: zone.clone(), pattern, first, start, until })
    }

    /// Whether days of the month are named that none of the months has, in leap years either.
    fn has_no_day(&self) -> bool {
        let (months, days) = (&self.pattern.months, &self.pattern.month_days);
        let first = |month: &i16| civil::Date::new(A_LEAP_YEAR, i8::try_from(*month).ok()?, 1).ok();
        let longest = months.iter().filter_map(first).map(civil::Date::days_in_month).max();
        longest.is_some_and(|longest| !days.is_empty() && days.iter().all(|day| day.abs() > longest.into()))
    }

    /// When this is on the wall; the first start may be the second of two equal times in autumn.
    fn instant(&self, wall: DateTime) -> Result<Time> {
        if wall == self.first { Ok(self.start) } else { self.zone.instant(wall) }
    }

    /// All starts, each with its time on the wall; by the wall, not by the moment.
    fn all(&self) -> impl Iterator<Item = (Time, DateTime)> {
        self.walls(self.first, DateTime::MAX)
    }

    /// The starts from the period of one time on the wall to that of another.
    fn walls(&self, from: DateTime, until: DateTime) -> impl Iterator<Item = (Time, DateTime)> {
        let last = self.until.map_or(until, |last| until.min(day_after(self.zone.wall(last))));
        let most = match self.pattern.end {
            End::Count(count) => count,
            _ => usize::MAX,
        };
        let found = Walls::new(&self.pattern, self.first, from, last);
        // Beyond the last year that can be written nothing is.
        let found = found.map_while(|wall| Some((self.instant(wall).ok()?, wall)));
        let is_in =
            |(start, _): &(Time, DateTime)| *start >= self.start && self.until.is_none_or(|until| *start <= until);
        found.filter(is_in).take(most)
    }
}

/// Refuses more times on one day than a family has use for; what is more often than daily is counted through.
fn check_day(pattern: &Pattern, rule: &str) -> Result<()> {
    let times: usize = [&pattern.hours, &pattern.minutes, &pattern.seconds].iter().map(|list| list.len()).product();
    if pattern.frequency > Frequency::Daily || times <= MOST_A_DAY {
        return Ok(());
    }
    let mut guilty = parts(rule)?;
    guilty.retain(|(name, _)| matches!(name.as_str(), "BYHOUR" | "BYMINUTE" | "BYSECOND"));
    Err(wrong(joined(&guilty), format_args!("falls {times} times on one day, and at most {MOST_A_DAY} do")))
}

fn day_after(wall: DateTime) -> DateTime {
    wall.saturating_add(SignedDuration::from_hours(24))
}

fn day_before(wall: DateTime) -> DateTime {
    wall.saturating_sub(SignedDuration::from_hours(24))
}

/// An event's recurrence made ready: asked often, read once.
#[derive(Debug)]
pub(super) struct Timetable {
    zone: Zone,
    span: Span,
    length: Length,
    first: DateTime,
    ruled: Option<Ruled>,
    /// All that the rule gives, where that must be counted through.
    counted: Option<Vec<(Time, DateTime)>>,
    added: Vec<Time>,
    left_out: BTreeSet<Time>,
    /// What was computed already, by blocks of time, each under its first moment.
    blocks: Mutex<BTreeMap<Time, Arc<[Span]>>>,
}

/// About a year, in microseconds: what is asked for is mostly the same days again, or those around them.
const BLOCK: i64 = 366 * 86_400_000_000;

/// How many blocks are kept; a question for more at once is answered without keeping any.
const MOST_BLOCKS: usize = 4;

#[derive(Debug)]
enum Length {
    /// In microseconds.
    Exact(i64),
    Days(i64),
}

impl Timetable {
    /// Reads how an event repeats.
    ///
    /// # Errors
    /// When its rule or zone cannot be read.
    pub(super) fn read(event: &Event) -> Result<Self> {
        let zone = Zone::named(&event.zone)?;
        let (mut first, end) = (zone.wall(event.span.start), zone.wall(event.span.end));
        let mut length = Length::Exact(event.span.end.as_unix_micros() - event.span.start.as_unix_micros());
        if event.is_all_day {
            length = Length::Days(end.date().duration_since(first.date()).as_hours() / 24);
            // Where clocks skip midnight the day starts later; the rule speaks of the day.
            first = first.date().to_datetime(civil::Time::midnight());
        }
        let mut table = Self {
            zone,
            span: event.span,
            length,
            first,
            ruled: None,
            counted: None,
            added: Vec::new(),
            left_out: BTreeSet::new(),
            blocks: Mutex::default(),
        };
        let Some(recurrence) = &event.recurrence else { return Ok(table) };
        if !recurrence.rule.is_empty() {
            let ruled = Ruled::read(&recurrence.rule, table.first, event.span.start, &table.zone)?;
            table.counted = count_through(&ruled)?;
            table.ruled = Some(ruled);
        }
        table.added = recurrence.added.iter().map(|wall| table.instant(*wall)).collect::<Result<_>>()?;
        table.left_out = recurrence.left_out.iter().map(|wall| table.instant(*wall)).collect::<Result<_>>()?;
        Ok(table)
    }

    /// When an instance is that is named by this time on the wall.
    pub(super) fn instant(&self, wall: DateTime) -> Result<Time> {
        if wall == self.first { Ok(self.span.start) } else { self.zone.instant(wall) }
    }

    /// What the wall shows at an instance: its name.
    pub(super) fn wall(&self, start: Time) -> DateTime {
        self.zone.wall(start)
    }

    /// The first start on the wall.
    pub(super) fn first(&self) -> DateTime {
        self.first
    }

    /// What the rule gives from one moment to just before another, each with what the rule has on the wall, which
    /// clocks may skip; the earliest first.
    pub(super) fn ruled(&self, from: Time, until: Time) -> Result<Vec<(Time, DateTime)>> {
        let is_in = |(start, _): &(Time, DateTime)| from <= *start && *start < until;
        let mut found: Vec<_> = match (&self.ruled, &self.counted) {
            (None, _) => vec![(self.span.start, self.first)].into_iter().filter(is_in).collect(),
            (_, Some(counted)) => counted.iter().copied().filter(is_in).collect(),
            (Some(ruled), None) => {
                // A wall may be up to a day away from another.
                let last = day_after(self.zone.wall(until));
                ruled.walls(day_before(self.zone.wall(from)), last).filter(is_in).collect()
            }
        };
        found.sort_unstable();
        Ok(found)
    }

    /// The starts from one moment to just before another, the earliest first, exceptions not considered.
    pub(super) fn starts(&self, from: Time, until: Time) -> Result<Vec<Time>> {
        let mut starts: Vec<_> = self.ruled(from, until)?.into_iter().map(|(start, _)| start).collect();
        starts.extend(self.added.iter().copied().filter(|start| from <= *start && *start < until));
        starts.retain(|start| !self.left_out.contains(start));
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }

    /// The instances that start from one moment to just before another, the earliest first, exceptions not considered.
    pub(super) fn spans(&self, from: Time, until: Time) -> Result<Vec<Span>> {
        let [first, last] = [from, until].map(|time| time.as_unix_micros().div_euclid(BLOCK));
        let edges: Vec<_> = (first..=last + 1).map_while(|block| Time::from_unix_micros(block * BLOCK).ok()).collect();
        // At the end of time a block is not whole.
        let is_whole = i64::try_from(edges.len()).is_ok_and(|edges| edges == last - first + 2);
        if !is_whole || edges.len() > MOST_BLOCKS + 1 {
            return self.compute(from, until);
        }
        let mut spans = Vec::new();
        for edges in edges.windows(2) {
            let block = self.block(edges[0], edges[1])?;
            spans.extend(block.iter().filter(|span| from <= span.start && span.start < until));
        }
        Ok(spans)
    }

    fn block(&self, from: Time, until: Time) -> Result<Arc<[Span]>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spans) = blocks.get(&from) {
            return Ok(spans.clone());
        }
        let spans: Arc<[Span]> = self.compute(from, until)?.into();
        if blocks.len() >= MOST_BLOCKS {
            blocks.clear();
        }
        blocks.insert(from, spans.clone());
        Ok(spans)
    }

    fn compute(&self, from: Time, until: Time) -> Result<Vec<Span>> {
        self.starts(from, until)?.into_iter().filter_map(|start| self.span_at(start).transpose()).collect()
    }

    /// Before this there is nothing.
    pub(super) fn earliest(&self) -> Time {
        self.added.iter().copied().fold(self.span.start, Time::min)
    }

    /// Whether the rule falls then.
    pub(super) fn is_ruled(&self, start: Time) -> Result<bool> {
        Ok(!self.ruled(start, after(start, 1)?)?.is_empty())
    }

    /// What the rule has on the wall at a start: a time that clocks may skip.
    pub(super) fn rule_wall(&self, start: Time) -> Result<DateTime> {
        let found = self.ruled(start, after(start, 1)?)?;
        Ok(found.first().map_or_else(|| self.wall(start), |(_, wall)| *wall))
    }

    /// Whether an instance starts then, exception or not.
    pub(super) fn has(&self, start: Time) -> Result<bool> {
        Ok(!self.starts(start, after(start, 1)?)?.is_empty())
    }

    /// Whether there is nothing left of it.
    pub(super) fn is_empty(&self) -> Result<bool> {
        if self.added.iter().any(|start| !self.left_out.contains(start)) {
            return Ok(false);
        }
        let is_left = |(start, _): &(Time, DateTime)| !self.left_out.contains(start);
        let has_some = match (&self.ruled, &self.counted) {
            (None, _) => !self.left_out.contains(&self.span.start),
            (_, Some(counted)) => counted.iter().any(is_left),
            (Some(ruled), None) => ruled.all().any(|found| is_left(&found)),
        };
        Ok(!has_some)
    }

    /// When an instance is that starts then.
    pub(super) fn span_at(&self, start: Time) -> Result<Option<Span>> {
        let end = match self.length {
            _ if start == self.span.start => self.span.end,
            Length::Exact(micros) => self.zone.written(after(start, micros)?)?,
            Length::Days(days) => {
                let day = self.zone.wall(start).date().saturating_add(SignedDuration::from_hours(24 * days));
                self.zone.instant(day.to_datetime(civil::Time::midnight()))?
            }
        };
        Ok(Span::new(start, end))
    }

    /// How long before a moment something may start that is still on then.
    pub(super) fn reach(&self) -> SignedDuration {
        match self.length {
            Length::Exact(micros) => SignedDuration::from_micros(micros),
            // A day may be an hour longer.
            Length::Days(days) => SignedDuration::from_hours(24 * (days + 1)),
        }
    }
}

fn after(time: Time, micros: i64) -> Result<Time> {
    let later = Time::from_unix_micros(time.as_unix_micros().saturating_add(micros));
    later.map_err(|fault| Error::new(Code::TypeMismatch, fault.to_string()))
}

/// All that a rule gives which is counted, or which is many times a day.
fn count_through(ruled: &Ruled) -> Result<Option<Vec<(Time, DateTime)>>> {
    let is_within_days = ruled.pattern.frequency > Frequency::Daily;
    if !is_within_days && !matches!(ruled.pattern.end, End::Count(_)) {
        return Ok(None);
    }
    let most = if is_within_days { MOST_WITHIN_DAYS } else { MOST_INSTANCES };
    let all: Vec<_> = ruled.all().take(most + 1).collect();
    if all.len() > most {
        let frequency = ruled.pattern.frequency.name();
        let why = format!("more often than once a day is for at most {most} instances");
        return Err(wrong(format_args!("FREQ={frequency}"), why));
    }
    Ok(Some(all))
}
