//! Taking a change back, out of what the audit remembers.
//!
//! What others did since stays: an event comes back only where there is still room for it. Room is what was there when the
//! change was made, so that a conflict that the family lived with then is none that stands in the way now.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::cell::damaged;
use super::flow::Work;
use super::plan::Decision;
use super::{Calendars, Changed};
use crate::agents::{conflicts, scan};
use crate::audit::{Entry, Image, Kind};
use crate::calendar::{Board, Change, Event, Resource, Role};
use crate::models::{Conflict, ConflictType, EventStatus};

/// For how long a change can be taken back, in microseconds: ten minutes.
const OPEN: i64 = 10 * 60 * 1_000_000;

/// What became of the wish to take a change back.
#[derive(Debug, Clone, PartialEq)]
pub enum Undone {
    /// It is taken back.
    Done(Changed),
    /// This person has changed nothing in the last ten minutes that could be taken back.
    Nothing,
    /// Somebody has changed the same since: the ids of what. Nothing was written.
    Touched(Vec<String>),
    /// What would come back has no room any more, or what it would take away is in use. Nothing was written.
    Blocked(Vec<Conflict>),
}

impl Calendars {
    /// Takes back the last thing that somebody changed on the calendar, in the last ten minutes, if nobody has touched the
    /// same since, nor an instance of the same series, and nothing blocks what comes back. Called again, it goes on with the
    /// one before. What was on its way when it was confirmed is rejected: only what is confirmed shows on a calendar.
    /// Calendars that were made stay, empty; conflicts are looked for anew by [`scan`](super::Options::scan).
    ///
    /// # Errors
    /// As [`Calendars::change`]; `PolicyRefused` where it changes the family, and who asks is no parent any more.
    pub async fn undo(&self, family: &str, who: &str, now: Time) -> Result<Undone> {
        let outcome = Arc::new(OnceLock::new());
        let (told, person) = (outcome.clone(), who.to_owned());
        let decide = move |board: &Board, entries: &[Entry]| {
            let refused = match find(entries, &person) {
                None => Undone::Nothing,
                Some(entry) => match touched_since(entries, entry) {
                    touched if touched.is_empty() => {
                        let changes = reverse(entry, now)?;
                        check_right(board, entry, &changes, &person)?;
                        let room = Room { board, then: before(board, entries, entry)?, changes: &changes, now };
                        match room.missing(&person)? {
                            blocking if blocking.is_empty() => {
                                return Ok(Decision { changes, undoes: Some(entry.revision) });
                            }
                            blocking => Undone::Blocked(blocking),
                        }
                    }
                    touched => Undone::Touched(touched),
                },
            };
            // It is decided once, so nobody was here before.
            let _ = told.set(refused);
            Ok(Vec::new().into())
        };
        let work = self.work(family, (who, "undo"), Box::new(decide))?;
        let since = Some(now.as_unix_micros().saturating_sub(OPEN));
        let changed = self.run(Work { since, ..work }).await?;
        Ok(outcome.get().cloned().unwrap_or(Undone::Done(changed)))
    }
}

/// The revisions that were taken back, and those that did so: together they are as if nothing had been.
fn settled(entries: &[Entry]) -> BTreeSet<u64> {
    let undone = |entry: &Entry| entry.undoes.map(|undone| [entry.revision, undone]);
    entries.iter().filter_map(undone).flatten().collect()
}

/// The newest change of somebody that shows, and was not taken back.
fn find<'a>(entries: &'a [Entry], who: &str) -> Option<&'a Entry> {
    let settled = settled(entries);
    let is_open = |entry: &&Entry| entry.who == who && !settled.contains(&entry.revision);
    let is_birth =
        |entry: &Entry| entry.images.iter().any(|image| image.kind == Kind::Family && image.before.is_none());
    entries.iter().filter(is_open).find(|entry| entry.images.iter().any(shows) && !is_birth(entry))
}

