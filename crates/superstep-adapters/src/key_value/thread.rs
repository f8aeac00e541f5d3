//! The log of one thread: bringing what is in memory up to date, and adding to it.
//!
//! A record is added by putting a new key with the next number. Whoever finds the number taken reads on, and thinks anew
//! about what it wanted. Old records go once a later one has everything (`Record::Whole`); a key in `base/` is put
//! before they go and says where reading begins. A number that became free that way is never written to for good:
//! whoever put one looks for a later base afterwards, and if there is one its record counts for nothing. What becomes
//! of a log that cannot be read to its end is in `damage`.

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::KeyValue;

use super::frame::{close, damaged, is_damage, open};
use super::keys::{Kind, number_in, record_place};
use super::record::{Record, Stamp};
use super::room::{PAGE, Room};
use super::tables::Tables;

/// How often reading begins anew because others removed what was to be read.
const TRIES: usize = 8;
/// How often a record is put while the answer is lost.
const PUTS: usize = 5;
/// Records that are read at once: first, and at most.
const PAGES: (u64, u64) = (16, 256);

/// A thread as far as it has been read.
pub(super) struct Log {
    pub(super) thread: ThreadId,
    pub(super) tables: Tables,
    /// Where reading began, or could.
    base: u64,
    /// The number of the next record.
    next: u64,
    /// The checksum of the last record.
    last: u64,
    pub(super) is_read: bool,
    /// Why the next record cannot be read, or none: what is in memory is all that was there before it.
    pub(super) damage: Option<Error>,
    /// The fence under which the list of threads was looked at.
    pub(super) listed: u64,
    /// It is in the list as one that may not exist.
    pub(super) is_doubtful: bool,
}

impl Log {
    pub(super) fn new(thread: ThreadId) -> Self {
        let (tables, damage) = (Tables::default(), None);
        Self { thread, tables, base: 0, next: 0, last: 0, is_read: false, damage, listed: 0, is_doubtful: false }
    }

    /// The number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// How many records a reader would read.
    pub(super) fn length(&self) -> u64 {
        self.next - self.base
    }

    /// Reads from this record on, as if nothing were known.
    pub(super) fn begin(&mut self, number: u64) {
        (self.base, self.next, self.last, self.is_read) = (number, number, 0, true);
        self.tables = Tables::default();
    }

