//! Checks which constraints of the family an event would violate (R-FAM-100).
//!
//! Times of day and weeks are in the time zone of the family. All-day events violate no constraint about times of
//! day. A day or week counts the events that start in it. A soft constraint that a member accepted for an event is
//! not checked for that event.

use std::sync::Arc;

use jiff::ToSpan as _;
use jiff::civil::Date;
use superstep::Result;
use superstep::core::time::Time;

use super::availability_check::AvailabilityCheck;
use super::busy_index::BusyIndex;
use super::capacity::peak_usage;
use super::format;
use super::time_math::{MINUTES_A_DAY, pad};
use crate::calendar::{CalendarSnapshot, Constraint, ConstraintKind, ConstraintStrength, Event, TimeRange, WeekStart};
use crate::time_zone::NamedTimeZone;

/// A constraint that would be violated.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintViolation {
    /// The constraint.
    pub rule: Arc<Constraint>,
    /// The member for whom the constraint is violated, if it applies per member.
    pub member: Option<String>,
    /// Name and text of the constraint, as shown to the family.
    pub text: String,
}

/// Returns the constraints that an event would violate in a time range, sorted by id.
///
/// # Errors
/// Returns an error if a recurrence rule or a time zone in the snapshot is invalid.
pub fn violations(snapshot: &CalendarSnapshot, event: &Event, span: &TimeRange) -> Result<Vec<ConstraintViolation>> {
    let availability = AvailabilityCheck::new(snapshot, event, span)?;
    let violations = availability.violations(&[*span]);
    let constraint_violations = violations.into_iter().map(|Violation { rule, member }| {
        let text = describe_with_name(snapshot, rule);
        ConstraintViolation { rule: rule.clone(), member: member.map(str::to_owned), text }
    });
    Ok(constraint_violations.collect())
}

/// iCalendar property of an event: id of a soft constraint that the event may violate.
const ACCEPTED_RULE_PROPERTY: &str = "X-SUPERSTEP-ACCEPTED-RULE:";

/// Returns the property line that accepts the violation of a soft constraint.
pub(super) fn override_property(rule: &str) -> String {
    format!("{ACCEPTED_RULE_PROPERTY}{rule}")
}

fn is_accepted(event: &Event, rule: &Constraint) -> bool {
    rule.strength != ConstraintStrength::Hard
        && event
            .preserved_properties
            .iter()
            .any(|line| line.strip_prefix(ACCEPTED_RULE_PROPERTY).is_some_and(|id| id.trim() == rule.id))
}

/// The constraints that apply to one event.
#[derive(Debug)]
pub(super) struct ConstraintSet {
    zone: NamedTimeZone,
    week_start: WeekStart,
    rules: Vec<Arc<Constraint>>,
}

/// A violated constraint and the member it is violated for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Violation<'a> {
    pub(super) rule: &'a Arc<Constraint>,
    pub(super) member: Option<&'a str>,
}

/// One instance of an event, with the data needed to check constraints.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedOccurrence<'a, 's> {
    pub(super) snapshot: &'s CalendarSnapshot,
    pub(super) busy: &'s BusyIndex,
    pub(super) event: &'a Event,
    pub(super) span: TimeRange,
    /// Series group of the event in the busy index.
    pub(super) series_group: Option<usize>,
    /// All instances of the event including this one, earliest first.
    pub(super) instances: &'s [TimeRange],
    /// Instances of the overrides of the event, or of the series if the event is an override.
    pub(super) related_instances: &'s [TimeRange],
}

impl ConstraintSet {
    /// Selects the active constraints of the participants.
    pub(super) fn new(snapshot: &CalendarSnapshot, event: &Event) -> Result<Self> {
        let takes_part = |member: &String| event.participants.iter().any(|participant| participant.member == *member);
        let applies = |rule: &&Arc<Constraint>| {
            rule.is_active && rule.member.as_ref().is_none_or(takes_part) && !is_accepted(event, rule)
        };
        let rules = snapshot.rules.values().filter(applies).cloned().collect();
        Ok(Self {
            zone: NamedTimeZone::from_iana_name(&snapshot.family.zone)?,
            week_start: snapshot.family.week_start,
            rules,
        })
    }

    /// Returns the minutes around an event that constraints depend on: at least the week of the event.
    pub(super) fn lookaround_minutes(&self) -> i64 {
        let gap = self.rules.iter().map(|rule| match rule.kind {
            ConstraintKind::MinGapMinutes { minutes } => i64::from(minutes),
            _ => 0,
        });
        gap.max().unwrap_or(0).max(8 * MINUTES_A_DAY)
    }

