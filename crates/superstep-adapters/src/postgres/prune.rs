//! Removing old checkpoints: reads what a line has, asks the log what may go, and does it, in one transaction.

use std::collections::BTreeMap;

use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::address::Address;
use super::room::Room;
use super::rows::{COLUMNS, TASKS, read_origin, read_pending, read_row};
use super::trouble::Answer;
use crate::log::{Candidate, End, Holdings, Pruning, RemnantRow, has_open_question, prune as decide};

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
            let (holdings, lengths) = self.holdings(line).await?;
            let pruning = decide(self.candidates(line, retention).await?, holdings, retention)?;
            if pruning.gone.is_empty() {
                continue;
            }
            report.checkpoints += pruning.gone.len();
            let unneeded = lengths.iter().filter(|(part, _)| !pruning.parts.contains(part));
            report.bytes += pruning.bytes + unneeded.map(|(_, length)| length).sum::<u64>();
            if !retention.dry_run {
                self.change(line, &pruning).await?;
                self.remove(line, &pruning).await?;
            }
        }
        Ok(report)
    }

    async fn candidates(&self, line: i64, retention: &Retention) -> Answer<Vec<Candidate>> {
        let asked = self.address.fill(&format!(
            "SELECT known.tasks, known.slots, known.bodies, known.sums, o.body, {COLUMNS} FROM @schema@.checkpoint c \
             LEFT JOIN @schema@.origin o ON o.line = c.line AND o.number = c.origin {TASKS} \
             WHERE c.line = $1 ORDER BY c.number"
        ));
        let mut candidates = Vec::new();
        for found in self.client.query_typed(&asked, &[(&line, Type::INT8)]).await? {
            let row = read_row(&found, 5)?;
            let is_unwanted = !retention.without_runs.is_empty()
                && retention.without_runs.contains(&read_origin(found.try_get(4)?, &row)?.run);
            let pending = read_pending(&found, 0, &row)?;
            let (has_pending, has_open_question) = (!pending.is_empty(), has_open_question(&pending));
            candidates.push(Candidate { row, is_unwanted, has_pending, has_open_question });
        }
        Ok(candidates)
    }

    /// What a line has beside its checkpoints, and how long its parts are.
    async fn holdings(&self, line: i64) -> Answer<(Holdings, BTreeMap<u64, u64>)> {
        let asked = self.address.fill("SELECT number, field, before, length(body) FROM @schema@.part WHERE line = $1");
        let (mut parts, mut lengths) = (BTreeMap::new(), BTreeMap::new());
        for row in self.client.query_typed(&asked, &[(&line, Type::INT8)]).await? {
            let (number, field) = (row.try_get::<_, i64>(0)?.cast_unsigned(), row.try_get::<_, i32>(1)?);
            parts.insert(number, (field.cast_unsigned(), End::from_number(row.try_get(2)?)));
            lengths.insert(number, u64::from(row.try_get::<_, i32>(3)?.cast_unsigned()));
        }
        let asked = self.address.fill("SELECT number, vals FROM @schema@.remnant WHERE line = $1");
        let rows = self.client.query_typed(&asked, &[(&line, Type::INT8)]).await?;
        let remnants = rows
            .iter()
            .map(|row| Ok(RemnantRow { number: row.try_get::<_, i64>(0)?.cast_unsigned(), values: row.try_get(1)? }));
        Ok((Holdings { remnants: remnants.collect::<Answer<_>>()?, parts }, lengths))
    }

    /// Makes those that stay whole without those that go.
    async fn change(&self, line: i64, pruning: &Pruning) -> Answer<()> {
        let forgotten = self.address.fill("DELETE FROM @schema@.remnant WHERE line = $1");
        self.client.execute_typed(&forgotten, &[(&line, Type::INT8)]).await?;
        let left = self.address.fill("INSERT INTO @schema@.remnant (line, number, vals, sum) VALUES ($1, $2, $3, $4)");
        for row in &pruning.remnants {
            let (number, sum) = (row.number.cast_signed(), row.sum().cast_signed());
            self.put(&left, line, number, (&row.values, sum)).await?;
        }
        let rewritten =
            self.address.fill("UPDATE @schema@.checkpoint SET heads = $3, sum = $4 WHERE line = $1 AND number = $2");
        for row in &pruning.rewritten {
            let (number, sum) = (row.number.cast_signed(), row.sum().cast_signed());
            self.put(&rewritten, line, number, (&row.heads, sum)).await?;
        }
        Ok(())
    }

    async fn put(&self, statement: &str, line: i64, number: i64, (bytes, sum): (&Vec<u8>, i32)) -> Answer<()> {
        let given =
            [(&line as _, Type::INT8), (&number as _, Type::INT8), (bytes as _, Type::BYTEA), (&sum as _, Type::INT4)];
        self.client.execute_typed(statement, &given).await?;
        Ok(())
    }

    async fn remove(&self, line: i64, pruning: &Pruning) -> Answer<()> {
        let gone: Vec<i64> = pruning.gone.iter().map(|number| number.cast_signed()).collect();
        let parts: Vec<i64> = pruning.parts.iter().map(|number| number.cast_signed()).collect();
        let origins: Vec<i64> = pruning.origins.iter().map(|number| number.cast_signed()).collect();
        for (removed, numbers) in [
            ("DELETE FROM @schema@.checkpoint WHERE line = $1 AND number = ANY ($2)", &gone),
            ("DELETE FROM @schema@.pending WHERE line = $1 AND checkpoint = ANY ($2)", &gone),
            ("DELETE FROM @schema@.origin WHERE line = $1 AND number <> ALL ($2)", &origins),
            ("DELETE FROM @schema@.part WHERE line = $1 AND number <> ALL ($2)", &parts),
        ] {
            let given = [(&line as _, Type::INT8), (numbers as _, Type::INT8_ARRAY)];
            self.client.execute_typed(&self.address.fill(removed), &given).await?;
        }
        Ok(())
    }
}