    /// Reads a thread that is not known here.
    pub(super) async fn ensure<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        if self.is_read { Ok(()) } else { self.catch_up(room).await }
    }

    /// Reads what has come since; an error when some of it is damaged, behind everything that is not.
    pub(super) async fn read_all<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        self.is_read = self.is_read && self.is_last_there(room).await?;
        for _ in 0..TRIES {
            let is_fresh = !self.is_read;
            if is_fresh {
                self.begin(0);
                self.is_read = false;
                let Some(start) = self.find_start(room).await? else { continue };
                self.begin(start);
            }
            match self.read_on(room, is_fresh).await {
                Ok(true) => {}
                Ok(false) => continue,
                // It may begin behind that by now.
                Err(error) if is_damage(&error) && !is_fresh => {
                    self.is_read = false;
                    continue;
                }
                Err(error) => return Err(error),
            }
            // Only after the last record that is there: a later base means that some in between are gone.
            match room.bases(&self.thread, Some(self.base)).await?.last() {
                Some(base) if *base >= self.next => self.is_read = false,
                Some(base) => {
                    self.base = *base;
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
        Err(Error::new(Code::StoreUnavailable, format!("thread `{}` was cleared again and again", self.thread))
            .help("nothing of this was done; try again"))
    }

    /// Whether the last record that was read is still the one that is there. It is not when the thread was deleted and made
    /// anew meanwhile, when the store was set back to an earlier moment, or when the record was damaged.
    async fn is_last_there<K: KeyValue>(&self, room: &Room<K>) -> Result<bool> {
        if self.next == self.base {
            return Ok(true);
        }
        let number = self.next - 1;
        match room.get(&room.keys.record(&self.thread, number)).await {
            Ok(Some(bytes)) => {
                Ok(open(&record_place(&self.thread, number), &bytes).is_ok_and(|(_, sum)| sum == self.last))
            }
            Ok(None) => Ok(false),
            Err(error) if is_damage(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where reading begins; `None` when that has just changed.
    async fn find_start<K: KeyValue>(&self, room: &Room<K>) -> Result<Option<u64>> {
        let base = room.bases(&self.thread, None).await?.last().copied();
        let start = base.unwrap_or(0);
        if room.has(&room.keys.record(&self.thread, start)).await? {
            return Ok(Some(start));
        }
        let folder = room.keys.folder(&self.thread, Kind::Record);
        let begun = room.keys.record(&self.thread, start);
        let later = room.list(&folder, Some(&begun), 1).await?;
        if let Some(number) = later.first().and_then(|key| number_in(key)) {
            return self.start_at(room, start, number).await;
        }
        let Some(base) = base else { return Ok(Some(0)) };
        let has_moved = room.bases(&self.thread, Some(base)).await?.last().is_some();
        if has_moved {
            return Ok(None);
        }
        // A thread that was deleted a while ago: its numbers are not used again.
        if self.is_grave(room, base).await? { Ok(Some(base + 1)) } else { Err(self.missing(base)) }
    }

    /// The first record is a later one than it should be, which is right if that one has everything.
    async fn start_at<K: KeyValue>(&self, room: &Room<K>, wanted: u64, found: u64) -> Result<Option<u64>> {
        let Some(bytes) = room.get(&room.keys.record(&self.thread, found)).await? else { return Ok(None) };
        let (record, ..) = Record::from_bytes(&record_place(&self.thread, found), &bytes)?;
        if record.is_whole() {
            mark(room, &self.thread, found).await?;
            return Ok(Some(found));
        }
        // Whoever begins a thread, or clears one, may have done so between two of these questions.
        let is_there = room.has(&room.keys.record(&self.thread, wanted)).await?;
        let has_moved = !room.bases(&self.thread, Some(wanted)).await?.is_empty();
        if is_there || has_moved { Ok(None) } else { Err(self.missing(wanted)) }
    }

    async fn is_grave<K: KeyValue>(&self, room: &Room<K>, base: u64) -> Result<bool> {
        let key = room.keys.base(&self.thread, base);
        let Some(bytes) = room.get(&key).await? else { return Ok(true) };
        Ok(open(room.keys.place(&key), &bytes)?.0 == GRAVE)
    }

    /// Takes in all records that follow; false when what was to be read has just gone.
    async fn read_on<K: KeyValue>(&mut self, room: &Room<K>, is_fresh: bool) -> Result<bool> {
        let mut size = if is_fresh { PAGES.0 } else { 1 };
        loop {
            let first = self.next;
            // One more than is taken: a record that is missing shows by one behind it.
            let keys: Vec<String> = (first..=first + size).map(|at| room.keys.record(&self.thread, at)).collect();
            let mut values = room.get_each(&keys).await?;
            let there = values.iter().take_while(|value| !is_absent(value)).count().min(size as usize);
            for value in values.drain(..there) {
                self.take_in(&value?.unwrap_or_default())?;
            }
            if (there as u64) < size {
                let is_end = values[1..].iter().all(is_absent) && !(is_fresh && self.has_later(room).await?);
                if is_end {
                    return Ok(true);
                }
                if !room.has(&room.keys.record(&self.thread, self.next)).await? {
                    // Nothing is missing when it was cleared away while it was read.
                    return match room.bases(&self.thread, Some(self.next)).await?.last() {
                        Some(_) => {
                            self.is_read = false;
                            Ok(false)
                        }
                        None => Err(self.missing(self.next)),
                    };
                }
            }
            size = (size * 4).clamp(PAGES.0, PAGES.1);
        }
    }

    /// Whether there is a record behind the next one.
    async fn has_later<K: KeyValue>(&self, room: &Room<K>) -> Result<bool> {
        let (folder, next) = (room.keys.folder(&self.thread, Kind::Record), room.keys.record(&self.thread, self.next));
        Ok(!room.list(&folder, Some(&next), 1).await?.is_empty())
    }

    /// Takes in the next record.
    fn take_in(&mut self, bytes: &[u8]) -> Result<()> {
        let place = record_place(&self.thread, self.next);
        let (record, stamp, sum) = Record::from_bytes(&place, bytes)?;
        let is_first = self.next == self.base;
        if !record.is_whole() && (is_first || stamp.before != self.last) {
            return Err(damaged(&place, "it does not follow the record before it"));
        }
        self.apply(record, sum);
        Ok(())
    }

    pub(super) fn apply(&mut self, record: Record, sum: u64) {
        self.tables.apply(record, self.next, sum);
        (self.next, self.last) = (self.next + 1, sum);
    }

    fn missing(&self, number: u64) -> Error {
        damaged(&record_place(&self.thread, number), "this record is missing")
    }

    /// Adds a record. False when somebody else was there, whose records have then been read: what was wanted has to be
    /// thought about anew.
    pub(super) async fn append<K: KeyValue>(&mut self, room: &Room<K>, record: Record) -> Result<bool> {
        let number = self.next;
        let stamp = Stamp { writer: room.unique(), before: if record.is_whole() { 0 } else { self.last } };
        let (bytes, sum) = record.to_bytes(&record_place(&self.thread, number), stamp);
        let key = room.keys.record(&self.thread, number);
        let Some(is_put) = self.put_new(room, &key, &bytes).await? else {
            self.is_read = false;
            self.catch_up(room).await?;
            return Ok(false);
        };
        if is_put {
            if room.bases(&self.thread, Some(number)).await?.is_empty() {
                self.apply(record, sum);
                return Ok(true);
            }
            self.is_read = false;
        }
        self.catch_up(room).await?;
        if self.tables.recent.contains(&(number, sum)) {
            return Ok(true);
        }
        if is_put {
            // It went where everything is gone; nobody reads it.
            room.delete(&[key]).await?;
        }
        Ok(false)
    }

    /// Puts a record under a new key; false when there is one, which may be this one where an answer was lost. `None` when
    /// the record before it is gone: without that it could never be read. Looked at before each try, because a store that
    /// was away may come back as it was earlier.
    async fn put_new<K: KeyValue>(&self, room: &Room<K>, key: &str, bytes: &[u8]) -> Result<Option<bool>> {
        let mut tries = 0;
        loop {
            if !self.is_last_there(room).await? {
                return Ok(None);
            }
            tries += 1;
            match room.try_put_new(key, bytes).await {
                Err(error) if error.is_retryable() && tries < PUTS => {}
                done => return done.map(Some),
            }
        }
    }

    /// Writes everything there is as one record and removes those before it. Nothing is done when somebody else was there.
    pub(super) async fn condense<K: KeyValue>(&mut self, room: &Room<K>) -> Result<()> {
        let number = self.next;
        if self.append(room, Record::Whole(Box::new(self.tables.clone()))).await? && self.next == number + 1 {
            self.begin_at(room, number).await?;
            self.clear(room).await?;
        }
        Ok(())
    }

    /// Says that reading begins at a record that has everything.
    pub(super) async fn begin_at<K: KeyValue>(&mut self, room: &Room<K>, number: u64) -> Result<()> {
        mark(room, &self.thread, number).await?;
        self.base = self.base.max(number);
        Ok(())
    }

    /// Removes records before the base, and long values that no record has.
    pub(super) async fn clear<K: KeyValue>(&self, room: &Room<K>) -> Result<()> {
        let is_before = |key: &str| number_in(key).is_some_and(|number| number < self.base);
        if self.base > 0 {
            room.clear(&self.thread, Kind::Record, is_before).await?;
            room.clear(&self.thread, Kind::Base, is_before).await?;
        }
        let kept: std::collections::BTreeSet<String> = self
            .tables
            .bodies()
            .filter_map(|body| body.name().map(|name| room.keys.part(&self.thread, name)))
            .collect();
        // A value with a later number may be on its way to a record that is still to come.
        let is_left = |key: &str| number_in(key).is_some_and(|number| number < self.next) && !kept.contains(key);
        room.clear(&self.thread, Kind::Part, is_left).await
    }

    /// Whether the thread is to be condensed: when reading it takes far more records than there are checkpoints.
    pub(super) fn is_long(&self, slack: u64) -> bool {
        self.length() > slack + 4 * self.tables.checkpoints() as u64
    }

    /// Ends the thread: a last record that has nothing, and nothing else. False when somebody else was there.
    pub(super) async fn bury<K: KeyValue>(&mut self, room: &Room<K>) -> Result<bool> {
        let (number, life) = (self.next, self.tables.life);
        if !self.append(room, Record::Whole(Box::new(self.tables.anew(number)))).await? {
            return Ok(false);
        }
        if self.next == number + 1 {
            self.end_at(room, number).await?;
            // By its name, because it may have lapsed.
            room.delete(&[room.keys.life(&self.thread, life)]).await?;
        }
        Ok(true)
    }

    /// Removes everything but the last record, which has nothing.
    pub(super) async fn end_at<K: KeyValue>(&mut self, room: &Room<K>, number: u64) -> Result<()> {
        self.begin_at(room, number).await?;
        // Whoever has made the thread anew clears what is left of this one.
        if self.unlist(room).await? {
            self.clear(room).await?;
            self.let_lapse(room, number).await?;
        }
        Ok(())
    }

    /// The last record keeps a process that stood still from writing where nothing is left. It need not do so for ever.
    async fn let_lapse<K: KeyValue>(&self, room: &Room<K>, number: u64) -> Result<()> {
        let key = room.keys.record(&self.thread, number);
        if let Some(bytes) = room.get(&key).await? {
            room.put(&key, &bytes, Some(super::REMEMBERED)).await?;
        }
        let key = room.keys.base(&self.thread, number);
        let (bytes, _) = close(room.keys.place(&key), GRAVE);
        room.put(&key, &bytes, Some(super::REMEMBERED * 2)).await
    }
}

fn is_absent(value: &Result<Option<Vec<u8>>>) -> bool {
    matches!(value, Ok(None))
}

/// What stands in a base: that the record is there, or that it may have lapsed.
const THERE: &[u8] = b"there";
const GRAVE: &[u8] = b"grave";

async fn mark<K: KeyValue>(room: &Room<K>, thread: &ThreadId, number: u64) -> Result<()> {
    let key = room.keys.base(thread, number);
    let (bytes, _) = close(room.keys.place(&key), THERE);
    room.put(&key, &bytes, None).await
}

/// Long values by their keys, in pages; `None` for those that are not there.
pub(super) async fn long_values<K: KeyValue>(
    room: &Room<K>,
    thread: &ThreadId,
    names: &[String],
) -> Result<Vec<Option<Vec<u8>>>> {
    let mut values = Vec::with_capacity(names.len());
    for some in names.chunks(PAGE / 8) {
        let keys: Vec<String> = some.iter().map(|name| room.keys.part(thread, name)).collect();
        for (key, value) in keys.iter().zip(room.get_many(&keys).await?) {
            let place = room.keys.place(key);
            values.push(value.map(|value| open(place, &value).map(|(body, _)| body.to_vec())).transpose()?);
        }
    }
    Ok(values)
}
