//! The way of an event onto the calendar as nodes go it: what is checked and what is written are one transaction.

use std::sync::{Arc, OnceLock};

use superstep::{Code, Error, Result};
use superstep_scheduler::calendar::{Board, Change, Event};
use superstep_scheduler::models::{Conflict, EventStatus};
use superstep_scheduler::store::{Calendars, Changed};

/// Whether an event came further on its way.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// It did, or had before.
    Done(Changed),
    /// It did not, and this stands in its way.
    Blocked(Vec<Conflict>),
}

/// Brings an event of the Smiths further unless something blocks it.
pub(super) async fn bring(
    calendars: &Calendars,
    who: &str,
    (event, status): (&str, EventStatus),
    check: impl FnOnce(&Board, &Event) -> Result<Vec<Conflict>> + Send + 'static,
) -> Result<Step> {
    let blocked = Arc::new(OnceLock::new());
    let (found, id) = (blocked.clone(), event.to_owned());
    let decide = move |board: &Board| {
        let event = board.events.get(&id).ok_or_else(|| Error::new(Code::NotFound, id.clone()))?;
        if event.status >= status {
            return Ok(Vec::new());
        }
        let conflicts = check(board, event)?;
        if conflicts.iter().any(|conflict| conflict.severity.is_blocking()) {
            found.set(conflicts).unwrap();
            return Ok(Vec::new());
        }
        Ok(vec![Change::Event(Box::new(Event { status, ..(**event).clone() }))])
    };
    let action = if status == EventStatus::Confirmed { "confirm" } else { "validate" };
    let changed = calendars.change("smith", who, action, decide).await?;
    Ok(match blocked.get() {
        Some(conflicts) => Step::Blocked(conflicts.clone()),
        None => Step::Done(changed),
    })
}
