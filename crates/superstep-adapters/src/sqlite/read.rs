//! Reading of checkpoints on connections that never write.
//!
//! A short read runs on the thread of the caller: with cached pages it takes microseconds, less than a switch to
//! another thread. A read that may be long runs on a blocking thread. Each read sees one snapshot of the file.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use superstep_core::checkpoint::{CheckpointHeader, CheckpointNamespace, CheckpointSource, PendingEntry, RunInfo};
use superstep_core::error::Result;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use superstep_core::port::{CheckpointSelector, CheckpointTuple};

use super::error::{SqliteError, SqliteResult, invalidates_connection};
use super::schema::{DatabasePath, checksum_in_history, history_of, key, keys, number};
use super::write_rows::find_history_id;
use crate::change_log::{
    self, CachedHistory, CheckpointAssembler, CheckpointRow, CheckpointWithChanges, HistoryWriter, MissingRows,
    ParentCheckpoint, PartRow, PendingRow, RetainedValuesRow, RunInfoRow, ValueLocation, corrupt_row_error,
    read_change,
};

/// Maximum number of idle connections.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Connections for reading.
pub(super) enum ReadConnections {
    /// Separate connections to a file.
    Files(FileConnections),
    /// The writing connection, which is the only one to an in-memory database.
    Writer,
}

/// Pool of connections to a file.
pub(super) struct FileConnections {
    database: DatabasePath,
    busy: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl ReadConnections {
    pub(super) fn new(database: DatabasePath, busy: Duration) -> Self {
        if database.path().is_none() {
            return Self::Writer;
        }
        Self::Files(FileConnections { database, busy, idle: Mutex::default() })
    }
}

impl FileConnections {
    /// Runs a read in one transaction.
    pub(super) fn with_connection<T>(&self, mut operation: impl FnMut(&Connection) -> SqliteResult<T>) -> Result<T> {
        let result = self.connection().and_then(|connection| {
            connection.prepare_cached("BEGIN")?.execute([])?;
            let result = operation(&connection);
            let ended = connection.prepare_cached("COMMIT").and_then(|mut statement| statement.execute([]));
            let is_broken = matches!(&result, Err(SqliteError::Database(error)) if invalidates_connection(error));
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if ended.is_ok() && !is_broken && idle.len() < MAX_IDLE_CONNECTIONS {
                idle.push(connection);
            }
            result
        });
        result.map_err(|error| error.into_error(&self.database.name()))
    }

    fn connection(&self) -> SqliteResult<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => self.database.connect_reader(self.busy),
        }
    }
}

/// Builds a query of checkpoints that begins with the columns of `read_row`.
macro_rules! of_checkpoints {
    ($($rest:literal)+) => {
        concat!(
            "SELECT checkpoint.key, checkpoint.id, parent, step, source, time, origin, ahead, heads, vals, \
             checkpoint.sum",
            $($rest),+
        )
    };
}

pub(super) use of_checkpoints;

/// Builds a query of one checkpoint with its history and run info; the argument is a condition with an optional
/// order.
macro_rules! with_history {
    ($condition:literal) => {
        of_checkpoints!(
            ", line.id, line.names, line.sum, origin.body, origin.sum, \
             EXISTS (SELECT 1 FROM pending WHERE pending.checkpoint = checkpoint.key) \
             FROM thread JOIN line ON line.thread = thread.id \
             JOIN checkpoint ON checkpoint.key = (SELECT key FROM checkpoint \
                 WHERE key BETWEEN line.id << 32 AND (line.id << 32) + 4294967295 AND "
            $condition
            ") LEFT JOIN origin ON origin.key = (line.id << 32) + checkpoint.origin \
             WHERE thread.name = ?1 AND line.namespace = ?2"
        )
    };
}

/// A checkpoint with its related rows.
struct FoundCheckpoint {
    history_id: i64,
    names: Arc<[Arc<str>]>,
    row: CheckpointRow,
    origin: Arc<RunInfo>,
    pending: Vec<PendingEntry>,
}

/// Reads a checkpoint of a history, its run info and its pending entries; one query determines whether there are any.
fn find(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &CheckpointNamespace,
    at: CheckpointSelector,
) -> SqliteResult<Option<FoundCheckpoint>> {
    let sql = match at {
        CheckpointSelector::Latest | CheckpointSelector::NewerThan(_) => {
            with_history!("?3 IS NULL ORDER BY key DESC LIMIT 1")
        }
        CheckpointSelector::Id(_) => with_history!("id = ?3"),
    };
    let id = match at {
        CheckpointSelector::Id(id) => Some(id.bits().to_be_bytes()),
        CheckpointSelector::Latest | CheckpointSelector::NewerThan(_) => None,
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![thread.as_str(), namespace.as_str(), id])?;
    let Some(sql_row) = rows.next()? else { return Ok(None) };
    let history_id = sql_row.get(11)?;
    let row = read_row(sql_row, history_id)?;
    let names = read_names((thread, namespace), text(sql_row, 12)?, sql_row.get(13)?)?.into();
    let origin = match sql_row.get_ref(14)?.as_blob() {
        Ok(body) => read_origin(history_id, &row, (body.to_vec(), sql_row.get(15)?))?,
        Err(_) => return Err(SqliteError::Rejected(missing_run_info(&row))),
    };
    let pending = if sql_row.get(16)? { pending(connection, history_id, &row)? } else { Vec::new() };
    Ok(Some(FoundCheckpoint { history_id, names, row, origin, pending }))
}

