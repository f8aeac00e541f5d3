//! What somebody wants to be different about an event, and what that comes to on a calendar.
//!
//! Times are those of the instance that was looked at: where all of a series move, they move as far as that one.

use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};
use utoipa::ToSchema;

use super::refusal::wrong;
use crate::agents::conflicts::{self, Standing};
use crate::agents::{may_change_which, words};
use crate::calendar::series::{self, Retiming, Which};
use crate::calendar::{Board, Change, Event, Flexibility, Participant, Priority, Recurrence, Span, check_rule};
use crate::models::{Conflict, ConflictType};
use crate::zone::Zone;

/// What is to be different; what is not named stays.
#[derive(Debug, Clone, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Patch {
    /// Who changes it.
    pub(super) user_id: String,
    /// Which of a series: `this`, `following` or `all`.
    #[schema(value_type = Option<String>)]
    pub(super) which: Option<Scope>,
    /// The instance that is meant: its start on the wall, as `occurrence` of an event tells it.
    pub(super) occurrence: Option<String>,
    title: Option<String>,
    /// When it starts; without an offset on the wall of who asks.
    start: Option<String>,
    /// When it ends; as long as before unless told.
    end: Option<String>,
    participants: Option<Vec<Taking>>,
    resources: Option<Vec<String>>,
    /// How it repeats, as a value of RRULE; null when it does not any more.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>")]
    #[schema(value_type = Option<String>)]
    recurrence_rule: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    priority: Option<Priority>,
    #[schema(value_type = Option<String>)]
    flexibility: Option<Flexibility>,
    location: Option<String>,
    notes: Option<String>,
    /// Whether it is written although something stands in the way; what is full stays full.
    #[serde(default)]
    pub(super) force: bool,
}

/// Somebody who takes part.
#[derive(Debug, Clone, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Taking {
    /// The id of a member.
    id: String,
    /// Whether it cannot be without them; it cannot unless told.
    #[serde(default = "yes")]
    is_required: bool,
}

const fn yes() -> bool {
    true
}

/// Which of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    This,
    Following,
    All,
}

/// A field that is there, be it null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// What a change comes to.
#[derive(Debug, Clone)]
pub(super) struct Edited {
    /// The event as it would be.
    pub(super) event: Event,
    pub(super) changes: Vec<Change>,
    /// What would stand in its way.
    pub(super) conflicts: Vec<Conflict>,
    /// Whether that is new: who only changes words need not make room.
    is_placed_anew: bool,
    /// When the one is then that was looked at.
    pub(super) told: Span,
}

impl Edited {
    /// Whether it is not written because of what stands in the way.
    pub(super) fn is_blocked(&self, is_forced: bool) -> bool {
        let blocking = || self.conflicts.iter().filter(|conflict| conflict.severity.is_blocking());
        self.is_placed_anew && blocking().next().is_some() && !(is_forced && self.can_be_forced())
    }

    /// Whether nothing is full.
    pub(super) fn can_be_forced(&self) -> bool {
        let is_full = |one: &Conflict| one.severity.is_blocking() && one.kind == ConflictType::ResourceConflict;
        !self.conflicts.iter().any(is_full)
    }
}

/// A start on the wall.
///
/// # Errors
/// When it is none.
pub(super) fn wall(text: &str) -> Result<DateTime> {
    let wall: Result<DateTime, _> = text.parse();
    wall.map_err(|_| wrong("/occurrence", format!("`{text}` is no time on the wall such as `2026-01-06T17:00:00`")))
}

/// Which instances are meant of an event.
///
/// # Errors
/// When it is one of a series, and nobody says which.
pub(super) fn which(event: &Event, scope: Option<Scope>, occurrence: Option<DateTime>) -> Result<Which> {
    if event.recurrence.is_none() && event.exception_of.is_none() {
        return Ok(Which::All);
    }
    // An exception knows itself which one it is.
    let at = event.exception_of.as_ref().map(|of| of.start).or(occurrence);
    match (scope, at) {
        (Some(Scope::All), _) | (None, None) => Ok(Which::All),
        (Some(Scope::This) | None, Some(at)) => Ok(Which::This(at)),
        (Some(Scope::Following), Some(at)) => Ok(Which::Following(at)),
        (Some(_), None) => Err(wrong("/occurrence", "this is missing: it says which one of the series is meant")),
    }
}

impl Patch {
    /// What the change comes to on a calendar.
    ///
    /// # Errors
    /// `NotFound`, `PolicyRefused`, or what cannot be so with its place.
    pub(super) fn on(&self, board: &Board, id: &str, now: Time, zone: &Zone) -> Result<Edited> {
        let missing = || Error::new(Code::NotFound, format!("there is no event `{id}`"));
        let known = board.events.get(id).ok_or_else(missing)?;
        let occurrence = self.occurrence.as_deref().map(wall).transpose()?;
        let which = which(known, self.which, occurrence)?;
        if !may_change_which(board, &self.user_id, known, which) {
            return Err(Error::new(Code::PolicyRefused, "this event is not yours to change"));
        }
        let seen = seen(known, occurrence)?;
        let wanted = self.wanted(&seen, zone)?;
        let ruled = series::ruled(board, known, which)?;
        let time = wanted.map(|wanted| Retiming { seen, wanted, ruled });
        let (mut met, mut applied) = (None, Ok(()));
        let changes = series::edit(board, id, which, now, |event| {
            let before = event.clone();
            if applied.is_ok() {
                applied = self.apply(event, board, time.as_ref());
            }
            // Of a series and the one that was moved, the series.
            met.get_or_insert_with(|| (before, event.clone()));
        });
        // What is wrong with the body is said before what comes of it.
        applied?;
        let changes = changes?;
        let Some((before, after)) = met else { return Err(Error::internal("an edit without an event")) };
        let mut copy = board.clone();
        changes.iter().cloned().for_each(|change| copy.apply(change));
        let event = copy.events.get(&after.id).map_or(after, |event| (**event).clone());
        let Standing { own, others } = conflicts::of_changes(board, &copy, (&event, &changes), &self.user_id, now)?;
        let is_placed_anew = place(&before) != place(&event) || !others.is_empty();
        let conflicts = own.into_iter().chain(others).collect();
        Ok(Edited { event, changes, conflicts, is_placed_anew, told: wanted.unwrap_or(seen) })
    }

