//! Commit of a single checkpoint to an existing history, which most supersteps are, as a call with scalar arguments.
//!
//! All other transactions use the general function (`commit`), with the same result.

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::error::PgResult;
use super::journal::EventColumns;
use super::rows::with_sum;
use super::statements::Statements;
use crate::change_log::{CheckpointRows, RowTransaction, ValueLocation};

/// Number of arguments of the database function `add`.
pub(super) const ARGUMENTS: usize = 26;

/// A call of `add`, which can be sent several times.
pub(super) struct AppendCall<'a> {
    job: &'a RowTransaction,
    holder: i64,
    history_id: i64,
    newest: i64,
    base: Option<(i64, [u8; 16])>,
    new_checkpoint: &'a CheckpointRows,
    parts: Option<PartColumns<'a>>,
    events: Option<EventColumns<'a>>,
}

/// The parts of the checkpoint by column. Their numbers are consecutive.
struct PartColumns<'a> {
    first: i64,
    fields: Vec<i32>,
    befores: Vec<i64>,
    changes: Vec<String>,
    bodies: Vec<&'a [u8]>,
    sums: Vec<i32>,
}

impl<'a> AppendCall<'a> {
    /// Returns the call for a transaction; `None` if it has more than one checkpoint, pending entries, or the first
    /// checkpoint of a history.
    pub(super) fn new(job: &'a RowTransaction, holder: i64) -> superstep_core::error::Result<Option<Self>> {
        let [history] = &job.histories[..] else { return Ok(None) };
        let ([new_checkpoint], Some(row)) = (&history.new_checkpoints[..], history.row) else { return Ok(None) };
        if new_checkpoint.names.is_some() || !history.pending.is_empty() || history.bases.len() > 1 {
            return Ok(None);
        }
        let base = history.bases.first().map(|(number, id)| (number.cast_signed(), id.bits().to_be_bytes()));
        let (newest, parts, events) =
            (history.newest.cast_signed(), PartColumns::new(new_checkpoint)?, EventColumns::new(job));
        Ok(Some(Self { job, holder, history_id: row, newest, base, new_checkpoint, parts, events }))
    }

    /// Sends the call and returns the result code.
    pub(super) async fn send(&self, client: &Client, statements: &Statements) -> PgResult<i32> {
        let Self { job, new_checkpoint, base, parts, .. } = self;
        let (row, header) = (&new_checkpoint.row, &new_checkpoint.row.header);
        let status = job.status.map(|status| i16::from(status.number()));
        let base_number = base.map(|base| base.0);
        let base_id = base.as_ref().map(|base| &base.1[..]);
        let (id, parent) = (header.id.bits().to_be_bytes(), header.parent.map(|id| id.bits().to_be_bytes()));
        let parent = parent.as_ref().map(|parent| &parent[..]);
        let origin = new_checkpoint.origin.as_ref().map(|origin| with_sum(origin.sum(), &origin.body));
        let changes: Option<Vec<&[u8]>> =
            parts.as_ref().map(|parts| parts.changes.iter().map(String::as_bytes).collect());
        let columns = parts.as_ref();
        let arguments: [(&(dyn ToSql + Sync), Type); ARGUMENTS] = [
            (&job.thread, Type::INT8),
            (&job.lease.fence.cast_signed(), Type::INT8),
            (&self.holder, Type::INT8),
            (&status, Type::INT2),
            (&self.history_id, Type::INT8),
            (&self.newest, Type::INT8),
            (&base_number, Type::INT8),
            (&base_id, Type::BYTEA),
            (&row.number.cast_signed(), Type::INT8),
            (&&id[..], Type::BYTEA),
            (&parent, Type::BYTEA),
            (&header.step, Type::INT8),
            (&i16::from(header.source.to_u8()), Type::INT2),
            (&header.time, Type::INT8),
            (&row.origin.cast_signed(), Type::INT8),
            (&row.schedule, Type::BYTEA),
            (&row.value_index, Type::BYTEA),
            (&row.values, Type::BYTEA),
            (&row.sum().cast_signed(), Type::INT4),
            (&origin, Type::BYTEA),
            (&columns.map(|parts| parts.first), Type::INT8),
            (&columns.map(|parts| &parts.fields), Type::INT4_ARRAY),
            (&columns.map(|parts| &parts.befores), Type::INT8_ARRAY),
            (&changes, Type::BYTEA_ARRAY),
            (&columns.map(|parts| &parts.bodies), Type::BYTEA_ARRAY),
            (&columns.map(|parts| &parts.sums), Type::INT4_ARRAY),
        ];
        let Some(events) = &self.events else {
            return Ok(client.query_typed_one(&statements.add, &arguments).await?.try_get(0)?);
        };
        let arguments: Vec<_> = arguments.into_iter().chain(events.arguments()).collect();
        Ok(client.query_typed_one(&statements.add_with_events, &arguments).await?.try_get(0)?)
    }
}

impl<'a> PartColumns<'a> {
    fn new(new_checkpoint: &'a CheckpointRows) -> superstep_core::error::Result<Option<Self>> {
        let Some(first) = new_checkpoint.parts.first() else { return Ok(None) };
        let changes = new_checkpoint.parts.iter().map(|part| part.change_text()).collect::<Result<Vec<_>, _>>()?;
        let sums =
            new_checkpoint.parts.iter().zip(&changes).map(|(part, change)| part.sum(change).cast_signed()).collect();
        Ok(Some(Self {
            first: first.number.cast_signed(),
            fields: new_checkpoint.parts.iter().map(|part| part.field.cast_signed()).collect(),
            befores: new_checkpoint.parts.iter().map(|part| ValueLocation::to_number(part.before)).collect(),
            bodies: new_checkpoint.parts.iter().map(|part| &part.body[..]).collect(),
            changes,
            sums,
        }))
    }
}