fn missing_run_info(row: &CheckpointRow) -> superstep_core::error::Error {
    corrupt_row_error(row.header.id, "the run info is missing")
}

/// Returns a text column; a value of another type results in a checksum mismatch.
fn text<'a>(row: &'a SqlRow<'_>, column: usize) -> SqliteResult<&'a str> {
    Ok(row.get_ref(column)?.as_str().unwrap_or_default())
}

fn read_names((thread, namespace): (&ThreadId, &CheckpointNamespace), names: &str, sum: i64) -> Result<Vec<Arc<str>>> {
    if i64::from(change_log::history_checksum(thread, namespace, names)) != sum {
        return Err(change_log::corrupt_history_error(namespace, "the checksum does not match"));
    }
    change_log::read_names(names.as_bytes())
}

fn read_id(bits: [u8; 16]) -> CheckpointId {
    CheckpointId::from_bits(u128::from_be_bytes(bits))
}

/// Decodes a checkpoint row and checks its checksum and its history: in a corrupt file, a search may return rows of
/// another history.
pub(super) fn read_row(row: &SqlRow<'_>, history_id: i64) -> SqliteResult<CheckpointRow> {
    let id = read_id(row.get(1)?);
    let source =
        CheckpointSource::from_u8(row.get(4)?).ok_or_else(|| corrupt_row_error(id, "the source is unknown"))?;
    let parent = row.get::<_, Option<[u8; 16]>>(2)?.map(read_id);
    let read = CheckpointRow {
        number: number(row.get(0)?),
        header: CheckpointHeader { id, parent, step: row.get(3)?, source, time: row.get(5)? },
        origin: row.get::<_, i64>(6)?.cast_unsigned(),
        schedule: row.get(7)?,
        value_index: row.get(8)?,
        values: row.get(9)?,
    };
    if history_of(row.get(0)?) != history_id || checksum_in_history(history_id, read.sum()) != row.get::<_, i64>(10)? {
        return Err(SqliteError::Rejected(corrupt_row_error(id, "the checksum does not match")));
    }
    Ok(read)
}

fn one_row(connection: &Connection, history_id: i64, number: u64) -> SqliteResult<Option<CheckpointRow>> {
    let mut statement = connection.prepare_cached(of_checkpoints!(" FROM checkpoint WHERE key = ?1"))?;
    let mut rows = statement.query([key(history_id, number)])?;
    rows.next()?.map(|row| read_row(row, history_id)).transpose()
}

/// Reads all checkpoints of a history, oldest first.
pub(super) fn rows(connection: &Connection, history_id: i64) -> SqliteResult<Vec<CheckpointRow>> {
    let all = of_checkpoints!(" FROM checkpoint WHERE key BETWEEN ?1 AND ?2 ORDER BY key");
    let mut statement = connection.prepare_cached(all)?;
    let (mut rows, mut read) = (statement.query(keys(history_id))?, Vec::new());
    while let Some(row) = rows.next()? {
        read.push(read_row(row, history_id)?);
    }
    Ok(read)
}

/// Reads the run info of a checkpoint.
pub(super) fn origin(connection: &Connection, history_id: i64, row: &CheckpointRow) -> SqliteResult<Arc<RunInfo>> {
    let mut statement = connection.prepare_cached("SELECT body, sum FROM origin WHERE key = ?1")?;
    let result = statement.query_row([key(history_id, row.origin)], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)));
    let (body, sum) = result.optional()?.ok_or_else(|| missing_run_info(row))?;
    read_origin(history_id, row, (body, sum))
}

fn read_origin(history_id: i64, row: &CheckpointRow, (body, sum): (Vec<u8>, i64)) -> SqliteResult<Arc<RunInfo>> {
    let origin = RunInfoRow { number: row.origin, body };
    if checksum_in_history(history_id, origin.sum()) != sum {
        return Err(SqliteError::Rejected(corrupt_row_error(
            row.header.id,
            "the run info does not match its checksum",
        )));
    }
    Ok(Arc::new(RunInfoRow::read(&origin.body, row.header.id)?))
}

