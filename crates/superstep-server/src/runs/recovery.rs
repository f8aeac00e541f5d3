//! Recovery of unfinished runs: finds them by their records at startup and by the list of unfinished runs every few
//! seconds, and resumes each of them, or marks it as ended or orphaned.
//!
//! Recovering a run is harmless if it had in fact ended and only its record did not show that: the checkpoints decide,
//! not the record. Several servers may find the same run: a server decides about a run only while it holds the thread
//! lease ([`ThreadLease`](super::status::ThreadLease)), reads the record again under the lease, and persists the
//! recovery before it releases the lease.

pub(crate) mod detector;
pub(crate) mod final_event;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use superstep::ThreadStatus;
use superstep::core::id::{InterruptId, RunId};
use superstep::settings::RecoveryMode;
use tokio::time::{Instant, sleep_until};

use crate::api::problem::Problem;
use crate::graphs::registry::{RunInput, RunRequest, ServedGraph};
use crate::runs::recovery::detector::{OrphanDetector, is_within_startup_grace};
use crate::runs::repository::{RunError, RunRecord, RunStatus, ThreadRecord, UnfinishedRun};
use crate::runs::service::{RunService, RunStart, StartKind};

/// Interval between scans for orphaned runs. A process counts as dead after at most 15 seconds, its run is checked
/// in two scans, and a run must continue within 20 seconds.
pub(crate) const SCAN_INTERVAL: Duration = Duration::from_millis(1_500);

/// Result of recovering unfinished runs.
#[derive(Default)]
pub(crate) struct RecoveryReport {
    /// Number of runs that were resumed, marked as ended or orphaned, or queued.
    pub(crate) count: usize,
    /// Runs queued until there is a free slot, or until a transient error has passed.
    queued: VecDeque<UnfinishedRun>,
    /// True if a transient error occurred: the next attempt waits for the scan interval.
    has_transient_error: bool,
}

/// Result of recovering one unfinished run.
enum RecoveryResult {
    /// The run was resumed, was marked as ended or orphaned, or has ended meanwhile.
    Recovered,
    /// Another process, or another run of this process, holds the thread lease or is about to acquire it.
    OwnedElsewhere,
    /// The maximum number of concurrent runs is reached.
    NoCapacity,
}

/// Decision about an unfinished run.
enum RecoveryPlan {
    /// The run had ended; only its record did not show that.
    AlreadyEnded(RunStatus, Option<RunError>),
    /// The run continues with this input.
    Resume(RunInput),
}

impl RunService {
    /// Resumes all unfinished runs, or marks them as ended or orphaned, except those that another process executes.
    ///
    /// # Errors
    /// Returns an error if the records cannot be read.
    pub(crate) async fn recover_all(&self) -> Result<RecoveryReport, Problem> {
        let mut report = RecoveryReport::default();
        for record in self.0.repository.find_unfinished().await? {
            // A graph that is not registered here may be served by another program on the same storage.
            let Ok(graph) = self.graph(&record.request.graph) else { continue };
            let (run, unfinished) = (record.request.run, UnfinishedRun::from(&record));
            if self.may_still_start(&*graph, &unfinished).await? {
                // The process of the run may be alive and about to acquire the lease: later scans decide.
                report.count += usize::from(!self.is_leased(&unfinished).await);
                self.0.repository.sync_unfinished_entry(run).await?;
                continue;
            }
            match self.try_recover(unfinished, &mut report).await {
                // Listed so that it is scanned again, even if an older version has not put it on the list.
                RecoveryResult::OwnedElsewhere => self.0.repository.sync_unfinished_entry(run).await?,
                RecoveryResult::Recovered | RecoveryResult::NoCapacity => report.count += 1,
            }
        }
        Ok(report)
    }

    /// Returns true if a run was persisted so recently that its process may be about to acquire the lease. A run
    /// that has a checkpoint had acquired it.
    async fn may_still_start(&self, graph: &dyn ServedGraph, unfinished: &UnfinishedRun) -> Result<bool, Problem> {
        let thread = self.0.repository.thread(&unfinished.thread).await?;
        if !thread.is_some_and(|thread| thread.run == unfinished.run && is_within_startup_grace(&thread)) {
            return Ok(false);
        }
        let has_started = graph.status(&unfinished.thread).await?.is_some()
            && graph.has_checkpoint_of_run(&unfinished.thread, unfinished.run).await?;
        Ok(unfinished.recoveries > 0 || !has_started)
    }

