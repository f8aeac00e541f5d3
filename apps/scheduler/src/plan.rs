//! What is to be written on the calendar, once it may.
//!
//! A plan is held against the calendar of the moment each time it is looked at, the last time in the transaction that
//! writes it: what changed meanwhile is never written over.

use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use crate::agents::{conflicts, resolution};
use crate::calendar::series::{self, Which};
use crate::calendar::{Board, Change, Event};
use crate::models::{Conflict, EventStatus, ProposedResolution};

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The event as it is wanted.
    pub(crate) event: Event,
    /// The event that it takes the place of, where it is a change.
    pub(crate) target: Option<Target>,
    /// The way out of conflicts that was chosen.
    pub(crate) way: Option<ProposedResolution>,
}

/// An event on the calendar, or some of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Target {
    /// Its id.
    pub(crate) event: String,
    /// Which of a series.
    pub(crate) which: Which,
}

/// A plan held against a calendar.
pub(crate) struct Drawn {
    /// The event as it would be.
    pub(crate) event: Event,
    /// Everything that would be written.
    pub(crate) changes: Vec<Change>,
    /// The calendar with it.
    pub(crate) board: Board,
}

impl Plan {
    /// What the plan comes to on a calendar.
    ///
    /// # Errors
    /// When it cannot be done there any more.
    pub(crate) fn on(&self, board: &Board, now: Time) -> Result<Drawn> {
        let (event, mut changes) = self.without_way(board, now)?;
        let mut drawn = with(board, &changes);
        give_way(&mut drawn, &event);
        let Some(way) = &self.way else { return Ok(Drawn { event, changes, board: drawn }) };
        let (event, more) = resolution::apply(&drawn, &event, way)?;
        drawn = with(&drawn, &more);
        changes.retain(|change| !matches!(change, Change::Event(other) if other.id == event.id));
        changes.extend(more);
        Ok(Drawn { event, changes, board: drawn })
    }

    fn without_way(&self, board: &Board, now: Time) -> Result<(Event, Vec<Change>)> {
        let Some(target) = &self.target else {
            return Ok((self.event.clone(), vec![Change::Event(Box::new(self.event.clone()))]));
        };
        let wanted = self.event.clone();
        let changes = series::edit(board, &target.event, target.which, now, move |event| {
            event.title = wanted.title;
            event.span = wanted.span;
            event.is_all_day = wanted.is_all_day;
            event.participants = wanted.participants;
            event.resources = wanted.resources;
            event.priority = wanted.priority;
            event.flexibility = wanted.flexibility;
            if wanted.recurrence.is_some() {
                event.recurrence = wanted.recurrence;
            }
        })?;
        // The changed one is told by its time; the rest of a series keeps its own.
        let is_it = |change: &&Change| matches!(change, Change::Event(event) if event.span == self.event.span);
        let Some(Change::Event(event)) = changes.iter().rev().find(is_it) else {
            return Err(Error::new(Code::NotFound, "the event is no longer on the calendar"));
        };
        Ok(((**event).clone(), changes))
    }

    /// What stands in the way.
    pub(crate) fn conflicts(&self, board: &Board, now: Time) -> Result<Vec<Conflict>> {
        let drawn = self.on(board, now)?;
        conflicts::find_from(&drawn.board, &drawn.event, now)
    }
}

impl Drawn {
    /// Everything that is written, with the event on the calendar.
    pub(crate) fn confirmed(self) -> Vec<Change> {
        let confirm = |change| match change {
            Change::Event(mut event) if event.status < EventStatus::Confirmed => {
                event.status = EventStatus::Confirmed;
                Change::Event(event)
            }
            other => other,
        };
        self.changes.into_iter().map(confirm).collect()
    }
}

/// Of two who propose for the same time the first one has it: proposals that came later do not stand in the way, or both
/// would wait for each other.
fn give_way(board: &mut Board, event: &Event) {
    let is_later = |other: &Event| (other.created_at, &other.id) > (event.created_at, &event.id);
    let later = board.events.values().filter(|other| other.status < EventStatus::Confirmed && is_later(other));
    for id in later.map(|other| other.id.clone()).collect::<Vec<_>>() {
        board.apply(Change::RemoveEvent(id));
    }
}

fn with(board: &Board, changes: &[Change]) -> Board {
    let mut board = board.clone();
    changes.iter().cloned().for_each(|change| board.apply(change));
    board
}
