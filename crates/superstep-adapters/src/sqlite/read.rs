//! Reading: connections that never write, and rows that become checkpoints.
//!
//! A question is answered on the thread of whoever asks: with what it needs in memory it takes microseconds, less than
//! handing it to another thread. All of one question sees one state of the file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use superstep_core::checkpoint::{Mark, Namespace, Origin, Pending, Source};
use superstep_core::error::Result;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use superstep_core::port::{At, HistoryQuery, Loaded};

use super::commit::Entry;
use super::open::Place;
use super::trouble::{Answer, Trouble, spoils_connection};
use super::write::{find_line, number_of};
use crate::log::{self, Base, Gather, Line, Link, Need, OriginRow, PartRow, PendingRow, Row, damaged};

/// Connections that are kept open.
const KEPT: usize = 8;

/// Who reads.
pub(super) enum Readers {
    /// Connections of their own.
    Files(Files),
    /// The connection that writes: what is in memory belongs to it alone.
    Writer,
}

/// Connections to a file.
pub(super) struct Files {
    place: Place,
    busy: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(place: Place, busy: Duration) -> Self {
        if place.path().is_none() {
            return Self::Writer;
        }
        Self::Files(Files { place, busy, idle: Mutex::default() })
    }
}

impl Files {
    /// Asks within one state of the file.
    pub(super) fn ask<T>(&self, mut question: impl FnMut(&Connection) -> Answer<T>) -> Result<T> {
        let answer = self.connection().and_then(|connection| {
            connection.prepare_cached("BEGIN")?.execute([])?;
            let answer = question(&connection);
            let ended = connection.prepare_cached("COMMIT").and_then(|mut statement| statement.execute([]));
            let is_spoilt = matches!(&answer, Err(Trouble::Database(error)) if spoils_connection(error));
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if ended.is_ok() && !is_spoilt && idle.len() < KEPT {
                idle.push(connection);
            }
            answer
        });
        answer.map_err(|trouble| trouble.into_error(&self.place.name()))
    }

    fn connection(&self) -> Answer<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => {
                let connection = self.place.connect(self.busy)?;
                connection.pragma_update(None, "query_only", true)?;
                Ok(connection)
            }
        }
    }
}

const COLUMNS: &str = "number, id, parent, step, source, time, origin, ahead, heads, vals, sum";

/// A line that can be read.
struct Found {
    line: i64,
    names: Arc<[Arc<str>]>,
}

fn find(connection: &Connection, thread: &ThreadId, namespace: &Namespace) -> Answer<Option<Found>> {
    let found = "SELECT line.id, line.names FROM thread JOIN line ON line.thread = thread.id \
                 WHERE thread.name = ?1 AND line.namespace = ?2";
    let mut statement = connection.prepare_cached(found)?;
    let found = statement.query_row(params![thread.as_str(), namespace.as_str()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    });
    let Some((line, names)) = found.optional()? else { return Ok(None) };
    Ok(Some(Found { line, names: read_names(&names)?.into() }))
}

fn read_names(names: &str) -> Result<Vec<Arc<str>>> {
    serde_json::from_str(names)
        .map_err(|error| damaged(CheckpointId::from_bits(0), &format!("the names of fields: {error}")))
}

fn read_id(bits: [u8; 16]) -> CheckpointId {
    CheckpointId::from_bits(u128::from_be_bytes(bits))
}

/// A row, whole and undamaged.
fn read_row(row: &SqlRow<'_>) -> Answer<Row> {
    let id = read_id(row.get(1)?);
    let source = Source::from_number(row.get(4)?).ok_or_else(|| damaged(id, "nobody knows what made it"))?;
    let parent = row.get::<_, Option<[u8; 16]>>(2)?.map(read_id);
    let read = Row {
        number: row.get::<_, i64>(0)?.cast_unsigned(),
        mark: Mark { id, parent, step: row.get(3)?, source, time: row.get(5)? },
        origin: row.get::<_, i64>(6)?.cast_unsigned(),
        ahead: row.get(7)?,
        heads: row.get(8)?,
        values: row.get(9)?,
    };
    if read.sum() != row.get::<_, u32>(10)? {
        return Err(Trouble::Refused(damaged(id, "its checksum does not fit")));
    }
    Ok(read)
}

fn one_row(connection: &Connection, line: i64, number: u64) -> Answer<Option<Row>> {
    let one = format!("SELECT {COLUMNS} FROM checkpoint WHERE line = ?1 AND number = ?2");
    let mut statement = connection.prepare_cached(&one)?;
    let mut rows = statement.query(params![line, number.cast_signed()])?;
    rows.next()?.map(read_row).transpose()
}

