//! Proposed resolutions of conflicts (R-FAM-107, R-FAM-108).
//!
//! Six strategies produce plans. Each plan is applied to a copy of the snapshot, and conflicts are detected there
//! again. Only plans that resolve a conflict and harm no other event are proposed. [`apply_resolution`] applies a
//! chosen resolution.

mod apply;
mod nearest_slot;
mod other_event_strategies;
mod reschedule;
mod same_event_strategies;

use superstep::Result;
use superstep::core::time::Time;

pub use apply::apply_resolution;

use super::availability_check::AvailabilityCheck;
use super::conflicts::{self, ChangeConflicts, detect_change_conflicts};
use super::raw_conflict::{ConflictFormatter, RawConflict};
use super::time_math::midnight;
use super::visibility::Viewer;
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, Priority, TimeRange};
use crate::models::{ChangeAction, Conflict, ProposedResolution, ResolutionChange, ResolutionData, Score, Strategy};
use crate::time_zone::NamedTimeZone;

/// Returns all working resolutions, best first: `res_1`, which is recommended, `res_2` and so on.
///
/// `conflicts` are the conflicts that were detected for the event. A resolution may solve only some of them, which
/// lowers its score. Resolutions are worded for the requester, who need not be the owner of the event, and change
/// only events that the requester may change.
///
/// # Errors
/// Returns an error if a recurrence rule or a time zone, of the event or in the snapshot, is invalid.
pub fn propose_resolutions(
    snapshot: &CalendarSnapshot,
    event: &Event,
    conflicts: &[Conflict],
    requester: &str,
    now: Time,
) -> Result<ResolutionData> {
    if conflicts.is_empty() {
        return Ok(ResolutionData::default());
    }
    let resolution_context = ResolutionContext::new(snapshot, event, requester, now)?;
    let mut resolutions = Vec::new();
    for plan in resolution_context.plans()? {
        resolutions.extend(resolution_context.evaluate(plan, conflicts)?);
    }
    let rank = |resolution: &ProposedResolution| (resolution.changes.len(), resolution.strategy);
    resolutions.sort_by(|a, b| b.score.value().total_cmp(&a.score.value()).then_with(|| rank(a).cmp(&rank(b))));
    for (index, resolution) in resolutions.iter_mut().enumerate() {
        resolution.resolution_id = format!("res_{}", index + 1);
    }
    let recommended_resolution = resolutions.first().map(|resolution| resolution.resolution_id.clone());
    Ok(ResolutionData { proposed_resolutions: resolutions, recommended_resolution })
}

/// An untested resolution.
#[derive(Debug)]
struct ResolutionPlan {
    strategy: Strategy,
    description: String,
    changes: Vec<ResolutionChange>,
    side_effects: Vec<String>,
    /// Minutes by which an event is moved.
    shift: i64,
    /// Priorities of the other events that the plan changes.
    touched: Vec<Priority>,
}

impl ResolutionPlan {
    fn new(strategy: Strategy, description: String, changes: Vec<ResolutionChange>) -> Self {
        Self { strategy, description, changes, side_effects: Vec::new(), shift: 0, touched: Vec::new() }
    }

    fn with_side_effect(mut self, side_effect: String) -> Self {
        self.side_effects.push(side_effect);
        self
    }

    fn shifted_by(mut self, minutes: i64) -> Self {
        self.shift = minutes.abs();
        self
    }

    fn touching(mut self, other: &Event) -> Self {
        self.touched.push(other.priority);
        self
    }

    /// Computes the score for solving `solved` of `conflicts` conflicts. Computed in hundredths until the last
    /// step.
    fn score(&self, solved: usize, conflicts: usize) -> Score {
        let base = match self.strategy {
            Strategy::MoveEvent => 90,
            Strategy::ShortenEvent => 70,
            Strategy::SplitEvent => 60,
            Strategy::CancelEvent => 40,
            Strategy::OverrideConstraint => 55,
            Strategy::AlternativeResource => 85,
        };
        let is_important = self.touched.iter().any(|priority| *priority >= Priority::High);
        let touched = 10 * self.touched.len() as i64 + if is_important { 20 } else { 0 };
        let value = base - touched - 5 * (self.shift / 120).min(5);
        Score::clamped(value as f64 / 100.0 * solved as f64 / conflicts as f64)
    }
}

/// An event with conflicts, and the data that the strategies need.
struct ResolutionContext<'a> {
    snapshot: &'a CalendarSnapshot,
    event: &'a Event,
    requester: &'a str,
    now: Time,
    /// The snapshot with the event in it.
    with_event: CalendarSnapshot,
    /// Availability check of the day of the event, or of 12 months of a series.
    availability: AvailabilityCheck<'a>,
    before: Vec<RawConflict>,
    formatter: ConflictFormatter<'a>,
}

