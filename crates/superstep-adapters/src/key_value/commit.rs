//! A commit as one record, which is put after its long values.

use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
use superstep_core::port::{CheckpointSelector, KeyValue, Lease};
use tokio::sync::Mutex;

use super::backend::Backend;
use super::envelope::encode;
use super::journal;
use super::keys::{part_name, part_path};
use super::log_record::{AddedRows, LogRecord};
use super::read::{self, with_bodies};
use super::thread_log::ThreadLog;
use super::thread_tables::{FieldPart, PendingRow, StoredEventRow, ThreadTables as Rows, ValueBody};
use crate::change_log::{
    CachedHistory, CheckpointRows, CheckpointWithChanges, HistoryCache, HistoryKey, HistoryRows, ParentCheckpoint,
    PartRow, RowStorage, RowTransaction, WriteRejection, checkpoint_not_found, lease_lost,
};

/// Values up to this length are stored inside the record. They have to be read to load a thread.
const INLINE_VALUE_BYTES: usize = 1_024;

/// Access of the change log to one thread.
pub(super) struct ThreadWriter<'a, K> {
    pub(super) backend: &'a Backend<K>,
    pub(super) lease: &'a Lease,
    pub(super) log: Arc<Mutex<ThreadLog>>,
}

impl<K: KeyValue> RowStorage for ThreadWriter<'_, K> {
    fn history_cache(&self) -> &HistoryCache {
        &self.backend.history_cache
    }

    async fn load_history(&self, _thread: i64, key: HistoryKey) -> Result<CachedHistory> {
        let mut log = self.log.lock().await;
        log.ensure_read(self.backend).await?;
        read::entry(&log.tables, &key)
    }

    async fn load_parent(&self, key: HistoryKey, id: CheckpointId) -> Result<Option<ParentCheckpoint>> {
        let mut log = self.log.lock().await;
        log.ensure_read(self.backend).await?;
        // A missing checkpoint may have been pruned after another process took the lease: report the lost lease then.
        check_lease(self.lease, &log.tables, self.backend.token)?;
        read::base(&log.tables, &key, CheckpointSelector::Id(id))
    }

    async fn number_of(&self, history_id: i64, id: CheckpointId) -> Result<Option<u64>> {
        let mut log = self.log.lock().await;
        log.ensure_read(self.backend).await?;
        check_lease(self.lease, &log.tables, self.backend.token)?;
        let history = usize::try_from(history_id).ok().and_then(|index| log.tables.histories.get(index));
        Ok(history.and_then(|history| history.numbers.get(&id).copied()))
    }

    async fn load_with_changes(&self, key: HistoryKey, id: CheckpointId) -> Result<Option<CheckpointWithChanges>> {
        let mut log = self.log.lock().await;
        log.ensure_read(self.backend).await?;
        with_bodies(self.backend, &mut log, |tables, bodies| read::read_with_changes(tables, &key, id, bodies)).await
    }

    async fn write(&self, mut job: RowTransaction) -> Result<Vec<i64>, WriteRejection> {
        let mut log = self.log.lock().await;
        log.ensure_read(self.backend).await?;
        // The cached tables may be outdated. Then the number of the record is in use and the put fails.
        check(&job, &log.tables, self.backend.token)?;
        let status = job.status.or(log.tables.status).unwrap_or_default();
        journal::drop_duplicates(&mut job, &log.tables)?;
        if job.histories.is_empty() && job.events.is_empty() && log.tables.status == Some(status) {
            log.refresh(self.backend).await?;
            check(&job, &log.tables, self.backend.token)?;
            return Ok(Vec::new());
        }
        let namespaces: Vec<_> = job.histories.iter().map(|history| history.namespace.clone()).collect();
        let mut long_values = Vec::new();
        let mut histories = Vec::with_capacity(job.histories.len());
        for history in job.histories {
            histories.push(self.added_rows(history, log.next(), &mut long_values)?);
        }
        let event_rows = job.events.into_iter().map(|row| {
            let (number, run, sum) = (row.number, row.run, row.sum());
            StoredEventRow { number, run, sum, body: self.value_body(row.body, log.next(), &mut long_values) }
        });
        let events = event_rows.collect();
        for (name, value) in &long_values {
            let (bytes, _) = encode(&part_path(&log.thread, name), value);
            self.backend.put(&self.backend.keys.part(&log.thread, name), &bytes, None).await?;
        }
        log.add_to_index(self.backend).await?;
        let record = LogRecord::Committed { status, ttl_millis: self.backend.ttl_millis(), histories, events };
        if !log.append(self.backend, record).await? {
            return Err(WriteRejection::Stale);
        }
        let index = |namespace| log.tables.history(namespace).map_or(0, |(index, _)| index as i64);
        Ok(namespaces.iter().map(index).collect())
    }
}

