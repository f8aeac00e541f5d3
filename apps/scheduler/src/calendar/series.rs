//! Changes to a series: this one, this and the following, all.
//!
//! One instance becomes an exception of its own; "this and following" ends the series before it and starts another one
//! there; "all" changes the series itself. Instances that are not meant stay exactly as they were, and so do exceptions
//! as long as there is an instance that they stand for.
//!
//! Pure: says what is to be changed, in an order in which a series is there before its exceptions and gone after them.

mod parts;
mod retime;

use std::sync::Arc;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::board::{Board, Change};
use super::event::{Event, ExceptionOf};
use super::recurrence::Timetable;
use super::span::Span;

pub(crate) use self::retime::{Retiming, retime, ruled};

/// Which instances of a series are meant. Starts are those on the wall of the series' zone; for an instance that was
/// moved, give the id of its exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The one that starts then.
    This(DateTime),
    /// That one and all after it.
    Following(DateTime),
    /// All.
    All,
}

/// Changes an event, or the instances that are meant of its series.
///
/// The function gets the event at the first of those instances. When it moves that one, the others move as far on the
/// wall, together with what was left out, added or changed among them. Where the event stands for an instance and others
/// are meant as well, the function gets it too, after them: who asks by the one that was moved means that one. Nothing is
/// to do where it changes nothing.
///
/// # Errors
/// When there is no such event or instance, when the function changes what the event is known by, or when the rule does
/// not fall where it moved the event.
pub fn edit(
    board: &Board,
    event_id: &str,
    which: Which,
    now: Time,
    mut change: impl FnMut(&mut Event),
) -> Result<Vec<Change>> {
    let (before, aim) = aim(board, event_id, which, now)?;
    let after = edited(&before, &mut change)?;
    match aim {
        Aim::One if after == before => Ok(Vec::new()),
        Aim::One => {
            let mut after = Event { updated_at: now, ..after };
            parts::fit(&before, &mut after, SignedDuration::ZERO)?;
            Ok(vec![put(after)])
        }
        Aim::Series(rest) => {
            let follow = |event: &mut Event| {
                change(event);
                // How it repeats is the matter of all.
                event.recurrence = None;
            };
            let asked = rest.asked.as_ref().map(|asked| edited(asked, follow)).transpose()?;
            if after == before {
                return asked.map_or_else(|| Ok(Vec::new()), |asked| rest.alone(asked));
            }
            rest.changed(&before, Event { updated_at: now, ..after }, asked)
        }
    }
}

/// An event after a change.
fn edited(before: &Event, change: impl FnOnce(&mut Event)) -> Result<Event> {
    let mut after = before.clone();
    change(&mut after);
    let identity = |event: &Event| (event.id.clone(), event.uid.clone(), event.exception_of.clone());
    if identity(&after) != identity(before) {
        return Err(refused("an edit leaves `id`, `uid` and `exception_of` as they are"));
    }
    if after.recurrence.is_some() && after.exception_of.is_some() {
        return Err(refused(format!("one instance of `{}` cannot repeat by itself", before.title)));
    }
    Ok(after)
}

/// Cancels an event, or the instances that are meant of its series.
///
/// # Errors
/// When there is no such event or instance.
pub fn cancel(board: &Board, event_id: &str, which: Which, now: Time) -> Result<Vec<Change>> {
    let event = find(board, event_id)?;
    let Some(series) = Series::of(board, &event, now)? else { return Ok(vec![Change::RemoveEvent(event.id.clone())]) };
    match which.at(&event) {
        Which::This(start) => series.without(series.start(start)?),
        Which::Following(start) => series.only_before(series.start(start)?),
        Which::All => Ok(series.gone()),
    }
}

impl Which {
    /// An exception knows itself which instance it stands for.
    fn at(self, event: &Event) -> Self {
        match (self, &event.exception_of) {
            (Self::This(_), Some(of)) => Self::This(of.start),
            (Self::Following(_), Some(of)) => Self::Following(of.start),
            (which, _) => which,
        }
    }
}

/// What is done with an edited event.
enum Aim<'a> {
    /// It stands alone.
    One,
    /// It is a series, or the rest of one.
    Series(Box<Rest<'a>>),
}

