//! Candidate times for an event (R-FAM-104).
//!
//! A time given by the user is always the first candidate, even if it has conflicts; conflict detection reports
//! them. A grid time is offered only if all required participants, all resources and all hard constraints allow it;
//! for a series, at all its instances within 12 months.

use std::sync::Arc;

use jiff::civil::Date;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::availability_check::{AvailabilityCheck, shifted};
use super::constraints::describe_with_name;
use super::time_math::{between, in_time_zone, intersection, midnight, year_from};
use super::windows::{grid_slots, required_participants, shared_day_windows};
use crate::calendar::{CalendarSnapshot, ConstraintStrength, Event, TimeRange};
use crate::models::{SchedulingData, Score, TimeSlot};
use crate::time_zone::NamedTimeZone;

/// Search criteria for an event time.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotRequest {
    /// The event to schedule: participants, resources and recurrence. Its time range is ignored.
    pub event: Event,
    /// Time given by the user.
    pub requested_range: Option<TimeRange>,
    /// Duration in minutes if no time is given.
    pub minutes: u32,
    /// Time range to search. Default: 14 days from the given time, or from now.
    pub range: Option<TimeRange>,
}

/// Number of days to search, including the first.
const SEARCH_DAYS: i64 = 14;
/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 5;
/// Gaps shorter than this many minutes lower the score.
const SMALL_GAP_MINUTES: i64 = 30;

/// Finds candidate times, best first, at most five.
///
/// A given time is the first candidate and the recommended one. If the given time is not free, its score is 0 and
/// alternatives follow.
///
/// # Errors
/// Returns an error if the duration is 0, or if a recurrence rule or time zone is invalid.
pub fn find_slots(snapshot: &CalendarSnapshot, request: &SlotRequest, now: Time) -> Result<SchedulingData> {
    let minutes = request.requested_range.map_or(i64::from(request.minutes), |requested| requested.minutes());
    if minutes <= 0 {
        return Err(Error::new(ErrorCode::TypeMismatch, "an event of 0 minutes cannot be scheduled"));
    }
    let family = NamedTimeZone::from_iana_name(&snapshot.family.zone)?;
    let range = range(&family, request, now)?;
    let horizon = horizon(&family, request, range)?;
    let search = SlotSearch {
        snapshot,
        event: &request.event,
        availability: AvailabilityCheck::new(snapshot, &request.event, &horizon)?,
        zone: NamedTimeZone::from_iana_name(&request.event.zone)?,
        family,
        horizon,
    };
    let mut slots = Vec::new();
    let mut is_requested_free = false;
    if let Some(requested) = &request.requested_range {
        let spans = search.spans_at(requested)?.unwrap_or_else(|| vec![*requested]);
        is_requested_free = search.availability.is_free(&spans);
        let penalty = if is_requested_free { search.penalty(&spans) } else { 100 };
        slots.push(search.slot(&spans, penalty)?);
    }
    if let Some(range) = range.filter(|_| !is_requested_free) {
        let others = search.free_slots(&range, minutes)?;
        for other in others.iter().take(MAX_CANDIDATES - slots.len()) {
            slots.push(search.slot(&other.spans, other.penalty)?);
        }
    }
    Ok(SchedulingData { recommended_time: slots.first().map(|slot| slot.start_time), candidate_times: slots })
}

/// Returns the time range to search: never before now, at most one year.
fn range(family: &NamedTimeZone, request: &SlotRequest, now: Time) -> Result<Option<TimeRange>> {
    if let Some(range) = request.range {
        return Ok(intersection(&range, &year_from(family, now.max(range.start))?));
    }
    let start = match request.requested_range {
        Some(requested) => midnight(family, requested.start, 0)?.max(now),
        None => now,
    };
    Ok(TimeRange::new(start, midnight(family, start, SEARCH_DAYS)?))
}

fn horizon(family: &NamedTimeZone, request: &SlotRequest, range: Option<TimeRange>) -> Result<TimeRange> {
    let spans = || range.iter().chain(&request.requested_range);
    let start = spans().map(|span| span.start).min().unwrap_or(request.event.span.start);
    let end = spans().map(|span| span.end).max().unwrap_or(request.event.span.end);
    if request.event.recurrence.is_none() {
        return Ok(TimeRange { start, end });
    }
    // A series may start at the end of the range and is checked for one year from there.
    Ok(TimeRange { start, end: year_from(family, end)?.end })
}

struct SlotSearch<'a> {
    snapshot: &'a CalendarSnapshot,
    event: &'a Event,
    availability: AvailabilityCheck<'a>,
    zone: NamedTimeZone,
    family: NamedTimeZone,
    horizon: TimeRange,
}

