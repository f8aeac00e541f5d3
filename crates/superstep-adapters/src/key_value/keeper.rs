//! Keeps what this process holds, on a thread of its own: says again and again that it is alive, gives threads back,
//! and tidies up.
//!
//! Giving back is repeated until the store has it: as long as the process is seen, nobody else may take a thread that it
//! seems to hold.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::KeyValue;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, MissedTickBehavior, timeout};

use super::record::Record;
use super::room::Room;
use super::{lease, listing, upkeep};

/// How long the end of a store waits for what is still to be done.
const PARTING: Duration = Duration::from_secs(5);
/// How long to wait before something that failed is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// What there is to do.
#[derive(Debug)]
pub(super) enum Note {
    /// Give a thread back that was taken with this fence.
    Release(ThreadId, u64),
    /// Remove what a thread no longer needs.
    Clear(ThreadId),
    /// The store ends.
    Close,
}

/// Starts the thread.
pub(super) fn start<K: KeyValue>(room: Arc<Room<K>>, inbox: UnboundedReceiver<Note>) -> Result<JoinHandle<()>> {
    let no_thread =
        |error: std::io::Error| Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
    let work = move || runtime.block_on(keep(room, inbox));
    std::thread::Builder::new().name("superstep-keys".to_owned()).spawn(work).map_err(no_thread)
}

async fn keep<K: KeyValue>(room: Arc<Room<K>>, mut inbox: UnboundedReceiver<Note>) {
    // Beside everything else: what takes long must not cost a thread that is held.
    let beating = tokio::spawn(beat(room.clone()));
    let sweeping = tokio::spawn(sweep(room.clone()));
    let mut left: VecDeque<(ThreadId, u64)> = VecDeque::new();
    loop {
        let note = match left.is_empty() {
            true => inbox.recv().await,
            false => match timeout(PAUSE, inbox.recv()).await {
                // While the store does not answer nothing else is asked of it, so that the end of it is heard of.
                Ok(Some(Note::Release(thread, fence))) => {
                    left.push_back((thread, fence));
                    continue;
                }
                Ok(note) => note,
                Err(_) => left.pop_front().map(|(thread, fence)| Note::Release(thread, fence)),
            },
        };
        match note {
            Some(Note::Release(thread, fence)) => {
                let done = timeout(PARTING, release(&room, &thread, fence)).await;
                // One that is damaged is nobody's to give back.
                if done.is_err() || matches!(done, Ok(Err(error)) if error.is_retryable()) {
                    left.push_back((thread, fence));
                }
            }
            // What could not be removed is removed by the next who comes along.
            Some(Note::Clear(thread)) => drop(timeout(PARTING, clear(&room, &thread)).await),
            Some(Note::Close) | None => break,
        }
    }
    beating.abort();
    sweeping.abort();
    // Whoever does not hear of it waits until the sign of life has lapsed.
    drop(timeout(PARTING, leave(&room, left)).await);
}

async fn beat<K: KeyValue>(room: Arc<Room<K>>) {
    let period = (room.lapse / 3).max(Duration::from_millis(1));
    // Not at once: whoever takes a thread says so itself.
    let mut beats = tokio::time::interval_at(Instant::now() + period, period);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        if room.held.has_any() {
            // One that cannot be told is taken over; its writes are then refused.
            drop(room.beat().await);
        }
    }
}

async fn sweep<K: KeyValue>(room: Arc<Room<K>>) {
    let Some(time_to_live) = room.time_to_live else { return };
    loop {
        tokio::time::sleep(listing::sweep_period(time_to_live)).await;
        // The next one finds what this one could not remove.
        drop(upkeep::sweep(&room).await);
    }
}

async fn release<K: KeyValue>(room: &Room<K>, thread: &ThreadId, fence: u64) -> Result<()> {
    let cell = room.thread(thread);
    let mut log = cell.lock().await;
    log.catch_up(room).await?;
    loop {
        let tables = &log.tables;
        if tables.fence != fence || tables.mover.is_none_or(|mover| mover.holder != room.token) {
            break;
        }
        let is_done = match tables.status {
            // Nothing was saved, so there is no thread.
            None => log.bury(room).await?,
            Some(_) => log.append(room, Record::Given { fence }).await?,
        };
        if is_done {
            break;
        }
    }
    if log.is_doubtful && log.tables.status.is_some() {
        log.put_listing(room, true).await?;
    }
    Ok(())
}

async fn clear<K: KeyValue>(room: &Room<K>, thread: &ThreadId) -> Result<()> {
    let cell = room.thread(thread);
    let mut log = cell.lock().await;
    log.catch_up(room).await?;
    if lease::is_long(&log) { log.condense(room).await } else { log.clear(room).await }
}

/// Gives everything back and leaves nothing behind.
async fn leave<K: KeyValue>(room: &Room<K>, left: VecDeque<(ThreadId, u64)>) -> Result<()> {
    for (thread, fence) in left {
        release(room, &thread, fence).await?;
    }
    room.delete(&[room.keys.holder(room.token)]).await
}