/// Whether a family sees the difference: an event on its way is none.
fn shows(image: &Image) -> bool {
    match image.kind {
        Kind::Event => image.is_on_calendar(),
        Kind::Calendar => image.before.is_some(),
        Kind::Conflicts => false,
        Kind::Family | Kind::Member | Kind::Resource | Kind::Rule => true,
    }
}

/// Lets parents pass where the family changes: who may not do that does not do so by taking something back either. They are
/// a parent afterwards too, so that there is one.
fn check_right(board: &Board, entry: &Entry, changes: &[Change], who: &str) -> Result<()> {
    let is_family = |image: &Image| matches!(image.kind, Kind::Family | Kind::Member | Kind::Resource | Kind::Rule);
    if !entry.images.iter().any(is_family) {
        return Ok(());
    }
    let after = with(board, changes);
    let is_parent = |board: &Board| board.members.get(who).is_some_and(|one| one.role == Role::Parent);
    if is_parent(board) && is_parent(&after) {
        return Ok(());
    }
    Err(Error::new(Code::PolicyRefused, format!("`{who}` may not change the family")).help("a parent may"))
}

fn with(board: &Board, changes: &[Change]) -> Board {
    let mut after = board.clone();
    changes.iter().for_each(|change| after.apply(change.clone()));
    after
}

/// What later changes have in common with one: the same thing, or an instance of the same series.
fn touched_since(entries: &[Entry], entry: &Entry) -> Vec<String> {
    let settled = settled(entries);
    let things: BTreeSet<(Kind, &str)> = entry.images.iter().map(|image| (image.kind, image.id.as_str())).collect();
    let later = entries.iter().filter(|later| later.revision > entry.revision && !settled.contains(&later.revision));
    let others = later.flat_map(|later| &later.images).filter(|image| image.kind != Kind::Conflicts);
    let is_same = |image: &&Image| {
        let mut ids = std::iter::once(image.id.as_str()).chain(series_of(image));
        ids.any(|id| things.contains(&(image.kind, id)))
    };
    others.filter(is_same).map(|image| image.id.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The series that an event is an instance of, before and after.
fn series_of(image: &Image) -> impl Iterator<Item = &str> {
    let events = [&image.before, &image.after].into_iter().flatten();
    events.filter_map(|event| event["exception_of"]["series"].as_str())
}

/// The calendar as it was before a change: everything from then on is wound back, the newest first.
fn before(board: &Board, entries: &[Entry], entry: &Entry) -> Result<Board> {
    let mut since: Vec<&Entry> = entries.iter().filter(|one| one.revision >= entry.revision).collect();
    since.sort_by_key(|one| Reverse(one.revision));
    let mut then = board.clone();
    for image in since.iter().flat_map(|one| &one.images) {
        let change = match image.kind {
            Kind::Event => Some(
                thing(&image.before)?
                    .map_or_else(|| Change::RemoveEvent(image.id.clone()), |event| Change::Event(Box::new(event))),
            ),
            _ => reverse_thing(image)?,
        };
        change.into_iter().for_each(|change| then.apply(change));
    }
    Ok(then)
}

/// What is taken back, and the calendars that it is looked at on.
struct Room<'a> {
    board: &'a Board,
    /// As it was before what is taken back.
    then: Board,
    changes: &'a [Change],
    now: Time,
}

impl Room<'_> {
    /// What would block a confirmed event that comes back, or be too much for a thing that becomes smaller, and did not when
    /// it was so before; told to somebody.
    fn missing(&self, who: &str) -> Result<Vec<Conflict>> {
        let after = with(self.board, self.changes);
        let mut missing = Vec::new();
        let back: BTreeMap<&str, &Event> =
            self.changes.iter().filter_map(|change| self.back(&after, change)).map(|one| (&*one.id, one)).collect();
        for event in back.into_values() {
            missing.extend(conflicts::find_new(&self.then, &after, event, self.now, who)?);
        }
        for change in self.changes {
            let Change::Resource(thing) = change else { continue };
            if !self.is_smaller(thing) {
                continue;
            }
            let of_it = |one: &Conflict| {
                one.kind == ConflictType::ResourceConflict
                    && one.id.starts_with(&format!("resource_conflict:{}:", thing.id))
            };
            let had = scan::all(&self.then, self.now)?;
            missing.extend(anew(scan::all(&after, self.now)?, &had).into_iter().filter(of_it));
        }
        Ok(missing)
    }

    /// The confirmed event that a change brings back: where what stands for an instance goes, its series has that one again.
    fn back<'b>(&'b self, after: &'b Board, change: &'b Change) -> Option<&'b Event> {
        let gone = match change {
            Change::Event(event) if event.status == EventStatus::Confirmed => return Some(event),
            Change::Event(event) => event,
            Change::RemoveEvent(id) => self.board.events.get(id)?.as_ref(),
            _ => return None,
        };
        let series = after.events.get(&gone.exception_of.as_ref()?.series)?;
        Some(series.as_ref()).filter(|series| series.status == EventStatus::Confirmed)
    }

    fn is_smaller(&self, thing: &Resource) -> bool {
        self.board.resources.get(&thing.id).is_some_and(|now| thing.capacity < now.capacity)
    }
}

