//! Leases on threads. A lease is a record in the log of the thread, so a process that lost its lease detects that
//! when it writes.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{KeyValue, Lease, ThreadStatus};

use super::backend::Backend;
use super::background::BackgroundTask;
use super::log_record::LogRecord;
use super::thread_log::ThreadLog;
use super::thread_tables::{LeaseOwner, ThreadTables};
use crate::change_log::{self, AcquiredThread};

/// Maximum number of attempts to acquire a thread while other processes write to it.
const MAX_ATTEMPTS: usize = 64;
/// Number of records beyond the needed ones after which the log is compacted.
const COMPACTION_SLACK: u64 = 256;

/// Acquires a lease on a thread for a run, unless a run of a live process holds one.
pub(super) async fn acquire<K: KeyValue>(backend: &Arc<Backend<K>>, thread: &ThreadId, run: RunId) -> Result<Lease> {
    let cell = backend.thread(thread);
    let mut log = cell.lock().await;
    log.refresh(backend).await?;
    backend.heartbeat_if_due().await?;
    for _ in 0..MAX_ATTEMPTS {
        if let Some(acquired) = try_acquire(backend, &mut log, run).await? {
            return Ok(backend.history_cache.acquire(thread, acquired));
        }
    }
    Err(Error::new(
        ErrorCode::StoreUnavailable,
        format!("thread `{thread}` was repeatedly written while its lease was acquired"),
    )
    .with_help("nothing was saved; try again"))
}

async fn try_acquire<K: KeyValue>(
    backend: &Arc<Backend<K>>,
    log: &mut ThreadLog,
    run: RunId,
) -> Result<Option<AcquiredThread>> {
    let is_expired = log.is_expired(backend).await?;
    if !is_expired {
        check_not_leased(backend, log, Some(run)).await?;
    }
    let (number, before, is_new) = (log.next(), log.tables.fence, is_expired || log.tables.status.is_none());
    let (fence, owner) = (backend.fence_above(before), LeaseOwner { run, process_token: backend.token });
    let record = match is_new {
        true => {
            LogRecord::Full(Box::new(ThreadTables { fence, lease_owner: Some(owner), ..log.tables.restarted(number) }))
        }
        false => LogRecord::Acquired { fence, owner },
    };
    let mut guard = KeyValueLeaseGuard { backend, thread: &log.thread.clone(), fence, is_disarmed: false };
    if !log.append(backend, record).await? {
        guard.is_disarmed = true;
        return Ok(None);
    }
    if is_new && number > 0 {
        log.begin_at(backend, number).await?;
    }
    if (is_new && number > 0) || log.is_long(COMPACTION_SLACK) {
        backend.run_in_background(BackgroundTask::Clear(log.thread.clone()));
    }
    guard.is_disarmed = true;
    Ok(Some(AcquiredThread { row: log.tables.first_record.cast_signed(), fence, before, is_new: false }))
}

/// Returns true if the log of a thread should be compacted.
pub(super) fn needs_compaction(log: &ThreadLog) -> bool {
    log.is_long(COMPACTION_SLACK)
}

/// Guard that releases a lease that was (or may have been) acquired, if the future is dropped before the caller
/// receives it.
struct KeyValueLeaseGuard<'a, K: KeyValue> {
    backend: &'a Backend<K>,
    thread: &'a ThreadId,
    fence: u64,
    is_disarmed: bool,
}

impl<K: KeyValue> Drop for KeyValueLeaseGuard<'_, K> {
    fn drop(&mut self) {
        if !self.is_disarmed {
            release(self.backend, self.thread, self.fence);
        }
    }
}

/// Releases a lease in the background.
pub(super) fn release<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId, fence: u64) {
    backend.run_in_background(BackgroundTask::Release(thread.clone(), fence));
}

/// Returns an error if a run other than `run` holds a live lease on the thread.
pub(super) async fn check_not_leased<K: KeyValue>(
    backend: &Backend<K>,
    log: &ThreadLog,
    run: Option<RunId>,
) -> Result<()> {
    let Some(owner) = log.tables.lease_owner else { return Ok(()) };
    if run == Some(owner.run) || !log.is_leased(backend).await? {
        return Ok(());
    }
    Err(change_log::thread_busy(&log.thread, owner.run))
}

/// Returns the status of a thread. A thread whose lease holder has died is idle.
pub(super) async fn status<K: KeyValue>(backend: &Backend<K>, log: &ThreadLog) -> Result<Option<ThreadStatus>> {
    match log.tables.status {
        Some(ThreadStatus::Busy) if !log.is_leased(backend).await? => Ok(Some(ThreadStatus::Idle)),
        status => Ok(status),
    }
}
