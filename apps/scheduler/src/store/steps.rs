//! The way of an event onto the calendar: proposed, validated, confirmed; or rejected.

use std::sync::{Arc, OnceLock};

use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::{Calendars, Changed};
use crate::calendar::{Board, Change, Event};
use crate::models::{Conflict, EventStatus};

/// For how long a proposal stands, in microseconds: a day.
const STANDS: i64 = 24 * 3_600 * 1_000_000;

/// Whether an event came further on its way.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmation {
    /// It did, or had before.
    Done(Changed),
    /// It did not, and this stands in its way. Nothing was written.
    Blocked(Vec<Conflict>),
}

impl Calendars {
    /// Marks a proposed event as validated unless something blocks it.
    ///
    /// # Errors
    /// As [`Calendars::confirm`].
    pub async fn validate(
        &self,
        family: &str,
        who: &str,
        event: &str,
        check: impl FnOnce(&Board, &Event) -> Result<Vec<Conflict>> + Send + 'static,
    ) -> Result<Confirmation> {
        self.advance(family, (who, "validate"), (event, EventStatus::Validated), check).await
    }

    /// Puts a proposed or validated event on the calendar, with what it uses. Everything is checked again while nobody else
    /// can change the calendar, so that of two who want the same one gets it. The event is on the board that `check` sees.
    /// What is confirmed already stays so, and nothing is written.
    ///
    /// # Errors
    /// `NotFound` when there is no such event, or it was rejected; what `check` refuses with; else as
    /// [`Calendars::change`].
    pub async fn confirm(
        &self,
        family: &str,
        who: &str,
        event: &str,
        check: impl FnOnce(&Board, &Event) -> Result<Vec<Conflict>> + Send + 'static,
    ) -> Result<Confirmation> {
        self.advance(family, (who, "confirm"), (event, EventStatus::Confirmed), check).await
    }

    async fn advance(
        &self,
        family: &str,
        (who, action): (&str, &str),
        (event, status): (&str, EventStatus),
        check: impl FnOnce(&Board, &Event) -> Result<Vec<Conflict>> + Send + 'static,
    ) -> Result<Confirmation> {
        let blocked = Arc::new(OnceLock::new());
        let (found, id, now) = (blocked.clone(), event.to_owned(), self.now()?);
        let decide = move |board: &Board| {
            let event = board.events.get(&id).ok_or_else(|| unknown(board, &id))?;
            if event.status >= status {
                return Ok(Vec::new());
            }
            let conflicts = check(board, event)?;
            if conflicts.iter().any(|conflict| conflict.severity.is_blocking()) {
                // It is decided once, so nobody was here before.
                let _ = found.set(conflicts);
                return Ok(Vec::new());
            }
            Ok(vec![Change::Event(Box::new(Event { status, updated_at: now, ..(**event).clone() }))])
        };
        let changed = self.change(family, who, action, decide).await?;
        Ok(match blocked.get() {
            Some(conflicts) => Confirmation::Blocked(conflicts.clone()),
            None => Confirmation::Done(changed),
        })
    }

    /// Rejects proposals that nobody confirmed for a day; gives the ids of their families and their own.
    ///
    /// # Errors
    /// As [`Calendars::change`]; what was rejected before it stays so.
    pub async fn clean_up(&self, now: Time) -> Result<Vec<(String, String)>> {
        let mut rejected = Vec::new();
        for family in self.families().await? {
            // Most often there is nothing to do, and nobody is locked out for it.
            if stale(&*self.board(&family.id).await?, now).is_empty() {
                continue;
            }
            let changed = self.change(&family.id, "clean_up", "expire", move |board| Ok(stale(board, now))).await?;
            rejected.extend(changed.changes.iter().filter_map(|change| match change {
                Change::Event(event) => Some((family.id.clone(), event.id.clone())),
                _ => None,
            }));
        }
        Ok(rejected)
    }
}

/// Rejects what was proposed, or last changed since, more than a day ago.
fn stale(board: &Board, now: Time) -> Vec<Change> {
    let is_stale = |event: &Event| {
        let touched = event.created_at.max(event.updated_at);
        event.status < EventStatus::Confirmed && now.as_unix_micros() - touched.as_unix_micros() > STANDS
    };
    let stale = board.events.values().filter(|event| is_stale(event));
    let reject = |event: &Arc<Event>| Event { status: EventStatus::Rejected, updated_at: now, ..(**event).clone() };
    stale.map(|event| Change::Event(Box::new(reject(event)))).collect()
}

fn unknown(board: &Board, id: &str) -> Error {
    Error::new(Code::NotFound, format!("family `{}` has no event `{id}`", board.family.id))
        .help("it may have been rejected: proposals that nobody confirms go after a day")
}