/// The event that an edit is about, as it is now, and what is done with it then.
fn aim<'a>(board: &'a Board, event_id: &str, which: Which, now: Time) -> Result<(Event, Aim<'a>)> {
    let event = find(board, event_id)?;
    let Some(series) = Series::of(board, &event, now)? else { return Ok((raised(&event), Aim::One)) };
    let asked = Some(event.clone()).filter(|event| event.exception_of.is_some());
    match which.at(&event) {
        Which::This(start) => Ok((series.instance(series.start(start)?, &event)?, Aim::One)),
        Which::Following(start) => {
            let start = series.start(start)?;
            let event = series.rest(start)?;
            let head = series.has_before(start)?.then(|| series.head(start)).transpose()?;
            Ok((event, Aim::Series(Box::new(Rest { series, start: Some(start), head, asked }))))
        }
        Which::All => {
            let event = raised(&series.event);
            Ok((event, Aim::Series(Box::new(Rest { series, start: None, head: None, asked }))))
        }
    }
}

fn find(board: &Board, event_id: &str) -> Result<Arc<Event>> {
    let missing = || refused(format!("there is no event `{event_id}`"));
    board.events.get(event_id).cloned().ok_or_else(missing)
}

fn refused(why: impl Into<String>) -> Error {
    Error::new(Code::InputInvalid, why)
}

/// The event with its next number.
fn raised(event: &Event) -> Event {
    Event { sequence: event.sequence + 1, ..event.clone() }
}

fn put(event: Event) -> Change {
    Change::Event(Box::new(event))
}

/// A series on the board.
struct Series<'a> {
    board: &'a Board,
    event: Arc<Event>,
    table: Arc<Timetable>,
    /// Each with the start that it stands for.
    exceptions: Vec<(Time, Arc<Event>)>,
    now: Time,
}

impl<'a> Series<'a> {
    /// The series that an event is, or is an exception of.
    fn of(board: &'a Board, event: &Arc<Event>, now: Time) -> Result<Option<Self>> {
        let series = event.exception_of.as_ref().and_then(|of| board.events.get(&of.series)).unwrap_or(event).clone();
        if series.recurrence.is_none() {
            return Ok(None);
        }
        let table = board.timetable(&series)?;
        let mut exceptions = Vec::new();
        for exception in board.exceptions_of(&series.id) {
            if let Some(of) = &exception.exception_of {
                exceptions.push((table.instant(of.start)?, exception.clone()));
            }
        }
        Ok(Some(Self { board, event: series, table, exceptions, now }))
    }

    /// When the instance is that has this start.
    fn start(&self, wall: DateTime) -> Result<Time> {
        let start = self.table.instant(wall)?;
        if self.table.has(start)? {
            return Ok(start);
        }
        Err(refused(format!("`{}` does not start at {wall}", self.event.title)).help("name the start of an instance"))
    }

    /// Whether anything of it is before.
    fn has_before(&self, start: Time) -> Result<bool> {
        Ok(!self.table.starts(self.table.earliest(), start)?.is_empty())
    }

    /// The exception that stands for an instance, new or as it is.
    fn instance(&self, start: Time, asked: &Arc<Event>) -> Result<Event> {
        let standing = self.exceptions.iter().filter(|(one, _)| *one == start).map(|(_, exception)| exception);
        if let Some(exception) = standing.max_by_key(|one| one.id == asked.id) {
            return Ok(raised(exception));
        }
        let wall = self.table.wall(start);
        Ok(Event {
            id: self.free_id(&format!("{}_{}", self.event.id, written(wall))),
            span: self.span_at(start)?,
            recurrence: None,
            exception_of: Some(ExceptionOf { series: self.event.id.clone(), start: wall }),
            created_at: self.now,
            ..raised(&self.event)
        })
    }

    /// Such an id as nothing else on the board has.
    fn free_id(&self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut ids = std::iter::once(wanted.to_owned()).chain(numbered);
        ids.find(|id| !self.board.events.contains_key(id)).unwrap_or_else(|| wanted.to_owned())
    }

    fn span_at(&self, start: Time) -> Result<Span> {
        let empty = || refused(format!("`{}` ends before it starts", self.event.title));
        self.table.span_at(start)?.ok_or_else(empty)
    }

    /// The series without one instance.
    fn without(&self, start: Time) -> Result<Vec<Change>> {
        let mut event = raised(&self.event);
        event.updated_at = self.now;
        if let Some(recurrence) = &mut event.recurrence {
            recurrence.left_out.push(self.table.wall(start));
            recurrence.left_out.sort_unstable();
        }
        if Timetable::read(&event)?.is_empty()? {
            return Ok(self.gone());
        }
        let mut changes = self.remove_exceptions(|one| one == start);
        changes.push(put(event));
        Ok(changes)
    }

    /// The series without an instance and all after it.
    fn only_before(&self, start: Time) -> Result<Vec<Change>> {
        if !self.has_before(start)? {
            return Ok(self.gone());
        }
        let mut changes = self.remove_exceptions(|one| one >= start);
        changes.push(put(self.head(start)?));
        Ok(changes)
    }

