//! Expands RFC 5545 recurrence rules in the local time of the event's time zone.
//!
//! Local times that a clock change skips or repeats are resolved in one place, [`NamedTimeZone::to_instant`]. From
//! there on a start is an instant: two local times at the same instant are one start, and EXDATE and RECURRENCE-ID
//! identify an instance by its instant.
//!
//! The duration of an instance follows RFC 5545, 3.8.5.3: a timed event has the same exact duration every time,
//! even across clock changes; an all-day event has the same number of days.

mod occurrences;
mod rrule;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::SignedDuration;
use jiff::civil::{self, DateTime};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use self::occurrences::LocalOccurrences;
pub(crate) use self::rrule::parts as rule_parts;
use self::rrule::{Frequency, RecurrenceRule, RuleEnd, invalid_part, joined, parts};
pub(super) use self::rrule::{SeriesShift, joined as rule_text, moved_rule};
use super::event::Event;
use super::time_range::TimeRange;
use crate::time_zone::NamedTimeZone;

/// Maximum number of instances of a series that ends.
pub const MAX_INSTANCES: usize = 10_000;

/// Maximum number of instances of a series that repeats more than once a day.
const MAX_INTRADAY_INSTANCES: usize = 1_000;

/// Maximum number of times per day of a rule with BYHOUR, BYMINUTE or BYSECOND. A year of it has fewer than
/// [`MAX_INSTANCES`] instances. A year is always computed completely, even for a rule that ends soon.
const MAX_TIMES_PER_DAY: usize = 24;

/// A leap year, so that February has all of its days.
const LEAP_YEAR: i16 = 2024;

/// A validated recurrence rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidatedRule {
    /// The rule in upper case, without `RRULE:`.
    pub rule: String,
    /// Local time of the first instance. Later than the given start if the rule does not match the given start.
    pub first: DateTime,
    /// Number of instances; `None` if the rule has no end.
    pub count: Option<usize>,
}

/// Validates a rule for a series with the given local start.
///
/// ```
/// use superstep_scheduler::calendar::validate_rrule;
/// use superstep_scheduler::time_zone::NamedTimeZone;
/// let (zone, first) = (NamedTimeZone::from_iana_name("America/New_York")?, jiff::civil::date(2026, 3, 3).at(17, 0, 0, 0));
/// assert_eq!(validate_rrule("RRULE:FREQ=WEEKLY;BYDAY=TU", first, &zone)?.rule, "FREQ=WEEKLY;BYDAY=TU");
/// let error = validate_rrule("FREQ=WEEKLY;BYDAY=XX", first, &zone).unwrap_err();
/// assert!(error.to_string().contains("RRULE part `BYDAY=XX`: `XX` is not one of MO, TU"));
/// # Ok::<(), superstep::Error>(())
/// ```
///
/// # Errors
/// Returns an error that names the part, if a part is invalid, if the parts together match nothing, or if there are
/// too many instances.
pub fn validate_rrule(rule: &str, first: DateTime, zone: &NamedTimeZone) -> Result<ValidatedRule> {
    let parts = parts(rule)?;
    let anchored = AnchoredRule::new(rule, first, zone.to_instant(first)?, zone)?;
    let Some(start) = anchored.all().next() else { return Err(no_occurrence_error(&parts, &anchored, zone)) };
    let count = match (enumerate_all(&anchored)?, &anchored.pattern.end) {
        (Some(counted), _) => Some(counted.len()),
        (None, RuleEnd::Never) => None,
        // Counted up to one more than the maximum, which is enough to reject the rule.
        (None, _) => Some(anchored.all().take(MAX_INSTANCES + 1).count()),
    };
    if count.is_some_and(|count| count > MAX_INSTANCES) {
        let until = parts.iter().find(|(name, _)| name == "UNTIL").map_or("", |(_, value)| value);
        let reason = format!("a series that ends can have at most {MAX_INSTANCES} instances");
        return Err(invalid_part(format_args!("UNTIL={until}"), reason));
    }
    Ok(ValidatedRule { rule: joined(&parts), first: start.1, count })
}

/// Creates the error for a rule without instances. It names the parts whose removal would give instances.
fn no_occurrence_error(parts: &[(String, String)], anchored: &AnchoredRule, zone: &NamedTimeZone) -> Error {
    let first = anchored.first;
    let has_some = |rule: &str| -> Result<bool> {
        Ok(AnchoredRule::new(rule, first, anchored.start, zone)?.all().next().is_some())
    };
    let others = |part: &(String, String)| -> Vec<_> { parts.iter().filter(|other| *other != part).cloned().collect() };
    // Without BYMONTHDAY a rule takes the day of the start, which the months may not have either.
    let names_day = |name: &str| anchored.has_no_day() && matches!(name, "BYMONTH" | "BYMONTHDAY");
    let is_offending =
        |part: &&(String, String)| names_day(&part.0) || has_some(&joined(&others(part))).unwrap_or(false);
    let mut offending: Vec<_> = parts.iter().filter(is_offending).cloned().collect();
    if offending.is_empty() {
        offending = parts.iter().filter(|(name, _)| name.starts_with("BY")).cloned().collect();
    }
    invalid_part(joined(&offending), format_args!("with this the rule has no occurrence from {first} on"))
}