/// Reads the pending entries of a checkpoint in the order in which they were written.
pub(super) fn pending(
    connection: &Connection,
    history_id: i64,
    row: &CheckpointRow,
) -> SqliteResult<Vec<PendingEntry>> {
    let sql = "SELECT task, slot, body, sum FROM pending WHERE checkpoint = ?1 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key(history_id, row.number)])?;
    let mut pending = Vec::new();
    while let Some(sql_row) = rows.next()? {
        let task = TaskId::from_bits(u128::from_be_bytes(sql_row.get(0)?));
        let pending_row = PendingRow { checkpoint: row.number, task, slot: sql_row.get(1)?, body: sql_row.get(2)? };
        if checksum_in_history(history_id, pending_row.sum()) != sql_row.get::<_, i64>(3)? {
            return Err(SqliteError::Rejected(corrupt_row_error(
                row.header.id,
                "the pending entries do not match their checksum",
            )));
        }
        pending.push(pending_row.read(row.header.id)?);
    }
    Ok(pending)
}

/// Reads missing rows until the checkpoints are complete.
pub(super) fn fill(connection: &Connection, history_id: i64, assembler: &mut CheckpointAssembler) -> SqliteResult<()> {
    loop {
        let missing = assembler.missing_rows()?;
        if missing.is_empty() {
            return Ok(());
        }
        for missing_row in missing {
            match missing_row {
                MissingRows::Row(number) => add_missing_row(connection, history_id, number, assembler)?,
                MissingRows::Values(number) => add_missing_values(connection, history_id, number, assembler)?,
                MissingRows::Parts(number) => add_missing_parts(connection, history_id, number, assembler)?,
            }
        }
    }
}

fn add_missing_row(
    connection: &Connection,
    history_id: i64,
    number: u64,
    assembler: &mut CheckpointAssembler,
) -> SqliteResult<()> {
    match one_row(connection, history_id, number)? {
        Some(row) => Ok(assembler.add_row(row)?),
        None => Err(SqliteError::Rejected(
            assembler.corrupt_rows_error(None, &format!("checkpoint {number} of its history is missing")),
        )),
    }
}

fn add_missing_values(
    connection: &Connection,
    history_id: i64,
    number: u64,
    assembler: &mut CheckpointAssembler,
) -> SqliteResult<()> {
    if let Some(row) = one_row(connection, history_id, number)? {
        assembler.add_values(number, row.values);
        return Ok(());
    }
    let mut statement = connection.prepare_cached("SELECT vals, sum FROM remnant WHERE key = ?1")?;
    let result = statement.query_row([key(history_id, number)], |row| {
        Ok((RetainedValuesRow { number, values: row.get(0)? }, row.get::<_, i64>(1)?))
    });
    match result.optional()? {
        Some((retained, sum)) if checksum_in_history(history_id, retained.sum()) == sum => {
            assembler.add_values(number, retained.values);
            Ok(())
        }
        _ => Err(SqliteError::Rejected(
            assembler
                .corrupt_rows_error(None, &format!("the values of checkpoint {number} of its history are missing")),
        )),
    }
}

/// Adds a part and the earlier parts that it builds on, unless they are present.
fn add_missing_parts(
    connection: &Connection,
    history_id: i64,
    number: u64,
    assembler: &mut CheckpointAssembler,
) -> SqliteResult<()> {
    let mut statement =
        connection.prepare_cached("SELECT field, before, change, body, sum FROM part WHERE key = ?1")?;
    let mut next = Some(ValueLocation::Part(number));
    while let Some(ValueLocation::Part(number)) = next
        && !assembler.has_part(number)
    {
        let mut rows = statement.query([key(history_id, number)])?;
        let Some(row) = rows.next()? else {
            return Err(SqliteError::Rejected(
                assembler.corrupt_rows_error(None, &format!("part {number} of its values is missing")),
            ));
        };
        let (field, text) = (row.get(0)?, row.get_ref(2)?.as_str().unwrap_or("?"));
        let Some(change) = read_change(text) else {
            return Err(SqliteError::Rejected(assembler.corrupt_rows_error(Some(field), "it is not a change")));
        };
        let part =
            PartRow { number, field, before: ValueLocation::from_number(row.get(1)?), change, body: row.get(3)? };
        if checksum_in_history(history_id, part.sum(text)) != row.get::<_, i64>(4)? {
            return Err(SqliteError::Rejected(
                assembler.corrupt_rows_error(Some(field), "the checksum does not match"),
            ));
        }
        next = part.before;
        assembler.add_part(part);
    }
    Ok(())
}

