//! Row access of the change log, and a transaction as one database call.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_core::error::{Error, Result};
use superstep_core::id::CheckpointId;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::PostgresCheckpointer;
use super::append::AppendCall;
use super::error::PgResult;
use super::journal::{self, EventColumns};
use super::pool::ConnectionPool;
use super::read::PgHistoryReader;
use super::rows::{names_sum, with_sum};
use super::statements::Statements;
use crate::change_log::{
    self, CachedHistory, CheckpointRows, CheckpointWithChanges, HistoryCache, HistoryKey, HistoryRows,
    ParentCheckpoint, PendingRow, RowStorage, RowTransaction, ValueLocation, WriteRejection,
};

impl RowStorage for PostgresCheckpointer {
    fn history_cache(&self) -> &HistoryCache {
        &self.0.holder.history_cache
    }

    async fn load_history(&self, _: i64, key: HistoryKey) -> Result<CachedHistory> {
        let (pool, key) = (self.pool(), &key);
        Box::pin(
            pool.read(|client, in_transaction| async move { reader(&client, pool, in_transaction).entry(key).await }),
        )
        .await
    }

    async fn load_parent(&self, key: HistoryKey, id: CheckpointId) -> Result<Option<ParentCheckpoint>> {
        let (pool, key) = (self.pool(), &key);
        Box::pin(
            pool.read(
                |client, in_transaction| async move { reader(&client, pool, in_transaction).base_of(key, id).await },
            ),
        )
        .await
    }

    async fn number_of(&self, history_id: i64, id: CheckpointId) -> Result<Option<u64>> {
        let pool = self.pool();
        let number =
            pool.with_connection(|client| async move { reader(&client, pool, false).number_of(history_id, id).await });
        number.await.map_err(|error| error.into_error(&pool.address))
    }

    async fn load_with_changes(&self, key: HistoryKey, id: CheckpointId) -> Result<Option<CheckpointWithChanges>> {
        let (pool, key) = (self.pool(), &key);
        Box::pin(pool.read(|client, in_transaction| async move {
            reader(&client, pool, in_transaction).read_with_changes(key, id).await
        }))
        .await
    }

    /// Writes a transaction. If the connection is lost, the outcome is unknown and the call is sent again: the database
    /// recognizes stored checkpoints by their numbers and ids, and pending entries replace themselves.
    async fn write(&self, job: RowTransaction) -> Result<Vec<i64>, WriteRejection> {
        let pool = self.pool();
        journal::check(&job)?;
        let statements = &pool.address.statements;
        let to_error = |error| journal::out_of_order_error(&job, error).into_error(&pool.address);
        if let Some(append_call) = AppendCall::new(&job, self.0.holder.id)? {
            let append_call = &append_call;
            let response = pool
                .with_connection(|client: Arc<Client>| async move { append_call.send(&client, statements).await })
                .await;
            let code = response.map_err(to_error)?;
            return interpret_result(
                &job,
                code,
                (job.histories.iter().filter_map(|history| history.row).collect(), Some(1)),
                &[],
            );
        }
        let call = CommitCall::new(&job, self.0.holder.id)?;
        let call = &call;
        let request = pool.with_connection(|client: Arc<Client>| async move { call.send(&client, statements).await });
        let response = Box::pin(request).await;
        let (code, histories, position) = response.map_err(to_error)?;
        interpret_result(&job, code, (histories, position), &call.pending_checkpoints)
    }
}

/// Converts the result code of a call.
fn interpret_result(
    job: &RowTransaction,
    code: i32,
    (histories, position): (Vec<i64>, Option<i64>),
    pending_checkpoints: &[CheckpointId],
) -> Result<Vec<i64>, WriteRejection> {
    match code {
        0 => Ok(histories),
        1 => Err(change_log::lease_lost(&job.lease).into()),
        2 => Err(WriteRejection::Stale),
        3 => Err(WriteRejection::AlreadySaved(nth(job.histories.iter().flat_map(checkpoints), position)?)),
        4 => Err(change_log::checkpoint_not_found(nth(pending_checkpoints.iter().copied(), position)?).into()),
        other => Err(Error::internal(format!("a commit returned the unknown result code {other}")).into()),
    }
}

pub(super) fn reader<'a>(client: &'a Client, pool: &'a ConnectionPool, in_transaction: bool) -> PgHistoryReader<'a> {
    PgHistoryReader { client, address: &pool.address, in_transaction, hints: &pool.hints }
}

fn checkpoints(history: &HistoryRows) -> impl Iterator<Item = CheckpointId> {
    history.new_checkpoints.iter().map(|new_checkpoint| new_checkpoint.row.header.id)
}

