//! The log of one thread: reads new records and appends records.
//!
//! A record is appended by putting a new key with the next number. If the number is in use, the process reads the new
//! records and its caller decides again. Old records are removed once a later record contains the complete tables
//! (`LogRecord::Full`); before they are removed, a key in `base/` is put that marks where reading begins. A number
//! freed that way cannot be used again: a process that put a record looks for a later base marker afterwards, and if
//! there is one its record does not count. `corruption` handles logs with corrupt records.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::KeyValue;

use super::backend::{Backend, PAGE};
use super::envelope::{corrupt_value_error, decode, encode, is_corruption};
use super::keys::{KeyKind, number_in, record_path};
use super::log_record::{LogRecord, RecordHeader};
use super::thread_tables::ThreadTables;

/// Maximum number of restarts because another process removed records during the read.
const MAX_ATTEMPTS: usize = 8;
/// Maximum number of puts of a record if responses are lost.
const MAX_PUTS: usize = 5;
/// Number of records per read: the first and the largest page size.
const PAGE_SIZES: (u64, u64) = (16, 256);

/// A thread with the records read so far.
pub(super) struct ThreadLog {
    pub(super) thread: ThreadId,
    pub(super) tables: ThreadTables,
    /// Number of the record at which reading began or could begin.
    base: u64,
    /// Number of the next record.
    next: u64,
    /// Checksum of the last record.
    last: u64,
    pub(super) is_read: bool,
    /// The error of the next record if it is corrupt; the tables contain everything before it.
    pub(super) corruption: Option<Error>,
    /// Fence under which the thread index was last checked.
    pub(super) index_checked_fence: u64,
    /// True if the index entry marks the thread as uncertain.
    pub(super) is_index_uncertain: bool,
}

impl ThreadLog {
    pub(super) fn new(thread: ThreadId) -> Self {
        let (tables, corruption) = (ThreadTables::default(), None);
        Self {
            thread,
            tables,
            base: 0,
            next: 0,
            last: 0,
            is_read: false,
            corruption,
            index_checked_fence: 0,
            is_index_uncertain: false,
        }
    }

    /// Returns the number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of records that a new reader would read.
    pub(super) fn length(&self) -> u64 {
        self.next - self.base
    }

    /// Discards the tables and continues reading at this record.
    pub(super) fn begin(&mut self, number: u64) {
        (self.base, self.next, self.last, self.is_read) = (number, number, 0, true);
        self.tables = ThreadTables::default();
    }

    /// Reads the thread if it has not been read by this process.
    pub(super) async fn ensure_read<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<()> {
        if self.is_read { Ok(()) } else { self.refresh(backend).await }
    }