    /// Scans for orphaned runs every few seconds, and recovers queued runs as soon as there is a free slot; ends
    /// when the server shuts down.
    pub(crate) async fn recovery_loop(
        &self,
        RecoveryReport { mut queued, has_transient_error: mut has_error, .. }: RecoveryReport,
    ) {
        let (mut detector, mut next_scan) = (OrphanDetector::default(), Instant::now() + SCAN_INTERVAL);
        loop {
            let is_scan_due = tokio::select! {
                () = sleep_until(next_scan) => true,
                // A run whose record could not be persisted frees its slot too, and would be retried without a
                // delay.
                () = self.0.worker.slot_released(), if !has_error && !queued.is_empty() => false,
            };
            if self.is_shutting_down() {
                return;
            }
            if is_scan_due {
                let queued_ids = queued.iter().map(|run| run.run).collect();
                queued.extend(self.detect_orphans(&mut detector, &queued_ids).await);
                next_scan = Instant::now() + SCAN_INTERVAL;
            }
            RecoveryReport { queued, has_transient_error: has_error, .. } = self.recover_queued(queued).await;
        }
    }

    /// Recovers queued runs in order, until there is no free slot or a transient error occurs; the rest stays
    /// queued.
    async fn recover_queued(&self, mut queue: VecDeque<UnfinishedRun>) -> RecoveryReport {
        let mut report = RecoveryReport::default();
        while let Some(unfinished) = queue.pop_front() {
            self.try_recover(unfinished, &mut report).await;
            if !report.queued.is_empty() {
                break;
            }
        }
        // A run that failed with a transient error moves to the end of the queue, so that it does not block the
        // others.
        match report.has_transient_error {
            true => queue.append(&mut report.queued),
            false => queue = report.queued.into_iter().chain(queue).collect(),
        }
        RecoveryReport { queued: queue, ..report }
    }

    /// Recovers one run, or queues it. A run that cannot be recovered does not block others.
    async fn try_recover(&self, unfinished: UnfinishedRun, report: &mut RecoveryReport) -> RecoveryResult {
        let Ok(graph) = self.graph(&unfinished.graph) else { return RecoveryResult::OwnedElsewhere };
        match self.recover_run(graph, &unfinished).await {
            Ok(RecoveryResult::NoCapacity) => report.queued.push_back(unfinished),
            Ok(result) => return result,
            Err(problem) if problem.is_retryable() => {
                tracing::warn!(run = %unfinished.run, "recovery of a run is postponed: {}", problem.detail());
                report.has_transient_error = true;
                report.queued.push_back(unfinished);
            }
            Err(problem) => {
                self.record_recovery_failure(&unfinished, problem).await;
                return RecoveryResult::Recovered;
            }
        }
        RecoveryResult::NoCapacity
    }

    /// Records why a run could not be recovered: a client can continue it once the cause is fixed.
    async fn record_recovery_failure(&self, unfinished: &UnfinishedRun, problem: Problem) {
        tracing::error!(run = %unfinished.run, "a run could not be recovered: {}", problem.detail());
        // At shutdown the next server handles the run; if another process holds the thread, its record is newer
        // than this one.
        let Ok(_slot) = self.0.worker.acquire_slot_over_capacity(&unfinished.thread, unfinished.run) else { return };
        let result = async {
            let Some(_lease) = self.try_lease_thread(&unfinished.thread).await? else { return Ok(()) };
            let current = self.0.repository.run(unfinished.run).await?.filter(RunRecord::is_unfinished);
            let Some(mut record) = current.filter(|current| current.recoveries == unfinished.recoveries) else {
                return Ok(());
            };
            record.set_ended(RunStatus::Orphaned, Some(problem.into()));
            match self.superseding_run(&record).await? {
                None => self.0.repository.save(&record).await,
                Some(_) => Ok(()),
            }
        };
        if let Err(problem) = result.await {
            tracing::error!(run = %unfinished.run, "a failed recovery could not be recorded: {}", problem.detail());
        }
    }

    /// Returns the thread record if a later run was requested on the thread, which supersedes this run.
    async fn superseding_run(&self, record: &RunRecord) -> Result<Option<ThreadRecord>, Problem> {
        let thread = self.0.repository.thread(&record.request.thread).await?;
        Ok(thread.filter(|thread| thread.run != record.request.run))
    }

    /// Closes the record of an unfinished run once a later run has started on its thread.
    pub(crate) async fn close_superseded_run(&self, run: RunId) {
        let result = async {
            let older = self.0.repository.run(run).await?.filter(RunRecord::is_unfinished);
            let Some(mut older) = older else { return Ok(()) };
            older.set_ended(RunStatus::Cancelled, None);
            self.0.repository.close_superseded(&older).await
        };
        if let Err(problem) = result.await {
            // The next server closes the record.
            tracing::warn!(%run, "a superseded run could not be closed: {}", problem.detail());
        }
    }

