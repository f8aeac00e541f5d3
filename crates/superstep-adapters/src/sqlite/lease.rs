//! Who may move a thread: one row for each thread, compared with every write.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{Lease, ThreadStatus};

use super::holder::Watch;
use super::trouble::{Answer, Trouble};
use crate::log::{self, Taken};

/// How many fences one row stands for. A thread that is taken again before its row said that it was given back gets the
/// next of them, and no other process ever gets one of them.
const SPAN: u64 = 1 << 16;

/// The fence that the row says when a thread is held with this one.
pub(super) fn written(fence: u64) -> u64 {
    fence - fence % SPAN
}

/// The fence after this one, as far as the row stands for it.
pub(super) fn next_fence(fence: u64) -> Option<u64> {
    Some(fence + 1).filter(|next| written(*next) == written(fence))
}

/// A thread as its row says.
struct Found {
    row: i64,
    fence: u64,
    holder: Option<i64>,
    run: Option<RunId>,
}

fn find(connection: &Connection, thread: &ThreadId) -> Answer<Option<Found>> {
    let mut statement = connection.prepare_cached("SELECT id, fence, holder, run FROM thread WHERE name = ?1")?;
    let found = statement.query_row([thread.as_str()], |row| {
        let run: Option<[u8; 16]> = row.get(3)?;
        let run = run.map(|bits| RunId::from_bits(u128::from_be_bytes(bits)));
        Ok(Found { row: row.get(0)?, fence: row.get::<_, i64>(1)?.cast_unsigned(), holder: row.get(2)?, run })
    });
    Ok(found.optional()?)
}

/// Who is alive, and which run of this process has a thread whose row names another.
type Known<'a> = (&'a Watch, &'a dyn Fn(i64) -> Option<RunId>);

/// Takes a thread for a run, unless another run that is alive has it. `least` is a fence this process has given before.
pub(super) fn acquire(
    connection: &Connection,
    (thread, run): (&ThreadId, RunId),
    (holder, least): (i64, u64),
    (watch, run_of): Known<'_>,
) -> Answer<Taken> {
    let mut found = find(connection, thread)?;
    if let Some(found) = &mut found {
        let known = run_of(found.row).filter(|_| found.holder == Some(holder));
        found.run = known.or(found.run);
        check_free(connection, thread, found, Some((holder, run)), watch)?;
    }
    let is_new = found.is_none();
    let before = found.as_ref().map_or(0, |found| found.fence);
    let fence = written(before.max(least)) + SPAN;
    let bits = run.bits().to_be_bytes();
    let row = match found {
        Some(found) => {
            let mut statement =
                connection.prepare_cached("UPDATE thread SET fence = ?2, holder = ?3, run = ?4 WHERE id = ?1")?;
            statement.execute(params![found.row, fence.cast_signed(), holder, bits])?;
            found.row
        }
        None => {
            let mut statement =
                connection.prepare_cached("INSERT INTO thread (name, fence, holder, run) VALUES (?1, ?2, ?3, ?4)")?;
            statement.insert(params![thread.as_str(), fence.cast_signed(), holder, bits])?
        }
    };
    Ok(Taken { row, fence, before, is_new })
}

/// Refuses when another run moves the thread. `me` is a holder and its run that may have it already.
fn check_free(
    connection: &Connection,
    thread: &ThreadId,
    found: &Found,
    me: Option<(i64, RunId)>,
    watch: &Watch,
) -> Answer<()> {
    let (Some(holder), Some(run)) = (found.holder, found.run) else { return Ok(()) };
    if me.is_some_and(|(_, mine)| mine == run) {
        return Ok(());
    }
    let is_mine = me.is_some_and(|(mine, _)| mine == holder);
    if is_mine || watch.is_alive(connection, holder)? {
        return Err(Trouble::Refused(log::busy(thread, run)));
    }
    Ok(())
}

/// Refuses when any run moves the thread; gives its row.
pub(super) fn check_unmoved(connection: &Connection, thread: &ThreadId, watch: &Watch) -> Answer<Option<i64>> {
    let Some(found) = find(connection, thread)? else { return Ok(None) };
    check_free(connection, thread, &found, None, watch)?;
    Ok(Some(found.row))
}

/// Gives a thread back. One on which nothing was saved is forgotten.
pub(super) fn release(connection: &Connection, row: i64, fence: u64, holder: i64) -> Answer<()> {
    let given = "UPDATE thread SET holder = NULL, run = NULL WHERE id = ?1 AND fence = ?2 AND holder = ?3";
    connection.prepare_cached(given)?.execute(params![row, written(fence).cast_signed(), holder])?;
    let unused = "DELETE FROM thread WHERE id = ?1 AND holder IS NULL AND status IS NULL";
    connection.prepare_cached(unused)?.execute([row])?;
    Ok(())
}

/// Refuses a lease that is not the newest of its thread; gives how the thread stands.
pub(super) fn check(connection: &Connection, lease: &Lease, (row, holder): (i64, i64)) -> Answer<Option<ThreadStatus>> {
    let mut statement = connection.prepare_cached("SELECT fence, holder, status FROM thread WHERE id = ?1")?;
    let found = statement.query_row([row], |row| {
        Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, Option<i64>>(1)?, row.get::<_, Option<u8>>(2)?))
    });
    match found.optional()? {
        Some((fence, Some(owner), status)) if fence == written(lease.fence) && owner == holder => {
            Ok(status.and_then(ThreadStatus::from_number))
        }
        _ => Err(Trouble::Refused(log::fenced(lease))),
    }
}

/// How a thread stands. Whoever died while moving it moves it no longer.
pub(super) fn status(connection: &Connection, thread: &ThreadId, watch: &Watch) -> Answer<Option<ThreadStatus>> {
    let mut statement = connection.prepare_cached("SELECT status, holder FROM thread WHERE name = ?1")?;
    let found =
        statement.query_row([thread.as_str()], |row| Ok((row.get::<_, Option<u8>>(0)?, row.get::<_, Option<i64>>(1)?)));
    let Some((Some(status), holder)) = found.optional()? else { return Ok(None) };
    let status = ThreadStatus::from_number(status);
    if status != Some(ThreadStatus::Busy) {
        return Ok(status);
    }
    let is_moved = match holder {
        Some(holder) => watch.is_alive(connection, holder)?,
        None => false,
    };
    Ok(Some(if is_moved { ThreadStatus::Busy } else { ThreadStatus::Idle }))
}
