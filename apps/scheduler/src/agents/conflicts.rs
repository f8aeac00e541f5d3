//! What stands in the way of an event: people, things and rules (R-FAM-106).
//!
//! Times are half-open. A series is looked at for 12 months, and what meets it several times is one conflict with a count.
//! What others only propose counts as taken and is marked tentative. An event, a series and its exceptions never stand in
//! their own way.

use superstep::Result;
use superstep::core::time::Time;

use super::finding::{Found, Telling};
use super::look::Look;
use super::moments::year_from;
use super::seen::Viewer;
use crate::calendar::{Board, Change, Event, Span};
use crate::models::{Conflict, EventStatus};
use crate::zone::Zone;

/// Everything that stands in the way of an event, the worst first; of a series, in the 12 months from its start.
///
/// # Errors
/// When a rule of repetition or a zone, of the event or on the board, cannot be read.
pub fn find(board: &Board, event: &Event) -> Result<Vec<Conflict>> {
    find_from(board, event, event.span.start)
}

/// As [`find`], but of a series only what is after a moment, and in the 12 months from there: what an old series met in
/// the past is nobody's trouble any more.
///
/// # Errors
/// As for [`find`].
pub fn find_from(board: &Board, event: &Event, from: Time) -> Result<Vec<Conflict>> {
    find_for(board, event, from, Viewer::Member(&event.owner))
}

/// As [`find_from`], told to a member, who need not be the owner: what they may not see is "busy".
///
/// # Errors
/// As for [`find`].
pub fn find_as(board: &Board, event: &Event, from: Time, member: &str) -> Result<Vec<Conflict>> {
    find_for(board, event, from, Viewer::Member(member))
}

/// As [`find_from`], told to somebody.
pub(super) fn find_for(board: &Board, event: &Event, from: Time, viewer: Viewer<'_>) -> Result<Vec<Conflict>> {
    let telling = Telling::to(board, viewer)?;
    Ok(found(board, event, from)?.iter().map(|found| found.conflict(&event.id, &telling)).collect())
}

/// What stands in the way of changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// In the way of the event that is asked about, the worst first.
    pub own: Vec<Conflict>,
    /// In the way of other events that change: only what blocks them and did not before.
    pub others: Vec<Conflict>,
}

impl Standing {
    /// Whether the changes cannot be written.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.own.iter().any(|conflict| conflict.severity.is_blocking()) || !self.others.is_empty()
    }
}

/// What stands in the way of everything that changes between two boards, told to who asks for it: of the event that is
/// asked about all of it, of each other event what blocks it and did not before. An event that is not to be has nothing
/// in its way.
///
/// # Errors
/// As for [`find`].
pub fn of_changes(
    before: &Board,
    after: &Board,
    (event, changes): (&Event, &[Change]),
    asker: &str,
    now: Time,
) -> Result<Standing> {
    let own = match event.status {
        EventStatus::Rejected => Vec::new(),
        _ => find_as(after, event, now, asker)?,
    };
    let telling = Telling::to(after, Viewer::Member(asker))?;
    let mut others = Vec::new();
    for change in changes {
        let Change::Event(other) = change else { continue };
        // What an event is in the end is on the board: one way out may change it twice.
        let Some(other) = after.events.get(&other.id).filter(|other| other.id != event.id) else { continue };
        for found in anew(before, after, other, now)? {
            let conflict = found.conflict_of(other, &telling);
            if !others.contains(&conflict) {
                others.push(conflict);
            }
        }
    }
    Ok(Standing { own, others })
}

/// What blocks an event and did not on an earlier board, told to a member. A thing that was full then and is full again with
/// others, or at another time of theirs, is new.
///
/// # Errors
/// As for [`find`].
pub(crate) fn find_new(
    before: &Board,
    after: &Board,
    event: &Event,
    from: Time,
    member: &str,
) -> Result<Vec<Conflict>> {
    let telling = Telling::to(after, Viewer::Member(member))?;
    Ok(anew(before, after, event, from)?.iter().map(|found| found.conflict(&event.id, &telling)).collect())
}

fn anew(before: &Board, after: &Board, event: &Event, from: Time) -> Result<Vec<Found>> {
    let had = match before.events.get(&event.id) {
        Some(old) => found(before, old, from)?,
        None => Vec::new(),
    };
    let is_old = |one: &Found| had.iter().any(|old| old.key == one.key && one.met.is_subset(&old.met));
    let mut found = found(after, event, from)?;
    found.retain(|one| one.severity.is_blocking() && !is_old(one));
    Ok(found)
}

fn found(board: &Board, event: &Event, from: Time) -> Result<Vec<Found>> {
    let look = Look::new(board, event, &horizon(event, from)?)?;
    Ok(look.found(look.spans()))
}

/// The stretch of time in which an event is looked at.
pub(super) fn horizon(event: &Event, from: Time) -> Result<Span> {
    if event.recurrence.is_none() {
        return Ok(event.span);
    }
    year_from(&Zone::named(&event.zone)?, event.span.start.max(from))
}
