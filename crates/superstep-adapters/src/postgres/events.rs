//! What runs said: events as the last arguments of a commit, read, and forgotten.

use superstep_core::error::Error;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{EventsQuery, StoredEvent, refusal};
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::{ToSql, Type};

use super::room::Room;
use super::trouble::{Answer, Trouble};
use crate::log::{EventRow, Job};

/// How many arguments events are.
pub(super) const ARGUMENTS: usize = 5;
/// What the server says when events do not come after the last.
const LATE: &str = "SS001";

/// The events of a transaction, column by column.
pub(super) struct Said<'a> {
    numbers: Vec<i64>,
    runs: Vec<Vec<u8>>,
    bodies: Vec<&'a [u8]>,
    sums: Vec<i32>,
    is_repeat: bool,
}

impl<'a> Said<'a> {
    /// `None` when nothing was said.
    pub(super) fn new(job: &'a Job) -> Option<Self> {
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

    /// The arguments behind those of the call.
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

/// The refusal of events that do not come after the last, where that is what a failure says.
pub(super) fn late(job: &Job, trouble: Trouble) -> Trouble {
    let Trouble::Database(error) = &trouble else { return trouble };
    match error.as_db_error().filter(|error| error.code().code() == LATE) {
        Some(said) => {
            let (first, last) = (job.events.first().map_or(0, |first| first.number), said.message().parse());
            Trouble::Refused(refusal::late_event(first, last.unwrap_or(0)))
        }
        None => trouble,
    }
}

/// Events of a thread, ascending.
pub(super) async fn read(room: &Room, thread: &ThreadId, query: &EventsQuery) -> Answer<Vec<StoredEvent>> {
    let Ok(after) = i64::try_from(query.after.unwrap_or(0)) else { return Ok(Vec::new()) };
    let run = query.run.map(|run| run.bits().to_be_bytes());
    let (run, most) =
        (run.as_ref().map(|run| &run[..]), query.limit.map(|most| i64::try_from(most).unwrap_or(i64::MAX)));
    let (asked, run, most) = (&room.address.statements.events, &run, &most);
    let rows = room.ask(|client| async move {
        let given = [
            (&thread.as_str() as _, Type::TEXT),
            (&after as _, Type::INT8),
            (run as _, Type::BYTEA),
            (most as _, Type::INT8),
        ];
        Ok(client.query_typed(asked, &given).await?)
    });
    rows.await?.iter().map(read_row).collect()
}

fn read_row(row: &SqlRow) -> Answer<StoredEvent> {
    let number = row.try_get::<_, i64>(0)?.cast_unsigned();
    let sum = row.try_get::<_, i32>(3)?.cast_unsigned();
    // A run that is none has a checksum that does not fit.
    let run = RunId::from_bits(u128::from_be_bytes(row.try_get::<_, &[u8]>(1)?.try_into().unwrap_or_default()));
    Ok(EventRow { number, run, body: row.try_get(2)? }.read(sum)?)
}

/// The last number that an event of a thread ever had; 0 when there is no such thread.
pub(super) async fn last(room: &Room, thread: &ThreadId) -> Answer<u64> {
    let asked = &room.address.fill("SELECT @schema@.last_event(t.id) FROM @schema@.thread t WHERE t.name = $1");
    let row =
        room.ask(|client| async move { Ok(client.query_typed_opt(asked, &[(&thread.as_str(), Type::TEXT)]).await?) });
    Ok(row.await?.map(|row| row.try_get::<_, i64>(0)).transpose()?.unwrap_or(0).cast_unsigned())
}

/// Removes events up to a number.
pub(super) async fn forget(room: &Room, thread: &ThreadId, up_to: u64) -> Answer<()> {
    let (asked, up_to) =
        (&room.address.fill("SELECT @schema@.forget_events($1, $2)"), i64::try_from(up_to).unwrap_or(i64::MAX));
    let forgotten = room.ask(|client| async move {
        let given = [(&thread.as_str() as _, Type::TEXT), (&up_to as _, Type::INT8)];
        client.query_typed_one(asked, &given).await?;
        Ok(())
    });
    forgotten.await
}

/// Numbers are kept as the server's own, which are signed.
pub(super) fn check(job: &Job) -> Result<(), Error> {
    match job.events.last().filter(|last| i64::try_from(last.number).is_err()) {
        Some(last) => Err(Error::internal(format!("event {} has a number that nothing can hold", last.number))),
        None => Ok(()),
    }
}