/// A candidate: all instances of the event, and the score penalty in hundredths.
struct SlotCandidate {
    spans: Vec<TimeRange>,
    penalty: i64,
}

impl SlotSearch<'_> {
    /// Returns the best free grid times, best first.
    fn free_slots(&self, range: &TimeRange, minutes: i64) -> Result<Vec<SlotCandidate>> {
        let windows = shared_day_windows(self.snapshot, &required_participants(self.event), range)?;
        let mut day_spans: Option<(Date, Option<Vec<TimeRange>>)> = None;
        let mut first_day: Option<Date> = None;
        let mut best: Vec<SlotCandidate> = Vec::new();
        for slot in grid_slots(&windows, minutes) {
            let day = self.family.to_local(slot.start).date();
            let days_later = first_day.map_or(0, |first| i64::from((day - first).get_days()));
            // Later days start with a higher penalty, and the earlier time wins a tie, so no later cell can enter
            // the result.
            if best.get(MAX_CANDIDATES - 1).is_some_and(|last| last.penalty <= 5 * days_later) {
                break;
            }
            // Within a day all instances of a series shift alike, so the instances are computed once per day.
            if day_spans.as_ref().is_none_or(|(cached_day, _)| *cached_day != day) {
                day_spans = Some((day, self.spans_at(&slot)?));
            }
            let Some((_, Some(day_spans))) = &day_spans else { continue };
            let spans = shifted(day_spans, between(day_spans[0].start, slot.start), between(slot.start, slot.end));
            if self.availability.is_free(&spans) {
                first_day.get_or_insert(day);
                let penalty = (self.penalty(&spans) + 5 * days_later).min(100);
                let position = best.partition_point(|other| other.penalty <= penalty);
                best.insert(position, SlotCandidate { spans, penalty });
            }
        }
        Ok(best)
    }

    /// Returns all instances of the event if the first one were at `span`. Returns `None` if the recurrence rule
    /// does not start on that day.
    fn spans_at(&self, span: &TimeRange) -> Result<Option<Vec<TimeRange>>> {
        if self.event.recurrence.is_none() {
            return Ok(Some(vec![*span]));
        }
        let event = Arc::new(Event { span: *span, ..self.event.clone() });
        let year = year_from(&self.zone, span.start)?;
        let range = intersection(&year, &self.horizon).unwrap_or(year);
        let spans: Vec<TimeRange> =
            self.snapshot.instances_of(&event, &range)?.iter().map(|instance| instance.span).collect();
        Ok(Some(spans).filter(|spans| spans.first().is_some_and(|first| first.start == span.start)))
    }

    /// Computes the penalty for soft constraints, missing participants and small gaps, in hundredths.
    fn penalty(&self, spans: &[TimeRange]) -> i64 {
        let mut rules: Vec<(&str, u8)> = Vec::new();
        for violation in self.availability.violations(spans) {
            if let ConstraintStrength::Soft(weight) = violation.rule.strength {
                rules.push((&violation.rule.id, weight));
            }
        }
        rules.dedup();
        let weights: i64 = rules.iter().map(|(_, weight)| i64::from(*weight)).sum();
        let missing = self
            .availability
            .unavailable_participants(spans)
            .iter()
            .filter(|participant| !participant.is_required)
            .count();
        let gap = if self.availability.leaves_gap(&spans[0], SMALL_GAP_MINUTES) { 10 } else { 0 };
        3 * weights + 20 * i64::try_from(missing).unwrap_or(0) + gap
    }

    fn slot(&self, spans: &[TimeRange], penalty: i64) -> Result<TimeSlot> {
        let first = in_time_zone(&self.zone, &spans[0])?;
        let missing = self.availability.unavailable_participants(spans);
        let has_time = |id: &&String| !missing.iter().any(|participant| participant.member == **id);
        let members = self.event.participants.iter().map(|participant| &participant.member);
        let soft = self.availability.violations(spans).into_iter().map(|violation| violation.rule);
        let mut violations: Vec<String> = soft
            .filter(|rule| rule.strength != ConstraintStrength::Hard)
            .map(|rule| describe_with_name(self.snapshot, rule))
            .collect();
        violations.dedup();
        Ok(TimeSlot {
            start_time: first.start,
            end_time: first.end,
            score: Score::clamped(f64::from(100 - u8::try_from(penalty.clamp(0, 100)).unwrap_or(100)) / 100.0),
            available_participants: members.filter(has_time).cloned().collect(),
            constraint_violations: violations,
        })
    }
}
