//! Plans that change the event itself: its time, duration, constraints or resources, or that cancel it.

use superstep::Result;

use super::super::availability_check::AvailabilityCheck;
use super::super::capacity;
use super::super::format;
use super::super::raw_conflict::ConflictKey;
use super::super::time_math::{add_minutes, in_time_zone};
use super::nearest_slot::{nearest, slots_on_day};
use super::reschedule::part_id;
use super::{ResolutionContext, ResolutionPlan, new_time, new_times};
use crate::calendar::{ConstraintStrength, Event, Flexibility, TimeRange};
use crate::models::{ChangeAction, EventStatus, ResolutionChange, Strategy};
use crate::time_zone::NamedTimeZone;

/// Minimum duration of a shortened event, in minutes.
const MIN_MINUTES: i64 = 15;
/// Minimum duration of a part of a split event, in minutes.
const MIN_PART_MINUTES: i64 = 30;
/// Maximum number of durations that are tried, because each one is checked against all other events.
const MAX_DURATIONS: i64 = 100;

/// Returns the step between durations in minutes: a multiple of `unit` with at most about `MAX_DURATIONS` steps.
fn step(minutes: i64, unit: i64) -> i64 {
    unit * (minutes / (unit * MAX_DURATIONS) + 1)
}

impl ResolutionContext<'_> {
    pub(super) fn move_event(&self) -> Result<Option<ResolutionPlan>> {
        let event = self.event;
        if event.flexibility == Flexibility::Fixed || event.is_all_day {
            return Ok(None);
        }
        let is_good = |spans: &[TimeRange]| self.resolves_conflict(spans);
        let Some(to) = nearest(self.snapshot, &self.availability, event, self.now, is_good)? else { return Ok(None) };
        let to = in_time_zone(&NamedTimeZone::from_iana_name(&event.zone)?, &to)?;
        Ok(Some(self.move_plan(event, &event.span, &to)))
    }

    /// Creates the plan that moves an event.
    pub(super) fn move_plan(&self, event: &Event, from: &TimeRange, to: &TimeRange) -> ResolutionPlan {
        let title = self.formatter.name(event);
        let shift = TimeRange::new(from.start, to.start)
            .or(TimeRange::new(to.start, from.start))
            .map_or(0, |span| span.minutes());
        let side = if to.start > from.start { "later" } else { "earlier" };
        let description = format!("Move {title} to {}.", format::format_range(&self.formatter.zone, to));
        let changes = new_times(&event.id, from, to, ChangeAction::Move);
        let side_effect = format!("{title} starts {} {side}.", format::format_duration(shift));
        ResolutionPlan::new(Strategy::MoveEvent, description, changes).with_side_effect(side_effect).shifted_by(shift)
    }

    /// Finds the longest remainder with the fewest conflicts, cut from the end or from the start.
    pub(super) fn shorten_event(&self) -> Result<Option<ResolutionPlan>> {
        if self.event.is_all_day {
            return Ok(None);
        }
        let span = self.event.span;
        let minutes = span.minutes();
        let min_minutes = MIN_MINUTES.max((minutes + 1) / 2);
        // Events longer than eight hours are shortened in steps of 30 minutes.
        let step = step(minutes / 2, if minutes > 8 * 60 { 30 } else { 5 });
        let mut best = (super::count(&self.before), None);
        for cut in (1..).map(|steps| steps * step).take_while(|cut| minutes - cut >= min_minutes) {
            let ends_earlier = TimeRange { end: add_minutes(span.end, -cut), ..span };
            let starts_later = TimeRange { start: add_minutes(span.start, cut), ..span };
            let is_fixed = self.event.flexibility == Flexibility::Fixed;
            for shorter in [Some(ends_earlier), Some(starts_later).filter(|_| !is_fixed)].into_iter().flatten() {
                let counts = self.conflict_counts(&self.availability.shifted_to(&shorter));
                if counts < best.0 {
                    best = (counts, Some((shorter, cut)));
                }
            }
            if best.0 == (0, 0) {
                break;
            }
        }
        let Some((shorter, cut)) = best.1 else { return Ok(None) };
        let shorter = in_time_zone(&NamedTimeZone::from_iana_name(&self.event.zone)?, &shorter)?;
        let (title, id) = (self.formatter.name(self.event), &self.event.id);
        let change = if shorter.start == span.start {
            new_time(id, "end_time", Some(span.end), shorter.end, ChangeAction::Shorten)
        } else {
            new_time(id, "start_time", Some(span.start), shorter.start, ChangeAction::Shorten)
        };
        let description = format!("Shorten {title} to {}.", format::format_range(&self.formatter.zone, &shorter));
        let plan = ResolutionPlan::new(Strategy::ShortenEvent, description, vec![change]);
        Ok(Some(plan.with_side_effect(format!("{title} is {} shorter.", format::format_duration(cut)))))
    }

    /// Finds the longest part that can keep its time, and the nearest time on that day for the rest.
    pub(super) fn split_event(&self) -> Result<Option<ResolutionPlan>> {
        let (event, minutes) = (self.event, self.event.span.minutes());
        let is_fixed = event.flexibility == Flexibility::Fixed || event.is_all_day;
        if is_fixed || super::count(&self.before).0 == 0 {
            return Ok(None);
        }
        let step = step(minutes, MIN_MINUTES);
        let mut fixed_minutes = minutes - MIN_PART_MINUTES;
        while fixed_minutes >= MIN_PART_MINUTES {
            let head = TimeRange { end: add_minutes(event.span.start, fixed_minutes), ..event.span };
            let tail = TimeRange { start: add_minutes(event.span.end, -fixed_minutes), ..event.span };
            for fixed_part in [head, tail] {
                if let Some(rest) = self.find_time_for_rest(&fixed_part, minutes - fixed_minutes)? {
                    return self.split_plan(&fixed_part, &rest).map(Some);
                }
            }
            fixed_minutes -= step;
        }
        Ok(None)
    }

    /// Returns the nearest good time on that day for the rest of the event, if the remaining part has a good time.
    fn find_time_for_rest(&self, fixed_part: &TimeRange, minutes: i64) -> Result<Option<TimeRange>> {
        let is_good = |span: &TimeRange| self.resolves_conflict(&self.availability.shifted_to(span));
        if !is_good(fixed_part) {
            return Ok(None);
        }
        let on_day = slots_on_day(self.snapshot, self.event, minutes, self.now)?;
        let after = on_day.iter().filter(|slot| slot.start >= fixed_part.end);
        let before = on_day.iter().rev().filter(|slot| slot.end <= fixed_part.start);
        Ok(after.chain(before).find(|slot| is_good(slot)).copied())
    }

    fn split_plan(&self, fixed_part: &TimeRange, rest: &TimeRange) -> Result<ResolutionPlan> {
        let zone = NamedTimeZone::from_iana_name(&self.event.zone)?;
        let (first, second) = (in_time_zone(&zone, fixed_part.min(rest))?, in_time_zone(&zone, fixed_part.max(rest))?);
        let (event, old) = (self.event, &self.event.span);
        let mut changes = Vec::new();
        if first.start != old.start {
            changes.push(new_time(&event.id, "start_time", Some(old.start), first.start, ChangeAction::Split));
        }
        changes.push(new_time(&event.id, "end_time", Some(old.end), first.end, ChangeAction::Split));
        let part = part_id(self.snapshot, event);
        changes.push(new_time(&part, "start_time", None, second.start, ChangeAction::Split));
        changes.push(new_time(&part, "end_time", None, second.end, ChangeAction::Split));
        let title = self.formatter.name(event);
        let range_text = |span| format::format_range(&self.formatter.zone, span);
        let description = format!("Split {title} into two parts: {} and {}.", range_text(&first), range_text(&second));
        let gap = TimeRange::new(first.end, second.start).map_or(0, |gap| gap.minutes());
        let side_effect = format!("{title} is in two parts, {} apart.", format::format_duration(gap));
        Ok(ResolutionPlan::new(Strategy::SplitEvent, description, changes)
            .with_side_effect(side_effect)
            .shifted_by(gap))
    }

    pub(super) fn cancel_event(&self) -> ResolutionPlan {
        let title = self.formatter.name(self.event);
        let change = ResolutionChange {
            event_id: Some(self.event.id.clone()),
            action: Some(ChangeAction::Cancel),
            ..ResolutionChange::default()
        };
        // Only a modification has a confirmed event: the event stays, and its change is dropped.
        let (description, side_effect) = match self.event.status == EventStatus::Confirmed {
            true => (format!("Leave {title} unchanged."), "The requested change is not made.".to_owned()),
            false => (format!("Do not plan {title}."), format!("{title} does not take place.")),
        };
        ResolutionPlan::new(Strategy::CancelEvent, description, vec![change]).with_side_effect(side_effect)
    }

    pub(super) fn override_constraint(&self) -> Option<ResolutionPlan> {
        let is_soft = |strength| matches!(strength, ConstraintStrength::Soft(_));
        let rules: Vec<_> = self
            .before
            .iter()
            .filter_map(|conflict| conflict.rule.as_ref())
            .filter(|rule| is_soft(rule.strength))
            .collect();
        let change = |rule: &str| ResolutionChange {
            event_id: Some(self.event.id.clone()),
            field: Some(format!("constraint:{rule}")),
            ..ResolutionChange::default()
        };
        let changes: Vec<ResolutionChange> = rules.iter().map(|rule| change(&rule.id)).collect();
        let names: Vec<String> = rules.iter().map(|rule| format::quoted(&rule.name)).collect();
        let (title, noun) = (self.formatter.name(self.event), if names.len() == 1 { "rule" } else { "rules" });
        let description = format!("Keep {title} unchanged and override the {noun} {}.", format::join_list(&names));
        let side_effect = format!(
            "The {noun} {} {} violated this time.",
            format::join_list(&names),
            if names.len() == 1 { "is" } else { "are" }
        );
        (!names.is_empty()).then(|| {
            ResolutionPlan::new(Strategy::OverrideConstraint, description, changes).with_side_effect(side_effect)
        })
    }

    /// Replaces unavailable resources by available ones of the same kind.
    pub(super) fn alternative_resource(&self) -> Result<Option<ResolutionPlan>> {
        let (mut event, mut changes, mut descriptions) = (self.event.clone(), Vec::new(), Vec::new());
        for conflict in &self.before {
            let ConflictKey::Resource(unavailable) = &conflict.key else { continue };
            for other in capacity::alternative_resources(self.snapshot, unavailable, &event.span, Some(&event.id))? {
                let changed = replace_resource(&event, unavailable, &other.id);
                if event.resources.contains(&other.id) || !self.is_resource_free(&changed, &other.id)? {
                    continue;
                }
                changes.push(ResolutionChange {
                    event_id: Some(event.id.clone()),
                    field: Some("resources".to_owned()),
                    old_value: Some(unavailable.clone()),
                    new_value: Some(other.id.clone()),
                    action: None,
                });
                let name =
                    self.snapshot.resources.get(unavailable).map_or("resource", |resource| resource.name.as_str());
                descriptions.push(format!("{} instead of {}", in_sentence(&other.name), in_sentence(name)));
                event = changed;
                break;
            }
        }
        let description = format!("Use {}.", format::join_list(&descriptions));
        let side_effect = format!("{} uses {}.", self.formatter.name(&event), format::join_list(&descriptions));
        Ok((!descriptions.is_empty()).then(|| {
            ResolutionPlan::new(Strategy::AlternativeResource, description, changes).with_side_effect(side_effect)
        }))
    }

    /// Returns true if a resource is available at all instances of an event that uses it.
    fn is_resource_free(&self, event: &Event, resource: &str) -> Result<bool> {
        let availability = AvailabilityCheck::new(self.snapshot, event, &super::conflicts::horizon(event, self.now)?)?;
        let conflicts = availability.conflicts(availability.spans());
        Ok(!conflicts.iter().any(|conflict| matches!(&conflict.key, ConflictKey::Resource(full) if full == resource)))
    }
}

fn replace_resource(event: &Event, unavailable: &str, other: &str) -> Event {
    let swap = |id: &String| if id == unavailable { other.to_owned() } else { id.clone() };
    Event { resources: event.resources.iter().map(swap).collect(), ..event.clone() }
}

fn in_sentence(name: &str) -> String {
    if name.starts_with(char::is_lowercase) { format!("the {name}") } else { name.to_owned() }
}