/// All checkpoints of a line, oldest first.
pub(super) fn rows(connection: &Connection, line: i64) -> Answer<Vec<Row>> {
    let all = format!("SELECT {COLUMNS} FROM checkpoint WHERE line = ?1 ORDER BY number");
    let mut statement = connection.prepare_cached(&all)?;
    let (mut rows, mut read) = (statement.query([line])?, Vec::new());
    while let Some(row) = rows.next()? {
        read.push(read_row(row)?);
    }
    Ok(read)
}

fn row_at(connection: &Connection, line: i64, at: At) -> Answer<Option<Row>> {
    match at {
        At::Id(id) => match number_of(connection, line, id)? {
            Some(number) => one_row(connection, line, number),
            None => Ok(None),
        },
        At::Latest => {
            let newest = format!("SELECT {COLUMNS} FROM checkpoint WHERE line = ?1 ORDER BY number DESC LIMIT 1");
            let mut statement = connection.prepare_cached(&newest)?;
            let mut rows = statement.query([line])?;
            rows.next()?.map(read_row).transpose()
        }
    }
}

fn origin(connection: &Connection, line: i64, row: &Row) -> Answer<Arc<Origin>> {
    let mut statement = connection.prepare_cached("SELECT body FROM origin WHERE line = ?1 AND number = ?2")?;
    let body: Option<Vec<u8>> =
        statement.query_row(params![line, row.origin.cast_signed()], |row| row.get(0)).optional()?;
    let body = body.ok_or_else(|| damaged(row.mark.id, "what its run has in common is gone"))?;
    Ok(Arc::new(OriginRow::read(&body, row.mark.id)?))
}

pub(super) fn pending(connection: &Connection, line: i64, row: &Row) -> Answer<Vec<Pending>> {
    let known = "SELECT task, slot, body, sum FROM pending WHERE line = ?1 AND checkpoint = ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(known)?;
    let mut rows = statement.query(params![line, row.number.cast_signed()])?;
    let mut pending = Vec::new();
    while let Some(found) = rows.next()? {
        let task = TaskId::from_bits(u128::from_be_bytes(found.get(0)?));
        let known = PendingRow { checkpoint: row.number, task, slot: found.get(1)?, body: found.get(2)? };
        if known.sum() != found.get::<_, u32>(3)? {
            return Err(Trouble::Refused(damaged(row.mark.id, "what is known of its tasks has another checksum")));
        }
        pending.push(known.read(row.mark.id)?);
    }
    Ok(pending)
}

/// Reads whatever the checkpoints still need.
fn fill(connection: &Connection, line: i64, gather: &mut Gather) -> Answer<()> {
    loop {
        let needs = gather.needs()?;
        if needs.is_empty() {
            return Ok(());
        }
        for need in needs {
            match need {
                Need::Row(number) => gather.give_row(number, one_row(connection, line, number)?.as_ref())?,
                Need::Chain { field, chain, last } => {
                    let given = read_chain(connection, line, (field, chain, last), gather)?;
                    gather.give_chain((field, chain, last), given)?;
                }
            }
        }
    }
}

fn read_chain(
    connection: &Connection,
    line: i64,
    (field, chain, last): (u32, u64, u64),
    gather: &Gather,
) -> Answer<Vec<log::Given>> {
    let parts = "SELECT number, link, body, sum FROM part \
                 WHERE line = ?1 AND field = ?2 AND chain = ?3 AND number <= ?4 ORDER BY number";
    let mut statement = connection.prepare_cached(parts)?;
    let mut rows = statement.query(params![line, field, chain.cast_signed(), last.cast_signed()])?;
    let mut given = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, text) = (row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, String>(1)?);
        let link = Link::parse(&text).ok_or_else(|| gather.damaged(field, "it is no change"))?;
        let part = PartRow { field, chain, number, link, body: row.get(2)? };
        if part.sum(&text) != row.get::<_, u32>(3)? {
            return Err(Trouble::Refused(gather.damaged(field, "its checksum does not fit")));
        }
        given.push((number, part.link, part.body));
    }
    Ok(given)
}

/// A checkpoint, where there is one.
pub(super) fn load(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &Namespace,
    at: At,
) -> Answer<Option<Loaded>> {
    let Some(Found { line, names }) = find(connection, thread, namespace)? else { return Ok(None) };
    let Some(row) = row_at(connection, line, at)? else { return Ok(None) };
    let mut gather = Gather::new(thread, namespace, names);
    let (origin, pending) = (origin(connection, line, &row)?, pending(connection, line, &row)?);
    gather.want(row, origin, pending)?;
    fill(connection, line, &mut gather)?;
    Ok(gather.finish()?.pop())
}

