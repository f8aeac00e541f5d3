//! How a thread stands, whichever process moves it: is its run alive, and what can be done about one that is not.

use superstep::core::id::ThreadId;
use superstep::core::port::{Lease, SharedCheckpointer};
use superstep::{Code, ThreadStatus};

use super::Desk;
use crate::hub::Stop;
use crate::ledger::{RunStatus, ThreadRecord, Unfinished};
use crate::problem::Problem;
use crate::registry::fresh_run;

/// A thread that is held for a moment, so that nobody else moves it or decides about its run. Given back when dropped.
pub(super) struct Turn {
    store: SharedCheckpointer,
    pub(super) lease: Lease,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.store.release(&self.lease);
    }
}

impl Desk {
    /// Holds a thread; nothing when a process that lives moves it.
    pub(super) async fn turn(&self, thread: &ThreadId) -> Result<Option<Turn>, Problem> {
        let store = self.checkpoints().clone();
        // A run may take its own thread again, so that another asks.
        match store.acquire(thread, fresh_run()).await {
            Ok(lease) => Ok(Some(Turn { store, lease })),
            Err(error) if error.code() == Code::ThreadBusy => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the thread says that somebody moves it. Cheap, and holds nothing; one that says no may be moved all the same,
    /// by a run that has saved nothing yet.
    pub(super) async fn is_busy(&self, run: &Unfinished) -> bool {
        // What cannot be asked is not called dead.
        matches!(self.checkpoints().status(&run.thread).await, Ok(Some(ThreadStatus::Busy)) | Err(_))
    }

    /// How the last run of a thread stands now. A record says `running` until somebody writes that it is over, and whoever
    /// was to may have died: such a run is [`RunStatus::Interrupted`] here, and goes on with an order
    /// [`GoOn`](crate::What::GoOn). Ask it, and not the record, before you refuse to go on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn standing(&self, record: &ThreadRecord) -> Result<RunStatus, Problem> {
        if !record.is_unfinished() || self.running(&record.thread).is_some() {
            return Ok(record.status);
        }
        match self.turn(&record.thread).await? {
            Some(_) => Ok(RunStatus::Interrupted),
            None => Ok(RunStatus::Running),
        }
    }

    /// Stops the run of a thread, whatever it does: one that runs here is told to, one that waits for a person or whose process
    /// has died counts as stopped from now on, until somebody goes on with it.
    ///
    /// # Errors
    /// 409 when there is nothing to stop, or another process that lives has the run.
    pub async fn halt(&self, thread: &ThreadId, stop: Stop) -> Result<(), Problem> {
        match self.running(thread) {
            Some(_) => self.stop(thread, stop),
            None => self.set_aside(thread).await,
        }
    }

    /// Sets a thread aside that waits for a person, or whose process has died: it counts as stopped until somebody goes on
    /// with it.
    ///
    /// # Errors
    /// 409 when it does neither.
    pub async fn set_aside(&self, thread: &ThreadId) -> Result<(), Problem> {
        // Nobody answers it meanwhile, here or elsewhere.
        let _place = self.0.worker.hold(thread, fresh_run())?;
        let known = self.known(thread).await?;
        let Some(_turn) = self.turn(thread).await? else {
            let problem = Problem::conflict(format!("another process runs thread `{thread}`"));
            return Err(problem.hint("stop it there").on_thread(thread));
        };
        let is_meant = |status: RunStatus| status == RunStatus::Waiting || status.is_unfinished();
        let found = self.0.ledger.run(known.run).await?.filter(|record| is_meant(record.status));
        let Some(mut record) = found else {
            return Err(Problem::conflict(format!("thread `{thread}` does not run")).on_thread(thread));
        };
        record.ended(RunStatus::Stopped, None);
        self.0.ledger.write(&record).await
    }
}
