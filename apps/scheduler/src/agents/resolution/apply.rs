//! Applies a resolution, as proposed or as edited by the user, after validating it.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::super::constraints::override_property;
use super::super::time_math::{after, between};
use super::super::visibility::can_modify;
use super::reschedule::{bump_sequence, instance_override, invalid_resume, part_id, reschedule};
use crate::calendar::series::{self, SeriesSelection};
use crate::calendar::{CalendarChange, CalendarSnapshot, ConstraintStrength, Event, TimeRange};
use crate::models::{ChangeAction, EventStatus, ProposedResolution, ResolutionChange, Strategy};
use crate::time_zone::NamedTimeZone;

/// Returns the event after a resolution, and all changes of the snapshot, with the event first.
///
/// A change of another event that repeats applies to the one instance that starts at its `old_value`. Remaining
/// conflicts are not detected here; use [`conflicts`](crate::agents::conflicts) on the changed snapshot.
///
/// # Errors
/// Returns `InvalidResume` if the resolution cannot be applied: an unknown event, resource or constraint, an
/// invalid time, an end before its start, or a change that does not fit the strategy. Returns `PolicyRefused` if
/// the requester may not change another event.
pub fn apply_resolution(
    snapshot: &CalendarSnapshot,
    event: &Event,
    resolution: &ProposedResolution,
    requester: &str,
    now: Time,
) -> Result<(Event, Vec<CalendarChange>)> {
    if resolution.changes.is_empty() {
        return Err(invalid_resume("a resolution needs at least one change, but `changes` is empty"));
    }
    let mut applier = ResolutionApplier {
        snapshot: snapshot.clone(),
        event,
        requester,
        now,
        after: event.clone(),
        others: Vec::new(),
    };
    match resolution.strategy {
        Strategy::MoveEvent => applier.retime(&resolution.changes, ChangeAction::Move)?,
        Strategy::ShortenEvent => applier.retime(&resolution.changes, ChangeAction::Shorten)?,
        Strategy::SplitEvent => applier.split(&resolution.changes)?,
        Strategy::CancelEvent => applier.cancel(&resolution.changes)?,
        Strategy::OverrideConstraint => applier.override_constraints(&resolution.changes)?,
        Strategy::AlternativeResource => applier.swap_resources(&resolution.changes)?,
    }
    let mut changes = vec![CalendarChange::Event(Box::new(applier.after.clone()))];
    changes.extend(applier.others);
    Ok((applier.after, changes))
}

struct ResolutionApplier<'a> {
    /// Includes the changes so far, so that a second change of an event starts from the first.
    snapshot: CalendarSnapshot,
    event: &'a Event,
    requester: &'a str,
    now: Time,
    after: Event,
    others: Vec<CalendarChange>,
}

/// New start and end of an event.
#[derive(Debug, Default)]
struct NewTimes {
    /// Start of the affected instance of a series.
    instance: Option<Time>,
    start: Option<Time>,
    end: Option<Time>,
}

impl NewTimes {
    /// Returns the new time range. If a move gives only a new start, the duration stays the same.
    fn span(&self, old: &TimeRange, action: ChangeAction) -> Result<TimeRange> {
        let start = self.start.unwrap_or(old.start);
        let same_length = || after(start, between(old.start, old.end));
        let end = self.end.unwrap_or_else(|| if action == ChangeAction::Move { same_length() } else { old.end });
        let span = TimeRange::new(start, end)
            .ok_or_else(|| invalid_resume(format!("the end, {end}, would be before the start")))?;
        if action == ChangeAction::Shorten && (!old.contains(&span) || span == *old) {
            return Err(invalid_resume(format!("{start} to {end} is not within {} to {}", old.start, old.end)));
        }
        Ok(span)
    }
}

