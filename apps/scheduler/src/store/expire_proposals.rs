//! Expiry of proposals that were not confirmed within a day.

use std::sync::Arc;

use superstep::Result;
use superstep::core::time::Time;

use super::CalendarStore;
use crate::calendar::{CalendarChange, CalendarSnapshot, Event};
use crate::models::EventStatus;

/// Lifetime of a proposal in microseconds: one day.
const PROPOSAL_LIFETIME_MICROS: i64 = 24 * 3_600 * 1_000_000;

impl CalendarStore {
    /// Rejects proposals that were not confirmed within a day. Returns their family ids and event ids.
    ///
    /// # Errors
    /// As [`CalendarStore::change`]. Proposals rejected before the error stay rejected.
    pub async fn expire_proposals(&self, now: Time) -> Result<Vec<(String, String)>> {
        let mut rejected = Vec::new();
        for family in self.families().await? {
            // Usually nothing has expired; checking a snapshot first avoids locking the family.
            if stale(&*self.snapshot(&family.id).await?, now).is_empty() {
                continue;
            }
            let changed =
                self.change(&family.id, "clean_up", "expire", move |snapshot| Ok(stale(snapshot, now))).await?;
            rejected.extend(changed.changes.iter().filter_map(|change| match change {
                CalendarChange::Event(event) => Some((family.id.clone(), event.id.clone())),
                _ => None,
            }));
        }
        Ok(rejected)
    }
}

/// Returns changes that reject all proposals created and last updated more than a day ago.
fn stale(snapshot: &CalendarSnapshot, now: Time) -> Vec<CalendarChange> {
    let is_stale = |event: &Event| {
        let touched = event.created_at.max(event.updated_at);
        event.status < EventStatus::Confirmed
            && now.as_unix_micros() - touched.as_unix_micros() > PROPOSAL_LIFETIME_MICROS
    };
    let stale = snapshot.events.values().filter(|event| is_stale(event));
    let reject = |event: &Arc<Event>| Event { status: EventStatus::Rejected, updated_at: now, ..(**event).clone() };
    stale.map(|event| CalendarChange::Event(Box::new(reject(event)))).collect()
}
