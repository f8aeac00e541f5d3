//! Edits of a series: this instance, this and the following, or all.
//!
//! "This" creates an override; "this and following" ends the series before the instance and starts another series
//! there; "all" changes the series itself. Unselected instances stay exactly as they were. Overrides stay as long
//! as the instance that they replace exists.
//!
//! Pure: returns the changes in an order in which a series is inserted before its overrides and removed after them.

mod reschedule;
mod split;

use std::sync::Arc;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::event::{Event, RecurrenceOverride};
use super::recurrence::RecurrenceExpander;
use super::snapshot::{CalendarChange, CalendarSnapshot};
use super::time_range::TimeRange;

pub(crate) use self::reschedule::{Reschedule, reschedule, scheduled_range};

/// Selection of instances of a series. Starts are local times in the time zone of the series. For an instance that
/// was moved, use the id of its override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesSelection {
    /// The instance with this start.
    This(DateTime),
    /// The instance with this start and all later ones.
    Following(DateTime),
    /// All instances.
    All,
}

/// Edits an event, or the selected instances of its series.
///
/// `change` gets the event as it is at the first selected instance. If `change` moves that instance, the others are
/// shifted by the same local duration, and so are EXDATE, RDATE and overrides. If `event_id` is an override and
/// other instances are selected too, `change` is also called for the override, after the others, because the user
/// selected that instance. If nothing changes, the result is empty.
///
/// # Errors
/// Returns an error if the event or instance does not exist, if `change` modifies the identity of the event, or if
/// the recurrence rule does not match the new start.
pub fn edit(
    snapshot: &CalendarSnapshot,
    event_id: &str,
    selection: SeriesSelection,
    now: Time,
    mut change: impl FnMut(&mut Event),
) -> Result<Vec<CalendarChange>> {
    let (before, target) = resolve_target(snapshot, event_id, selection, now)?;
    let after = edited(&before, &mut change)?;
    match target {
        EditTarget::Single if after == before => Ok(Vec::new()),
        EditTarget::Single => {
            let mut after = Event { updated_at: now, ..after };
            split::adjust_rule(&before, &mut after, SignedDuration::ZERO)?;
            Ok(vec![put(after)])
        }
        EditTarget::Series(tail) => {
            let change_shared_fields = |event: &mut Event| {
                change(event);
                // The recurrence is an attribute of the whole series.
                event.recurrence = None;
            };
            let selected = tail.selected.as_ref().map(|selected| edited(selected, change_shared_fields)).transpose()?;
            if after == before {
                return selected.map_or_else(|| Ok(Vec::new()), |selected| tail.selected_changes(selected));
            }
            tail.replacement_changes(&before, Event { updated_at: now, ..after }, selected)
        }
    }
}

/// Applies a change to a copy of an event and checks that its identity stays the same.
fn edited(before: &Event, change: impl FnOnce(&mut Event)) -> Result<Event> {
    let mut after = before.clone();
    change(&mut after);
    let identity = |event: &Event| (event.id.clone(), event.uid.clone(), event.recurrence_override.clone());
    if identity(&after) != identity(before) {
        return Err(input_error("an edit cannot change `id`, `uid` or `exception_of`"));
    }
    if after.recurrence.is_some() && after.recurrence_override.is_some() {
        return Err(input_error(format!(
            "a single instance of `{}` cannot have its own recurrence rule",
            before.title
        )));
    }
    Ok(after)
}

/// Cancels an event, or the selected instances of its series.
///
/// # Errors
/// Returns an error if the event or instance does not exist.
pub fn cancel(
    snapshot: &CalendarSnapshot,
    event_id: &str,
    selection: SeriesSelection,
    now: Time,
) -> Result<Vec<CalendarChange>> {
    let event = find(snapshot, event_id)?;
    let Some(series) = SeriesView::of(snapshot, &event, now)? else {
        return Ok(vec![CalendarChange::RemoveEvent(event.id.clone())]);
    };
    match selection.at(&event) {
        SeriesSelection::This(start) => series.without_instance(series.start(start)?),
        SeriesSelection::Following(start) => series.truncated_before(series.start(start)?),
        SeriesSelection::All => Ok(series.remove_all()),
    }
}