/// A part of a history, newest first.
pub(super) fn history(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &Namespace,
    query: &HistoryQuery,
) -> Answer<Vec<Loaded>> {
    let Some(Found { line, names }) = find(connection, thread, namespace)? else { return Ok(Vec::new()) };
    let before = match query.before {
        None => i64::MAX,
        Some(id) => number_of(connection, line, id)?.ok_or_else(|| log::missing(id))?.cast_signed(),
    };
    let mut gather = Gather::new(thread, namespace, names);
    let rows = format!("SELECT {COLUMNS} FROM checkpoint WHERE line = ?1 AND number < ?2 ORDER BY number DESC");
    let mut statement = connection.prepare_cached(&rows)?;
    let mut rows = statement.query(params![line, before])?;
    let (mut origins, mut left) = (BTreeMap::new(), query.limit.unwrap_or(usize::MAX));
    while left > 0
        && let Some(row) = rows.next()?
    {
        let row = read_row(row)?;
        let shared = match origins.get(&row.origin) {
            Some(shared) => Arc::clone(shared),
            None => {
                let read = origin(connection, line, &row)?;
                origins.insert(row.origin, read.clone());
                read
            }
        };
        if is_wanted(query, &row.mark, &shared) {
            let pending = pending(connection, line, &row)?;
            gather.want(row, shared, pending)?;
            left -= 1;
        }
    }
    fill(connection, line, &mut gather)?;
    Ok(gather.finish()?)
}

fn is_wanted(query: &HistoryQuery, mark: &Mark, origin: &Origin) -> bool {
    query.source.is_none_or(|source| source == mark.source)
        && query.step.is_none_or(|step| step == mark.step)
        && query.run.is_none_or(|run| run == origin.run)
        && query.metadata.iter().all(|(key, value)| origin.metadata.get(key) == Some(value))
}

/// A line as its writer needs it.
pub(super) fn entry(connection: &Connection, thread: i64, place: &(ThreadId, Namespace)) -> Answer<Entry> {
    let Some(line) = find_line(connection, thread, &place.1)? else { return Ok(Entry::default()) };
    let at = (place.0.clone(), place.1.clone(), At::Latest);
    let base = base(connection, line, &at)?.unwrap_or_default();
    let names: String =
        connection.prepare_cached("SELECT names FROM line WHERE id = ?1")?.query_row([line], |row| row.get(0))?;
    Ok(Entry::new(Some(line), Line::new(base.number, read_names(&names)?, base)))
}

/// A checkpoint as far as the next one builds on it.
pub(super) fn base(connection: &Connection, line: i64, at: &(ThreadId, Namespace, At)) -> Answer<Option<Base>> {
    let (thread, namespace, at) = at;
    let Some(found) = find(connection, thread, namespace)? else { return Ok(None) };
    let Some(row) = row_at(connection, line, *at)? else { return Ok(None) };
    let mut gather = Gather::new(thread, namespace, found.names);
    let origin = origin(connection, line, &row)?;
    gather.want(row, origin, Vec::new())?;
    loop {
        match gather.base()? {
            Ok(base) => return Ok(base),
            Err(missing) => gather.give_row(missing, one_row(connection, line, missing)?.as_ref())?,
        }
    }
}

/// A checkpoint with the fields that it changed itself; `None` of them when what it builds on is gone.
type WithMade = (Loaded, Option<Vec<Arc<str>>>);

/// A checkpoint and which fields it changed.
pub(super) fn with_made(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &Namespace,
    id: CheckpointId,
) -> Answer<Option<WithMade>> {
    let Some(loaded) = load(connection, thread, namespace, At::Id(id))? else { return Ok(None) };
    let Some(Found { line, names }) = find(connection, thread, namespace)? else { return Ok(None) };
    let at = |id| (thread.clone(), namespace.clone(), At::Id(id));
    let Some(own) = base(connection, line, &at(id))? else { return Ok(None) };
    let parent = match loaded.checkpoint.parent {
        None => Some(Base::default()),
        Some(parent) => base(connection, line, &at(parent))?,
    };
    let made = parent.map(|parent| {
        let end =
            |base: &Base, field: usize| base.heads.get(field).copied().flatten().map(|head| (head.chain, head.last));
        let is_made = |field: &usize| end(&own, *field) != end(&parent, *field);
        (0..names.len()).filter(is_made).map(|field| names[field].clone()).collect()
    });
    Ok(Some((loaded, made)))
}

/// The paths of all graphs that have checkpoints on a thread.
pub(super) fn namespaces(connection: &Connection, thread: &ThreadId) -> Answer<Vec<Namespace>> {
    let lines = "SELECT line.namespace FROM thread JOIN line ON line.thread = thread.id WHERE thread.name = ?1 \
                 AND EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.line = line.id) ORDER BY line.namespace";
    let mut statement = connection.prepare_cached(lines)?;
    let namespaces = statement.query_map([thread.as_str()], |row| row.get::<_, String>(0))?;
    Ok(namespaces
        .map(|namespace| namespace.map(|path| Namespace::from(path.as_str())))
        .collect::<rusqlite::Result<_>>()?)
}
