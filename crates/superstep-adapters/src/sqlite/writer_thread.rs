//! The writing connection on a dedicated thread.
//!
//! Runs all waiting jobs in one transaction and replies after the commit is on disk: concurrent runs share one sync.
//! Jobs that only concern leases need no sync, because leases are void once their processes are gone. A reply is
//! never sent before the transaction has ended.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use tokio::sync::oneshot;

use super::error::{SqliteError, SqliteResult, invalidates_connection};
use super::lease;
use super::lease_holder::{HolderMonitor, LeaseHolder};
use super::pending_releases::{PendingRelease, PendingReleases, RELEASE_DELAY, SqliteLeaseGuard};
use super::schema::DatabasePath;
use super::{SqliteOptions, Synchronous};
use crate::change_log::AcquiredThread;

/// Maximum number of jobs in one transaction.
const MAX_BATCH: usize = 512;
/// Number of heartbeats per lease timeout.
const HEARTBEATS_PER_LEASE: u32 = 3;

/// Durability of the effect of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// The effect must be on disk before the reply.
    Sync,
    /// The effect may be lost on power loss.
    NoSync,
}

/// A job of a transaction. Runs again from the start if the transaction is rolled back.
trait WriterJob: Send {
    fn effect(&self) -> SyncMode;
    /// Runs the job. After `SqliteError::Database` the transaction is rolled back; other errors leave it unchanged.
    fn run(&mut self, context: &mut WriterContext) -> std::result::Result<(), rusqlite::Error>;
    /// Replies to the caller, with the error if the whole transaction failed.
    fn reply(self: Box<Self>, failure: Option<&Error>);
}

/// The only kind of job: a function and the channel for its result.
struct FnJob<F, T> {
    effect: SyncMode,
    work: F,
    result: Option<SqliteResult<T>>,
    reply: oneshot::Sender<SqliteResult<T>>,
}

impl<F: FnMut(&mut WriterContext) -> SqliteResult<T> + Send, T: Send> WriterJob for FnJob<F, T> {
    fn effect(&self) -> SyncMode {
        self.effect
    }

    fn run(&mut self, context: &mut WriterContext) -> std::result::Result<(), rusqlite::Error> {
        match (self.work)(context) {
            Err(SqliteError::Database(error)) => Err(error),
            result => {
                self.result = Some(result);
                Ok(())
            }
        }
    }

    fn reply(self: Box<Self>, failure: Option<&Error>) {
        let result = match failure {
            Some(failure) => Err(SqliteError::Rejected(failure.clone())),
            None => self
                .result
                .unwrap_or_else(|| Err(SqliteError::Rejected(Error::internal("a job ended without a result")))),
        };
        // The caller may have stopped waiting because its run was dropped; the job is committed nevertheless.
        drop(self.reply.send(result));
    }
}

/// State of the writer thread that jobs can use.
pub(super) struct WriterContext {
    pub(super) connection: Connection,
    holder: LeaseHolder,
    /// Highest fence issued by this process.
    fence: u64,
    /// Number of leases held by this process.
    held_leases: usize,
    pub(super) pending_releases: PendingReleases,
}

impl WriterContext {
    /// Returns the row id of this lease holder.
    pub(super) fn holder(&mut self) -> SqliteResult<i64> {
        self.holder.row(&self.connection)
    }

    /// Writes pending releases.
    fn write_releases(&mut self, releases: &[PendingRelease]) -> SqliteResult<()> {
        if let [_, ..] = releases {
            let holder = self.holder()?;
            releases
                .iter()
                .try_for_each(|release| lease::release(&self.connection, release.row, release.fence, holder))?;
        }
        Ok(())
    }
}

/// Handle of the writer thread.
pub(super) struct WriterHandle {
    database: DatabasePath,
    monitor: HolderMonitor,
    jobs: Option<Sender<Box<dyn WriterJob>>>,
    pending_releases: PendingReleases,
    thread: Option<JoinHandle<()>>,
}

impl WriterHandle {
    pub(super) fn start(database: DatabasePath, options: &SqliteOptions) -> Result<Self> {
        let monitor = HolderMonitor::new(&database, options.lease_timeout);
        let connection = database.open_writer(options.busy)?;
        monitor.remove_dead_holders(&connection).map_err(|error| error.into_error(&database.name()))?;
        let pending_releases = PendingReleases::default();
        let context = WriterContext {
            connection,
            holder: LeaseHolder::new(&database)?,
            fence: 0,
            held_leases: 0,
            pending_releases: pending_releases.clone(),
        };
        let (jobs, inbox) = channel();
        let mut writer = WriterThread {
            database: database.clone(),
            options: options.clone(),
            syncs: true,
            context,
            connection_failed: false,
        };
        let thread = std::thread::Builder::new()
            .name("superstep-sqlite".to_owned())
            .spawn(move || writer.work(&inbox))
            .map_err(|error| {
                Error::new(
                    ErrorCode::StoreUnavailable,
                    format!("failed to start the background OS thread of the SQLite checkpointer: {error}"),
                )
            })?;
        Ok(Self { database, monitor, jobs: Some(jobs), pending_releases, thread: Some(thread) })
    }