impl SeriesSelection {
    /// Replaces the start by that of the override, if the event is one.
    fn at(self, event: &Event) -> Self {
        match (self, &event.recurrence_override) {
            (Self::This(_), Some(replaced)) => Self::This(replaced.start),
            (Self::Following(_), Some(replaced)) => Self::Following(replaced.start),
            (selection, _) => selection,
        }
    }
}

/// Target of an edit.
enum EditTarget<'a> {
    /// A single event or one instance.
    Single,
    /// A whole series or the rest of one.
    Series(Box<SeriesTail<'a>>),
}

/// Returns the event to edit and the target of the edit.
fn resolve_target<'a>(
    snapshot: &'a CalendarSnapshot,
    event_id: &str,
    selection: SeriesSelection,
    now: Time,
) -> Result<(Event, EditTarget<'a>)> {
    let event = find(snapshot, event_id)?;
    let Some(series) = SeriesView::of(snapshot, &event, now)? else {
        return Ok((with_next_sequence(&event), EditTarget::Single));
    };
    let selected = Some(event.clone()).filter(|event| event.recurrence_override.is_some());
    match selection.at(&event) {
        SeriesSelection::This(start) => Ok((series.instance(series.start(start)?, &event)?, EditTarget::Single)),
        SeriesSelection::Following(start) => {
            let start = series.start(start)?;
            let event = series.tail(start)?;
            let head = series.has_before(start)?.then(|| series.head(start)).transpose()?;
            Ok((event, EditTarget::Series(Box::new(SeriesTail { series, start: Some(start), head, selected }))))
        }
        SeriesSelection::All => {
            let event = with_next_sequence(&series.event);
            Ok((event, EditTarget::Series(Box::new(SeriesTail { series, start: None, head: None, selected }))))
        }
    }
}

fn find(snapshot: &CalendarSnapshot, event_id: &str) -> Result<Arc<Event>> {
    let not_found = || input_error(format!("event `{event_id}` not found"));
    snapshot.events.get(event_id).cloned().ok_or_else(not_found)
}

fn input_error(reason: impl Into<String>) -> Error {
    Error::new(ErrorCode::InputInvalid, reason)
}

/// Returns the event with SEQUENCE incremented.
fn with_next_sequence(event: &Event) -> Event {
    Event { sequence: event.sequence + 1, ..event.clone() }
}

fn put(event: Event) -> CalendarChange {
    CalendarChange::Event(Box::new(event))
}

/// A series in a snapshot.
struct SeriesView<'a> {
    snapshot: &'a CalendarSnapshot,
    event: Arc<Event>,
    expander: Arc<RecurrenceExpander>,
    /// Overrides with the start of the instance they replace.
    overrides: Vec<(Time, Arc<Event>)>,
    now: Time,
}

impl<'a> SeriesView<'a> {
    /// Returns the series of an event: the event itself, or the series that the event overrides.
    fn of(snapshot: &'a CalendarSnapshot, event: &Arc<Event>, now: Time) -> Result<Option<Self>> {
        let series = event
            .recurrence_override
            .as_ref()
            .and_then(|replaced| snapshot.events.get(&replaced.series))
            .unwrap_or(event)
            .clone();
        if series.recurrence.is_none() {
            return Ok(None);
        }
        let expander = snapshot.expander(&series)?;
        let mut overrides = Vec::new();
        for override_event in snapshot.overrides_of(&series.id) {
            if let Some(replaced) = &override_event.recurrence_override {
                overrides.push((expander.instant(replaced.start)?, override_event.clone()));
            }
        }
        Ok(Some(Self { snapshot, event: series, expander, overrides, now }))
    }

