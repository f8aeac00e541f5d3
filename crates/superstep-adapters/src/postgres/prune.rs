//! Pruning of old checkpoints: reads a history, lets the change log decide what is removed, and removes it, in one
//! transaction.
//!
//! The number of statements per history is constant, in two round trips, because the thread is locked meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::config::PgConfig;
use super::error::PgResult;
use super::pool::ConnectionPool;
use super::rows::{COLUMNS, TASKS, read_origin, read_pending, read_row};
use crate::change_log::{NonCheckpointRows, PrunePlan, PruneRow, RetainedValuesRow, ValueLocation, prune as decide};

/// Removes old checkpoints of every namespace of a thread.
pub(super) async fn prune(pool: &ConnectionPool, thread: &ThreadId, retention: &Retention) -> PgResult<PruneReport> {
    let pruned = pool.with_connection(|client| async move {
        let pruner = Pruner { client: &client, address: &pool.address };
        client.batch_execute("BEGIN").await?;
        let report = pruner.prune(thread, retention).await;
        // End the transaction in any case, because the connection is reused.
        client.batch_execute(if report.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        report
    });
    pruned.await
}

struct Pruner<'a> {
    client: &'a Client,
    address: &'a PgConfig,
}

impl Pruner<'_> {
    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> PgResult<PruneReport> {
        // Prevents concurrent writes to the thread.
        let lock_thread = self.address.fill("SELECT id FROM @schema@.thread WHERE name = $1 FOR UPDATE");
        let histories = self.address.fill(
            "SELECT l.id FROM @schema@.thread t JOIN @schema@.line l ON l.thread = t.id WHERE t.name = $1 ORDER BY l.id",
        );
        let name = thread.as_str();
        self.client.execute_typed(&lock_thread, &[(&name, Type::TEXT)]).await?;
        let histories = self.client.query_typed(&histories, &[(&name, Type::TEXT)]).await?;
        let mut report = PruneReport::default();
        for row in histories {
            let history_id = row.try_get(0)?;
            let (candidates, other_rows) =
                tokio::join!(self.candidates(history_id, retention), self.other_rows(history_id));
            let ((candidates, mut origins), (other_rows, mut lengths)) = (candidates?, other_rows?);
            let plan = decide(candidates, other_rows, retention)?;
            if plan.removed.is_empty() {
                continue;
            }
            lengths.retain(|part, _| !plan.parts.contains(part));
            origins.retain(|origin| !plan.origins.contains(origin));
            report.checkpoints += plan.removed.len();
            report.bytes += plan.bytes + lengths.values().sum::<u64>();
            if !retention.dry_run {
                self.change(history_id, &plan, (&numbers(lengths.keys()), &numbers(&origins))).await?;
            }
        }
        Ok(report)
    }

    /// Reads the checkpoints of a history and the numbers of their run info rows.
    async fn candidates(&self, history_id: i64, retention: &Retention) -> PgResult<(Vec<PruneRow>, BTreeSet<u64>)> {
        let statement = self.address.fill(&format!(
            "SELECT known.tasks, known.slots, known.bodies, known.sums, o.body, {COLUMNS} FROM @schema@.checkpoint c \
             LEFT JOIN @schema@.origin o ON o.line = c.line AND o.number = c.origin {TASKS} \
             WHERE c.line = $1 ORDER BY c.number"
        ));
        let (mut candidates, mut origins) = (Vec::new(), BTreeSet::new());
        for sql_row in self.client.query_typed(&statement, &[(&history_id, Type::INT8)]).await? {
            let row = read_row(&sql_row, 5)?;
            origins.insert(row.origin);
            let origin = match retention.needs_run_info() {
                true => Some(read_origin(sql_row.try_get(4)?, &row)?),
                false => None,
            };
            let pending = read_pending(&sql_row, 0, &row)?;
            candidates.push(PruneRow::new(row, origin.as_ref(), &pending));
        }
        Ok((candidates, origins))
    }

    /// Reads the other rows of a history and the lengths of its parts.
    async fn other_rows(&self, history_id: i64) -> PgResult<(NonCheckpointRows, BTreeMap<u64, u64>)> {
        let statement =
            self.address.fill("SELECT number, field, before, length(body) FROM @schema@.part WHERE line = $1");
        let select_retained = self.address.fill("SELECT number, vals FROM @schema@.remnant WHERE line = $1");
        let arguments = [(&history_id as &(dyn ToSql + Sync), Type::INT8)];
        let (rows, retained_values) = tokio::join!(
            self.client.query_typed(&statement, &arguments),
            self.client.query_typed(&select_retained, &arguments)
        );
        let (mut parts, mut lengths) = (BTreeMap::new(), BTreeMap::new());
        for row in rows? {
            let (number, field) = (row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get::<_, i32>(1)?);
            parts.insert(number, (field.cast_unsigned(), ValueLocation::from_number(row.try_get(2)?)));
            lengths.insert(number, u64::from(row.try_get::<_, i32>(3)?.cast_unsigned()));
        }
        let retained_values = retained_values?;
        let retained_values = retained_values.iter().map(|row| {
            Ok(RetainedValuesRow { number: row.try_get::<_, i64>(0)?.cast_unsigned(), values: row.try_get(1)? })
        });
        Ok((NonCheckpointRows { retained_values: retained_values.collect::<PgResult<_>>()?, parts }, lengths))
    }

    /// Rewrites the remaining checkpoints and removes the others, with these parts and run info rows. All statements
    /// are sent at once and executed in this order.
    async fn change(
        &self,
        history_id: i64,
        plan: &PrunePlan,
        (parts, origins): (&Vec<i64>, &Vec<i64>),
    ) -> PgResult<()> {
        let removed = numbers(&plan.removed);
        let retained_values = plan.retained_values.iter().map(|row| (row.number, &row.values[..], row.sum()));
        let rewritten = plan.rewritten.iter().map(|row| (row.number, &row.value_index[..], row.sum()));
        let (retained_values, rewritten) = (Columns::new(retained_values), Columns::new(rewritten));
        let insert_retained =
            "INSERT INTO @schema@.remnant (line, number, vals, sum) SELECT $1, * FROM unnest($2, $3, $4)";
        let rewrite = "UPDATE @schema@.checkpoint c SET heads = new.heads, sum = new.sum \
                       FROM unnest($2, $3, $4) AS new(number, heads, sum) WHERE c.line = $1 AND c.number = new.number";
        let done = tokio::join!(
            self.delete_retained_values(history_id),
            self.put(history_id, insert_retained, &retained_values),
            self.put(history_id, rewrite, &rewritten),
            self.remove(history_id, ("checkpoint", "number"), &removed),
            self.remove(history_id, ("pending", "checkpoint"), &removed),
            self.remove(history_id, ("origin", "number"), origins),
            self.remove(history_id, ("part", "number"), parts),
        );
        <[PgResult<()>; 7]>::from(done).into_iter().collect()
    }

    async fn put(&self, history_id: i64, statement: &str, rows: &Columns<'_>) -> PgResult<()> {
        let arguments = [
            (&history_id as &(dyn ToSql + Sync), Type::INT8),
            (&rows.numbers, Type::INT8_ARRAY),
            (&rows.bytes, Type::BYTEA_ARRAY),
            (&rows.sums, Type::INT4_ARRAY),
        ];
        self.client.execute_typed(&self.address.fill(statement), &arguments).await?;
        Ok(())
    }

    /// Deletes all retained values; those that are still needed are inserted again.
    async fn delete_retained_values(&self, history_id: i64) -> PgResult<()> {
        let delete = self.address.fill("DELETE FROM @schema@.remnant WHERE line = $1");
        self.client.execute_typed(&delete, &[(&history_id, Type::INT8)]).await?;
        Ok(())
    }

    async fn remove(&self, history_id: i64, (table, column): (&str, &str), numbers: &Vec<i64>) -> PgResult<()> {
        let remove = format!(
            "DELETE FROM @schema@.{table} t USING unnest($2) AS gone(number) WHERE t.line = $1 AND t.{column} = gone.number"
        );
        let arguments = [(&history_id as &(dyn ToSql + Sync), Type::INT8), (numbers, Type::INT8_ARRAY)];
        self.client.execute_typed(&self.address.fill(&remove), &arguments).await?;
        Ok(())
    }
}

fn numbers<'a>(values: impl IntoIterator<Item = &'a u64>) -> Vec<i64> {
    values.into_iter().map(|number| number.cast_signed()).collect()
}

/// Rows with a number, bytes and a checksum, by column.
struct Columns<'a> {
    numbers: Vec<i64>,
    bytes: Vec<&'a [u8]>,
    sums: Vec<i32>,
}

impl<'a> Columns<'a> {
    fn new(rows: impl Iterator<Item = (u64, &'a [u8], u32)>) -> Self {
        let mut columns = Self { numbers: Vec::new(), bytes: Vec::new(), sums: Vec::new() };
        for (number, bytes, sum) in rows {
            columns.numbers.push(number.cast_signed());
            columns.bytes.push(bytes);
            columns.sums.push(sum.cast_signed());
        }
        columns
    }
}