impl ResolutionApplier<'_> {
    fn retime(&mut self, changes: &[ResolutionChange], action: ChangeAction) -> Result<()> {
        for (id, times) in new_times_by_event(changes, action)? {
            if id == self.event.id {
                let (after, overrides) =
                    reschedule(&self.snapshot, self.event, &times.span(&self.event.span, action)?)?;
                self.after = after;
                self.put(overrides);
                continue;
            }
            let mut existing = self.other(&id)?.as_ref().clone();
            if existing.recurrence.is_some() {
                let start = times.instance.ok_or_else(|| {
                    invalid_resume(format!("`{id}` is a series: set `old_value` to the start of an instance"))
                })?;
                existing = instance_override(&self.snapshot, self.other(&id)?, start)?;
            }
            let (after, _) = reschedule(&self.snapshot, &existing, &times.span(&existing.span, action)?)?;
            self.put([after]);
        }
        Ok(())
    }

    fn split(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        let part = part_id(&self.snapshot, self.event);
        let mut times = new_times_by_event(changes, ChangeAction::Split)?;
        let first = times.remove(&self.event.id).unwrap_or_default().span(&self.event.span, ChangeAction::Split)?;
        let second =
            times.remove(&part).ok_or_else(|| invalid_resume(format!("the id of the second part must be `{part}`")))?;
        let second = match second {
            NewTimes { start: Some(start), end: Some(end), .. } => TimeRange::new(start, end),
            _ => None,
        };
        let second = second.ok_or_else(|| invalid_resume("the second part needs a start and a later end"))?;
        if let Some((id, _)) = times.pop_first() {
            return Err(invalid_resume(format!("`{id}` is neither the event nor its second part")));
        }
        if first.overlaps(&second) {
            return Err(invalid_resume("the two parts overlap"));
        }
        let (after, overrides) = reschedule(&self.snapshot, self.event, &first)?;
        let (rest, _) = reschedule(&self.snapshot, self.event, &second)?;
        let uid = format!("{}{}", self.event.uid, part.strip_prefix(&self.event.id).unwrap_or_default());
        self.put(overrides);
        self.put([Event { id: part, uid, recurrence_override: None, sequence: 0, ..rest }]);
        self.after = after;
        Ok(())
    }

    fn cancel(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        for change in changes {
            if change.action != Some(ChangeAction::Cancel) {
                return Err(mismatch(change, "`cancel`"));
            }
            let id = event_id(change)?;
            if id == self.event.id {
                self.after.status = EventStatus::Rejected;
                continue;
            }
            let other = self.other(id)?;
            let selection = match (&other.recurrence, &other.recurrence_override) {
                (Some(_), _) => {
                    let start = time(change.old_value.as_deref(), "old_value")?;
                    instance_override(&self.snapshot, other, start)?;
                    SeriesSelection::This(NamedTimeZone::from_iana_name(&other.zone)?.to_local(start))
                }
                // An override replaces an instance, which must not reappear when the override is removed.
                (None, Some(replaced)) => SeriesSelection::This(replaced.start),
                (None, None) => {
                    let mut after = other.as_ref().clone();
                    bump_sequence(&mut after);
                    self.put([Event { status: EventStatus::Rejected, ..after }]);
                    continue;
                }
            };
            let changes = series::cancel(&self.snapshot, id, selection, self.now)?;
            changes.into_iter().for_each(|change| self.change(change));
        }
        Ok(())
    }

    fn put(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.change(CalendarChange::Event(Box::new(event))));
    }

    fn change(&mut self, change: CalendarChange) {
        self.snapshot.apply(change.clone());
        self.others.push(change);
    }

    fn override_constraints(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        for change in changes {
            let rule = change.field.as_deref().and_then(|field| field.strip_prefix("constraint:"));
            let Some(id) = rule.filter(|_| self.is_plain(change)) else {
                return Err(mismatch(change, "`field` with `constraint:` and the id of a rule"));
            };
            let rule = self.snapshot.rules.get(id).ok_or_else(|| invalid_resume(format!("rule `{id}` not found")))?;
            if rule.strength == ConstraintStrength::Hard {
                return Err(invalid_resume(format!("the rule `{}` is hard and cannot be overridden", rule.name)));
            }
            let line = override_property(id);
            if !self.after.preserved_properties.contains(&line) {
                self.after.preserved_properties.push(line);
            }
        }
        bump_sequence(&mut self.after);
        Ok(())
    }

    fn swap_resources(&mut self, changes: &[ResolutionChange]) -> Result<()> {
        for change in changes {
            let is_swap = change.field.as_deref() == Some("resources") && self.is_plain(change);
            let (Some(old), Some(new), true) = (&change.old_value, &change.new_value, is_swap) else {
                return Err(mismatch(change, "`field` `resources` with `old_value` and `new_value`"));
            };
            if !self.snapshot.resources.contains_key(new) {
                return Err(invalid_resume(format!("resource `{new}` not found")));
            }
            let used = self.after.resources.iter_mut().find(|used| *used == old);
            let used = used.ok_or_else(|| invalid_resume(format!("`{}` does not use `{old}`", self.event.title)))?;
            used.clone_from(new);
        }
        bump_sequence(&mut self.after);
        Ok(())
    }

    /// Returns true if a change is about the event itself and not about its time.
    fn is_plain(&self, change: &ResolutionChange) -> bool {
        change.action.is_none() && change.event_id.as_ref().is_none_or(|id| *id == self.event.id)
    }

    fn other(&self, id: &str) -> Result<&Arc<Event>> {
        let other = self.snapshot.events.get(id).ok_or_else(|| invalid_resume(format!("event `{id}` not found")))?;
        if !can_modify(&self.snapshot, self.requester, other) {
            let name = self.snapshot.members.get(self.requester).map_or("the requester", |member| member.name.as_str());
            return Err(Error::new(
                ErrorCode::PolicyRefused,
                format!("{name} does not have permission to change events of other members"),
            ));
        }
        // A proposed event belongs to another thread.
        match other.status {
            EventStatus::Confirmed => Ok(other),
            _ => Err(invalid_resume(format!("`{id}` is not on the calendar yet"))),
        }
    }
}