/// Loads a checkpoint.
pub(super) fn load(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &CheckpointNamespace,
    at: CheckpointSelector,
) -> SqliteResult<Option<CheckpointTuple>> {
    let Some(FoundCheckpoint { history_id, names, row, origin, pending }) = find(connection, thread, namespace, at)?
    else {
        return Ok(None);
    };
    let mut assembler = CheckpointAssembler::new(thread, namespace, names);
    if at == CheckpointSelector::NewerThan(row.header.id) {
        return Ok(Some(assembler.without_values(row, &origin, pending)?));
    }
    assembler.request(row, origin, pending)?;
    fill(connection, history_id, &mut assembler)?;
    Ok(assembler.finish()?.pop())
}

/// Reads the row id and the field names of a history.
pub(super) fn find_history(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &CheckpointNamespace,
) -> SqliteResult<Option<(i64, Vec<Arc<str>>)>> {
    let sql = "SELECT line.id, line.names, line.sum FROM thread JOIN line ON line.thread = thread.id \
                 WHERE thread.name = ?1 AND line.namespace = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let result = statement.query_row(params![thread.as_str(), namespace.as_str()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get(2)?))
    });
    let Some((history_id, names, sum)) = result.optional()? else { return Ok(None) };
    Ok(Some((history_id, read_names((thread, namespace), &names, sum)?)))
}

/// Reads a history as its writer needs it.
pub(super) fn entry(
    connection: &Connection,
    thread: i64,
    history_key: &(ThreadId, CheckpointNamespace),
) -> SqliteResult<CachedHistory> {
    let Some(history_id) = find_history_id(connection, thread, &history_key.1)? else {
        return Ok(CachedHistory::default());
    };
    let base = base(connection, &history_key.0, &history_key.1, CheckpointSelector::Latest)?.unwrap_or_default();
    let sql = "SELECT names, sum, (SELECT key FROM part WHERE key BETWEEN ?2 AND ?3 ORDER BY key DESC LIMIT 1) \
                 FROM line WHERE id = ?1";
    let (first, last) = keys(history_id);
    let (names, sum, newest_part) =
        connection.prepare_cached(sql)?.query_row(params![history_id, first, last], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?))
        })?;
    let newest = (base.number, newest_part.map_or(0, number));
    Ok(CachedHistory::new(
        Some(history_id),
        HistoryWriter::new(newest, read_names((&history_key.0, &history_key.1), &names, sum)?, base),
    ))
}

/// Reads the information about a checkpoint that its child builds on.
pub(super) fn base(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &CheckpointNamespace,
    at: CheckpointSelector,
) -> SqliteResult<Option<ParentCheckpoint>> {
    let Some(FoundCheckpoint { history_id, names, row, origin, .. }) = find(connection, thread, namespace, at)? else {
        return Ok(None);
    };
    let mut assembler = CheckpointAssembler::new(thread, namespace, names);
    assembler.request(row, origin, Vec::new())?;
    loop {
        match assembler.base()? {
            Ok(base) => return Ok(base),
            Err(missing) => add_missing_row(connection, history_id, missing, &mut assembler)?,
        }
    }
}

/// Loads a checkpoint with the fields it changed.
pub(super) fn read_with_changes(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &CheckpointNamespace,
    id: CheckpointId,
) -> SqliteResult<Option<CheckpointWithChanges>> {
    let Some(loaded) = load(connection, thread, namespace, CheckpointSelector::Id(id))? else { return Ok(None) };
    let Some((_, names)) = find_history(connection, thread, namespace)? else { return Ok(None) };
    let Some(child) = base(connection, thread, namespace, CheckpointSelector::Id(id))? else { return Ok(None) };
    let parent = match loaded.checkpoint.parent {
        None => Some(ParentCheckpoint::default()),
        Some(parent) => base(connection, thread, namespace, CheckpointSelector::Id(parent))?,
    };
    let changed_fields = parent.map(|parent| change_log::changed_fields(&names, &child, &parent));
    Ok(Some((loaded, changed_fields)))
}

/// Reads the namespaces of a thread that have checkpoints.
pub(super) fn namespaces(connection: &Connection, thread: &ThreadId) -> SqliteResult<Vec<CheckpointNamespace>> {
    let lines = "SELECT line.namespace, line.names, line.sum FROM thread JOIN line ON line.thread = thread.id \
                 WHERE thread.name = ?1 \
                 AND EXISTS (SELECT 1 FROM checkpoint WHERE key BETWEEN line.id << 32 AND (line.id << 32) + 4294967295) \
                 ORDER BY line.namespace";
    let mut statement = connection.prepare_cached(lines)?;
    let mut rows = statement.query([thread.as_str()])?;
    let mut namespaces = Vec::new();
    while let Some(row) = rows.next()? {
        let namespace = CheckpointNamespace::from(text(row, 0)?);
        read_names((thread, &namespace), text(row, 1)?, row.get(2)?)?;
        namespaces.push(namespace);
    }
    Ok(namespaces)
}
