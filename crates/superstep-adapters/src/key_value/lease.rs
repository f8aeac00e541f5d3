//! Who may move a thread: a record of its log, so that whoever was overtaken finds it when it writes.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{KeyValue, Lease, ThreadStatus};

use super::keeper::Note;
use super::record::Record;
use super::room::Room;
use super::tables::{Mover, Tables};
use super::thread::Log;
use crate::log::{self, Taken};

/// How often it is tried to take a thread that others write to.
const TRIES: usize = 64;
/// Records of a thread beyond those it needs, before it is condensed.
const SLACK: u64 = 256;

/// Takes a thread for a run, unless another run that is alive has it.
pub(super) async fn acquire<K: KeyValue>(room: &Arc<Room<K>>, thread: &ThreadId, run: RunId) -> Result<Lease> {
    let cell = room.thread(thread);
    let mut log = cell.lock().await;
    log.catch_up(room).await?;
    room.show_life().await?;
    for _ in 0..TRIES {
        if let Some(taken) = try_acquire(room, &mut log, run).await? {
            return Ok(room.held.take(thread, taken));
        }
    }
    Err(Error::new(Code::StoreUnavailable, format!("thread `{thread}` was written again and again while it was taken"))
        .help("nothing was saved; try again"))
}

async fn try_acquire<K: KeyValue>(room: &Arc<Room<K>>, log: &mut Log, run: RunId) -> Result<Option<Taken>> {
    let is_gone = log.is_gone(room).await?;
    if !is_gone {
        check_free(room, log, Some(run)).await?;
    }
    let (number, before, is_new) = (log.next(), log.tables.fence, is_gone || log.tables.status.is_none());
    let (fence, mover) = (room.fence_above(before), Mover { run, holder: room.token });
    let record = match is_new {
        true => Record::Whole(Box::new(Tables { fence, mover: Some(mover), ..log.tables.anew(number) })),
        false => Record::Taken { fence, mover },
    };
    let mut loan = Loan { room, thread: &log.thread.clone(), fence, is_kept: false };
    if !log.append(room, record).await? {
        loan.is_kept = true;
        return Ok(None);
    }
    if is_new && number > 0 {
        log.begin_at(room, number).await?;
    }
    if (is_new && number > 0) || log.is_long(SLACK) {
        room.note(Note::Clear(log.thread.clone()));
    }
    loan.is_kept = true;
    Ok(Some(Taken { row: log.tables.life.cast_signed(), fence, before, is_new: false }))
}

/// Whether a thread is worth condensing.
pub(super) fn is_long(log: &Log) -> bool {
    log.is_long(SLACK)
}

/// A thread that was taken, or perhaps was, for somebody who may have stopped waiting: it is then given back.
struct Loan<'a, K: KeyValue> {
    room: &'a Room<K>,
    thread: &'a ThreadId,
    fence: u64,
    is_kept: bool,
}

impl<K: KeyValue> Drop for Loan<'_, K> {
    fn drop(&mut self) {
        if !self.is_kept {
            give_back(self.room, self.thread, self.fence);
        }
    }
}

/// Gives a thread back, without waiting.
pub(super) fn give_back<K: KeyValue>(room: &Room<K>, thread: &ThreadId, fence: u64) {
    room.note(Note::Release(thread.clone(), fence));
}

/// Refuses when another run moves the thread; `run` may have it already.
pub(super) async fn check_free<K: KeyValue>(room: &Room<K>, log: &Log, run: Option<RunId>) -> Result<()> {
    let Some(mover) = log.tables.mover else { return Ok(()) };
    if run == Some(mover.run) || !log.is_moved(room).await? {
        return Ok(());
    }
    Err(log::busy(&log.thread, mover.run))
}

/// How a thread stands. Whoever died while moving it moves it no longer.
pub(super) async fn status<K: KeyValue>(room: &Room<K>, log: &Log) -> Result<Option<ThreadStatus>> {
    match log.tables.status {
        Some(ThreadStatus::Busy) if !log.is_moved(room).await? => Ok(Some(ThreadStatus::Idle)),
        status => Ok(status),
    }
}