/// Collects the new start and end per changed event.
fn new_times_by_event(changes: &[ResolutionChange], action: ChangeAction) -> Result<BTreeMap<String, NewTimes>> {
    let mut all: BTreeMap<String, NewTimes> = BTreeMap::new();
    for change in changes {
        if change.action != Some(action) {
            return Err(mismatch(change, &format!("`{}`", action_name(action))));
        }
        let times = all.entry(event_id(change)?.to_owned()).or_default();
        let new = Some(time(change.new_value.as_deref(), "new_value")?);
        match change.field.as_deref() {
            Some("start_time") => {
                times.instance = change.old_value.as_deref().map(|old| time(Some(old), "old_value")).transpose()?;
                times.start = new;
            }
            Some("end_time") => times.end = new,
            _ => return Err(mismatch(change, "`field` `start_time` or `end_time`")),
        }
    }
    Ok(all)
}

fn event_id(change: &ResolutionChange) -> Result<&str> {
    change.event_id.as_deref().ok_or_else(|| invalid_resume("a change must name an event"))
}

fn time(text: Option<&str>, field: &str) -> Result<Time> {
    let text = text.ok_or_else(|| invalid_resume(format!("`{field}` is missing; it must be a time")))?;
    Time::parse(text).map_err(|error| invalid_resume(format!("`{field}`: {error}")))
}

fn mismatch(change: &ResolutionChange, expected: &str) -> Error {
    let (field, action) = (change.field.as_deref().unwrap_or("none"), change.action.map_or("none", action_name));
    invalid_resume(format!(
        "a change with field `{field}` and action `{action}` does not match the strategy, which requires {expected}"
    ))
}

fn action_name(action: ChangeAction) -> &'static str {
    match action {
        ChangeAction::Move => "move",
        ChangeAction::Cancel => "cancel",
        ChangeAction::Shorten => "shorten",
        ChangeAction::Split => "split",
    }
}