    /// Returns the instant of an instance, given its local start.
    fn start(&self, local_time: DateTime) -> Result<Time> {
        let start = self.expander.instant(local_time)?;
        if self.expander.has(start)? {
            return Ok(start);
        }
        Err(input_error(format!("`{}` does not start at {local_time}", self.event.title))
            .with_help("use the start of an instance"))
    }

    /// Returns true if an instance starts before this instant.
    fn has_before(&self, start: Time) -> Result<bool> {
        Ok(!self.expander.starts(self.expander.earliest(), start)?.is_empty())
    }

    /// Returns the override for an instance: the existing one, or a new one.
    fn instance(&self, start: Time, selected: &Arc<Event>) -> Result<Event> {
        let existing = self.overrides.iter().filter(|(at, _)| *at == start).map(|(_, override_event)| override_event);
        if let Some(override_event) = existing.max_by_key(|candidate| candidate.id == selected.id) {
            return Ok(with_next_sequence(override_event));
        }
        let local_time = self.expander.local_start(start);
        Ok(Event {
            id: self.free_id(&format!("{}_{}", self.event.id, format_local_start(local_time))),
            span: self.span_at(start)?,
            recurrence: None,
            recurrence_override: Some(RecurrenceOverride { series: self.event.id.clone(), start: local_time }),
            created_at: self.now,
            ..with_next_sequence(&self.event)
        })
    }

    /// Returns an id that no other event has.
    fn free_id(&self, base: &str) -> String {
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let mut ids = std::iter::once(base.to_owned()).chain(numbered);
        ids.find(|id| !self.snapshot.events.contains_key(id)).unwrap_or_else(|| base.to_owned())
    }

    fn span_at(&self, start: Time) -> Result<TimeRange> {
        let empty = || input_error(format!("`{}` ends before it starts", self.event.title));
        self.expander.span_at(start)?.ok_or_else(empty)
    }

    /// Removes one instance from the series.
    fn without_instance(&self, start: Time) -> Result<Vec<CalendarChange>> {
        let mut event = with_next_sequence(&self.event);
        event.updated_at = self.now;
        if let Some(recurrence) = &mut event.recurrence {
            recurrence.exdates.push(self.expander.local_start(start));
            recurrence.exdates.sort_unstable();
        }
        if RecurrenceExpander::from_event(&event)?.is_empty()? {
            return Ok(self.remove_all());
        }
        let mut changes = self.remove_overrides(|start_time| start_time == start);
        changes.push(put(event));
        Ok(changes)
    }

    /// Removes an instance and all later ones.
    fn truncated_before(&self, start: Time) -> Result<Vec<CalendarChange>> {
        if !self.has_before(start)? {
            return Ok(self.remove_all());
        }
        let mut changes = self.remove_overrides(|start_time| start_time >= start);
        changes.push(put(self.head(start)?));
        Ok(changes)
    }

    fn remove_all(&self) -> Vec<CalendarChange> {
        let mut changes = self.remove_overrides(|_| true);
        changes.push(CalendarChange::RemoveEvent(self.event.id.clone()));
        changes
    }

    fn remove_overrides(&self, is_selected: impl Fn(Time) -> bool) -> Vec<CalendarChange> {
        let matching = self.overrides.iter().filter(|(start, _)| is_selected(*start));
        matching.map(|(_, override_event)| CalendarChange::RemoveEvent(override_event.id.clone())).collect()
    }
}

/// The part of a series that is edited, and the part before it.
struct SeriesTail<'a> {
    series: SeriesView<'a>,
    /// Start of the first edited instance; `None` if the whole series is edited.
    start: Option<Time>,
    head: Option<Event>,
    /// The override by which the user selected the series.
    selected: Option<Arc<Event>>,
}