    fn gone(&self) -> Vec<Change> {
        let mut changes = self.remove_exceptions(|_| true);
        changes.push(Change::RemoveEvent(self.event.id.clone()));
        changes
    }

    fn remove_exceptions(&self, is_meant: impl Fn(Time) -> bool) -> Vec<Change> {
        let meant = self.exceptions.iter().filter(|(start, _)| is_meant(*start));
        meant.map(|(_, exception)| Change::RemoveEvent(exception.id.clone())).collect()
    }
}

/// The part of a series that is edited, and what stays before it.
struct Rest<'a> {
    series: Series<'a>,
    /// Its first instance; none when it is the whole series.
    start: Option<Time>,
    head: Option<Event>,
    /// The one that was moved and is asked by.
    asked: Option<Arc<Event>>,
}

impl Rest<'_> {
    /// What is to be changed so that this part becomes the edited event, and the one that is asked by what it is edited to.
    fn changed(self, before: &Event, mut after: Event, asked: Option<Event>) -> Result<Vec<Change>> {
        let shift = self.shift(before, &after)?;
        parts::fit(before, &mut after, shift)?;
        let table = Timetable::read(&after)?;
        let mut changes: Vec<_> = self.head.map(put).into_iter().collect();
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for (start, exception) in &self.series.exceptions {
            if self.start.is_some_and(|from| *start < from) {
                continue;
            }
            let asked = asked.as_ref().filter(|asked| asked.id == exception.id);
            match moved(asked.unwrap_or(exception), &after, &table, shift)? {
                None => gone.push(Change::RemoveEvent(exception.id.clone())),
                Some(moved) if asked.is_some() && is_plain(&moved, &after, &table)? => {
                    gone.push(Change::RemoveEvent(exception.id.clone()));
                }
                Some(moved) if moved == **exception => {}
                Some(moved) => kept.push(put(Event { updated_at: self.series.now, ..raised(&moved) })),
            }
        }
        changes.push(put(after));
        changes.extend(kept);
        changes.extend(gone);
        Ok(changes)
    }

    /// The same where only the one that is asked by becomes different: the others are so already.
    fn alone(&self, asked: Event) -> Result<Vec<Change>> {
        if self.asked.as_deref() == Some(&asked) {
            return Ok(Vec::new());
        }
        if is_plain(&asked, &self.series.event, &self.series.table)? {
            return Ok(vec![Change::RemoveEvent(asked.id)]);
        }
        Ok(vec![put(Event { updated_at: self.series.now, ..raised(&asked) })])
    }

    /// How far an edit moved the instances on the wall.
    fn shift(&self, before: &Event, after: &Event) -> Result<SignedDuration> {
        if before.span.start == after.span.start && before.zone == after.zone && before.is_all_day == after.is_all_day {
            return Ok(SignedDuration::ZERO);
        }
        // The rule counts from what it has on the wall, even where clocks skip that.
        let from = self.series.table.rule_wall(before.span.start)?;
        Ok(Timetable::read(after)?.first().duration_since(from))
    }
}

/// An exception for the same instance of what its series has become; none when there is no such instance any more.
fn moved(exception: &Event, series: &Event, table: &Timetable, shift: SignedDuration) -> Result<Option<Event>> {
    let Some(of) = &exception.exception_of else { return Ok(None) };
    let start = of.start.saturating_add(shift);
    let stands = series.recurrence.is_some() && table.has(table.instant(start)?)?;
    Ok(stands.then(|| Event {
        uid: series.uid.clone(),
        exception_of: Some(ExceptionOf { series: series.id.clone(), start }),
        ..exception.clone()
    }))
}

/// Whether an exception is no longer one: just as its series has it.
fn is_plain(exception: &Event, series: &Event, table: &Timetable) -> Result<bool> {
    let Some(of) = &exception.exception_of else { return Ok(false) };
    let as_ruled = Event {
        id: series.id.clone(),
        span: series.span,
        recurrence: series.recurrence.clone(),
        exception_of: None,
        sequence: series.sequence,
        created_at: series.created_at,
        updated_at: series.updated_at,
        ..exception.clone()
    };
    Ok(as_ruled == *series && table.span_at(table.instant(of.start)?)? == Some(exception.span))
}

/// Whether a series has an instance with this start.
///
/// # Errors
/// When its rule or its zone cannot be read.
pub(crate) fn has(series: &Event, start: Time) -> Result<bool> {
    Ok(series.recurrence.is_some() && Timetable::read(series)?.has(start)?)
}

/// A start as part of an id.
fn written(wall: DateTime) -> String {
    wall.strftime("%Y%m%dT%H%M%S").to_string()
}
