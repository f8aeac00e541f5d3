//! The list of threads: a key for each that exists, which is gone when the thread has outlived its time.
//!
//! A thread is put in the list before its first record, as one that may not exist, and as one that does once that is
//! sure; before it is deleted it is in doubt again. So a crash in between leaves a doubt, which whoever lists looks into.

use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::port::KeyValue;

use super::room::Room;
use super::thread::Log;

const SURE: &[u8] = b"sure";
const DOUBT: &[u8] = b"doubt";

/// Whether a thread that is in the list so exists without a doubt.
pub(super) fn is_sure(value: &[u8]) -> bool {
    value == SURE
}

impl Log {
    /// Sees that the thread is in the list, for as long as it is to last; before something is saved.
    pub(super) async fn list<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        let is_sure = self.tables.status.is_some();
        if room.time_to_live.is_none() && self.tables.lasts == 0 {
            if self.listed == self.tables.fence {
                return Ok(());
            }
            // Whoever deleted the thread before may have been slow to take it from the list, so each run looks.
            let found = room.get(&room.keys.listing(&self.thread)).await?;
            if found.as_deref() == Some(SURE) && is_sure {
                self.listed = self.tables.fence;
                return Ok(());
            }
        }
        self.put_listing(room, is_sure).await?;
        self.listed = self.tables.fence;
        Ok(())
    }

    /// Puts it in the list.
    pub(super) async fn put_listing<K: KeyValue>(&mut self, room: &Room<K>, is_sure: bool) -> Result<()> {
        let key = room.keys.listing(&self.thread);
        room.put(&key, if is_sure { SURE } else { DOUBT }, room.time_to_live).await?;
        self.is_doubtful = !is_sure;
        Ok(())
    }

    /// Whether nobody wrote to the thread for as long as it was to last, and nobody is about to.
    pub(super) async fn is_gone<K: KeyValue>(&self, room: &Room<K>) -> Result<bool> {
        if self.tables.status.is_none() || self.tables.lasts == 0 {
            return Ok(false);
        }
        if room.get(&room.keys.listing(&self.thread)).await?.is_some() {
            return Ok(false);
        }
        Ok(!self.is_moved(room).await?)
    }

    /// Whether somebody moves the thread who is alive.
    pub(super) async fn is_moved<K: KeyValue>(&self, room: &Room<K>) -> Result<bool> {
        match self.tables.mover {
            None => Ok(false),
            Some(mover) if mover.holder == room.token => Ok(room.owed().get(&self.thread) != Some(&self.tables.fence)),
            Some(mover) => room.is_alive(mover.holder).await,
        }
    }
}

/// How often threads that have outlived their time are looked for.
pub(super) fn sweep_period(time_to_live: Duration) -> Duration {
    (time_to_live / 2).clamp(Duration::from_millis(100), Duration::from_secs(3_600))
}
