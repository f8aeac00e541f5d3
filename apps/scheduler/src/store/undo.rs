//! Taking a change back, out of what the audit remembers.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::Result;
use superstep::core::time::Time;

use super::cell::damaged;
use super::flow::Work;
use super::plan::Decision;
use super::{Calendars, Changed};
use crate::audit::{Entry, Image, Kind};
use crate::calendar::{Board, Change, Event};
use crate::models::EventStatus;

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
}

impl Calendars {
    /// Takes back the last thing that somebody changed on the calendar, in the last ten minutes, if nobody has touched the
    /// same since. Called again, it goes on with the one before. What was on its way when it was confirmed is rejected: only
    /// what is confirmed shows on a calendar. Calendars that were made stay, empty; conflicts are looked for anew by
    /// [`scan`](super::Options::scan).
    ///
    /// # Errors
    /// As [`Calendars::change`].
    pub async fn undo(&self, family: &str, who: &str, now: Time) -> Result<Undone> {
        let outcome = Arc::new(OnceLock::new());
        let (told, person) = (outcome.clone(), who.to_owned());
        let decide = move |_: &Board, entries: &[Entry]| {
            let refused = match find(entries, &person) {
                None => Undone::Nothing,
                Some(entry) => match touched_since(entries, entry) {
                    touched if touched.is_empty() => {
                        return Ok(Decision { changes: reverse(entry, now)?, undoes: Some(entry.revision) });
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
        Kind::Event => [&image.before, &image.after].into_iter().any(|event| is_confirmed(event.as_ref())),
        Kind::Calendar => image.before.is_some(),
        Kind::Conflicts => false,
        Kind::Family | Kind::Member | Kind::Resource | Kind::Rule => true,
    }
}

fn is_confirmed(event: Option<&Value>) -> bool {
    event.is_some_and(|event| event["status"] == "confirmed")
}

/// What later changes have in common with one.
fn touched_since(entries: &[Entry], entry: &Entry) -> Vec<String> {
    let settled = settled(entries);
    let things: BTreeSet<(Kind, &String)> = entry.images.iter().map(|image| (image.kind, &image.id)).collect();
    let later = entries.iter().filter(|later| later.revision > entry.revision && !settled.contains(&later.revision));
    let same = later.flat_map(|later| &later.images).filter(|image| image.kind != Kind::Conflicts);
    let same = same.filter(|image| things.contains(&(image.kind, &image.id)));
    same.map(|image| image.id.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The changes that make everything as it was.
fn reverse(entry: &Entry, now: Time) -> Result<Vec<Change>> {
    let reversed = entry.images.iter().map(|image| reverse_one(image, now));
    reversed.filter_map(Result::transpose).collect()
}

fn reverse_one(image: &Image, now: Time) -> Result<Option<Change>> {
    let id = || image.id.clone();
    Ok(match image.kind {
        Kind::Family => thing(&image.before)?.map(Change::Family),
        Kind::Calendar => thing(&image.before)?.map(Change::Calendar),
        Kind::Member => Some(thing(&image.before)?.map_or_else(|| Change::RemoveMember(id()), Change::Member)),
        Kind::Resource => Some(thing(&image.before)?.map_or_else(|| Change::RemoveResource(id()), Change::Resource)),
        Kind::Rule => Some(thing(&image.before)?.map_or_else(|| Change::RemoveRule(id()), Change::Rule)),
        Kind::Event => Some(reverse_event(image, now)?),
        Kind::Conflicts => None,
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