impl SeriesTail<'_> {
    /// Returns the changes that replace this part by the edited event, and the selecting override by its edited
    /// version.
    fn replacement_changes(
        self,
        before: &Event,
        mut after: Event,
        selected: Option<Event>,
    ) -> Result<Vec<CalendarChange>> {
        let shift = self.shift(before, &after)?;
        split::adjust_rule(before, &mut after, shift)?;
        let expander = RecurrenceExpander::from_event(&after)?;
        let mut changes: Vec<_> = self.head.map(put).into_iter().collect();
        let (mut updated, mut removed) = (Vec::new(), Vec::new());
        for (start, override_event) in &self.series.overrides {
            if self.start.is_some_and(|from| *start < from) {
                continue;
            }
            let selected = selected.as_ref().filter(|selected| selected.id == override_event.id);
            match moved(selected.unwrap_or(override_event), &after, &expander, shift)? {
                None => removed.push(CalendarChange::RemoveEvent(override_event.id.clone())),
                Some(moved) if selected.is_some() && is_redundant(&moved, &after, &expander)? => {
                    removed.push(CalendarChange::RemoveEvent(override_event.id.clone()));
                }
                Some(moved) if moved == **override_event => {}
                Some(moved) => updated.push(put(Event { updated_at: self.series.now, ..with_next_sequence(&moved) })),
            }
        }
        changes.push(put(after));
        changes.extend(updated);
        changes.extend(removed);
        Ok(changes)
    }

    /// Returns the changes if only the selecting override differs, because the series already matches the edit.
    fn selected_changes(&self, selected: Event) -> Result<Vec<CalendarChange>> {
        if self.selected.as_deref() == Some(&selected) {
            return Ok(Vec::new());
        }
        if is_redundant(&selected, &self.series.event, &self.series.expander)? {
            return Ok(vec![CalendarChange::RemoveEvent(selected.id)]);
        }
        Ok(vec![put(Event { updated_at: self.series.now, ..with_next_sequence(&selected) })])
    }

    /// Returns the local duration by which an edit moved the instances.
    fn shift(&self, before: &Event, after: &Event) -> Result<SignedDuration> {
        if before.span.start == after.span.start && before.zone == after.zone && before.is_all_day == after.is_all_day {
            return Ok(SignedDuration::ZERO);
        }
        // The rule counts from its own local time, even if a clock change skips that time.
        let from = self.series.expander.rule_local_time(before.span.start)?;
        Ok(RecurrenceExpander::from_event(after)?.first().duration_since(from))
    }
}

/// Moves an override to the edited series. Returns `None` if the instance no longer exists.
fn moved(
    override_event: &Event,
    series: &Event,
    expander: &RecurrenceExpander,
    shift: SignedDuration,
) -> Result<Option<Event>> {
    let Some(replaced) = &override_event.recurrence_override else { return Ok(None) };
    let start = replaced.start.saturating_add(shift);
    let exists = series.recurrence.is_some() && expander.has(expander.instant(start)?)?;
    Ok(exists.then(|| Event {
        uid: series.uid.clone(),
        recurrence_override: Some(RecurrenceOverride { series: series.id.clone(), start }),
        ..override_event.clone()
    }))
}

/// Returns true if an override no longer differs from its series.
fn is_redundant(override_event: &Event, series: &Event, expander: &RecurrenceExpander) -> Result<bool> {
    let Some(replaced) = &override_event.recurrence_override else { return Ok(false) };
    let normalized = Event {
        id: series.id.clone(),
        span: series.span,
        recurrence: series.recurrence.clone(),
        recurrence_override: None,
        sequence: series.sequence,
        created_at: series.created_at,
        updated_at: series.updated_at,
        ..override_event.clone()
    };
    Ok(normalized == *series && expander.span_at(expander.instant(replaced.start)?)? == Some(override_event.span))
}

/// Returns true if a series has an instance with this start.
///
/// # Errors
/// Returns an error if the recurrence rule or the time zone is invalid.
pub(crate) fn has(series: &Event, start: Time) -> Result<bool> {
    Ok(series.recurrence.is_some() && RecurrenceExpander::from_event(series)?.has(start)?)
}

/// Formats a local start as part of an id.
fn format_local_start(local_time: DateTime) -> String {
    local_time.strftime("%Y%m%dT%H%M%S").to_string()
}