    async fn recover_run(
        &self,
        graph: Arc<dyn ServedGraph>,
        unfinished: &UnfinishedRun,
    ) -> Result<RecoveryResult, Problem> {
        let slot = match self.0.worker.acquire_slot_over_capacity(&unfinished.thread, unfinished.run) {
            Ok(slot) => slot,
            // A later scan tries again.
            Err(problem) if problem.status() == 409 => return Ok(RecoveryResult::OwnedElsewhere),
            Err(problem) => return Err(problem),
        };
        let Some(lease) = self.try_lease_thread(&unfinished.thread).await? else {
            return Ok(RecoveryResult::OwnedElsewhere);
        };
        // The record may have changed before the lease was acquired; from here on no other process decides about
        // the run.
        let Some(mut record) = self.0.repository.run(unfinished.run).await?.filter(RunRecord::is_unfinished) else {
            self.0.repository.sync_unfinished_entry(unfinished.run).await?;
            return Ok(RecoveryResult::Recovered);
        };
        if record.recoveries != unfinished.recoveries {
            self.0.repository.sync_unfinished_entry(unfinished.run).await?;
            return Ok(RecoveryResult::OwnedElsewhere);
        }
        match self.superseding_run(&record).await? {
            None => {}
            // The later run may still be rejected, which makes this run the current one again.
            Some(later) if later.is_unfinished() => return Ok(RecoveryResult::OwnedElsewhere),
            Some(_) => {
                record.set_ended(RunStatus::Cancelled, None);
                return self.0.repository.close_superseded(&record).await.map(|()| RecoveryResult::Recovered);
            }
        }
        match plan_recovery(&graph, &record).await? {
            RecoveryPlan::AlreadyEnded(status, error) => {
                record.set_ended(status, error);
                self.publish_final_event(&*graph, &record, &lease).await;
                self.0.repository.save(&record).await?;
            }
            RecoveryPlan::Resume(_) if self.0.config.recovery == RecoveryMode::Manual => {
                record.set_ended(RunStatus::Orphaned, None);
                self.0.repository.save(&record).await?;
            }
            RecoveryPlan::Resume(_) if self.0.worker.is_over_capacity() => return Ok(RecoveryResult::NoCapacity),
            RecoveryPlan::Resume(input) => {
                tracing::info!(run = %unfinished.run, thread = %unfinished.thread, "recovering a run");
                (record.status, record.ended_at, record.recoveries) = (RunStatus::Running, None, record.recoveries + 1);
                // The record keeps the original input: the next server needs it if this process dies too.
                let kind = StartKind::Recovered(lease);
                self.dispatch(&graph, slot, RunStart { record, input, kind, permit: None }).await?;
            }
        }
        Ok(RecoveryResult::Recovered)
    }

    /// Replaces the input of a request to continue with that of the run that died, unless that input is persisted.
    pub(crate) async fn restore_original_input(
        &self,
        graph: &Arc<dyn ServedGraph>,
        before: &ThreadRecord,
        request: &mut RunRequest,
    ) -> Result<(), Problem> {
        if !matches!(before.status, RunStatus::Orphaned | RunStatus::Running | RunStatus::Suspended) {
            return Ok(());
        }
        let Some(earlier) = self.0.repository.run(before.run).await? else { return Ok(()) };
        if let RecoveryPlan::Resume(input) = plan_recovery(graph, &earlier).await? {
            request.input = input;
            if request.metadata.is_empty() {
                request.metadata = earlier.request.metadata;
            }
        }
        Ok(())
    }
}

/// Decides from the persisted checkpoints how an unfinished run continues.
async fn plan_recovery(graph: &Arc<dyn ServedGraph>, record: &RunRecord) -> Result<RecoveryPlan, Problem> {
    let (thread, request) = (&record.request.thread, &record.request);
    let status = graph.status(thread).await?;
    let has_checkpoint = status.is_some() && graph.has_checkpoint_of_run(thread, request.run).await?;
    match &request.input {
        // The process died before the input was persisted.
        RunInput::Input(_) if !has_checkpoint => return Ok(RecoveryPlan::Resume(request.input.clone())),
        RunInput::Resume(values) if !has_checkpoint => {
            let state = graph.state(thread).await?;
            let is_open = |id: &InterruptId| state.interrupts().any(|interrupt| interrupt.id == *id);
            if values.keys().any(is_open) {
                return Ok(RecoveryPlan::Resume(request.input.clone()));
            }
        }
        RunInput::Continue if !has_checkpoint => return Ok(RecoveryPlan::Resume(RunInput::Continue)),
        _ => {}
    }
    let state = graph.state(thread).await?;
    // Resume values are persisted before any task runs; until then the thread status is interrupted.
    let is_resumed = matches!(request.input, RunInput::Resume(_)) && state.interrupts().next().is_none();
    Ok(match status {
        Some(ThreadStatus::Interrupted) if !is_resumed => RecoveryPlan::AlreadyEnded(RunStatus::AwaitingInput, None),
        Some(ThreadStatus::Error) => {
            let error = state.tasks.into_iter().find_map(|task| task.error);
            RecoveryPlan::AlreadyEnded(RunStatus::Failed, error)
        }
        _ if state.next.is_empty() => RecoveryPlan::AlreadyEnded(RunStatus::Succeeded, None),
        _ => RecoveryPlan::Resume(RunInput::Continue),
    })
}