/// Those that block and were not there before.
fn anew(found: Vec<Conflict>, had: &[Conflict]) -> Vec<Conflict> {
    let is_same =
        |one: &Conflict, old: &Conflict| one.id == old.id && one.conflicting_event_id == old.conflicting_event_id;
    let is_new = |one: &Conflict| one.severity.is_blocking() && !had.iter().any(|old| is_same(one, old));
    found.into_iter().filter(is_new).collect()
}

/// The changes that make everything as it was.
fn reverse(entry: &Entry, now: Time) -> Result<Vec<Change>> {
    let reversed = entry.images.iter().map(|image| reverse_one(image, now));
    reversed.filter_map(Result::transpose).collect()
}

fn reverse_one(image: &Image, now: Time) -> Result<Option<Change>> {
    match image.kind {
        Kind::Event => reverse_event(image, now).map(Some),
        _ => reverse_thing(image),
    }
}

/// Everything but events as it was before; conflicts are found anew.
fn reverse_thing(image: &Image) -> Result<Option<Change>> {
    let id = || image.id.clone();
    Ok(match image.kind {
        Kind::Family => thing(&image.before)?.map(Change::Family),
        Kind::Calendar => thing(&image.before)?.map(Change::Calendar),
        Kind::Member => Some(thing(&image.before)?.map_or_else(|| Change::RemoveMember(id()), Change::Member)),
        Kind::Resource => Some(thing(&image.before)?.map_or_else(|| Change::RemoveResource(id()), Change::Resource)),
        Kind::Rule => Some(thing(&image.before)?.map_or_else(|| Change::RemoveRule(id()), Change::Rule)),
        Kind::Event | Kind::Conflicts => None,
    })
}

fn reverse_event(image: &Image, now: Time) -> Result<Change> {
    let (before, after): (Option<Event>, Option<Event>) = (thing(&image.before)?, thing(&image.after)?);
    let was_on_its_way = before.as_ref().is_some_and(|event| event.status < EventStatus::Confirmed);
    Ok(match (before, after) {
        (Some(_), Some(after)) if was_on_its_way && after.status == EventStatus::Confirmed => {
            Change::Event(Box::new(Event { status: EventStatus::Rejected, updated_at: now, ..after }))
        }
        (Some(before), _) => Change::Event(Box::new(before)),
        (None, _) => Change::RemoveEvent(image.id.clone()),
    })
}

fn thing<T: DeserializeOwned>(image: &Option<Value>) -> Result<Option<T>> {
    let image = image.as_ref();
    image.map(|image| serde_json::from_value(image.clone()).map_err(|error| damaged(error.to_string()))).transpose()
}
