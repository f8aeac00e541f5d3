//! Proposals that nobody confirmed: they go after a day.

use std::sync::Arc;

use superstep::Result;
use superstep::core::time::Time;

use super::Calendars;
use crate::calendar::{Board, Change, Event};
use crate::models::EventStatus;

/// For how long a proposal stands, in microseconds: a day.
const STANDS: i64 = 24 * 3_600 * 1_000_000;

impl Calendars {
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