    pub(super) fn database(&self) -> &DatabasePath {
        &self.database
    }

    pub(super) fn monitor(&self) -> HolderMonitor {
        self.monitor.clone()
    }

    /// Returns true if all sent jobs have ended, so that readers see their effects.
    pub(super) fn is_idle(&self) -> bool {
        self.pending_releases.is_idle()
    }

    /// Runs a job in a transaction and waits for its result.
    pub(super) async fn perform<T: Send + 'static>(
        &self,
        effect: SyncMode,
        mut work: impl FnMut(&Connection) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        let result = self.execute(effect, move |context: &mut WriterContext| work(&context.connection)).await;
        result.map_err(|error| error.into_error(&self.database.name()))
    }

    /// Runs a job like `perform`, with access to the whole writer state and with unconverted errors.
    pub(super) async fn execute<T: Send + 'static>(
        &self,
        effect: SyncMode,
        work: impl FnMut(&mut WriterContext) -> SqliteResult<T> + Send + 'static,
    ) -> SqliteResult<T> {
        let (reply, response) = oneshot::channel();
        self.send(Box::new(FnJob { effect, work, result: None, reply }));
        response.await.unwrap_or_else(|_| Err(SqliteError::Rejected(closed(&self.database.name()))))
    }

    fn send(&self, job: Box<dyn WriterJob>) {
        if let Some(jobs) = &self.jobs {
            self.pending_releases.job_sent();
            // If the thread has ended, `reply` is dropped with the job and the caller receives an error.
            drop(jobs.send(job));
        }
    }

    /// Acquires a lease. `last_release` is the row of the thread and the fence of its last release in this process.
    pub(super) async fn acquire(
        &self,
        thread: ThreadId,
        run: RunId,
        last_release: Option<(i64, u64)>,
    ) -> Result<AcquiredThread> {
        if let Some(acquired) = last_release.and_then(|last_release| self.pending_releases.reacquire(last_release, run))
        {
            return Ok(acquired);
        }
        let monitor = self.monitor.clone();
        let acquired = self.execute(SyncMode::NoSync, move |context| {
            let holder_and_fence = (context.holder()?, context.fence);
            let run_of = |row| context.pending_releases.run_of(row).map(|(run, _)| run);
            let acquired = lease::acquire(&context.connection, (&thread, run), holder_and_fence, (&monitor, &run_of))?;
            context.pending_releases.row_written(acquired.row);
            context.fence = context.fence.max(acquired.fence);
            context.held_leases += 1;
            Ok(SqliteLeaseGuard::new(acquired, &context.pending_releases))
        });
        let acquired =
            acquired.await.map(SqliteLeaseGuard::disarm).map_err(|error| error.into_error(&self.database.name()))?;
        // The row contains the first of the fences issued here.
        let last =
            last_release.filter(|(row, fence)| *row == acquired.row && lease::stored_fence(*fence) == acquired.before);
        Ok(AcquiredThread { before: last.map_or(acquired.before, |(_, fence)| fence), ..acquired })
    }

    /// Queues the release of a lease.
    pub(super) fn release(&self, row: i64, fence: u64) {
        // Every transaction begins with the pending releases. After a transaction, the next one is awaited briefly,
        // because a run that ends is often followed by another; later the thread has to be woken.
        if self.pending_releases.queue_release(row, fence) {
            let (reply, _) = oneshot::channel();
            self.send(Box::new(FnJob {
                effect: SyncMode::NoSync,
                work: |_: &mut WriterContext| Ok(()),
                result: None,
                reply,
            }));
        }
    }
}

/// Finishes the jobs that are already queued.
impl Drop for WriterHandle {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // The callers of a panicked job have received an error.
            drop(thread.join());
        }
    }
}

fn closed(name: &str) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the checkpointer for `{name}` is closed"))
        .with_help("this write may be lost; all earlier acknowledged writes are saved; create a new checkpointer")
}

/// State and loop of the writer thread.
struct WriterThread {
    database: DatabasePath,
    options: SqliteOptions,
    /// True if the connection syncs to disk at the end of a transaction.
    syncs: bool,
    context: WriterContext,
    /// True if the connection failed and must not be used again.
    connection_failed: bool,
}