    /// Returns the constraints that one instance of an event violates.
    pub(super) fn violations<'a>(&'a self, occurrence: &CheckedOccurrence<'a, '_>) -> Vec<Violation<'a>> {
        self.rules.iter().flat_map(|rule| self.violations_of(rule, occurrence)).collect()
    }

    /// Returns true if one instance of an event violates a hard constraint.
    pub(super) fn forbids(&self, occurrence: &CheckedOccurrence<'_, '_>) -> bool {
        let mut hard = self.rules.iter().filter(|rule| rule.strength == ConstraintStrength::Hard);
        hard.any(|rule| !self.violations_of(rule, occurrence).is_empty())
    }

    fn violations_of<'a>(
        &'a self,
        rule: &'a Arc<Constraint>,
        occurrence: &CheckedOccurrence<'a, '_>,
    ) -> Vec<Violation<'a>> {
        let check_members = |is_broken: &dyn Fn(&str) -> bool| -> Vec<Violation<'a>> {
            let members = occurrence.event.participants.iter().map(|participant| participant.member.as_str());
            let affected_members =
                members.filter(|member| rule.member.as_deref().is_none_or(|affected| affected == *member));
            affected_members
                .filter(|member| is_broken(member))
                .map(|member| Violation { rule, member: Some(member) })
                .collect()
        };
        let is_broken = match &rule.kind {
            ConstraintKind::MinGapMinutes { minutes } => {
                return check_members(&|member| is_too_close(occurrence, member, *minutes));
            }
            ConstraintKind::MaxEventsPerDay { count } => {
                let day = self.day_of(occurrence.span.start);
                return check_members(&|member| event_count(occurrence, member, day) > *count as usize);
            }
            ConstraintKind::MaxEventsPerWeek { count } => {
                let week = self.week_of(occurrence.span.start);
                return check_members(&|member| event_count(occurrence, member, week) > *count as usize);
            }
            ConstraintKind::ResourcePriority { resource, members } => is_outranked(occurrence, resource, members),
            kind => !occurrence.event.is_all_day && self.is_bad_time(kind, &occurrence.span),
        };
        is_broken.then_some(Violation { rule, member: rule.member.as_deref() }).into_iter().collect()
    }

    /// Returns true if a constraint about times of day is violated.
    fn is_bad_time(&self, kind: &ConstraintKind, span: &TimeRange) -> bool {
        let (start, end) = (self.zone.to_local(span.start), self.zone.to_local(span.end));
        match kind {
            ConstraintKind::NoEventsBefore { time } => start.time() < *time,
            // An event that continues past midnight ends after every time of its start day.
            ConstraintKind::NoEventsAfter { time } => end.date() > start.date() || end.time() > *time,
            ConstraintKind::BlockedWindow { days, from, to } => {
                self.windows(days, (*from, *to), span).any(|window| window.overlaps(span))
            }
            ConstraintKind::PreferredWindow { days, from, to } => {
                !self.windows(days, (*from, *to), span).any(|window| window.contains(span))
            }
            _ => false,
        }
    }

    /// Returns the windows of a constraint near a time range. A window whose end is not after its start continues
    /// past midnight.
    fn windows<'a>(
        &'a self,
        days: &'a [u8],
        (from, to): (jiff::civil::Time, jiff::civil::Time),
        span: &TimeRange,
    ) -> impl Iterator<Item = TimeRange> + 'a {
        let last = self.zone.to_local(span.end).date();
        let first = self.zone.to_local(span.start).date().saturating_sub(1.day());
        let dates = first.series(1.day()).take_while(move |date| *date <= last);
        let on_days = dates.filter(|date| days.is_empty() || days.contains(&weekday(*date)));
        on_days.filter_map(move |date| {
            let end = if to <= from { date.saturating_add(1.day()) } else { date };
            TimeRange::new(
                self.zone.to_utc_instant(date.to_datetime(from))?,
                self.zone.to_utc_instant(end.to_datetime(to))?,
            )
        })
    }

    fn day_of(&self, time: Time) -> Option<TimeRange> {
        let day = self.zone.to_local(time).date();
        self.days(day, day.saturating_add(1.day()))
    }

    fn week_of(&self, time: Time) -> Option<TimeRange> {
        let day = self.zone.to_local(time).date();
        let since_monday = i64::from(day.weekday().to_monday_zero_offset());
        let since_start = match self.week_start {
            WeekStart::Monday => since_monday,
            WeekStart::Sunday => (since_monday + 1) % 7,
            WeekStart::Saturday => (since_monday + 2) % 7,
        };
        let first = day.saturating_sub(since_start.days());
        self.days(first, first.saturating_add(7.days()))
    }

    fn days(&self, first: Date, end: Date) -> Option<TimeRange> {
        TimeRange::new(self.zone.to_utc_instant(first.at(0, 0, 0, 0))?, self.zone.to_utc_instant(end.at(0, 0, 0, 0))?)
    }
}

fn weekday(date: Date) -> u8 {
    u8::try_from(date.weekday().to_monday_one_offset()).unwrap_or(0)
}