fn nth(mut ids: impl Iterator<Item = CheckpointId>, position: Option<i64>) -> Result<CheckpointId> {
    let position = position.and_then(|position| usize::try_from(position - 1).ok());
    let id = position.and_then(|position| ids.nth(position));
    id.ok_or_else(|| Error::internal("a commit was rejected for a checkpoint that it does not contain"))
}

/// Number of arguments of the database function `commit`.
pub(super) const ARGUMENTS: usize = 40;

/// A call of `commit`, which can be sent several times.
struct CommitCall<'a> {
    arguments: Vec<(Box<dyn ToSql + Send + Sync + 'a>, Type)>,
    /// Checkpoint of each pending entry.
    pending_checkpoints: Vec<CheckpointId>,
    events: Option<EventColumns<'a>>,
}

impl<'a> CommitCall<'a> {
    fn new(job: &'a RowTransaction, holder: i64) -> Result<Self> {
        let mut call = CommitCall {
            arguments: Vec::with_capacity(ARGUMENTS),
            pending_checkpoints: Vec::new(),
            events: EventColumns::new(job),
        };
        call.add(job.thread, Type::INT8).add(job.lease.fence.cast_signed(), Type::INT8).add(holder, Type::INT8);
        call.add(job.status.map(|status| i16::from(status.number())), Type::INT2);
        call.histories(&job.histories);
        call.bases(&job.histories);
        let new_checkpoints = || {
            job.histories.iter().zip(1..).flat_map(|(history, ordinal)| {
                history.new_checkpoints.iter().map(move |new_checkpoint| (ordinal, new_checkpoint))
            })
        };
        call.rows(&new_checkpoints().collect::<Vec<_>>());
        call.origins(&new_checkpoints().collect::<Vec<_>>());
        call.parts(&new_checkpoints().collect::<Vec<_>>())?;
        call.pending(&job.histories);
        Ok(call)
    }

    fn add(&mut self, value: impl ToSql + Send + Sync + 'a, kind: Type) -> &mut Self {
        self.arguments.push((Box::new(value), kind));
        self
    }

    fn column<I, T>(&mut self, items: &[I], kind: Type, value: impl Fn(&I) -> T) -> &mut Self
    where
        T: ToSql + Send + Sync + 'a,
    {
        self.add(items.iter().map(value).collect::<Vec<T>>(), kind)
    }

    fn histories(&mut self, histories: &'a [HistoryRows]) {
        let histories: Vec<&'a HistoryRows> = histories.iter().collect();
        self.column(&histories, Type::INT8_ARRAY, |history| history.row)
            .column(&histories, Type::BYTEA_ARRAY, |history| history.namespace.as_str().as_bytes())
            .column(&histories, Type::INT8_ARRAY, |history| history.newest.cast_signed())
            .column(&histories, Type::BOOL_ARRAY, |history| !history.new_checkpoints.is_empty())
            .column(&histories, Type::BYTEA_ARRAY, |history| {
                let names =
                    history.new_checkpoints.iter().rev().find_map(|new_checkpoint| new_checkpoint.names.as_ref());
                names.map(|names| {
                    let names = serde_json::to_string(names).unwrap_or_default();
                    with_sum(names_sum(&history.namespace, &names), names.as_bytes())
                })
            });
    }

    fn bases(&mut self, histories: &'a [HistoryRows]) {
        let bases: Vec<(i32, u64, CheckpointId)> = histories
            .iter()
            .zip(1..)
            .flat_map(|(history, ordinal)| history.bases.iter().map(move |(number, id)| (ordinal, *number, *id)))
            .collect();
        self.column(&bases, Type::INT4_ARRAY, |(ordinal, ..)| *ordinal)
            .column(&bases, Type::INT8_ARRAY, |(_, number, _)| number.cast_signed())
            .column(&bases, Type::BYTEA_ARRAY, |(.., id)| id.bits().to_be_bytes().to_vec());
    }

