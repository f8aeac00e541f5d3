//! Leases on threads: one row per thread, checked with every write, and one row per process that holds leases.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use superstep_core::error::{Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{Lease, ThreadStatus};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::types::Type;

use super::error::{PgError, PgResult};
use super::lease_heartbeat::LeaseCommand;
use super::pool::ConnectionPool;
use crate::change_log::{self, AcquiredThread, HistoryCache, ValueEncoding};

/// The lease holder: one checkpointer of this process.
pub(super) struct LeaseHolder {
    pub(super) id: i64,
    pub(super) lease_timeout: Duration,
    pub(super) history_cache: HistoryCache,
    /// Threads that are being acquired, with the runs that acquire them.
    claims: Mutex<BTreeMap<ThreadId, RunId>>,
    /// Rows and fences of released leases that the server does not know yet.
    unconfirmed_releases: Mutex<BTreeMap<i64, u64>>,
    /// Highest fence that this process has received.
    fence: AtomicU64,
    commands: UnboundedSender<LeaseCommand>,
}

/// Guard that prevents other callers in this process from acquiring a thread, so that its local state does not
/// change.
pub(super) struct AcquireGuard<'a>(&'a LeaseHolder, ThreadId);

impl Drop for AcquireGuard<'_> {
    fn drop(&mut self) {
        self.0.claims().remove(&self.1);
    }
}

/// A lease on its way to the caller; released if the caller has stopped waiting.
struct LeaseInTransit(Option<Lease>, Arc<LeaseHolder>);

impl Drop for LeaseInTransit {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            self.1.release(&lease);
        }
    }
}

impl LeaseHolder {
    pub(super) fn new(
        (lease_timeout, encoding): (Duration, ValueEncoding),
        commands: UnboundedSender<LeaseCommand>,
    ) -> Result<Self> {
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits)
            .map_err(|error| Error::internal(format!("the system returned no random bytes: {error}")))?;
        let id = (u64::from_le_bytes(bits) >> 1).cast_signed();
        let (history_cache, claims, unconfirmed_releases) =
            (HistoryCache::new(encoding), Mutex::default(), Mutex::default());
        Ok(Self { id, lease_timeout, history_cache, claims, unconfirmed_releases, fence: AtomicU64::new(0), commands })
    }

    /// Returns the lease timeout in microseconds.
    pub(super) fn lease_timeout_micros(&self) -> i64 {
        i64::try_from(self.lease_timeout.as_micros()).unwrap_or(i64::MAX)
    }

    fn claims(&self) -> std::sync::MutexGuard<'_, BTreeMap<ThreadId, RunId>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prevents other callers in this process from acquiring a thread at the same time.
    pub(super) fn begin_acquire(&self, thread: &ThreadId, run: RunId) -> Result<AcquireGuard<'_>> {
        let mut claims = self.claims();
        if let Some(other) = claims.get(thread) {
            return Err(change_log::thread_busy(thread, *other));
        }
        claims.insert(thread.clone(), run);
        Ok(AcquireGuard(self, thread.clone()))
    }

    /// Returns the fence with which this process holds a thread; 0 if it does not hold it.
    pub(super) fn fence_of(&self, thread: &ThreadId) -> Option<i64> {
        Some(self.history_cache.fence_of(thread).unwrap_or(0).cast_signed())
    }

    /// Returns the fence like `fence_of`, for callers without an `AcquireGuard`; `None` while the thread is being
    /// acquired.
    fn settled_fence_of(&self, thread: &ThreadId) -> Option<i64> {
        let claims = self.claims();
        if claims.contains_key(thread) { None } else { self.fence_of(thread) }
    }

    pub(super) fn has_any(&self) -> bool {
        self.history_cache.has_any()
    }

    /// Returns true if the server may have a row for this process.
    pub(super) fn may_have_row(&self) -> bool {
        self.fence.load(Ordering::Relaxed) > 0
    }

    /// Releases a lease in the background.
    pub(super) fn release(&self, lease: &Lease) {
        if let Some(row) = self.history_cache.release(lease) {
            let mut releases = self.lock_unconfirmed_releases();
            let is_announced = !releases.is_empty();
            releases.insert(row, lease.fence);
            drop(releases);
            if !is_announced {
                // If the receiver is gone, the process is shutting down and its leases end with it.
                drop(self.commands.send(LeaseCommand::Released));
            }
        }
    }

    fn lock_unconfirmed_releases(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, u64>> {
        self.unconfirmed_releases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_unconfirmed_releases(&self) -> bool {
        !self.lock_unconfirmed_releases().is_empty()
    }

    /// Returns the released leases by row, with their fences.
    pub(super) fn releases_to_confirm(&self) -> BTreeMap<i64, u64> {
        self.lock_unconfirmed_releases().clone()
    }

    /// Removes releases that the server has received.
    pub(super) fn confirm_releases(&self, confirmed: &BTreeMap<i64, u64>) {
        let mut releases = self.lock_unconfirmed_releases();
        releases.retain(|row, fence| confirmed.get(row) != Some(fence));
        if !releases.is_empty() {
            drop(self.commands.send(LeaseCommand::Released));
        }
    }

    /// Stores an acquired lease and removes a pending release of the same thread.
    fn record_acquired(&self, thread: &ThreadId, acquired: AcquiredThread) -> Lease {
        self.fence.fetch_max(acquired.fence, Ordering::Relaxed);
        let lease = self.history_cache.acquire(thread, acquired);
        self.lock_unconfirmed_releases().remove(&acquired.row);
        lease
    }

    pub(super) fn close(&self) {
        drop(self.commands.send(LeaseCommand::Close));
    }
}

/// Acquires a thread for a run. Continues in the background if the future is dropped, so that the outcome is known.
pub(super) async fn acquire(
    pool: &Arc<ConnectionPool>,
    holder: &Arc<LeaseHolder>,
    thread: &ThreadId,
    run: RunId,
) -> Result<Lease> {
    let (task_pool, holder, thread) = (pool.clone(), holder.clone(), thread.clone());
    let acquire_future = Box::pin(async move {
        let claim = holder.begin_acquire(&thread, run)?;
        let acquired = try_acquire(&task_pool, &holder, &thread, run).await;
        match acquired {
            Ok(acquired) => {
                let lease = holder.record_acquired(&thread, acquired);
                drop(claim);
                Ok(LeaseInTransit(Some(lease), holder))
            }
            Err(error) => {
                let is_uncertain = error.is_outcome_unknown();
                drop(claim);
                if is_uncertain {
                    drop(holder.commands.send(LeaseCommand::UncertainAcquire(thread)));
                }
                Err(error.into_error(&task_pool.address))
            }
        }
    });
    let mut in_transit = DetachOnDrop { work: Some(acquire_future), handle: &pool.handle }.await?;
    in_transit.0.take().ok_or_else(|| Error::internal("an acquired lease was taken twice"))
}

/// A future that continues as a task of its own if it is dropped.
struct DetachOnDrop<'a, T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    handle: &'a Handle,
}

