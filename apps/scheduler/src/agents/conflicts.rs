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
use crate::calendar::{Board, Event, Span};
use crate::models::Conflict;
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
    let look = Look::new(board, event, &horizon(event, from)?)?;
    tell(board, &event.id, &look.found(look.spans()), viewer)
}

/// What was found, told to somebody in the family's zone.
pub(super) fn tell(board: &Board, event: &str, found: &[Found], viewer: Viewer<'_>) -> Result<Vec<Conflict>> {
    let telling = Telling { board, viewer, zone: Zone::named(&board.family.zone)? };
    Ok(found.iter().map(|found| found.conflict(event, &telling)).collect())
}

/// The stretch of time in which an event is looked at.
pub(super) fn horizon(event: &Event, from: Time) -> Result<Span> {
    if event.recurrence.is_none() {
        return Ok(event.span);
    }
    year_from(&Zone::named(&event.zone)?, event.span.start.max(from))
}
