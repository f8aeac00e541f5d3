//! The list of threads: a key for each that exists, and how long each lasts.
//!
//! A thread is put in the list before its first record, as one that may not exist, and as one that does once that is
//! sure; before it is deleted it is in doubt again. So a crash in between leaves a doubt, which whoever lists looks into.
//! Whether a thread has outlived its time is not in the list: each life of a thread has a key of its own that lapses, so
//! that whoever is slow to remove the thread before it cannot end it.

use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::KeyValue;

use super::frame::is_damage;
use super::room::Room;
use super::thread::Log;

const SURE: &str = "sure";
const BRIEF: &str = "brief ";
const DOUBT: &str = "doubt";

/// What the list says of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Absent,
    /// It exists.
    Sure,
    /// Its log tells.
    Doubt,
}

/// What the list says of some threads.
pub(super) async fn standings<K: KeyValue>(room: &Room<K>, threads: &[ThreadId]) -> Result<Vec<Standing>> {
    let keys: Vec<String> = threads.iter().map(|thread| room.keys.listing(thread)).collect();
    let (mut standings, mut lives) = (Vec::with_capacity(threads.len()), Vec::new());
    for (thread, value) in threads.iter().zip(room.get_each(&keys).await?) {
        let value = value.map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned()));
        let life = |text: &str| u64::from_str_radix(text.strip_prefix(BRIEF)?, 16).ok();
        standings.push(match value {
            Ok(None) => Standing::Absent,
            Ok(Some(text)) if text == SURE => Standing::Sure,
            Ok(Some(text)) => {
                lives.extend(life(&text).map(|life| (standings.len(), room.keys.life(thread, life))));
                Standing::Doubt
            }
            Err(_) => Standing::Doubt,
        });
    }
    let (places, keys): (Vec<usize>, Vec<String>) = lives.into_iter().unzip();
    for (place, value) in places.into_iter().zip(room.get_each(&keys).await?) {
        if !matches!(value, Ok(None)) {
            standings[place] = Standing::Sure;
        }
    }
    Ok(standings)
}

impl Log {
    /// Sees that the thread is in the list, for as long as it is to last; before something is saved.
    pub(super) async fn list<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        self.prolong(room, self.tables.life).await?;
        if self.listed == self.tables.fence {
            return Ok(());
        }
        // Whoever deleted the thread before may have been slow to take it from the list, so each run looks.
        let is_sure = self.tables.status.is_some();
        let found = match room.get(&room.keys.listing(&self.thread)).await {
            Err(error) if is_damage(&error) => None,
            found => found?,
        };
        if !is_sure || found.as_deref() != Some(self.entry(room, true).as_bytes()) {
            self.put_listing(room, is_sure).await?;
        }
        self.listed = self.tables.fence;
        Ok(())
    }

    /// Begins the time anew after which a thread that began with the record of this number is gone.
    pub(super) async fn prolong<K: KeyValue>(&self, room: &Room<K>, life: u64) -> Result<()> {
        if room.time_to_live.is_none() {
            return Ok(());
        }
        room.put(&room.keys.life(&self.thread, life), b"", room.time_to_live).await
    }

    /// Puts it in the list.
    pub(super) async fn put_listing<K: KeyValue>(&mut self, room: &Room<K>, is_sure: bool) -> Result<()> {
        room.put(&room.keys.listing(&self.thread), self.entry(room, is_sure).as_bytes(), None).await?;
        self.is_doubtful = !is_sure;
        Ok(())
    }

    fn entry<K: KeyValue>(&self, room: &Room<K>, is_sure: bool) -> String {
        match (is_sure, room.time_to_live) {
            (false, _) => DOUBT.to_owned(),
            (true, None) => SURE.to_owned(),
            (true, Some(_)) => format!("{BRIEF}{:016x}", self.tables.life),
        }
    }

    /// Takes a thread that was deleted from the list; false when there is another in its place already. That one may have
    /// been taken from the list with it, so it is put there again.
    pub(super) async fn unlist<K: KeyValue>(&mut self, room: &Room<K>) -> Result<bool> {
        let next = self.next();
        room.delete(&[room.keys.listing(&self.thread)]).await?;
        self.read_up(room).await?;
        if self.next() == next && self.damage.is_none() {
            return Ok(true);
        }
        self.put_listing(room, false).await?;
        Ok(false)
    }

    /// Whether nobody wrote to the thread for as long as it was to last, and nobody is about to.
    pub(super) async fn is_gone<K: KeyValue>(&self, room: &Room<K>) -> Result<bool> {
        if self.tables.status.is_none() || self.tables.lasts == 0 {
            return Ok(false);
        }
        if room.has(&room.keys.life(&self.thread, self.tables.life)).await? {
            return Ok(false);
        }
        Ok(!self.is_moved(room).await?)
    }

    /// Whether somebody moves the thread who is alive.
    pub(super) async fn is_moved<K: KeyValue>(&self, room: &Room<K>) -> Result<bool> {
        match self.tables.mover {
            None => Ok(false),
            // One that was given back may not say so yet.
            Some(mover) if mover.holder == room.token => {
                Ok(room.held.fence_of(&self.thread) == Some(self.tables.fence))
            }
            Some(mover) => room.is_alive(mover.holder).await,
        }
    }
}

/// How often threads that have outlived their time are looked for.
pub(super) fn sweep_period(time_to_live: Duration) -> Duration {
    (time_to_live / 2).clamp(Duration::from_millis(100), Duration::from_secs(3_600))
}
