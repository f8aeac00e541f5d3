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
        let locked = self.address.fill("SELECT id FROM @schema@.thread WHERE name = $1 FOR UPDATE");
        let lines = self.address.fill(
            "SELECT l.id FROM @schema@.thread t JOIN @schema@.line l ON l.thread = t.id WHERE t.name = $1 ORDER BY l.id",
        );
        let name = thread.as_str();
        self.client.execute_typed(&locked, &[(&name, Type::TEXT)]).await?;
        let lines = self.client.query_typed(&lines, &[(&name, Type::TEXT)]).await?;
        let mut report = PruneReport::default();
        for line in lines {
            let line = line.try_get(0)?;
            let (candidates, holdings) = tokio::join!(self.candidates(line, retention), self.holdings(line));
            let ((candidates, mut origins), (holdings, mut lengths)) = (candidates?, holdings?);
            let pruning = decide(candidates, holdings, retention)?;
            if pruning.removed.is_empty() {
                continue;
            }
            lengths.retain(|part, _| !pruning.parts.contains(part));
            origins.retain(|origin| !pruning.origins.contains(origin));
            report.checkpoints += pruning.removed.len();
            report.bytes += pruning.bytes + lengths.values().sum::<u64>();
            if !retention.dry_run {
                self.change(line, &pruning, (&numbers(lengths.keys()), &numbers(&origins))).await?;
            }
        }
        Ok(report)
    }

    /// Reads the checkpoints of a history and the numbers of their run info rows.
    async fn candidates(&self, line: i64, retention: &Retention) -> PgResult<(Vec<PruneRow>, BTreeSet<u64>)> {
        let statement = self.address.fill(&format!(
            "SELECT known.tasks, known.slots, known.bodies, known.sums, o.body, {COLUMNS} FROM @schema@.checkpoint c \
             LEFT JOIN @schema@.origin o ON o.line = c.line AND o.number = c.origin {TASKS} \
             WHERE c.line = $1 ORDER BY c.number"
        ));
        let (mut candidates, mut origins) = (Vec::new(), BTreeSet::new());
        for sql_row in self.client.query_typed(&statement, &[(&line, Type::INT8)]).await? {
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
    async fn holdings(&self, line: i64) -> PgResult<(NonCheckpointRows, BTreeMap<u64, u64>)> {
        let statement =
            self.address.fill("SELECT number, field, before, length(body) FROM @schema@.part WHERE line = $1");
        let left = self.address.fill("SELECT number, vals FROM @schema@.remnant WHERE line = $1");
        let arguments = [(&line as &(dyn ToSql + Sync), Type::INT8)];
        let (rows, retained_values) =
            tokio::join!(self.client.query_typed(&statement, &arguments), self.client.query_typed(&left, &arguments));
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
    async fn change(&self, line: i64, pruning: &PrunePlan, (parts, origins): (&Vec<i64>, &Vec<i64>)) -> PgResult<()> {
        let removed = numbers(&pruning.removed);
        let retained_values = pruning.retained_values.iter().map(|row| (row.number, &row.values[..], row.sum()));
        let rewritten = pruning.rewritten.iter().map(|row| (row.number, &row.value_index[..], row.sum()));
        let (retained_values, rewritten) = (Columns::new(retained_values), Columns::new(rewritten));
        let leave = "INSERT INTO @schema@.remnant (line, number, vals, sum) SELECT $1, * FROM unnest($2, $3, $4)";
        let rewrite = "UPDATE @schema@.checkpoint c SET heads = new.heads, sum = new.sum \
                       FROM unnest($2, $3, $4) AS new(number, heads, sum) WHERE c.line = $1 AND c.number = new.number";
        let done = tokio::join!(
            self.delete_retained_values(line),
            self.put(line, leave, &retained_values),
            self.put(line, rewrite, &rewritten),
            self.remove(line, ("checkpoint", "number"), &removed),
            self.remove(line, ("pending", "checkpoint"), &removed),
            self.remove(line, ("origin", "number"), origins),
            self.remove(line, ("part", "number"), parts),
        );
        <[PgResult<()>; 7]>::from(done).into_iter().collect()
    }

    async fn put(&self, line: i64, statement: &str, rows: &Columns<'_>) -> PgResult<()> {
        let arguments = [
            (&line as &(dyn ToSql + Sync), Type::INT8),
            (&rows.numbers, Type::INT8_ARRAY),
            (&rows.bytes, Type::BYTEA_ARRAY),
            (&rows.sums, Type::INT4_ARRAY),
        ];
        self.client.execute_typed(&self.address.fill(statement), &arguments).await?;
        Ok(())
    }

    /// Deletes all retained values; those that are still needed are inserted again.
    async fn delete_retained_values(&self, line: i64) -> PgResult<()> {
        let delete = self.address.fill("DELETE FROM @schema@.remnant WHERE line = $1");
        self.client.execute_typed(&delete, &[(&line, Type::INT8)]).await?;
        Ok(())
    }

    async fn remove(&self, line: i64, (table, column): (&str, &str), numbers: &Vec<i64>) -> PgResult<()> {
        let remove = format!(
            "DELETE FROM @schema@.{table} t USING unnest($2) AS gone(number) WHERE t.line = $1 AND t.{column} = gone.number"
        );
        let arguments = [(&line as &(dyn ToSql + Sync), Type::INT8), (numbers, Type::INT8_ARRAY)];
        self.client.execute_typed(&self.address.fill(&remove), &arguments).await?;
        Ok(())
    }
}

fn numbers<'a>(of: impl IntoIterator<Item = &'a u64>) -> Vec<i64> {
    of.into_iter().map(|number| number.cast_signed()).collect()
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