impl<'a> ResolutionContext<'a> {
    fn new(snapshot: &'a CalendarSnapshot, event: &'a Event, requester: &'a str, now: Time) -> Result<Self> {
        let zone = NamedTimeZone::from_iana_name(&snapshot.family.zone)?;
        let horizon = if event.recurrence.is_some() {
            conflicts::horizon(event, now)?
        } else {
            let end = midnight(&zone, event.span.start, 1)?.max(event.span.end);
            TimeRange { start: midnight(&zone, event.span.start, 0)?, end }
        };
        let availability = AvailabilityCheck::new(snapshot, event, &horizon)?;
        let before = availability.conflicts(&availability.shifted_to(&event.span));
        let mut with_event = snapshot.clone();
        with_event.apply(CalendarChange::Event(Box::new(event.clone())));
        let formatter = ConflictFormatter::for_viewer(snapshot, Viewer::Member(requester))?;
        Ok(Self { snapshot, event, requester, now, with_event, availability, before, formatter })
    }

    fn plans(&self) -> Result<Vec<ResolutionPlan>> {
        let mut plans = Vec::new();
        plans.extend(self.move_event()?);
        plans.extend(self.move_other_events()?);
        plans.extend(self.shorten_event()?);
        plans.extend(self.split_event()?);
        plans.push(self.cancel_event());
        plans.extend(self.cancel_other_events()?);
        plans.extend(self.override_constraint());
        plans.extend(self.alternative_resource()?);
        Ok(plans)
    }

    /// Applies a plan to a copy of the snapshot. Returns `None` if the plan resolves no conflict or causes a
    /// blocking one.
    fn evaluate(&self, plan: ResolutionPlan, conflicts: &[Conflict]) -> Result<Option<ProposedResolution>> {
        let mut resolution = ProposedResolution {
            resolution_id: String::new(),
            strategy: plan.strategy,
            score: Score::clamped(0.0),
            description: plan.description.clone(),
            changes: plan.changes.clone(),
            conflicts_resolved: Vec::new(),
            side_effects: plan.side_effects.clone(),
        };
        let (after, changes) = apply_resolution(self.snapshot, self.event, &resolution, self.requester, self.now)?;
        let mut copy = self.snapshot.clone();
        changes.iter().for_each(|change| copy.apply(change.clone()));
        let ChangeConflicts { of_event: conflicts_after, of_other_events: others } =
            detect_change_conflicts(&self.with_event, &copy, (&after, &changes), self.requester, self.now)?;
        let is_new = |conflict: &&Conflict| !conflicts.iter().any(|old| old.id == conflict.id);
        let remains = |conflict: &&Conflict| conflicts_after.iter().any(|after| after.id == conflict.id);
        let solved: Vec<String> =
            conflicts.iter().filter(|conflict| !remains(conflict)).map(|conflict| conflict.id.clone()).collect();
        let causes_conflict = conflicts_after.iter().filter(is_new).any(|conflict| conflict.severity.is_blocking());
        if solved.is_empty() || causes_conflict || !others.is_empty() {
            return Ok(None);
        }
        resolution.side_effects.extend(conflicts_after.iter().filter(is_new).map(|conflict| conflict.details.clone()));
        let remaining = conflicts.iter().filter(remains);
        resolution.side_effects.extend(remaining.map(|conflict| format!("Remaining conflict: {}", conflict.details)));
        resolution.score = plan.score(solved.len(), conflicts.len());
        resolution.conflicts_resolved = solved;
        Ok(Some(resolution))
    }

    /// Returns the number of blocking conflicts and of all conflicts at the given times.
    fn conflict_counts(&self, spans: &[TimeRange]) -> (usize, usize) {
        count(&self.availability.conflicts(spans))
    }

    /// Returns true if the given times are an improvement: no blocking conflict, and fewer conflicts in total if there
    /// was no blocking one before.
    fn resolves_conflict(&self, spans: &[TimeRange]) -> bool {
        let ((blocking, total), before) = (self.conflict_counts(spans), count(&self.before));
        blocking == 0 && (before.0 > 0 || total < before.1)
    }
}

fn count(conflicts: &[RawConflict]) -> (usize, usize) {
    (conflicts.iter().filter(|conflict| conflict.severity.is_blocking()).count(), conflicts.len())
}

/// Creates the two changes that move an event: new start and new end.
fn new_times(event: &str, old: &TimeRange, new: &TimeRange, action: ChangeAction) -> Vec<ResolutionChange> {
    vec![
        new_time(event, "start_time", Some(old.start), new.start, action),
        new_time(event, "end_time", Some(old.end), new.end, action),
    ]
}

fn new_time(event: &str, field: &str, old: Option<Time>, new: Time, action: ChangeAction) -> ResolutionChange {
    ResolutionChange {
        event_id: Some(event.to_owned()),
        field: Some(field.to_owned()),
        old_value: old.map(|old| old.to_string()),
        new_value: Some(new.to_string()),
        action: Some(action),
    }
}
