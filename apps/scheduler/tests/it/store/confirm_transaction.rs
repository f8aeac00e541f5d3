//! Status changes as the nodes perform them: check and write are one transaction.

use std::sync::{Arc, OnceLock};

use superstep::{Error, ErrorCode, Result};
use superstep_scheduler::calendar::{CalendarChange, CalendarSnapshot, Event};
use superstep_scheduler::models::{Conflict, EventStatus};
use superstep_scheduler::store::{CalendarStore, ChangeResult};

/// Result of a status change.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// The event has the requested status, now or since an earlier call.
    Done(ChangeResult),
    /// The status did not change because of these conflicts.
    Blocked(Vec<Conflict>),
}

/// Changes the status of an event unless a conflict blocks it.
pub(super) async fn bring(
    calendars: &CalendarStore,
    user: &str,
    (event, status): (&str, EventStatus),
    check: impl FnOnce(&CalendarSnapshot, &Event) -> Result<Vec<Conflict>> + Send + 'static,
) -> Result<Step> {
    let blocked = Arc::new(OnceLock::new());
    let (conflict_cell, id) = (blocked.clone(), event.to_owned());
    let decide = move |snapshot: &CalendarSnapshot| {
        let event = snapshot.events.get(&id).ok_or_else(|| Error::new(ErrorCode::NotFound, id.clone()))?;
        if event.status >= status {
            return Ok(Vec::new());
        }
        let conflicts = check(snapshot, event)?;
        if conflicts.iter().any(|conflict| conflict.severity.is_blocking()) {
            conflict_cell.set(conflicts).unwrap();
            return Ok(Vec::new());
        }
        Ok(vec![CalendarChange::Event(Box::new(Event { status, ..(**event).clone() }))])
    };
    let action = if status == EventStatus::Confirmed { "confirm" } else { "validate" };
    let changed = calendars.change("smith", user, action, decide).await?;
    Ok(match blocked.get() {
        Some(conflicts) => Step::Blocked(conflicts.clone()),
        None => Step::Done(changed),
    })
}
