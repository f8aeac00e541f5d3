//! Status of a thread across processes: detects whether its run is alive, and cancels runs that no process executes.

use superstep::core::id::ThreadId;
use superstep::core::port::{Lease, SharedCheckpointer};
use superstep::{ErrorCode, ThreadStatus};

use crate::api::problem::Problem;
use crate::events::broadcast::CancelMode;
use crate::graphs::registry::new_run_id;
use crate::runs::repository::{RunStatus, ThreadRecord, UnfinishedRun};
use crate::runs::service::RunService;

/// A lease on a thread that keeps other processes from executing its run or deciding about it. Released when
/// dropped.
pub(crate) struct ThreadLease {
    checkpointer: SharedCheckpointer,
    pub(crate) lease: Lease,
}

impl Drop for ThreadLease {
    fn drop(&mut self) {
        self.checkpointer.release(&self.lease);
    }
}

impl RunService {
    /// Acquires the lease of a thread; `None` if a living process holds it.
    pub(crate) async fn try_lease_thread(&self, thread: &ThreadId) -> Result<Option<ThreadLease>, Problem> {
        let checkpointer = self.checkpointer().clone();
        // A run may acquire its own thread again, so a new run id is used.
        match checkpointer.acquire(thread, new_run_id()).await {
            Ok(lease) => Ok(Some(ThreadLease { checkpointer, lease })),
            Err(error) if error.code() == ErrorCode::ThreadBusy => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the thread status is busy. Cheap, and acquires no lease. False is not proof: a run
    /// without a checkpoint does not change the status.
    pub(crate) async fn is_leased(&self, run: &UnfinishedRun) -> bool {
        // A thread whose status cannot be read is not treated as orphaned.
        matches!(self.checkpointer().status(&run.thread).await, Ok(Some(ThreadStatus::Busy)) | Err(_))
    }

    /// Returns the status of the last run of a thread. A record stays `running` until a process writes the end of the
    /// run, and that process may have died: such a run is [`RunStatus::Orphaned`] here, and a request with
    /// [`RunInput::Continue`](crate::RunInput::Continue) continues it. Use this status, not the one of the record, to
    /// decide whether a run may be continued.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn current_status(&self, record: &ThreadRecord) -> Result<RunStatus, Problem> {
        if !record.is_unfinished() || self.active_run(&record.thread).is_some() {
            return Ok(record.status);
        }
        match self.try_lease_thread(&record.thread).await? {
            Some(_) => Ok(RunStatus::Orphaned),
            None => Ok(RunStatus::Running),
        }
    }

    /// Cancels the run of a thread in any state: a run in this process is requested to end; a run that awaits input or
    /// is orphaned gets the status cancelled until a client continues it.
    ///
    /// # Errors
    /// Returns 409 if there is no run to cancel, or if another living process executes the run.
    pub async fn cancel(&self, thread: &ThreadId, mode: CancelMode) -> Result<(), Problem> {
        match self.active_run(thread) {
            Some(_) => self.cancel_local(thread, mode),
            None => self.cancel_inactive(thread).await,
        }
    }

    /// Cancels a run that awaits input or is orphaned, which no process executes.
    ///
    /// # Errors
    /// Returns 409 if the run is in neither state.
    async fn cancel_inactive(&self, thread: &ThreadId) -> Result<(), Problem> {
        // The slot and the lease keep others, here and in other processes, from resuming the run meanwhile.
        let _slot = self.0.worker.acquire_slot_over_capacity(thread, new_run_id())?;
        let thread_record = self.get_thread(thread).await?;
        let Some(_lease) = self.try_lease_thread(thread).await? else {
            let problem = Problem::conflict(format!("thread `{thread}` is running in another process"));
            return Err(problem.with_hint("cancel the run in that process").with_thread(thread));
        };
        let is_cancellable = |status: RunStatus| status == RunStatus::AwaitingInput || status.is_unfinished();
        let active = self.0.repository.run(thread_record.run).await?.filter(|record| is_cancellable(record.status));
        let Some(mut record) = active else {
            return Err(Problem::conflict(format!("thread `{thread}` has no active run")).with_thread(thread));
        };
        record.set_ended(RunStatus::Cancelled, None);
        self.0.repository.save(&record).await
    }
}
