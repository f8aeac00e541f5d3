//! Leases on threads: one row per thread, checked with every write.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{Lease, ThreadStatus};

use super::error::{SqliteError, SqliteResult};
use super::lease_holder::HolderMonitor;
use crate::change_log::{self, AcquiredThread};

/// Number of fences that one row value represents. A thread that is acquired again in this process before its release
/// was written gets the next of them; other processes never get one of them.
const FENCES_PER_ROW: u64 = 1 << 16;

/// Returns the fence in the row of a thread that is held with this fence.
pub(super) fn stored_fence(fence: u64) -> u64 {
    fence - fence % FENCES_PER_ROW
}

/// Returns the fence after this one if the row value represents it.
pub(super) fn next_fence(fence: u64) -> Option<u64> {
    Some(fence + 1).filter(|next| stored_fence(*next) == stored_fence(fence))
}

/// The row of a thread.
struct ThreadRow {
    row: i64,
    fence: u64,
    holder: Option<i64>,
    run: Option<RunId>,
}

fn find(connection: &Connection, thread: &ThreadId) -> SqliteResult<Option<ThreadRow>> {
    let mut statement = connection.prepare_cached("SELECT id, fence, holder, run FROM thread WHERE name = ?1")?;
    let thread_row = statement.query_row([thread.as_str()], |row| {
        let run: Option<[u8; 16]> = row.get(3)?;
        let run = run.map(|bits| RunId::from_bits(u128::from_be_bytes(bits)));
        Ok(ThreadRow { row: row.get(0)?, fence: row.get::<_, i64>(1)?.cast_unsigned(), holder: row.get(2)?, run })
    });
    Ok(thread_row.optional()?)
}

/// Monitor of other holders, and the run that holds a thread in this process although its row names another run.
type LeaseLookup<'a> = (&'a HolderMonitor, &'a dyn Fn(i64) -> Option<RunId>);

/// Acquires a lease for a run, unless a run of a live process holds one. `min_fence` is a fence that this process has
/// received before.
pub(super) fn acquire(
    connection: &Connection,
    (thread, run): (&ThreadId, RunId),
    (holder, min_fence): (i64, u64),
    (monitor, run_of): LeaseLookup<'_>,
) -> SqliteResult<AcquiredThread> {
    let mut thread_row = find(connection, thread)?;
    if let Some(thread_row) = &mut thread_row {
        let current_run = run_of(thread_row.row).filter(|_| thread_row.holder == Some(holder));
        thread_row.run = current_run.or(thread_row.run);
        check_not_leased(connection, thread, thread_row, Some((holder, run)), monitor)?;
    }
    let is_new = thread_row.is_none();
    let before = thread_row.as_ref().map_or(0, |thread_row| thread_row.fence);
    let fence = stored_fence(before.max(min_fence)) + FENCES_PER_ROW;
    let bits = run.bits().to_be_bytes();
    let row = match thread_row {
        Some(thread_row) => {
            let mut statement =
                connection.prepare_cached("UPDATE thread SET fence = ?2, holder = ?3, run = ?4 WHERE id = ?1")?;
            statement.execute(params![thread_row.row, fence.cast_signed(), holder, bits])?;
            thread_row.row
        }
        None => {
            let mut statement =
                connection.prepare_cached("INSERT INTO thread (name, fence, holder, run) VALUES (?1, ?2, ?3, ?4)")?;
            statement.insert(params![thread.as_str(), fence.cast_signed(), holder, bits])?
        }
    };
    Ok(AcquiredThread { row, fence, before, is_new })
}

/// Returns an error if another run holds a live lease. `acquirer` is the holder and the run that may hold it already.
fn check_not_leased(
    connection: &Connection,
    thread: &ThreadId,
    thread_row: &ThreadRow,
    acquirer: Option<(i64, RunId)>,
    monitor: &HolderMonitor,
) -> SqliteResult<()> {
    let (Some(holder), Some(run)) = (thread_row.holder, thread_row.run) else { return Ok(()) };
    if acquirer.is_some_and(|(_, own_run)| own_run == run) {
        return Ok(());
    }
    let is_own_lease = acquirer.is_some_and(|(own_holder, _)| own_holder == holder);
    if is_own_lease || monitor.is_alive(connection, holder)? {
        return Err(SqliteError::Rejected(change_log::thread_busy(thread, run)));
    }
    Ok(())
}

/// Returns an error if any run holds a live lease; otherwise the row of the thread.
pub(super) fn check_not_running(
    connection: &Connection,
    thread: &ThreadId,
    monitor: &HolderMonitor,
) -> SqliteResult<Option<i64>> {
    let Some(thread_row) = find(connection, thread)? else { return Ok(None) };
    check_not_leased(connection, thread, &thread_row, None, monitor)?;
    Ok(Some(thread_row.row))
}

/// Releases a lease and deletes the row of a thread on which nothing was saved.
pub(super) fn release(connection: &Connection, row: i64, fence: u64, holder: i64) -> SqliteResult<()> {
    let update = "UPDATE thread SET holder = NULL, run = NULL WHERE id = ?1 AND fence = ?2 AND holder = ?3";
    connection.prepare_cached(update)?.execute(params![row, stored_fence(fence).cast_signed(), holder])?;
    let unused = "DELETE FROM thread WHERE id = ?1 AND holder IS NULL AND status IS NULL";
    connection.prepare_cached(unused)?.execute([row])?;
    Ok(())
}

/// Rejects a lease that is not the newest of its thread; returns the status of the thread.
pub(super) fn check(
    connection: &Connection,
    lease: &Lease,
    (row, holder): (i64, i64),
) -> SqliteResult<Option<ThreadStatus>> {
    let mut statement = connection.prepare_cached("SELECT fence, holder, status FROM thread WHERE id = ?1")?;
    let result = statement.query_row([row], |row| {
        Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, Option<i64>>(1)?, row.get::<_, Option<u8>>(2)?))
    });
    match result.optional()? {
        Some((fence, Some(owner), status)) if fence == stored_fence(lease.fence) && owner == holder => {
            Ok(status.and_then(ThreadStatus::from_number))
        }
        _ => Err(SqliteError::Rejected(change_log::lease_lost(lease))),
    }
}

/// Returns the status of a thread. A thread whose lease holder died is idle.
pub(super) fn status(
    connection: &Connection,
    thread: &ThreadId,
    monitor: &HolderMonitor,
) -> SqliteResult<Option<ThreadStatus>> {
    let mut statement = connection.prepare_cached("SELECT status, holder FROM thread WHERE name = ?1")?;
    let result =
        statement.query_row([thread.as_str()], |row| Ok((row.get::<_, Option<u8>>(0)?, row.get::<_, Option<i64>>(1)?)));
    let Some((Some(status), holder)) = result.optional()? else { return Ok(None) };
    let status = ThreadStatus::from_number(status);
    if status != Some(ThreadStatus::Busy) {
        return Ok(status);
    }
    let is_leased = match holder {
        Some(holder) => monitor.is_alive(connection, holder)?,
        None => false,
    };
    Ok(Some(if is_leased { ThreadStatus::Busy } else { ThreadStatus::Idle }))
}