/// Rejects a transaction that does not follow from the current tables.
fn check(job: &RowTransaction, tables: &Rows, token: u64) -> Result<(), WriteRejection> {
    check_lease(&job.lease, tables, token)?;
    job.histories.iter().try_for_each(|history| check_history(history, tables))
}

/// Rejects a lease that is not the newest of its thread.
fn check_lease(lease: &Lease, tables: &Rows, token: u64) -> Result<()> {
    let is_own_lease = tables.lease_owner.is_some_and(|owner| owner.process_token == token);
    if is_own_lease && tables.fence == lease.fence { Ok(()) } else { Err(lease_lost(lease)) }
}

fn check_history(job: &HistoryRows, tables: &Rows) -> Result<(), WriteRejection> {
    let Some((index, history)) = tables.history(&job.namespace) else {
        return if job.row.is_none() { Ok(()) } else { Err(WriteRejection::Stale) };
    };
    let is_newest = job.new_checkpoints.is_empty() || history.newest() == job.newest;
    if job.row != Some(index as i64) || !is_newest || job.bases.iter().any(|(number, id)| !history.has(*number, *id)) {
        return Err(WriteRejection::Stale);
    }
    if let Some(saved) =
        job.new_checkpoints.iter().find(|new_checkpoint| history.numbers.contains_key(&new_checkpoint.row.header.id))
    {
        return Err(WriteRejection::AlreadySaved(saved.row.header.id));
    }
    for (id, row) in job.pending.iter().filter(|(_, row)| row.checkpoint <= job.newest) {
        if !history.has(row.checkpoint, *id) {
            // The cached history may be outdated; the tables decide whether the checkpoint exists.
            let is_missing = !history.numbers.contains_key(id);
            return Err(if is_missing {
                WriteRejection::Error(checkpoint_not_found(*id))
            } else {
                WriteRejection::Stale
            });
        }
    }
    Ok(())
}

impl<K: KeyValue> ThreadWriter<'_, K> {
    /// Returns the body of a value of the record with this number; a long value is added to `long`.
    fn value_body(&self, bytes: Vec<u8>, number: u64, long_values: &mut Vec<(String, Vec<u8>)>) -> ValueBody {
        if bytes.len() <= INLINE_VALUE_BYTES {
            return ValueBody::Short(bytes);
        }
        let (name, length) = (part_name(number, self.backend.next_unique()), bytes.len() as u64);
        long_values.push((name.clone(), bytes));
        ValueBody::Long { name, length }
    }

    /// Returns the rows that the record with this number adds to a history; long values are added to `long`.
    fn added_rows(&self, job: HistoryRows, number: u64, long_values: &mut Vec<(String, Vec<u8>)>) -> Result<AddedRows> {
        let mut value_body = |bytes: Vec<u8>| self.value_body(bytes, number, long_values);
        let (mut rows, mut origins, mut parts, mut names) = (Vec::new(), Vec::new(), Vec::new(), None);
        for CheckpointRows { row, origin, parts: part_rows, names: new_names } in job.new_checkpoints {
            rows.push(row);
            origins.extend(origin);
            names = new_names.or(names);
            for part in part_rows {
                let change = part.change_text()?;
                let PartRow { number, field, before, body: bytes, .. } = part;
                parts.push(FieldPart { number, field, before, change, body: value_body(bytes) });
            }
        }
        let pending = job.pending.into_iter().map(|(_, row)| {
            let (checkpoint, task, slot) = (row.checkpoint, row.task, row.slot);
            PendingRow { checkpoint, task, slot, body: value_body(row.body) }
        });
        let pending = pending.collect();
        Ok(AddedRows { namespace: job.namespace, names, rows, origins, parts, pending })
    }
}