/// Returns true if another event of the member is closer than `minutes`. Overlapping events are a conflict of their own
/// and are ignored here.
fn is_too_close(occurrence: &CheckedOccurrence<'_, '_>, member: &str, minutes: u32) -> bool {
    let busy = occurrence.busy;
    let padded = pad(&occurrence.span, i64::from(minutes));
    let others = busy
        .for_member(member, padded)
        .filter(|entry| Some(busy.indexed_event(entry).series_group) != occurrence.series_group);
    // All instances have the same duration, so `take_while` may stop at the first one that ended before the range.
    let end = occurrence.instances.partition_point(|own| own.start < padded.end);
    let own = occurrence.instances[..end].iter().rev().take_while(|own| own.end > padded.start);
    let rest = occurrence.related_instances.iter().filter(|rest| rest.overlaps(&padded));
    others.map(|entry| &entry.span).chain(own).chain(rest).any(|other| !other.overlaps(&occurrence.span))
}

/// Counts the events of a member that start in a time range, including this one.
fn event_count(occurrence: &CheckedOccurrence<'_, '_>, member: &str, range: Option<TimeRange>) -> usize {
    let Some(range) = range else { return 0 };
    let from = occurrence.instances.partition_point(|own| own.start < range.start);
    let to = occurrence.instances.partition_point(|own| own.start < range.end);
    let is_another = |own: &&TimeRange| own.start != occurrence.span.start;
    let is_in = |rest: &&TimeRange| range.start <= rest.start && rest.start < range.end;
    let own = occurrence.instances[from..to]
        .iter()
        .chain(occurrence.related_instances.iter().filter(is_in))
        .filter(is_another)
        .count();
    occurrence.busy.count_starting(member, &range, occurrence.series_group) + own + 1
}

/// Returns true if a member with higher priority needs the resource at the same time and its capacity is exceeded.
fn is_outranked(occurrence: &CheckedOccurrence<'_, '_>, resource: &str, members: &[String]) -> bool {
    let (snapshot, busy) = (occurrence.snapshot, occurrence.busy);
    if !occurrence.event.resources.iter().any(|used| used == resource) {
        return false;
    }
    let users = busy
        .for_resource(resource, occurrence.span)
        .filter(|entry| Some(busy.indexed_event(entry).series_group) != occurrence.series_group);
    let (spans, ranks): (Vec<TimeRange>, Vec<usize>) =
        users.map(|entry| (entry.span, rank(&busy.indexed_event(entry).event, members))).unzip();
    let capacity = snapshot.resources.get(resource).map_or(0, |resource| resource.capacity as usize);
    peak_usage(&spans, &occurrence.span).len() >= capacity
        && ranks.iter().any(|other| *other < rank(occurrence.event, members))
}

/// Returns the best rank of the participants in a priority list. Participants who are not in the list rank last.
fn rank(event: &Event, members: &[String]) -> usize {
    let takes_part = |member: &String| {
        let is_owner = event.participants.is_empty() && event.owner == *member;
        is_owner || event.participants.iter().any(|participant| participant.member == *member)
    };
    members.iter().position(takes_part).unwrap_or(members.len())
}

/// Formats the name and the text of a constraint.
pub(super) fn describe_with_name(snapshot: &CalendarSnapshot, rule: &Constraint) -> String {
    format!("{}: {}", rule.name, describe_constraint(snapshot, &rule.kind))
}

/// Formats the text of a constraint.
pub(super) fn describe_constraint(snapshot: &CalendarSnapshot, kind: &ConstraintKind) -> String {
    let window = |days: &[u8], from, to| {
        let on = if days.is_empty() { String::new() } else { format!(" on {}", weekdays(days)) };
        format!("{on} from {} to {}", format::format_time(from), format::format_time(to))
    };
    match kind {
        ConstraintKind::NoEventsBefore { time } => format!("no events before {}", format::format_time(*time)),
        ConstraintKind::NoEventsAfter { time } => format!("no events after {}", format::format_time(*time)),
        ConstraintKind::BlockedWindow { days, from, to } => format!("no events{}", window(days, *from, *to)),
        ConstraintKind::PreferredWindow { days, from, to } => format!("events should be{}", window(days, *from, *to)),
        ConstraintKind::MinGapMinutes { minutes } => {
            format!("at least {} between two events", format::format_duration(i64::from(*minutes)))
        }
        ConstraintKind::MaxEventsPerDay { count } => {
            format!("at most {} a day", format::pluralize(i64::from(*count), "event"))
        }
        ConstraintKind::MaxEventsPerWeek { count } => {
            format!("at most {} a week", format::pluralize(i64::from(*count), "event"))
        }
        ConstraintKind::ResourcePriority { resource, members } => {
            let name = snapshot.resources.get(resource).map_or("resource", |resource| resource.name.as_str());
            format!("{} is reserved first for {}", format::resource_as_subject(name), format::names(snapshot, members))
        }
    }
}

fn weekdays(days: &[u8]) -> String {
    const NAMES: [&str; 7] = ["Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"];
    let name = |day: &u8| NAMES.get(usize::from(*day).wrapping_sub(1)).copied();
    format::join_list(&days.iter().filter_map(name).collect::<Vec<&str>>())
}
