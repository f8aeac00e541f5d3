//! What is wanted of the calendar, and what that comes to on it.
//!
//! A plan has only what was asked for: something new, or what is to be different about an event; and the ways out that
//! were chosen since, in their order. It is held against the calendar of the moment each time it is looked at, the last
//! time in the transaction that writes it: what changed meanwhile is never written over.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use crate::agents::conflicts::{self, Standing};
use crate::agents::resolution;
use crate::calendar::series::{self, Retiming, Which};
use crate::calendar::{Board, Change, Event, Flexibility, Participant, Priority, Recurrence, Span};
use crate::models::{EventStatus, ProposedResolution};
use crate::parser::{Edit, Scope, Understood};
use crate::zone::Zone;

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What was asked for.
    pub(crate) wish: Wish,
    /// The ways out of conflicts that were chosen: each starts from what the ones before it have made.
    pub(crate) ways: Vec<ProposedResolution>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wish {
    /// An event that is not yet on the calendar.
    New(Box<Event>),
    /// One that is to be otherwise.
    Other(Box<Difference>),
}

/// What is to be different about an event; what is not named stays as it is by then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Difference {
    pub(crate) target: Target,
    /// When the instance that was looked at is then; of a series, all that are meant move as far.
    pub(crate) time: Option<Span>,
    pub(crate) edit: Edit,
    /// How it repeats.
    pub(crate) rule: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) flexibility: Option<Flexibility>,
}

/// An event on the calendar, or some of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Target {
    /// Its id.
    pub(crate) event: String,
    /// Which of a series.
    pub(crate) which: Which,
    /// When the instance is that was looked at.
    pub(crate) seen: Span,
}

/// A plan held against a calendar.
pub(crate) struct Drawn {
    /// The event as it would be; rejected where the way out is that nothing is done.
    pub(crate) event: Event,
    /// Everything that would be written.
    pub(crate) changes: Vec<Change>,
    /// The calendar with it.
    pub(crate) board: Board,
}

impl Plan {
    /// A wish for which no way out was needed yet.
    pub(crate) fn new(wish: Wish) -> Self {
        Self { wish, ways: Vec::new() }
    }

    /// The event on the calendar that is to be otherwise.
    pub(crate) fn target(&self) -> Option<&Target> {
        match &self.wish {
            Wish::New(_) => None,
            Wish::Other(difference) => Some(&difference.target),
        }
    }

    /// What the plan of somebody comes to on a calendar.
    ///
    /// # Errors
    /// When it cannot be done there any more.
    pub(crate) fn on(&self, board: &Board, asker: &str, now: Time) -> Result<Drawn> {
        let (mut event, mut changes) = self.wish.on(board, now)?;
        let mut drawn = with(board, &changes);
        if let Wish::New(new) = &self.wish {
            give_way(&mut drawn, new);
        }
        for way in &self.ways {
            let (after, more) = resolution::apply(&drawn, &event, way, asker, now)?;
            drawn = with(&drawn, &more);
            changes.retain(|change| !more.iter().any(|later| event_of(later) == event_of(change)));
            changes.extend(more);
            event = after;
        }
        if event.status != EventStatus::Rejected {
            return Ok(Drawn { event, changes, board: drawn });
        }
        // It is given up, and so is what other ways would have done for it. What was to be otherwise stays as it is.
        let changes = match &self.wish {
            Wish::New(_) => vec![Change::Event(Box::new(event.clone()))],
            Wish::Other(_) => Vec::new(),
        };
        Ok(Drawn { event, board: with(board, &changes), changes })
    }
}

impl Wish {
    /// The event as it is wanted, and everything that changes for it.
    fn on(&self, board: &Board, now: Time) -> Result<(Event, Vec<Change>)> {
        match self {
            Self::New(event) => Ok(((**event).clone(), vec![Change::Event(event.clone())])),
            Self::Other(difference) => difference.on(board, now),
        }
    }
}

impl Difference {
    fn on(&self, board: &Board, now: Time) -> Result<(Event, Vec<Change>)> {
        self.check(board)?;
        let Target { event, which, .. } = &self.target;
        let ruled = series::ruled(board, board.events.get(event).ok_or_else(gone)?, *which)?;
        let (mut applied, mut met) = (Ok(()), None);
        let changes = series::edit(board, event, *which, now, |event| {
            if applied.is_ok() {
                applied = self.apply(event, ruled);
            }
            // Of a series and the one that was moved, the series.
            met.get_or_insert_with(|| event.clone());
        });
        applied?;
        let changes = changes?;
        let met = met.ok_or_else(gone)?;
        // The rule of a series may have put it elsewhere.
        let written = changes.iter().find_map(|change| match change {
            Change::Event(event) if event.id == met.id => Some((**event).clone()),
            _ => None,
        });
        Ok((written.unwrap_or(met), changes))
    }

