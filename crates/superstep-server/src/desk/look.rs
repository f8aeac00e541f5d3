//! Finds runs whose process has died while this server is up.
//!
//! A run is written down before its process takes the thread, and its thread is given back before its end is written down: for
//! a moment it looks dead both times. So a run counts as dead only when nobody moved its thread at two looks in a row, and
//! its record has been the same for a while. Time is measured by the clock of this process, but for
//! [`is_young`]: that compares with what another process wrote down.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use superstep::core::id::RunId;
use tokio::time::Instant;

use super::Desk;
use crate::ledger::{RunStatus, ThreadRecord, Unfinished};

/// How long a process may take from writing a run down to taking its thread.
const SETTLED: Duration = Duration::from_secs(5);

/// How many runs of the list are looked at in one go. Longer lists are looked at page by page.
const PAGE: usize = 500;

/// What was seen of runs that have not ended.
#[derive(Default)]
pub(super) struct Sightings {
    seen: BTreeMap<RunId, Sighting>,
    /// Where the next page of the list begins.
    offset: usize,
    /// Counts how often the list was gone through.
    pass: u64,
}

struct Sighting {
    run: Unfinished,
    /// When its record was first seen as it is.
    since: Instant,
    /// Nobody moved its thread when it was last looked at.
    was_free: bool,
    pass: u64,
}

impl Sightings {
    fn note(&mut self, run: Unfinished) {
        let (pass, now) = (self.pass, Instant::now());
        let fresh = |run: Unfinished| Sighting { run, since: now, was_free: false, pass };
        let sighting = self.seen.entry(run.run).or_insert_with(|| fresh(run.clone()));
        if sighting.run != run {
            *sighting = fresh(run);
        }
        sighting.pass = pass;
    }

    /// A page was read; after the last one, runs that are no longer on the list are forgotten.
    fn turn_page(&mut self, page: Vec<Unfinished>) -> Vec<RunId> {
        let (is_last, mut due) = (page.len() < PAGE, Vec::new());
        for run in page {
            due.push(run.run);
            self.note(run);
        }
        // A run that may have died is not left until its page comes again.
        due.extend(self.seen.values().filter(|sighting| sighting.was_free).map(|sighting| sighting.run.run));
        due.sort_unstable();
        due.dedup();
        self.offset = if is_last { 0 } else { self.offset + PAGE };
        if is_last {
            let pass = self.pass;
            self.seen.retain(|_, sighting| sighting.pass >= pass);
            self.pass += 1;
        }
        due
    }
}

impl Desk {
    /// The runs whose process has died, as far as one look and those before it tell; without those that are known to.
    pub(super) async fn dead(&self, sightings: &mut Sightings, known: &BTreeSet<RunId>) -> Vec<Unfinished> {
        let page = match self.0.ledger.listed(sightings.offset, PAGE).await {
            Ok(page) => page,
            Err(problem) => {
                tracing::warn!("runs that did not end cannot be looked for: {}", problem.detail());
                return Vec::new();
            }
        };
        let mut dead = Vec::new();
        for run in sightings.turn_page(page) {
            let Some(sighting) = sightings.seen.get_mut(&run) else { continue };
            let is_moved = known.contains(&run) || self.running(&sighting.run.thread).is_some();
            // Another program on the same store may serve it.
            let is_free = !is_moved && self.served(&sighting.run.graph).is_ok() && !self.is_busy(&sighting.run).await;
            if is_free && sighting.was_free && sighting.since.elapsed() >= SETTLED {
                dead.push(sighting.run.clone());
                // Should it live after all, it is asked for seldom.
                sightings.seen.remove(&run);
            } else {
                sighting.was_free = is_free;
            }
        }
        dead
    }
}

/// Whether a thread began to run so lately that its process may not have taken it yet.
pub(super) fn is_young(thread: &ThreadRecord) -> bool {
    let Ok(written) = thread.updated_at.parse::<Timestamp>() else { return false };
    let age = Timestamp::now().duration_since(written).abs();
    thread.status == RunStatus::Running && age < SignedDuration::try_from(SETTLED).unwrap_or(SignedDuration::ZERO)
}