    fn apply(&self, event: &mut Event, board: &Board, time: Option<&Retiming>) -> Result<()> {
        if let Some(title) = &self.title {
            let title = title.trim();
            if title.is_empty() {
                return Err(wrong("/title", "an event has a name"));
            }
            title.clone_into(&mut event.title);
        }
        time.map_or(Ok(()), |time| series::retime(event, time))?;
        self.take(event, board)?;
        self.repeat(event)?;
        event.priority = self.priority.unwrap_or(event.priority);
        event.flexibility = self.flexibility.unwrap_or(event.flexibility);
        event.location = self.location.clone().unwrap_or_else(|| event.location.clone());
        event.notes = self.notes.clone().unwrap_or_else(|| event.notes.clone());
        Ok(())
    }

    /// When the one that was looked at is wanted; nothing where no time is named.
    fn wanted(&self, seen: &Span, zone: &Zone) -> Result<Option<Span>> {
        if self.start.is_none() && self.end.is_none() {
            return Ok(None);
        }
        let read = |pointer: &str, text: &str| {
            Time::parse_event(text, zone.name()).map_err(|fault| wrong(pointer, fault.message.clone()))
        };
        let start = self.start.as_deref().map(|text| read("/start", text)).transpose()?;
        let end = self.end.as_deref().map(|text| read("/end", text)).transpose()?;
        let same_length = |start: Time| later(start, seen.end.as_unix_micros() - seen.start.as_unix_micros());
        let end = end.or(start.map(same_length)).unwrap_or(seen.end);
        let start = start.unwrap_or(seen.start);
        let Some(wanted) = Span::new(start, end) else {
            return Err(wrong("/end", format!("it would end at {end}, and starts at {start}")));
        };
        if wanted.is_too_long() {
            return Err(wrong("/end", "an event is at most a year long"));
        }
        Ok(Some(wanted))
    }

    /// Who takes part, and with what.
    fn take(&self, event: &mut Event, board: &Board) -> Result<()> {
        if let Some(people) = &self.participants {
            if let Some(place) = people.iter().position(|one| !board.members.contains_key(&one.id)) {
                let fact = format!("nobody of the family is called `{}`", people[place].id);
                return Err(wrong(&format!("/participants/{place}/id"), fact));
            }
            let taking = |one: &Taking| Participant { member: one.id.clone(), is_required: one.is_required };
            event.participants = people.iter().map(taking).collect();
        }
        if let Some(things) = &self.resources {
            if let Some(place) = things.iter().position(|id| !board.resources.contains_key(id)) {
                let known: Vec<&str> = board.resources.keys().map(String::as_str).collect();
                let fact = format!("there is no `{}`; the family has {}", things[place], words::list(&known));
                return Err(wrong(&format!("/resources/{place}"), fact));
            }
            event.resources.clone_from(things);
        }
        Ok(())
    }

    fn repeat(&self, event: &mut Event) -> Result<()> {
        let is_of_others = event.exception_of.is_some() && matches!(self.which, Some(Scope::Following | Scope::All));
        let Some(rule) = self.recurrence_rule.as_ref().filter(|_| !is_of_others) else { return Ok(()) };
        let Some(rule) = rule.as_deref().map(str::trim).filter(|rule| !rule.is_empty()) else {
            event.recurrence = None;
            return Ok(());
        };
        let zone = Zone::named(&event.zone)?;
        let checked = check_rule(rule, zone.wall(event.span.start), &zone);
        let checked = checked.map_err(|error| wrong("/recurrence_rule", error.message()))?;
        let (left_out, added) = event.recurrence.take().map(|old| (old.left_out, old.added)).unwrap_or_default();
        event.recurrence = Some(Recurrence { rule: checked.rule, left_out, added });
        Ok(())
    }
}

/// What makes that something can be in the way.
fn place(event: &Event) -> (Span, bool, &[Participant], &[String], Option<&Recurrence>) {
    (event.span, event.is_all_day, event.participants.as_slice(), event.resources.as_slice(), event.recurrence.as_ref())
}

/// The times of the instance that was looked at.
fn seen(event: &Event, occurrence: Option<DateTime>) -> Result<Span> {
    let Some(at) = occurrence.filter(|_| event.recurrence.is_some()) else { return Ok(event.span) };
    let zone = Zone::named(&event.zone)?;
    let start = zone.instant(at)?;
    // How far all move is counted from there.
    if !series::has(event, start)? {
        return Err(wrong("/occurrence", format!("`{}` does not start at {at}", event.title)));
    }
    let length = zone.wall(event.span.end).duration_since(zone.wall(event.span.start));
    Ok(Span { start, end: zone.instant(at.saturating_add(length))? })
}

fn later(time: Time, micros: i64) -> Time {
    Time::from_unix_micros(time.as_unix_micros().saturating_add(micros)).unwrap_or(time)
}