/// A recurrence rule with its start.
#[derive(Debug, Clone)]
struct AnchoredRule {
    zone: NamedTimeZone,
    pattern: RecurrenceRule,
    /// Local time of the first start; `start` is its instant.
    first: DateTime,
    start: Time,
    until: Option<Time>,
}

impl AnchoredRule {
    fn new(rule: &str, first: DateTime, start: Time, zone: &NamedTimeZone) -> Result<Self> {
        let pattern = RecurrenceRule::parse(rule)?.with_defaults_from(first);
        check_day(&pattern, rule)?;
        let until = match &pattern.end {
            RuleEnd::Until(until) => Some(until.instant(zone)?),
            _ => None,
        };
        Ok(Self { zone: zone.clone(), pattern, first, start, until })
    }

    /// Returns true if none of the months in BYMONTH has any of the days in BYMONTHDAY, even in leap years.
    fn has_no_day(&self) -> bool {
        let (months, days) = (&self.pattern.months, &self.pattern.month_days);
        let first = |month: &i16| civil::Date::new(LEAP_YEAR, i8::try_from(*month).ok()?, 1).ok();
        let longest = months.iter().filter_map(first).map(civil::Date::days_in_month).max();
        longest.is_some_and(|longest| !days.is_empty() && days.iter().all(|day| day.abs() > longest.into()))
    }

    /// Returns the instant of a local time. The first start may be the second of two equal local times in autumn.
    fn instant(&self, local_time: DateTime) -> Result<Time> {
        if local_time == self.first { Ok(self.start) } else { self.zone.to_instant(local_time) }
    }

    /// Returns all starts with their local times, sorted by local time and not by instant.
    fn all(&self) -> impl Iterator<Item = (Time, DateTime)> {
        self.occurrences(self.first, DateTime::MAX)
    }

    /// Returns the starts from the period of `from` to the period of `until`.
    fn occurrences(&self, from: DateTime, until: DateTime) -> impl Iterator<Item = (Time, DateTime)> {
        let last = self.until.map_or(until, |last| until.min(day_after(self.zone.to_local(last))));
        let max_count = match self.pattern.end {
            RuleEnd::Count(count) => count,
            _ => usize::MAX,
        };
        let local_times = LocalOccurrences::new(&self.pattern, self.first, from, last);
        // Iteration ends at the last year that jiff supports.
        let local_starts = local_times.map_while(|local_time| Some((self.instant(local_time).ok()?, local_time)));
        let is_in =
            |(start, _): &(Time, DateTime)| *start >= self.start && self.until.is_none_or(|until| *start <= until);
        local_starts.filter(is_in).take(max_count)
    }
}

/// Rejects rules with more than `MAX_TIMES_PER_DAY` times a day. Frequencies above daily are limited by
/// `enumerate_all`.
fn check_day(pattern: &RecurrenceRule, rule: &str) -> Result<()> {
    let times: usize = [&pattern.hours, &pattern.minutes, &pattern.seconds].iter().map(|list| list.len()).product();
    if pattern.frequency > Frequency::Daily || times <= MAX_TIMES_PER_DAY {
        return Ok(());
    }
    let mut offending = parts(rule)?;
    offending.retain(|(name, _)| matches!(name.as_str(), "BYHOUR" | "BYMINUTE" | "BYSECOND"));
    Err(invalid_part(
        joined(&offending),
        format_args!("has {times} occurrences a day; the maximum is {MAX_TIMES_PER_DAY}"),
    ))
}

fn day_after(local_time: DateTime) -> DateTime {
    local_time.saturating_add(SignedDuration::from_hours(24))
}

fn day_before(local_time: DateTime) -> DateTime {
    local_time.saturating_sub(SignedDuration::from_hours(24))
}

/// Recurrence of an event, parsed once and expanded repeatedly.
#[derive(Debug)]
pub(super) struct RecurrenceExpander {
    zone: NamedTimeZone,
    span: TimeRange,
    length: InstanceDuration,
    first: DateTime,
    anchored: Option<AnchoredRule>,
    /// All starts of the rule, if they must be counted from the first one.
    counted: Option<Vec<(Time, DateTime)>>,
    rdates: Vec<Time>,
    exdates: BTreeSet<Time>,
    /// Cache of computed instances: blocks of time by their first instant.
    blocks: Mutex<BTreeMap<Time, Arc<[TimeRange]>>>,
}