    /// Reads all new records. A corrupt record is an error, returned after all readable records before it are
    /// applied.
    pub(super) async fn read_all<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<()> {
        self.is_read = self.is_read && self.has_last_record(backend).await?;
        for _ in 0..MAX_ATTEMPTS {
            let is_first_read = !self.is_read;
            if is_first_read {
                self.begin(0);
                self.is_read = false;
                let Some(start) = self.find_start(backend).await? else { continue };
                self.begin(start);
            }
            match self.read_following(backend, is_first_read).await {
                Ok(true) => {}
                Ok(false) => continue,
                // The log may begin behind the corrupt record by now.
                Err(error) if is_corruption(&error) && !is_first_read => {
                    self.is_read = false;
                    continue;
                }
                Err(error) => return Err(error),
            }
            // Checked after reading the last record: a base marker behind it means that records in between were
            // removed.
            match backend.base_numbers(&self.thread, Some(self.base)).await?.last() {
                Some(base) if *base >= self.next => self.is_read = false,
                Some(base) => {
                    self.base = *base;
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
        Err(Error::new(
            ErrorCode::StoreUnavailable,
            format!("the log of thread `{}` was repeatedly compacted while it was read", self.thread),
        )
        .with_help("nothing was changed; try again"))
    }

    /// Returns true if the last record read is still stored. It is not if the thread was deleted and created again,
    /// if the store was restored to an earlier state, or if the record is corrupt.
    async fn has_last_record<K: KeyValue>(&self, backend: &Backend<K>) -> Result<bool> {
        if self.next == self.base {
            return Ok(true);
        }
        let number = self.next - 1;
        match backend.get(&backend.keys.record(&self.thread, number)).await {
            Ok(Some(bytes)) => {
                Ok(decode(&record_path(&self.thread, number), &bytes).is_ok_and(|(_, sum)| sum == self.last))
            }
            Ok(None) => Ok(false),
            Err(error) if is_corruption(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the record at which reading begins; `None` if that has just changed.
    async fn find_start<K: KeyValue>(&self, backend: &Backend<K>) -> Result<Option<u64>> {
        let base = backend.base_numbers(&self.thread, None).await?.last().copied();
        let start = base.unwrap_or(0);
        if backend.has(&backend.keys.record(&self.thread, start)).await? {
            return Ok(Some(start));
        }
        let folder = backend.keys.folder(&self.thread, KeyKind::Record);
        let start_key = backend.keys.record(&self.thread, start);
        let later = backend.list(&folder, Some(&start_key), 1).await?;
        if let Some(number) = later.first().and_then(|key| number_in(key)) {
            return self.start_at(backend, start, number).await;
        }
        let Some(base) = base else { return Ok(Some(0)) };
        let has_moved = backend.base_numbers(&self.thread, Some(base)).await?.last().is_some();
        if has_moved {
            return Ok(None);
        }
        // The tombstone of a thread that was deleted earlier has expired: its numbers are not used again.
        if self.is_tombstone(backend, base).await? { Ok(Some(base + 1)) } else { Err(self.missing_record_error(base)) }
    }

    /// Handles a first record with a number higher than expected, which is valid if that record has the complete
    /// tables.
    async fn start_at<K: KeyValue>(&self, backend: &Backend<K>, expected: u64, actual: u64) -> Result<Option<u64>> {
        let Some(bytes) = backend.get(&backend.keys.record(&self.thread, actual)).await? else { return Ok(None) };
        let (record, ..) = LogRecord::from_bytes(&record_path(&self.thread, actual), &bytes)?;
        if record.is_full() {
            put_base_marker(backend, &self.thread, actual).await?;
            return Ok(Some(actual));
        }
        // Another process may have created or cleared the thread between two of these requests.
        let exists = backend.has(&backend.keys.record(&self.thread, expected)).await?;
        let has_moved = !backend.base_numbers(&self.thread, Some(expected)).await?.is_empty();
        if exists || has_moved { Ok(None) } else { Err(self.missing_record_error(expected)) }
    }

    async fn is_tombstone<K: KeyValue>(&self, backend: &Backend<K>, base: u64) -> Result<bool> {
        let key = backend.keys.base(&self.thread, base);
        let Some(bytes) = backend.get(&key).await? else { return Ok(true) };
        Ok(decode(backend.keys.relative_key(&key), &bytes)?.0 == TOMBSTONE)
    }

    /// Applies all following records; returns false if records to be read have just been removed.
    async fn read_following<K: KeyValue>(&mut self, backend: &Backend<K>, is_first_read: bool) -> Result<bool> {
        let mut size = if is_first_read { PAGE_SIZES.0 } else { 1 };
        loop {
            let first = self.next;
            // One more record than is applied: a gap shows by a record behind it.
            let keys: Vec<String> = (first..=first + size).map(|at| backend.keys.record(&self.thread, at)).collect();
            let mut values = backend.get_each_checked(&keys).await?;
            let present = values.iter().take_while(|value| !is_absent(value)).count().min(size as usize);
            for value in values.drain(..present) {
                self.apply_bytes(&value?.unwrap_or_default())?;
            }
            if (present as u64) < size {
                let is_end = values[1..].iter().all(is_absent) && !(is_first_read && self.has_later(backend).await?);
                if is_end {
                    return Ok(true);
                }
                if !backend.has(&backend.keys.record(&self.thread, self.next)).await? {
                    // The record is not missing if the log was compacted during the read.
                    return match backend.base_numbers(&self.thread, Some(self.next)).await?.last() {
                        Some(_) => {
                            self.is_read = false;
                            Ok(false)
                        }
                        None => Err(self.missing_record_error(self.next)),
                    };
                }
            }
            size = (size * 4).clamp(PAGE_SIZES.0, PAGE_SIZES.1);
        }
    }

    /// Returns true if a record exists behind the next one.
    async fn has_later<K: KeyValue>(&self, backend: &Backend<K>) -> Result<bool> {
        let (folder, next) =
            (backend.keys.folder(&self.thread, KeyKind::Record), backend.keys.record(&self.thread, self.next));
        Ok(!backend.list(&folder, Some(&next), 1).await?.is_empty())
    }

    /// Decodes and applies the next record.
    fn apply_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let key = record_path(&self.thread, self.next);
        let (record, header, sum) = LogRecord::from_bytes(&key, bytes)?;
        let is_first = self.next == self.base;
        if !record.is_full() && (is_first || header.before != self.last) {
            return Err(corrupt_value_error(&key, "it does not follow the previous record"));
        }
        self.apply(record, sum);
        Ok(())
    }

    pub(super) fn apply(&mut self, record: LogRecord, sum: u64) {
        self.tables.apply(record, self.next, sum);
        (self.next, self.last) = (self.next + 1, sum);
    }

    fn missing_record_error(&self, number: u64) -> Error {
        corrupt_value_error(&record_path(&self.thread, number), "this record is missing")
    }

    /// Appends a record. Returns false if other records were written first, which have then been read: the caller has
    /// to decide again.
    pub(super) async fn append<K: KeyValue>(&mut self, backend: &Backend<K>, record: LogRecord) -> Result<bool> {
        let number = self.next;
        let header =
            RecordHeader { writer: backend.next_unique(), before: if record.is_full() { 0 } else { self.last } };
        let (bytes, sum) = record.to_bytes(&record_path(&self.thread, number), header);
        let key = backend.keys.record(&self.thread, number);
        let Some(is_put) = self.put_new(backend, &key, &bytes).await? else {
            self.is_read = false;
            self.refresh(backend).await?;
            return Ok(false);
        };
        if is_put {
            if backend.base_numbers(&self.thread, Some(number)).await?.is_empty() {
                self.apply(record, sum);
                return Ok(true);
            }
            self.is_read = false;
        }
        self.refresh(backend).await?;
        if self.tables.recent.contains(&(number, sum)) {
            return Ok(true);
        }
        if is_put {
            // The record was put where the log had already been removed; no process reads it.
            backend.delete(&[key]).await?;
        }
        Ok(false)
    }

    /// Puts a record under a new key; false if the key exists, which may be this record if a response was lost.
    /// `None` if the previous record is missing, because then the new one could never be read. Checked before each
    /// attempt: a store that was unavailable may come back in an earlier state.
    async fn put_new<K: KeyValue>(&self, backend: &Backend<K>, key: &str, bytes: &[u8]) -> Result<Option<bool>> {
        let mut attempts = 0;
        loop {
            if !self.has_last_record(backend).await? {
                return Ok(None);
            }
            attempts += 1;
            match backend.try_put_new(key, bytes).await {
                Err(error) if error.is_retryable() && attempts < MAX_PUTS => {}
                done => return done.map(Some),
            }
        }
    }

    /// Writes the complete tables as one record and removes the earlier records. Does nothing if another process
    /// wrote meanwhile.
    pub(super) async fn compact<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<()> {
        let number = self.next;
        if self.append(backend, LogRecord::Full(Box::new(self.tables.clone()))).await? && self.next == number + 1 {
            self.begin_at(backend, number).await?;
            self.clear(backend).await?;
        }
        Ok(())
    }

    /// Marks a record with complete tables as the beginning of the log.
    pub(super) async fn begin_at<K: KeyValue>(&mut self, backend: &Backend<K>, number: u64) -> Result<()> {
        put_base_marker(backend, &self.thread, number).await?;
        self.base = self.base.max(number);
        Ok(())
    }

    /// Removes records before the base, and long values that no record refers to.
    pub(super) async fn clear<K: KeyValue>(&self, backend: &Backend<K>) -> Result<()> {
        let is_before = |key: &str| number_in(key).is_some_and(|number| number < self.base);
        if self.base > 0 {
            backend.clear(&self.thread, KeyKind::Record, is_before).await?;
            backend.clear(&self.thread, KeyKind::Base, is_before).await?;
        }
        let referenced: std::collections::BTreeSet<String> = self
            .tables
            .bodies()
            .filter_map(|body| body.name().map(|name| backend.keys.part(&self.thread, name)))
            .collect();
        // A value with a later number may belong to a record that is about to be written.
        let is_unreferenced =
            |key: &str| number_in(key).is_some_and(|number| number < self.next) && !referenced.contains(key);
        backend.clear(&self.thread, KeyKind::Part, is_unreferenced).await
    }

    /// Returns true if the log should be compacted: it has far more records than the thread has checkpoints.
    pub(super) fn is_long(&self, slack: u64) -> bool {
        self.length() > slack + 4 * self.tables.checkpoints() as u64
    }

    /// Deletes the thread and leaves a last record with empty tables, the tombstone. Returns false if another process
    /// wrote meanwhile.
    pub(super) async fn write_tombstone<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<bool> {
        let (number, first_record) = (self.next, self.tables.first_record);
        if !self.append(backend, LogRecord::Full(Box::new(self.tables.restarted(number)))).await? {
            return Ok(false);
        }
        if self.next == number + 1 {
            self.keep_only_tombstone(backend, number).await?;
            // Deleted by name: a listing would omit it if it has expired.
            backend.delete(&[backend.keys.ttl_key(&self.thread, first_record)]).await?;
        }
        Ok(true)
    }

    /// Removes everything but the tombstone.
    pub(super) async fn keep_only_tombstone<K: KeyValue>(&mut self, backend: &Backend<K>, number: u64) -> Result<()> {
        self.begin_at(backend, number).await?;
        // If the thread was created again, the process that did so removes the remains of the old one.
        if self.remove_index_entry(backend).await? {
            self.clear(backend).await?;
            self.expire_tombstone(backend, number).await?;
        }
        Ok(())
    }

    /// Sets an expiry on the tombstone. The tombstone prevents a process that was suspended from writing to the
    /// deleted thread; it is not needed forever.
    async fn expire_tombstone<K: KeyValue>(&self, backend: &Backend<K>, number: u64) -> Result<()> {
        let key = backend.keys.record(&self.thread, number);
        if let Some(bytes) = backend.get(&key).await? {
            backend.put(&key, &bytes, Some(super::TOMBSTONE_TTL)).await?;
        }
        let key = backend.keys.base(&self.thread, number);
        let (bytes, _) = encode(backend.keys.relative_key(&key), TOMBSTONE);
        backend.put(&key, &bytes, Some(super::TOMBSTONE_TTL * 2)).await
    }
}

fn is_absent(value: &Result<Option<Vec<u8>>>) -> bool {
    matches!(value, Ok(None))
}

/// Content of a base marker: the record exists, or the record is a tombstone and may have expired.
const PRESENT: &[u8] = b"there";
const TOMBSTONE: &[u8] = b"grave";

async fn put_base_marker<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId, number: u64) -> Result<()> {
    let key = backend.keys.base(thread, number);
    let (bytes, _) = encode(backend.keys.relative_key(&key), PRESENT);
    backend.put(&key, &bytes, None).await
}

/// Reads long values by name, in pages; `None` for missing ones.
pub(super) async fn long_values<K: KeyValue>(
    backend: &Backend<K>,
    thread: &ThreadId,
    names: &[String],
) -> Result<Vec<Option<Vec<u8>>>> {
    let mut values = Vec::with_capacity(names.len());
    for page in names.chunks(PAGE / 8) {
        let keys: Vec<String> = page.iter().map(|name| backend.keys.part(thread, name)).collect();
        for (key, value) in keys.iter().zip(backend.get_many(&keys).await?) {
            let relative = backend.keys.relative_key(key);
            values.push(value.map(|value| decode(relative, &value).map(|(body, _)| body.to_vec())).transpose()?);
        }
    }
    Ok(values)
}