impl WriterThread {
    fn work(&mut self, inbox: &Receiver<Box<dyn WriterJob>>) {
        let (mut last_heartbeat, heartbeat_interval) =
            (Instant::now(), (self.options.lease_timeout / HEARTBEATS_PER_LEASE).max(RELEASE_DELAY));
        let mut is_lingering = false;
        loop {
            let wait = heartbeat_interval.saturating_sub(last_heartbeat.elapsed());
            match inbox.recv_timeout(if is_lingering { wait.min(RELEASE_DELAY) } else { wait }) {
                Ok(first) => {
                    let mut batch = vec![first];
                    batch.extend(inbox.try_iter().take(MAX_BATCH - 1));
                    self.context.pending_releases.wake();
                    self.perform(batch);
                    is_lingering = true;
                }
                Err(RecvTimeoutError::Timeout) => is_lingering = !self.flush_releases(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if last_heartbeat.elapsed() >= heartbeat_interval {
                last_heartbeat = Instant::now();
                self.heartbeat();
            }
        }
        self.flush_releases();
        if !self.connection_failed {
            let WriterContext { connection, holder, .. } = &mut self.context;
            holder.release(connection);
        }
    }

    /// Writes pending releases. Returns true if the thread may sleep: new releases wake it, and those that could not
    /// be written are retried with every heartbeat.
    fn flush_releases(&mut self) -> bool {
        let before = self.context.pending_releases.list();
        if !before.is_empty() {
            self.perform(Vec::new());
        }
        self.context.pending_releases.sleep_unless_new(&before)
    }

    /// Sends a heartbeat. If it cannot be written, other processes take over the leases, and writes of this process
    /// are rejected.
    fn heartbeat(&mut self) {
        if !self.context.pending_releases.list().is_empty() {
            self.perform(Vec::new());
        }
        if self.context.held_leases > 0 && self.restore().is_ok() && self.set_syncs(SyncMode::NoSync).is_ok() {
            drop(self.context.holder.heartbeat(&self.context.connection));
        }
    }

    fn perform(&mut self, mut batch: Vec<Box<dyn WriterJob>>) {
        let releases = self.context.pending_releases.take_all();
        let done = self.transact(&mut batch, &releases);
        match &done {
            Ok(()) => self.context.held_leases = self.context.held_leases.saturating_sub(releases.len()),
            Err(_) => self.context.pending_releases.requeue(releases),
        }
        let failure = match done {
            Ok(()) => None,
            Err((_, true)) if batch.len() > 1 && !self.connection_failed => {
                // One job failed: run them one by one, so that the others succeed.
                return batch.into_iter().for_each(|job| self.perform(vec![job]));
            }
            Err((error, _)) => Some(error.into_error(&self.database.name())),
        };
        self.context.pending_releases.jobs_ended(batch.len());
        batch.into_iter().for_each(|job| job.reply(failure.as_ref()));
    }

    /// Runs all jobs in one transaction. The flag of the error is true if a job caused it.
    fn transact(
        &mut self,
        batch: &mut [Box<dyn WriterJob>],
        releases: &[PendingRelease],
    ) -> std::result::Result<(), (SqliteError, bool)> {
        self.restore().map_err(|error| (error, false))?;
        let is_durable = batch.iter().any(|job| job.effect() == SyncMode::Sync);
        let mut is_in_job = false;
        let done = self.set_syncs(if is_durable { SyncMode::Sync } else { SyncMode::NoSync }).and_then(|()| {
            self.context.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            if let Err(SqliteError::Database(error)) = self.context.write_releases(releases) {
                return Err(error);
            }
            is_in_job = true;
            for job in batch {
                job.run(&mut self.context)?;
            }
            is_in_job = false;
            self.context.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        });
        if let Err(error) = &done {
            self.connection_failed = invalidates_connection(error);
            // SQLite rolls some transactions back by itself and reports an error for a second rollback.
            if !self.connection_failed && !self.context.connection.is_autocommit() {
                self.connection_failed = self.context.connection.execute_batch("ROLLBACK").is_err();
            }
            // The row of this holder may have been rolled back.
            self.context.holder.is_written = false;
        }
        done.map_err(|error| (SqliteError::Database(error), is_in_job))
    }

    /// Replaces a failed connection: only a new connection shows the state on disk.
    fn restore(&mut self) -> SqliteResult<()> {
        if self.connection_failed {
            if self.database.path().is_none() {
                return Err(SqliteError::Rejected(closed(&self.database.name())));
            }
            self.context.connection = self.database.connect_writer(self.options.busy)?;
            (self.connection_failed, self.syncs) = (false, true);
        }
        Ok(())
    }

    fn set_syncs(&mut self, effect: SyncMode) -> rusqlite::Result<()> {
        let syncs = effect == SyncMode::Sync && self.options.synchronous == Synchronous::Full;
        if syncs != self.syncs {
            let pragma = if syncs { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            self.context.connection.execute_batch(pragma)?;
            self.syncs = syncs;
        }
        Ok(())
    }
}
