//! Logs that cannot be read to their end: what is before the damage stays readable, whatever would build on it is refused,
//! and the thread can be deleted.

use superstep_core::error::{Error, Result};
use superstep_core::port::KeyValue;

use super::frame::is_damage;
use super::keys::{Kind, number_in, record_place};
use super::lease::check_free;
use super::record::{Record, Stamp};
use super::room::{PAGE, Room};
use super::thread::Log;

impl Log {
    /// Reads what has come since.
    ///
    /// # Errors
    /// Also when a part of it is damaged.
    pub(super) async fn catch_up<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        self.read_up(room).await?;
        self.check_whole()
    }

    /// Reads what has come since as far as it can be read, and remembers why not the rest.
    pub(super) async fn read_up<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        self.damage = None;
        match self.read_all(room).await {
            Err(error) if is_damage(&error) => {
                // Looked at anew each time: somebody may have restored it.
                self.is_read = false;
                self.damage = Some(self.explained(error));
                Ok(())
            }
            read => read,
        }
    }

    /// Refuses a thread of which a part cannot be read.
    pub(super) fn check_whole(&self) -> Result<()> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    fn explained(&self, error: Error) -> Error {
        // That of the outermost graph is the one to be asked for.
        let lines = self.tables.lines.iter().filter(|line| !line.rows.is_empty());
        let outermost = lines.min_by(|one, other| one.namespace.cmp(&other.namespace));
        let left = match outermost.and_then(|line| line.rows.values().next_back()) {
            Some(row) => format!("the thread can be read up to checkpoint {}", row.mark.id),
            None => "nothing of the thread can be read".to_owned(),
        };
        error
            .help(format!("{left}, other threads are not touched; restore this from a copy, or delete the thread"))
            .on_thread(Some(&self.thread))
    }

    /// Ends a thread that is damaged, behind everything there is of it. False when somebody else was there.
    pub(super) async fn bury_damaged<K: KeyValue>(&mut self, room: &Room<K>) -> Result<bool> {
        let number = self.look_behind(room).await?;
        check_free(room, self, None).await?;
        self.put_listing(room, false).await?;
        let record = Record::Whole(Box::new(self.tables.anew(number)));
        let stamp = Stamp { writer: room.unique(), before: 0 };
        let (bytes, sum) = record.to_bytes(&record_place(&self.thread, number), stamp);
        let key = room.keys.record(&self.thread, number);
        let is_put = room.try_put_new(&key, &bytes).await?;
        let is_last = room.bases(&self.thread, Some(number)).await?.is_empty();
        if is_put && is_last {
            self.begin(number);
            self.apply(record, sum);
            self.damage = None;
            self.end_at(room, number).await?;
            let is_before = |key: &str| number_in(key).is_some_and(|life| life < number);
            room.clear(&self.thread, Kind::Life, is_before).await?;
            return Ok(true);
        }
        if is_put {
            // It went where everything is gone; nobody reads it.
            room.delete(&[key]).await?;
        }
        self.read_up(room).await?;
        Ok(false)
    }

    /// The number behind all that the thread has. Who moves it is learnt from what can be read behind the damage.
    async fn look_behind<K: KeyValue>(&mut self, room: &Room<K>) -> Result<u64> {
        let folder = room.keys.folder(&self.thread, Kind::Record);
        let mut after = self.next().checked_sub(1).map(|last| room.keys.record(&self.thread, last));
        let base = room.bases(&self.thread, None).await?.last().copied();
        let mut number = base.map_or(0, |base| base + 1).max(self.next());
        let mut is_closed = true;
        loop {
            let keys = room.list(&folder, after.as_deref(), PAGE).await?;
            let Some(last) = keys.last() else { break };
            after = Some(last.clone());
            for (key, value) in keys.iter().zip(room.get_each(&keys).await?) {
                number = number.max(number_in(key).map_or(0, |found| found.saturating_add(1)));
                let read =
                    |bytes: Option<Vec<u8>>| Record::from_bytes(room.keys.place(key), &bytes.unwrap_or_default());
                is_closed = match value.and_then(read) {
                    Err(error) if is_damage(&error) => true,
                    record => {
                        self.overhear(record?.0);
                        false
                    }
                };
            }
        }
        if is_closed {
            // Nobody can go on behind a last record that cannot be read.
            self.tables.mover = None;
        }
        Ok(number)
    }

    /// Takes from a record that does not follow what is known who moves the thread.
    fn overhear(&mut self, record: Record) {
        (self.tables.fence, self.tables.mover) = match record {
            Record::Whole(tables) => (tables.fence, tables.mover),
            Record::Taken { fence, mover } => (fence, Some(mover)),
            Record::Given { fence } => (fence, None),
            Record::Saved { .. } | Record::Pruned(_) | Record::Forgotten { .. } => return,
        };
    }
}
