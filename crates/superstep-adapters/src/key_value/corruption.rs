//! Logs with a corrupt record: the records before it stay readable, every write after it is rejected, and the thread
//! can be deleted.

use superstep_core::error::{Error, Result};
use superstep_core::port::KeyValue;

use super::backend::{Backend, PAGE};
use super::envelope::is_corruption;
use super::keys::{KeyKind, number_in, record_path};
use super::lease::check_not_leased;
use super::log_record::{LogRecord, RecordHeader};
use super::thread_log::ThreadLog;

impl ThreadLog {
    /// Reads the records added since the last read.
    ///
    /// # Errors
    /// Returns an error if reading fails or a record is corrupt.
    pub(super) async fn refresh<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<()> {
        self.refresh_readable(backend).await?;
        self.check_not_corrupt()
    }

    /// Reads the records added since the last read up to the first corrupt one, and stores the reason why the rest is
    /// unreadable.
    pub(super) async fn refresh_readable<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<()> {
        self.corruption = None;
        match self.read_all(backend).await {
            Err(error) if is_corruption(&error) => {
                // Read again from the beginning each time: the record may have been restored.
                self.is_read = false;
                self.corruption = Some(self.with_corruption_help(error));
                Ok(())
            }
            read => read,
        }
    }

    /// Rejects a thread with a corrupt record.
    pub(super) fn check_not_corrupt(&self) -> Result<()> {
        self.corruption.clone().map_or(Ok(()), Err)
    }

    fn with_corruption_help(&self, error: Error) -> Error {
        // Name the latest checkpoint of the root graph.
        let histories = self.tables.histories.iter().filter(|history| !history.rows.is_empty());
        let root = histories.min_by(|one, other| one.namespace.cmp(&other.namespace));
        let readable_part = match root.and_then(|history| history.rows.values().next_back()) {
            Some(row) => format!("the thread is readable up to checkpoint {}", row.header.id),
            None => "no checkpoint of the thread is readable".to_owned(),
        };
        error
            .with_help(format!(
                "{readable_part}; other threads are not affected; restore this key from a backup, or delete the thread"
            ))
            .with_thread(Some(&self.thread))
    }

    /// Writes a tombstone behind all records of a corrupt thread. Returns false if another process wrote at the same
    /// time.
    pub(super) async fn delete_corrupt_thread<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<bool> {
        let number = self.find_log_end(backend).await?;
        check_not_leased(backend, self, None).await?;
        self.put_index_entry(backend, false).await?;
        let record = LogRecord::Full(Box::new(self.tables.restarted(number)));
        let header = RecordHeader { writer: backend.next_unique(), before: 0 };
        let (bytes, sum) = record.to_bytes(&record_path(&self.thread, number), header);
        let key = backend.keys.record(&self.thread, number);
        let is_put = backend.try_put_new(&key, &bytes).await?;
        let is_last = backend.base_numbers(&self.thread, Some(number)).await?.is_empty();
        if is_put && is_last {
            self.begin(number);
            self.apply(record, sum);
            self.corruption = None;
            self.keep_only_tombstone(backend, number).await?;
            let is_before = |key: &str| number_in(key).is_some_and(|first_record| first_record < number);
            backend.clear(&self.thread, KeyKind::Ttl, is_before).await?;
            return Ok(true);
        }
        if is_put {
            // The record was put where the log had already been removed; no process reads it.
            backend.delete(&[key]).await?;
        }
        self.refresh_readable(backend).await?;
        Ok(false)
    }

    /// Returns the number after the last record of the thread. Reads the lease from the readable records behind the
    /// corrupt one.
    async fn find_log_end<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<u64> {
        let folder = backend.keys.folder(&self.thread, KeyKind::Record);
        let mut after = self.next().checked_sub(1).map(|last| backend.keys.record(&self.thread, last));
        let base = backend.base_numbers(&self.thread, None).await?.last().copied();
        let mut number = base.map_or(0, |base| base + 1).max(self.next());
        let mut is_last_corrupt = true;
        loop {
            let keys = backend.list(&folder, after.as_deref(), PAGE).await?;
            let Some(last) = keys.last() else { break };
            after = Some(last.clone());
            for (key, value) in keys.iter().zip(backend.get_each_checked(&keys).await?) {
                number = number.max(number_in(key).map_or(0, |record_number| record_number.saturating_add(1)));
                let read = |bytes: Option<Vec<u8>>| {
                    LogRecord::from_bytes(backend.keys.relative_key(key), &bytes.unwrap_or_default())
                };
                is_last_corrupt = match value.and_then(read) {
                    Err(error) if is_corruption(&error) => true,
                    record => {
                        self.apply_lease(record?.0);
                        false
                    }
                };
            }
        }
        if is_last_corrupt {
            // No process can continue behind a last record that is unreadable, so no lease is active.
            self.tables.lease_owner = None;
        }
        Ok(number)
    }

    /// Takes fence and lease from a record without applying the rest of it.
    fn apply_lease(&mut self, record: LogRecord) {
        (self.tables.fence, self.tables.lease_owner) = match record {
            LogRecord::Full(tables) => (tables.fence, tables.lease_owner),
            LogRecord::Acquired { fence, owner } => (fence, Some(owner)),
            LogRecord::Released { fence } => (fence, None),
            LogRecord::Committed { .. } | LogRecord::Pruned(_) | LogRecord::EventsDeleted { .. } => return,
        };
    }
}