    fn rows(&mut self, new_checkpoints: &[(i32, &'a CheckpointRows)]) {
        let rows: Vec<_> =
            new_checkpoints.iter().map(|(ordinal, new_checkpoint)| (*ordinal, &new_checkpoint.row)).collect();
        self.column(&rows, Type::INT4_ARRAY, |(ordinal, _)| *ordinal)
            .column(&rows, Type::INT8_ARRAY, |(_, row)| row.number.cast_signed())
            .column(&rows, Type::BYTEA_ARRAY, |(_, row)| row.header.id.bits().to_be_bytes().to_vec())
            .column(&rows, Type::BYTEA_ARRAY, |(_, row)| row.header.parent.map(|id| id.bits().to_be_bytes().to_vec()))
            .column(&rows, Type::INT8_ARRAY, |(_, row)| row.header.step)
            .column(&rows, Type::INT2_ARRAY, |(_, row)| i16::from(row.header.source.to_u8()))
            .column(&rows, Type::INT8_ARRAY, |(_, row)| row.header.time)
            .column(&rows, Type::INT8_ARRAY, |(_, row)| row.origin.cast_signed())
            .column(&rows, Type::BYTEA_ARRAY, |(_, row)| &row.schedule[..])
            .column(&rows, Type::BYTEA_ARRAY, |(_, row)| &row.value_index[..])
            .column(&rows, Type::BYTEA_ARRAY, |(_, row)| &row.values[..])
            .column(&rows, Type::INT4_ARRAY, |(_, row)| row.sum().cast_signed());
    }

    fn origins(&mut self, new_checkpoints: &[(i32, &'a CheckpointRows)]) {
        let origins: Vec<_> = new_checkpoints
            .iter()
            .filter_map(|(ordinal, new_checkpoint)| Some((*ordinal, new_checkpoint.origin.as_ref()?)))
            .collect();
        self.column(&origins, Type::INT4_ARRAY, |(ordinal, _)| *ordinal)
            .column(&origins, Type::INT8_ARRAY, |(_, origin)| origin.number.cast_signed())
            .column(&origins, Type::BYTEA_ARRAY, |(_, origin)| with_sum(origin.sum(), &origin.body));
    }

    fn parts(&mut self, new_checkpoints: &[(i32, &'a CheckpointRows)]) -> Result<()> {
        let mut parts = Vec::new();
        for (ordinal, part) in new_checkpoints
            .iter()
            .flat_map(|(ordinal, new_checkpoint)| new_checkpoint.parts.iter().map(move |part| (*ordinal, part)))
        {
            parts.push((ordinal, part, part.change_text()?));
        }
        self.column(&parts, Type::INT4_ARRAY, |(ordinal, ..)| *ordinal)
            .column(&parts, Type::INT8_ARRAY, |(_, part, _)| part.number.cast_signed())
            .column(&parts, Type::INT4_ARRAY, |(_, part, _)| part.field.cast_signed())
            .column(&parts, Type::INT8_ARRAY, |(_, part, _)| ValueLocation::to_number(part.before))
            .column(&parts, Type::BYTEA_ARRAY, |(.., change)| change.clone().into_bytes())
            .column(&parts, Type::BYTEA_ARRAY, |(_, part, _)| &part.body[..])
            .column(&parts, Type::INT4_ARRAY, |(_, part, change)| part.sum(change).cast_signed());
        Ok(())
    }

    /// Adds the pending entries; of several with the same task and slot, the last value is used at the position of
    /// the first.
    fn pending(&mut self, histories: &'a [HistoryRows]) {
        let mut indexes = BTreeMap::new();
        let mut entries: Vec<(i32, &'a CheckpointId, &'a PendingRow)> = Vec::new();
        for (history, ordinal) in histories.iter().zip(1..) {
            for (id, row) in &history.pending {
                let index = *indexes.entry((ordinal, row.checkpoint, row.task, &row.slot)).or_insert(entries.len());
                if index == entries.len() {
                    entries.push((ordinal, id, row));
                }
                entries[index].2 = row;
            }
        }
        self.pending_checkpoints = entries.iter().map(|(_, id, _)| **id).collect();
        self.column(&entries, Type::INT4_ARRAY, |(ordinal, ..)| *ordinal)
            .column(&entries, Type::INT8_ARRAY, |(.., row)| row.checkpoint.cast_signed())
            .column(&entries, Type::BYTEA_ARRAY, |(.., row)| row.task.bits().to_be_bytes().to_vec())
            .column(&entries, Type::BYTEA_ARRAY, |(.., row)| row.slot.as_bytes())
            .column(&entries, Type::BYTEA_ARRAY, |(.., row)| &row.body[..])
            .column(&entries, Type::INT4_ARRAY, |(.., row)| row.sum().cast_signed());
    }

    async fn send(&self, client: &Client, statements: &Statements) -> PgResult<(i32, Vec<i64>, Option<i64>)> {
        let mut arguments: Vec<(&(dyn ToSql + Sync), Type)> =
            self.arguments.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        arguments.extend(self.events.iter().flat_map(EventColumns::arguments));
        let statement = if self.events.is_some() { &statements.commit_with_events } else { &statements.commit };
        let row = client.query_typed_one(statement, &arguments).await?;
        let code: i32 = row.try_get(0)?;
        // If a commit is rejected, some histories may have no row.
        let histories = if code == 0 { row.try_get(1)? } else { Vec::new() };
        Ok((code, histories, row.try_get(2)?))
    }
}