impl<T: Send + 'static> Future for DetachOnDrop<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let done = work.as_mut().poll(context);
        if done.is_ready() {
            self.work = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<'_, T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.handle.spawn(work);
        }
    }
}

async fn try_acquire(
    pool: &ConnectionPool,
    holder: &LeaseHolder,
    thread: &ThreadId,
    run: RunId,
) -> PgResult<AcquiredThread> {
    let (acquire, bits) = (&pool.address.statements.acquire, &run.bits().to_be_bytes()[..]);
    let (own_fence, min_fence) = (holder.fence_of(thread), holder.fence.load(Ordering::Relaxed).cast_signed());
    let row = pool.with_connection(|client| async move {
        let arguments = [
            (&thread.as_str() as _, Type::TEXT),
            (&bits as _, Type::BYTEA),
            (&holder.id as _, Type::INT8),
            (&holder.lease_timeout_micros() as _, Type::INT8),
            (&own_fence as _, Type::INT8),
            (&min_fence as _, Type::INT8),
        ];
        Ok(client.query_typed_one(acquire, &arguments).await?)
    });
    let row = row.await?;
    let Some(acquired) = row.try_get::<_, Option<i64>>(0)? else {
        return Err(PgError::Rejected(change_log::thread_busy(thread, read_run(row.try_get(3)?))));
    };
    let number = |column: usize| row.try_get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(AcquiredThread { row: acquired, fence: number(1)?, before: number(2)?, is_new: false })
}

/// Parses the run that holds a lease.
pub(super) fn read_run(bits: Option<&[u8]>) -> RunId {
    RunId::from_bits(bits.and_then(|bits| bits.try_into().ok()).map_or(0, u128::from_be_bytes))
}

/// Returns the status of a thread. A thread whose lease holder died is idle.
pub(super) async fn status(
    pool: &ConnectionPool,
    holder: &LeaseHolder,
    thread: &ThreadId,
) -> PgResult<Option<ThreadStatus>> {
    let statement = pool.address.fill(
        "SELECT status, status = $4 AND @schema@.is_moved(holder, fence, $2, $3) FROM @schema@.thread \
         WHERE name = $1 AND status IS NOT NULL",
    );
    let (statement, own_fence, busy) =
        (&statement, holder.settled_fence_of(thread), i16::from(ThreadStatus::Busy.number()));
    let row = pool.with_connection(|client| async move {
        let arguments = [
            (&thread.as_str() as _, Type::TEXT),
            (&holder.id as _, Type::INT8),
            (&own_fence as _, Type::INT8),
            (&busy as _, Type::INT2),
        ];
        Ok(client.query_typed_opt(statement, &arguments).await?)
    });
    let Some(row) = row.await? else { return Ok(None) };
    let status = u8::try_from(row.try_get::<_, i16>(0)?).ok().and_then(ThreadStatus::from_number);
    let is_abandoned = status == Some(ThreadStatus::Busy) && !row.try_get::<_, bool>(1)?;
    Ok(if is_abandoned { Some(ThreadStatus::Idle) } else { status })
}

/// Deletes a thread. Returns an error while a run holds a lease on it.
pub(super) async fn delete_thread(pool: &ConnectionPool, holder: &LeaseHolder, thread: &ThreadId) -> PgResult<()> {
    // Held over all attempts: no other caller in this process acquires the thread in between.
    let _claim = holder.begin_acquire(thread, RunId::from_bits(0))?;
    let (delete, own_fence) =
        (&pool.address.fill("SELECT @schema@.delete_thread($1, $2, $3)"), holder.fence_of(thread));
    let row = pool.with_connection(|client| async move {
        let arguments =
            [(&thread.as_str() as _, Type::TEXT), (&holder.id as _, Type::INT8), (&own_fence as _, Type::INT8)];
        Ok(client.query_typed_one(delete, &arguments).await?)
    });
    match row.await?.try_get::<_, Option<&[u8]>>(0)? {
        Some(run) => Err(PgError::Rejected(change_log::thread_busy(thread, read_run(Some(run))))),
        None => Ok(()),
    }
}