/// Size of a cached block in microseconds, about a year, because queries mostly ask for the same or adjacent days.
const BLOCK_MICROS: i64 = 366 * 86_400_000_000;

/// Maximum number of cached blocks. A longer query bypasses the cache.
const MAX_BLOCKS: usize = 4;

#[derive(Debug)]
enum InstanceDuration {
    /// Duration in microseconds.
    Exact(i64),
    Days(i64),
}

impl RecurrenceExpander {
    /// Parses the recurrence of an event.
    ///
    /// # Errors
    /// Returns an error if the recurrence rule or the time zone is invalid.
    pub(super) fn from_event(event: &Event) -> Result<Self> {
        let zone = NamedTimeZone::from_iana_name(&event.zone)?;
        let (mut first, end) = (zone.to_local(event.span.start), zone.to_local(event.span.end));
        let mut length = InstanceDuration::Exact(event.span.end.as_unix_micros() - event.span.start.as_unix_micros());
        if event.is_all_day {
            length = InstanceDuration::Days(end.date().duration_since(first.date()).as_hours() / 24);
            // If a clock change skips midnight, the day starts later, but the rule counts from midnight.
            first = first.date().to_datetime(civil::Time::midnight());
        }
        let mut expander = Self {
            zone,
            span: event.span,
            length,
            first,
            anchored: None,
            counted: None,
            rdates: Vec::new(),
            exdates: BTreeSet::new(),
            blocks: Mutex::default(),
        };
        let Some(recurrence) = &event.recurrence else { return Ok(expander) };
        if !recurrence.rule.is_empty() {
            let anchored = AnchoredRule::new(&recurrence.rule, expander.first, event.span.start, &expander.zone)?;
            expander.counted = enumerate_all(&anchored)?;
            expander.anchored = Some(anchored);
        }
        expander.rdates =
            recurrence.rdates.iter().map(|local_time| expander.instant(*local_time)).collect::<Result<_>>()?;
        expander.exdates =
            recurrence.exdates.iter().map(|local_time| expander.instant(*local_time)).collect::<Result<_>>()?;
        Ok(expander)
    }

    /// Returns the instant of the instance that a local time identifies.
    pub(super) fn instant(&self, local_time: DateTime) -> Result<Time> {
        if local_time == self.first { Ok(self.span.start) } else { self.zone.to_instant(local_time) }
    }

    /// Returns the local time of a start, which identifies the instance.
    pub(super) fn local_start(&self, start: Time) -> DateTime {
        self.zone.to_local(start)
    }

    /// Returns the local time of the first start.
    pub(super) fn first(&self) -> DateTime {
        self.first
    }

    /// Returns the starts of the rule in `from..until`, earliest first, each with the local time of the rule, which
    /// a clock change may skip.
    pub(super) fn rule_occurrences(&self, from: Time, until: Time) -> Result<Vec<(Time, DateTime)>> {
        let is_in = |(start, _): &(Time, DateTime)| from <= *start && *start < until;
        let mut occurrences: Vec<_> = match (&self.anchored, &self.counted) {
            (None, _) => vec![(self.span.start, self.first)].into_iter().filter(is_in).collect(),
            (_, Some(counted)) => counted.iter().copied().filter(is_in).collect(),
            (Some(anchored), None) => {
                // Local times may be up to a day away from each other.
                let last = day_after(self.zone.to_local(until));
                anchored.occurrences(day_before(self.zone.to_local(from)), last).filter(is_in).collect()
            }
        };
        occurrences.sort_unstable();
        Ok(occurrences)
    }

    /// Returns the starts in `from..until`, earliest first. Overrides are not considered.
    pub(super) fn starts(&self, from: Time, until: Time) -> Result<Vec<Time>> {
        let mut starts: Vec<_> = self.rule_occurrences(from, until)?.into_iter().map(|(start, _)| start).collect();
        starts.extend(self.rdates.iter().copied().filter(|start| from <= *start && *start < until));
        starts.retain(|start| !self.exdates.contains(start));
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }

    /// Returns the instances that start in `from..until`, earliest first. Overrides are not considered.
    pub(super) fn spans(&self, from: Time, until: Time) -> Result<Vec<TimeRange>> {
        let [first, last] = [from, until].map(|time| time.as_unix_micros().div_euclid(BLOCK_MICROS));
        let edges: Vec<_> =
            (first..=last + 1).map_while(|block| Time::from_unix_micros(block * BLOCK_MICROS).ok()).collect();
        // Blocks at the end of the supported time are incomplete.
        let is_complete = i64::try_from(edges.len()).is_ok_and(|edges| edges == last - first + 2);
        if !is_complete || edges.len() > MAX_BLOCKS + 1 {
            return self.compute(from, until);
        }
        let mut spans = Vec::new();
        for edges in edges.windows(2) {
            let block = self.block(edges[0], edges[1])?;
            spans.extend(block.iter().filter(|span| from <= span.start && span.start < until));
        }
        Ok(spans)
    }

