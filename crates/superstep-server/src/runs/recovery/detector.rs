//! Detects orphaned runs: runs whose process died while this server is up.
//!
//! A process persists the record of a run before it acquires the thread lease, and releases the lease before it
//! persists the end of the run: at both moments the run looks orphaned. So a run counts as orphaned only if its thread
//! had no lease in two consecutive scans and its record has not changed for a while. Time is measured by the clock of
//! this process, except in [`is_within_startup_grace`], which compares with a timestamp written by another process.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use superstep::core::id::RunId;
use tokio::time::Instant;

use crate::runs::repository::{RunStatus, ThreadRecord, UnfinishedRun};
use crate::runs::service::RunService;

/// Maximum time a process may take between persisting a run and acquiring its thread.
const STARTUP_GRACE: Duration = Duration::from_secs(5);

/// Number of unfinished runs checked per scan. Longer lists are scanned page by page.
const PAGE: usize = 500;

/// Observations of unfinished runs over several scans.
#[derive(Default)]
pub(crate) struct OrphanDetector {
    observations: BTreeMap<RunId, Observation>,
    /// Offset of the next page of the list.
    offset: usize,
    /// Number of completed passes over the list.
    pass: u64,
}

struct Observation {
    run: UnfinishedRun,
    /// Time at which the record was first seen in its present form.
    first_seen: Instant,
    /// True if the thread had no lease at the last scan.
    was_unleased: bool,
    /// Last pass over the list in which the run was listed.
    last_pass: u64,
}

impl OrphanDetector {
    fn observe(&mut self, run: UnfinishedRun) {
        let (pass, now) = (self.pass, Instant::now());
        let new_observation =
            |run: UnfinishedRun| Observation { run, first_seen: now, was_unleased: false, last_pass: pass };
        let observation = self.observations.entry(run.run).or_insert_with(|| new_observation(run.clone()));
        if observation.run != run {
            *observation = new_observation(run);
        }
        observation.last_pass = pass;
    }

    /// Observes one page, and returns the runs to check. After the last page, runs that are no longer listed are
    /// dropped.
    fn observe_page(&mut self, page: Vec<UnfinishedRun>) -> Vec<RunId> {
        let (is_last, mut to_check) = (page.len() < PAGE, Vec::new());
        for run in page {
            to_check.push(run.run);
            self.observe(run);
        }
        // A possible orphan is checked in every scan, not only when its page comes again.
        to_check.extend(
            self.observations
                .values()
                .filter(|observation| observation.was_unleased)
                .map(|observation| observation.run.run),
        );
        to_check.sort_unstable();
        to_check.dedup();
        self.offset = if is_last { 0 } else { self.offset + PAGE };
        if is_last {
            let pass = self.pass;
            self.observations.retain(|_, observation| observation.last_pass >= pass);
            self.pass += 1;
        }
        to_check
    }
}

impl RunService {
    /// Returns the orphaned runs found by this scan, without those in `queued`.
    pub(crate) async fn detect_orphans(
        &self,
        detector: &mut OrphanDetector,
        queued: &BTreeSet<RunId>,
    ) -> Vec<UnfinishedRun> {
        let page = match self.0.repository.list_unfinished_page(detector.offset, PAGE).await {
            Ok(page) => page,
            Err(problem) => {
                tracing::warn!("unfinished runs cannot be listed: {}", problem.detail());
                return Vec::new();
            }
        };
        let mut orphans = Vec::new();
        for run in detector.observe_page(page) {
            let Some(observation) = detector.observations.get_mut(&run) else { continue };
            let is_handled = queued.contains(&run) || self.active_run(&observation.run.thread).is_some();
            // A graph that is not registered here may be served by another program on the same storage.
            let is_free =
                !is_handled && self.graph(&observation.run.graph).is_ok() && !self.is_leased(&observation.run).await;
            if is_free && observation.was_unleased && observation.first_seen.elapsed() >= STARTUP_GRACE {
                orphans.push(observation.run.clone());
                // Observed anew: a run that is still alive must look orphaned for another `STARTUP_GRACE` before it is
                // reported again.
                detector.observations.remove(&run);
            } else {
                observation.was_unleased = is_free;
            }
        }
        orphans
    }
}

/// Returns true if a thread started to run so recently that its process may not have acquired the lease yet.
pub(crate) fn is_within_startup_grace(thread: &ThreadRecord) -> bool {
    let Ok(updated_at) = thread.updated_at.parse::<Timestamp>() else { return false };
    let age = Timestamp::now().duration_since(updated_at).abs();
    thread.status == RunStatus::Running && age < SignedDuration::try_from(STARTUP_GRACE).unwrap_or(SignedDuration::ZERO)
}