    /// How far all of a series move is counted from the one that was looked at, so that must be there still.
    fn check(&self, board: &Board) -> Result<()> {
        let Target { event, which, seen } = &self.target;
        let event = board.events.get(event).ok_or_else(gone)?;
        if *which != Which::All || self.time.is_none() || event.recurrence.is_none() {
            return Ok(());
        }
        let is_there = board.instances_of(event, seen)?.iter().any(|one| one.span.start == seen.start);
        if is_there { Ok(()) } else { Err(gone()) }
    }

    /// The time that is wanted; of something that only moves, as long as it is by now.
    fn as_long_as(&self, now: &Span, wanted: &Span) -> Span {
        let length = |span: &Span| span.end.as_unix_micros() - span.start.as_unix_micros();
        let end = Time::from_unix_micros(wanted.start.as_unix_micros() + length(now)).ok();
        let is_moved_only = length(wanted) == length(&self.target.seen);
        end.filter(|_| is_moved_only).and_then(|end| Span::new(wanted.start, end)).unwrap_or(*wanted)
    }

    fn apply(&self, event: &mut Event, ruled: Option<Span>) -> Result<()> {
        if let Some(time) = &self.time {
            // One by itself goes where it is wanted, wherever it is by now.
            let seen = if event.recurrence.is_some() { self.target.seen } else { event.span };
            let wanted = self.as_long_as(&seen, time);
            series::retime(event, &Retiming { seen, wanted, ruled })?;
        }
        let edit = &self.edit;
        event.participants.retain(|one| !edit.remove_people.contains(&one.member));
        for person in &edit.add_people {
            if !event.participants.iter().any(|one| one.member == *person) {
                event.participants.push(required(person));
            }
        }
        event.resources.retain(|thing| !edit.remove_resources.contains(thing));
        for thing in &edit.add_resources {
            if !event.resources.contains(thing) {
                event.resources.push(thing.clone());
            }
        }
        if let Some(title) = &edit.title {
            event.title.clone_from(title);
        }
        if let Some(rule) = &self.rule {
            let old = event.recurrence.take();
            let (left_out, added) = old.map(|old| (old.left_out, old.added)).unwrap_or_default();
            event.recurrence = Some(Recurrence { rule: rule.clone(), left_out, added });
        }
        event.priority = self.priority.unwrap_or(event.priority);
        event.flexibility = self.flexibility.unwrap_or(event.flexibility);
        Ok(())
    }
}

impl Target {
    /// The event that is meant, and which of a series: the one that was looked at, unless more was said.
    ///
    /// # Errors
    /// When it is not on the calendar, or none of a series is still to come.
    pub(crate) fn of(understood: &Understood, board: &Board) -> Result<Self> {
        let event = understood.which.first().and_then(|id| board.events.get(id)).ok_or_else(gone)?;
        let seen = understood.instance.unwrap_or(event.span);
        let at = match &event.exception_of {
            // It knows itself which one it is, wherever it was moved.
            Some(of) => Some(of.start),
            None if event.recurrence.is_some() => {
                let zone = Zone::named(&event.zone)?;
                understood.instance.map(|seen| zone.wall(seen.start))
            }
            None => return Ok(Self { event: event.id.clone(), which: Which::All, seen }),
        };
        let which = match (understood.scope, at) {
            (Some(Scope::All), _) => Which::All,
            (Some(Scope::Following), Some(at)) => Which::Following(at),
            (Some(Scope::This) | None, Some(at)) => Which::This(at),
            (_, None) => return Err(gone()),
        };
        Ok(Self { event: event.id.clone(), which, seen })
    }
}

impl Drawn {
    /// What stands in the way of everything that would be written, told to who asks; nothing where nothing is different.
    /// `board` is the calendar without it.
    pub(crate) fn standing(&self, board: &Board, asker: &str, now: Time) -> Result<Standing> {
        if self.changes.is_empty() {
            return Ok(Standing::default());
        }
        conflicts::of_changes(board, &self.board, (&self.event, &self.changes), asker, now)
    }

    /// Whether the way out is that nothing is done.
    pub(crate) fn is_given_up(&self) -> bool {
        self.event.status == EventStatus::Rejected
    }

    /// The event as people are told of it: of a series the next one, for the first may be over, or have become another one.
    pub(crate) fn shown(&self, now: Time) -> Result<Event> {
        let event = Arc::new(self.event.clone());
        let is_series = event.recurrence.is_some();
        let next = if is_series { self.board.next_of(&event, now)? } else { None };
        Ok(Event { span: next.unwrap_or(event.span), ..self.event.clone() })
    }

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

/// Somebody without whom it cannot be.
pub(crate) fn required(member: &str) -> Participant {
    Participant { member: member.to_owned(), is_required: true }
}

/// Of two who propose for the same time the first one has it: proposals that came later do not stand in the way, or both
/// would wait for each other. A change is no proposal: nobody sees it before it is written, so that nobody waits for it.
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

/// The id of the event that a change is about.
fn event_of(change: &Change) -> Option<&str> {
    match change {
        Change::Event(event) => Some(&event.id),
        Change::RemoveEvent(id) => Some(id),
        _ => None,
    }
}

fn gone() -> Error {
    Error::new(Code::NotFound, "the event is no longer on the calendar")
}
