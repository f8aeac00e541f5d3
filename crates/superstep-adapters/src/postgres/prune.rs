//! Removing old checkpoints: reads what a line has, asks the log what may go, and does it, in one transaction.
//!
//! For each line there are as many statements whatever it holds, and two journeys: the thread is locked meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::address::Address;
use super::room::Room;
use super::rows::{COLUMNS, TASKS, read_origin, read_pending, read_row};
use super::trouble::Answer;
use crate::log::{Candidate, End, Holdings, Pruning, RemnantRow, prune as decide};

/// Removes old checkpoints of every graph of a thread.
pub(super) async fn prune(room: &Room, thread: &ThreadId, retention: &Retention) -> Answer<PruneReport> {
    let pruned = room.ask(|client| async move {
        let pruner = Pruner { client: &client, address: &room.address };
        client.batch_execute("BEGIN").await?;
        let report = pruner.prune(thread, retention).await;
        // Whatever went wrong, the connection goes on without the transaction.
        client.batch_execute(if report.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        report
    });
    pruned.await
}

struct Pruner<'a> {
    client: &'a Client,
    address: &'a Address,
}

impl Pruner<'_> {
    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Answer<PruneReport> {
        // Nobody writes to the thread meanwhile.
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
            if pruning.gone.is_empty() {
                continue;
            }
            lengths.retain(|part, _| !pruning.parts.contains(part));
            origins.retain(|origin| !pruning.origins.contains(origin));
            report.checkpoints += pruning.gone.len();
            report.bytes += pruning.bytes + lengths.values().sum::<u64>();
            if !retention.dry_run {
                self.change(line, &pruning, (&numbers(lengths.keys()), &numbers(&origins))).await?;
            }
        }
        Ok(report)
    }

    /// The checkpoints of a line, and the origins they have.
    async fn candidates(&self, line: i64, retention: &Retention) -> Answer<(Vec<Candidate>, BTreeSet<u64>)> {
        let asked = self.address.fill(&format!(
            "SELECT known.tasks, known.slots, known.bodies, known.sums, o.body, {COLUMNS} FROM @schema@.checkpoint c \
             LEFT JOIN @schema@.origin o ON o.line = c.line AND o.number = c.origin {TASKS} \
             WHERE c.line = $1 ORDER BY c.number"
        ));
        let (mut candidates, mut origins) = (Vec::new(), BTreeSet::new());
        for found in self.client.query_typed(&asked, &[(&line, Type::INT8)]).await? {
            let row = read_row(&found, 5)?;
            origins.insert(row.origin);
            let origin = match retention.asks_for_origin() {
                true => Some(read_origin(found.try_get(4)?, &row)?),
                false => None,
            };
            let pending = read_pending(&found, 0, &row)?;
            candidates.push(Candidate::new(row, origin.as_ref(), &pending));
        }
        Ok((candidates, origins))
    }

    /// What a line has beside its checkpoints, and how long its parts are.
    async fn holdings(&self, line: i64) -> Answer<(Holdings, BTreeMap<u64, u64>)> {
        let asked = self.address.fill("SELECT number, field, before, length(body) FROM @schema@.part WHERE line = $1");
        let left = self.address.fill("SELECT number, vals FROM @schema@.remnant WHERE line = $1");
        let given = [(&line as &(dyn ToSql + Sync), Type::INT8)];
        let (rows, remnants) =
            tokio::join!(self.client.query_typed(&asked, &given), self.client.query_typed(&left, &given));
        let (mut parts, mut lengths) = (BTreeMap::new(), BTreeMap::new());
        for row in rows? {
            let (number, field) = (row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get::<_, i32>(1)?);
            parts.insert(number, (field.cast_unsigned(), End::from_number(row.try_get(2)?)));
            lengths.insert(number, u64::from(row.try_get::<_, i32>(3)?.cast_unsigned()));
        }
        let remnants = remnants?;
        let remnants = remnants
            .iter()
            .map(|row| Ok(RemnantRow { number: row.try_get::<_, i64>(0)?.cast_unsigned(), values: row.try_get(1)? }));
        Ok((Holdings { remnants: remnants.collect::<Answer<_>>()?, parts }, lengths))
    }

    /// Makes those that stay whole without those that go, and removes those with these parts and origins. All is sent
    /// at once and done in this order.
    async fn change(&self, line: i64, pruning: &Pruning, (parts, origins): (&Vec<i64>, &Vec<i64>)) -> Answer<()> {
        let gone = numbers(&pruning.gone);
        let remnants = pruning.remnants.iter().map(|row| (row.number, &row.values[..], row.sum()));
        let rewritten = pruning.rewritten.iter().map(|row| (row.number, &row.heads[..], row.sum()));
        let (remnants, rewritten) = (Columns::new(remnants), Columns::new(rewritten));
        let leave = "INSERT INTO @schema@.remnant (line, number, vals, sum) SELECT $1, * FROM unnest($2, $3, $4)";
        let rewrite = "UPDATE @schema@.checkpoint c SET heads = new.heads, sum = new.sum \
                       FROM unnest($2, $3, $4) AS new(number, heads, sum) WHERE c.line = $1 AND c.number = new.number";
        let done = tokio::join!(
            self.forget_remnants(line),
            self.put(line, leave, &remnants),
            self.put(line, rewrite, &rewritten),
            self.remove(line, ("checkpoint", "number"), &gone),
            self.remove(line, ("pending", "checkpoint"), &gone),
            self.remove(line, ("origin", "number"), origins),
            self.remove(line, ("part", "number"), parts),
        );
        <[Answer<()>; 7]>::from(done).into_iter().collect()
    }

    async fn put(&self, line: i64, statement: &str, rows: &Columns<'_>) -> Answer<()> {
        let given = [
            (&line as &(dyn ToSql + Sync), Type::INT8),
            (&rows.numbers, Type::INT8_ARRAY),
            (&rows.bytes, Type::BYTEA_ARRAY),
            (&rows.sums, Type::INT4_ARRAY),
        ];
        self.client.execute_typed(&self.address.fill(statement), &given).await?;
        Ok(())
    }

    /// All that are still needed are written anew.
    async fn forget_remnants(&self, line: i64) -> Answer<()> {
        let forget = self.address.fill("DELETE FROM @schema@.remnant WHERE line = $1");
        self.client.execute_typed(&forget, &[(&line, Type::INT8)]).await?;
        Ok(())
    }

    async fn remove(&self, line: i64, (table, column): (&str, &str), numbers: &Vec<i64>) -> Answer<()> {
        let remove = format!(
            "DELETE FROM @schema@.{table} t USING unnest($2) AS gone(number) WHERE t.line = $1 AND t.{column} = gone.number"
        );
        let given = [(&line as &(dyn ToSql + Sync), Type::INT8), (numbers, Type::INT8_ARRAY)];
        self.client.execute_typed(&self.address.fill(&remove), &given).await?;
        Ok(())
    }
}

fn numbers<'a>(of: impl IntoIterator<Item = &'a u64>) -> Vec<i64> {
    of.into_iter().map(|number| number.cast_signed()).collect()
}

/// Rows with a number, bytes and their checksum, column by column.
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
