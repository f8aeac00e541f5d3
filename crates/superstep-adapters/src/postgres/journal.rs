//! The event journal: events as additional arguments of a commit, reading events, and deleting them.

use superstep_core::error::Error;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{EventsQuery, StoredEvent, errors};
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::{ToSql, Type};

use super::error::{PgError, PgResult};
use super::pool::ConnectionPool;
use crate::change_log::{EventRow, RowTransaction};

/// Number of arguments for events.
pub(super) const ARGUMENTS: usize = 5;
/// SQLSTATE raised by the database if events do not follow the last stored one.
const OUT_OF_ORDER_SQLSTATE: &str = "SS001";

/// The events of a transaction by column.
pub(super) struct EventColumns<'a> {
    numbers: Vec<i64>,
    runs: Vec<Vec<u8>>,
    bodies: Vec<&'a [u8]>,
    sums: Vec<i32>,
    is_repeat: bool,
}

impl<'a> EventColumns<'a> {
    /// Returns the events of a transaction by column; `None` if there are none.
    pub(super) fn new(job: &'a RowTransaction) -> Option<Self> {
        if job.events.is_empty() {
            return None;
        }
        Some(Self {
            numbers: job.events.iter().map(|event| event.number.cast_signed()).collect(),
            runs: job.events.iter().map(|event| event.run.bits().to_be_bytes().to_vec()).collect(),
            bodies: job.events.iter().map(|event| &event.body[..]).collect(),
            sums: job.events.iter().map(|event| event.sum().cast_signed()).collect(),
            is_repeat: job.is_repeat,
        })
    }

    /// Returns the arguments, which follow those of the call.
    pub(super) fn arguments(&self) -> [(&(dyn ToSql + Sync), Type); ARGUMENTS] {
        [
            (&self.numbers, Type::INT8_ARRAY),
            (&self.runs, Type::BYTEA_ARRAY),
            (&self.bodies, Type::BYTEA_ARRAY),
            (&self.sums, Type::INT4_ARRAY),
            (&self.is_repeat, Type::BOOL),
        ]
    }
}

/// Converts the database error for events that do not follow the last stored one; other errors are returned
/// unchanged.
pub(super) fn out_of_order_error(job: &RowTransaction, failure: PgError) -> PgError {
    let PgError::Database(error) = &failure else { return failure };
    match error.as_db_error().filter(|error| error.code().code() == OUT_OF_ORDER_SQLSTATE) {
        Some(db_error) => {
            let (first, last) = (job.events.first().map_or(0, |first| first.number), db_error.message().parse());
            PgError::Rejected(errors::event_out_of_order(first, last.unwrap_or(0)))
        }
        None => failure,
    }
}

/// Reads events of a thread in ascending order.
pub(super) async fn read(pool: &ConnectionPool, thread: &ThreadId, query: &EventsQuery) -> PgResult<Vec<StoredEvent>> {
    let Ok(after) = i64::try_from(query.after.unwrap_or(0)) else { return Ok(Vec::new()) };
    let run = query.run.map(|run| run.bits().to_be_bytes());
    let (run, limit) =
        (run.as_ref().map(|run| &run[..]), query.limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)));
    let (statement, run, limit) = (&pool.address.statements.events, &run, &limit);
    let rows = pool.with_connection(|client| async move {
        let arguments = [
            (&thread.as_str() as _, Type::TEXT),
            (&after as _, Type::INT8),
            (run as _, Type::BYTEA),
            (limit as _, Type::INT8),
        ];
        Ok(client.query_typed(statement, &arguments).await?)
    });
    rows.await?.iter().map(read_row).collect()
}

fn read_row(row: &SqlRow) -> PgResult<StoredEvent> {
    let number = row.try_get::<_, i64>(0)?.cast_unsigned();
    let sum = row.try_get::<_, i32>(3)?.cast_unsigned();
    // An invalid run id results in a checksum mismatch.
    let run = RunId::from_bits(u128::from_be_bytes(row.try_get::<_, &[u8]>(1)?.try_into().unwrap_or_default()));
    Ok(EventRow { number, run, body: row.try_get(2)? }.read(sum)?)
}

/// Returns the highest number ever used by an event of a thread; 0 if the thread does not exist.
pub(super) async fn last(pool: &ConnectionPool, thread: &ThreadId) -> PgResult<u64> {
    let statement = &pool.address.fill("SELECT @schema@.last_event(t.id) FROM @schema@.thread t WHERE t.name = $1");
    let row = pool.with_connection(|client| async move {
        Ok(client.query_typed_opt(statement, &[(&thread.as_str(), Type::TEXT)]).await?)
    });
    Ok(row.await?.map(|row| row.try_get::<_, i64>(0)).transpose()?.unwrap_or(0).cast_unsigned())
}

/// Deletes events up to a number.
pub(super) async fn delete_up_to(pool: &ConnectionPool, thread: &ThreadId, up_to: u64) -> PgResult<()> {
    let (statement, up_to) =
        (&pool.address.fill("SELECT @schema@.forget_events($1, $2)"), i64::try_from(up_to).unwrap_or(i64::MAX));
    let deleted = pool.with_connection(|client| async move {
        let arguments = [(&thread.as_str() as _, Type::TEXT), (&up_to as _, Type::INT8)];
        client.query_typed_one(statement, &arguments).await?;
        Ok(())
    });
    deleted.await
}

/// Rejects event numbers that do not fit in a signed 64-bit column.
pub(super) fn check(job: &RowTransaction) -> Result<(), Error> {
    match job.events.last().filter(|last| i64::try_from(last.number).is_err()) {
        Some(last) => Err(Error::internal(format!("event number {} is out of range", last.number))),
        None => Ok(()),
    }
}