    fn block(&self, from: Time, until: Time) -> Result<Arc<[TimeRange]>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spans) = blocks.get(&from) {
            return Ok(spans.clone());
        }
        let spans: Arc<[TimeRange]> = self.compute(from, until)?.into();
        if blocks.len() >= MAX_BLOCKS {
            blocks.clear();
        }
        blocks.insert(from, spans.clone());
        Ok(spans)
    }

    fn compute(&self, from: Time, until: Time) -> Result<Vec<TimeRange>> {
        self.starts(from, until)?.into_iter().filter_map(|start| self.span_at(start).transpose()).collect()
    }

    /// Returns the earliest possible start.
    pub(super) fn earliest(&self) -> Time {
        self.rdates.iter().copied().fold(self.span.start, Time::min)
    }

    /// Returns true if the rule has a start at this instant.
    pub(super) fn matches_rule(&self, start: Time) -> Result<bool> {
        Ok(!self.rule_occurrences(start, after(start, 1)?)?.is_empty())
    }

    /// Returns the local time that the rule has for a start. A clock change may skip this local time.
    pub(super) fn rule_local_time(&self, start: Time) -> Result<DateTime> {
        let occurrences = self.rule_occurrences(start, after(start, 1)?)?;
        Ok(occurrences.first().map_or_else(|| self.local_start(start), |(_, local_time)| *local_time))
    }

    /// Returns true if an instance starts at this instant, with or without an override.
    pub(super) fn has(&self, start: Time) -> Result<bool> {
        Ok(!self.starts(start, after(start, 1)?)?.is_empty())
    }

    /// Returns true if the series has no instance.
    pub(super) fn is_empty(&self) -> Result<bool> {
        if self.rdates.iter().any(|start| !self.exdates.contains(start)) {
            return Ok(false);
        }
        let is_included = |(start, _): &(Time, DateTime)| !self.exdates.contains(start);
        let has_some = match (&self.anchored, &self.counted) {
            (None, _) => !self.exdates.contains(&self.span.start),
            (_, Some(counted)) => counted.iter().any(is_included),
            (Some(anchored), None) => anchored.all().any(|occurrence| is_included(&occurrence)),
        };
        Ok(!has_some)
    }

    /// Returns the time range of the instance with the given start.
    pub(super) fn span_at(&self, start: Time) -> Result<Option<TimeRange>> {
        let end = match self.length {
            _ if start == self.span.start => self.span.end,
            InstanceDuration::Exact(micros) => self.zone.with_local_offset(after(start, micros)?)?,
            InstanceDuration::Days(days) => {
                let day = self.zone.to_local(start).date().saturating_add(SignedDuration::from_hours(24 * days));
                self.zone.to_instant(day.to_datetime(civil::Time::midnight()))?
            }
        };
        Ok(TimeRange::new(start, end))
    }

    /// Returns the maximum duration of an instance, to find instances that started earlier and are not over.
    pub(super) fn max_instance_duration(&self) -> SignedDuration {
        match self.length {
            InstanceDuration::Exact(micros) => SignedDuration::from_micros(micros),
            // A day may be an hour longer.
            InstanceDuration::Days(days) => SignedDuration::from_hours(24 * (days + 1)),
        }
    }
}

fn after(time: Time, micros: i64) -> Result<Time> {
    let later = Time::from_unix_micros(time.as_unix_micros().saturating_add(micros));
    later.map_err(|error| Error::new(ErrorCode::TypeMismatch, error.to_string()))
}

/// Computes all starts of a rule with COUNT or with a frequency above daily. Returns `None` for all other rules.
fn enumerate_all(anchored: &AnchoredRule) -> Result<Option<Vec<(Time, DateTime)>>> {
    let is_intraday = anchored.pattern.frequency > Frequency::Daily;
    if !is_intraday && !matches!(anchored.pattern.end, RuleEnd::Count(_)) {
        return Ok(None);
    }
    let max_instances = if is_intraday { MAX_INTRADAY_INSTANCES } else { MAX_INSTANCES };
    let all: Vec<_> = anchored.all().take(max_instances + 1).collect();
    if all.len() > max_instances {
        let frequency = anchored.pattern.frequency.name();
        let reason = format!("a rule that repeats within a day can have at most {max_instances} instances");
        return Err(invalid_part(format_args!("FREQ={frequency}"), reason));
    }
    Ok(Some(all))
}
