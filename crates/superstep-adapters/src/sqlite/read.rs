//! Reading: connections that never write, and rows that become checkpoints.
//!
//! A short question is answered on the thread of whoever asks: with what it needs in memory it takes microseconds, less
//! than handing it to another thread. One that may be long goes to a thread that may wait. All of one question sees one
//! state of the file.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use superstep_core::checkpoint::{Mark, Namespace, Origin, Pending, Source};
use superstep_core::error::Result;
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use superstep_core::port::{At, Loaded};

use super::open::{Place, key, keys, line_of, number, sum_in};
use super::trouble::{Answer, Trouble, spoils_connection};
use super::write::find_line;
use crate::log::{
    self, Base, End, Entry, Gather, Line, Need, OriginRow, PartRow, PendingRow, RemnantRow, Row, WithMade, damaged,
    read_change,
};

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
            None => self.place.connect_reader(self.busy),
        }
    }
}

/// A query of checkpoints, with the columns that `read_row` reads in front.
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

/// How a checkpoint is found with its line and origin: for what comes between a key and its order.
macro_rules! with_line {
    ($which:literal) => {
        of_checkpoints!(
            ", line.id, line.names, line.sum, origin.body, origin.sum, \
             EXISTS (SELECT 1 FROM pending WHERE pending.checkpoint = checkpoint.key) \
             FROM thread JOIN line ON line.thread = thread.id \
             JOIN checkpoint ON checkpoint.key = (SELECT key FROM checkpoint \
                 WHERE key BETWEEN line.id << 32 AND (line.id << 32) + 4294967295 AND "
            $which
            ") LEFT JOIN origin ON origin.key = (line.id << 32) + checkpoint.origin \
             WHERE thread.name = ?1 AND line.namespace = ?2"
        )
    };
}

/// A checkpoint with what came with it.
struct Found {
    line: i64,
    names: Arc<[Arc<str>]>,
    row: Row,
    origin: Arc<Origin>,
    pending: Vec<Pending>,
}

/// A checkpoint of a line, its origin and whether anything is known of its tasks, in one go.
fn find(connection: &Connection, thread: &ThreadId, namespace: &Namespace, at: At) -> Answer<Option<Found>> {
    let found = match at {
        At::Latest | At::Newer(_) => with_line!("?3 IS NULL ORDER BY key DESC LIMIT 1"),
        At::Id(_) => with_line!("id = ?3"),
    };
    let id = match at {
        At::Id(id) => Some(id.bits().to_be_bytes()),
        At::Latest | At::Newer(_) => None,
    };
    let mut statement = connection.prepare_cached(found)?;
    let mut rows = statement.query(params![thread.as_str(), namespace.as_str(), id])?;
    let Some(found) = rows.next()? else { return Ok(None) };
    let line = found.get(11)?;
    let row = read_row(found, line)?;
    let names = read_names((thread, namespace), text(found, 12)?, found.get(13)?)?.into();
    let origin = match found.get_ref(14)?.as_blob() {
        Ok(body) => read_origin(line, &row, (body.to_vec(), found.get(15)?))?,
        Err(_) => return Err(Trouble::Refused(no_origin(&row))),
    };
    let pending = if found.get(16)? { pending(connection, line, &row)? } else { Vec::new() };
    Ok(Some(Found { line, names, row, origin, pending }))
}

fn no_origin(row: &Row) -> superstep_core::error::Error {
    damaged(row.mark.id, "what its run has in common is gone")
}

/// A text as it lies in the row; what is none has a checksum that does not fit.
fn text<'a>(row: &'a SqlRow<'_>, place: usize) -> Answer<&'a str> {
    Ok(row.get_ref(place)?.as_str().unwrap_or_default())
}

fn read_names((thread, namespace): (&ThreadId, &Namespace), names: &str, sum: i64) -> Result<Vec<Arc<str>>> {
    if i64::from(log::line_sum(thread, namespace, names)) != sum {
        return Err(log::damaged_line(namespace, "its checksum does not fit"));
    }
    log::read_names(names.as_bytes())
}

fn read_id(bits: [u8; 16]) -> CheckpointId {
    CheckpointId::from_bits(u128::from_be_bytes(bits))
}

/// A row of a line, whole and undamaged: in a damaged file a search may come upon rows of others.
pub(super) fn read_row(row: &SqlRow<'_>, line: i64) -> Answer<Row> {
    let id = read_id(row.get(1)?);
    let source = Source::from_number(row.get(4)?).ok_or_else(|| damaged(id, "nobody knows what made it"))?;
    let parent = row.get::<_, Option<[u8; 16]>>(2)?.map(read_id);
    let read = Row {
        number: number(row.get(0)?),
        mark: Mark { id, parent, step: row.get(3)?, source, time: row.get(5)? },
        origin: row.get::<_, i64>(6)?.cast_unsigned(),
        ahead: row.get(7)?,
        heads: row.get(8)?,
        values: row.get(9)?,
    };
    if line_of(row.get(0)?) != line || sum_in(line, read.sum()) != row.get::<_, i64>(10)? {
        return Err(Trouble::Refused(damaged(id, "its checksum does not fit")));
    }
    Ok(read)
}

fn one_row(connection: &Connection, line: i64, number: u64) -> Answer<Option<Row>> {
    let mut statement = connection.prepare_cached(of_checkpoints!(" FROM checkpoint WHERE key = ?1"))?;
    let mut rows = statement.query([key(line, number)])?;
    rows.next()?.map(|row| read_row(row, line)).transpose()
}

/// All checkpoints of a line, oldest first.
pub(super) fn rows(connection: &Connection, line: i64) -> Answer<Vec<Row>> {
    let all = of_checkpoints!(" FROM checkpoint WHERE key BETWEEN ?1 AND ?2 ORDER BY key");
    let mut statement = connection.prepare_cached(all)?;
    let (mut rows, mut read) = (statement.query(keys(line))?, Vec::new());
    while let Some(row) = rows.next()? {
        read.push(read_row(row, line)?);
    }
    Ok(read)
}

/// What the run of a checkpoint has in common.
pub(super) fn origin(connection: &Connection, line: i64, row: &Row) -> Answer<Arc<Origin>> {
    let mut statement = connection.prepare_cached("SELECT body, sum FROM origin WHERE key = ?1")?;
    let found = statement.query_row([key(line, row.origin)], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)));
    let (body, sum) = found.optional()?.ok_or_else(|| no_origin(row))?;
    read_origin(line, row, (body, sum))
}

fn read_origin(line: i64, row: &Row, (body, sum): (Vec<u8>, i64)) -> Answer<Arc<Origin>> {
    let origin = OriginRow { number: row.origin, body };
    if sum_in(line, origin.sum()) != sum {
        return Err(Trouble::Refused(damaged(row.mark.id, "what its run has in common has another checksum")));
    }
    Ok(Arc::new(OriginRow::read(&origin.body, row.mark.id)?))
}

/// What is known of the tasks of a checkpoint, in the order it became known.
pub(super) fn pending(connection: &Connection, line: i64, row: &Row) -> Answer<Vec<Pending>> {
    let known = "SELECT task, slot, body, sum FROM pending WHERE checkpoint = ?1 ORDER BY id";
    let mut statement = connection.prepare_cached(known)?;
    let mut rows = statement.query([key(line, row.number)])?;
    let mut pending = Vec::new();
    while let Some(found) = rows.next()? {
        let task = TaskId::from_bits(u128::from_be_bytes(found.get(0)?));
        let known = PendingRow { checkpoint: row.number, task, slot: found.get(1)?, body: found.get(2)? };
        if sum_in(line, known.sum()) != found.get::<_, i64>(3)? {
            return Err(Trouble::Refused(damaged(row.mark.id, "what is known of its tasks has another checksum")));
        }
        pending.push(known.read(row.mark.id)?);
    }
    Ok(pending)
}

/// Reads whatever the checkpoints still need.
pub(super) fn fill(connection: &Connection, line: i64, gather: &mut Gather) -> Answer<()> {
    loop {
        let needs = gather.needs()?;
        if needs.is_empty() {
            return Ok(());
        }
        for need in needs {
            match need {
                Need::Row(number) => give_row(connection, line, number, gather)?,
                Need::Values(number) => give_values(connection, line, number, gather)?,
                Need::Parts(number) => give_parts(connection, line, number, gather)?,
            }
        }
    }
}

fn give_row(connection: &Connection, line: i64, number: u64, gather: &mut Gather) -> Answer<()> {
    match one_row(connection, line, number)? {
        Some(row) => Ok(gather.give_row(row)?),
        None => Err(Trouble::Refused(gather.damaged(None, &format!("checkpoint {number} of its line is gone")))),
    }
}

fn give_values(connection: &Connection, line: i64, number: u64, gather: &mut Gather) -> Answer<()> {
    if let Some(row) = one_row(connection, line, number)? {
        gather.give_values(number, row.values);
        return Ok(());
    }
    let mut statement = connection.prepare_cached("SELECT vals, sum FROM remnant WHERE key = ?1")?;
    let found = statement
        .query_row([key(line, number)], |row| Ok((RemnantRow { number, values: row.get(0)? }, row.get::<_, i64>(1)?)));
    match found.optional()? {
        Some((remnant, sum)) if sum_in(line, remnant.sum()) == sum => {
            gather.give_values(number, remnant.values);
            Ok(())
        }
        _ => Err(Trouble::Refused(
            gather.damaged(None, &format!("the values of checkpoint {number} of its line are gone")),
        )),
    }
}

/// A part and those it builds on, as far as they are not known.
fn give_parts(connection: &Connection, line: i64, number: u64, gather: &mut Gather) -> Answer<()> {
    let mut statement =
        connection.prepare_cached("SELECT field, before, change, body, sum FROM part WHERE key = ?1")?;
    let mut next = Some(End::Part(number));
    while let Some(End::Part(number)) = next
        && !gather.has_part(number)
    {
        let mut rows = statement.query([key(line, number)])?;
        let Some(row) = rows.next()? else {
            return Err(Trouble::Refused(gather.damaged(None, &format!("part {number} of its values is gone"))));
        };
        let (field, text) = (row.get(0)?, row.get_ref(2)?.as_str().unwrap_or("?"));
        let Some(change) = read_change(text) else {
            return Err(Trouble::Refused(gather.damaged(Some(field), "it is no change")));
        };
        let part = PartRow { number, field, before: End::from_number(row.get(1)?), change, body: row.get(3)? };
        if sum_in(line, part.sum(text)) != row.get::<_, i64>(4)? {
            return Err(Trouble::Refused(gather.damaged(Some(field), "its checksum does not fit")));
        }
        next = part.before;
        gather.give_part(part);
    }
    Ok(())
}

/// A checkpoint, where there is one.
pub(super) fn load(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &Namespace,
    at: At,
) -> Answer<Option<Loaded>> {
    let Some(Found { line, names, row, origin, pending }) = find(connection, thread, namespace, at)? else {
        return Ok(None);
    };
    let mut gather = Gather::new(thread, namespace, names);
    if at == At::Newer(row.mark.id) {
        return Ok(Some(gather.outline(row, &origin, pending)?));
    }
    gather.want(row, origin, pending)?;
    fill(connection, line, &mut gather)?;
    Ok(gather.finish()?.pop())
}

/// The row of a line and its fields.
pub(super) fn line(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &Namespace,
) -> Answer<Option<(i64, Vec<Arc<str>>)>> {
    let found = "SELECT line.id, line.names, line.sum FROM thread JOIN line ON line.thread = thread.id \
                 WHERE thread.name = ?1 AND line.namespace = ?2";
    let mut statement = connection.prepare_cached(found)?;
    let found = statement.query_row(params![thread.as_str(), namespace.as_str()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get(2)?))
    });
    let Some((line, names, sum)) = found.optional()? else { return Ok(None) };
    Ok(Some((line, read_names((thread, namespace), &names, sum)?)))
}

/// A line as its writer needs it.
pub(super) fn entry(connection: &Connection, thread: i64, place: &(ThreadId, Namespace)) -> Answer<Entry> {
    let Some(line) = find_line(connection, thread, &place.1)? else { return Ok(Entry::default()) };
    let base = base(connection, &place.0, &place.1, At::Latest)?.unwrap_or_default();
    let known = "SELECT names, sum, (SELECT key FROM part WHERE key BETWEEN ?2 AND ?3 ORDER BY key DESC LIMIT 1) \
                 FROM line WHERE id = ?1";
    let (first, last) = keys(line);
    let (names, sum, newest_part) = connection.prepare_cached(known)?.query_row(params![line, first, last], |row| {
        Ok((row.get::<_, String>(0)?, row.get(1)?, row.get::<_, Option<i64>>(2)?))
    })?;
    let newest = (base.number, newest_part.map_or(0, number));
    Ok(Entry::new(Some(line), Line::new(newest, read_names((&place.0, &place.1), &names, sum)?, base)))
}

/// A checkpoint as far as the next one builds on it.
pub(super) fn base(connection: &Connection, thread: &ThreadId, namespace: &Namespace, at: At) -> Answer<Option<Base>> {
    let Some(Found { line, names, row, origin, .. }) = find(connection, thread, namespace, at)? else {
        return Ok(None);
    };
    let mut gather = Gather::new(thread, namespace, names);
    gather.want(row, origin, Vec::new())?;
    loop {
        match gather.base()? {
            Ok(base) => return Ok(base),
            Err(missing) => give_row(connection, line, missing, &mut gather)?,
        }
    }
}

/// A checkpoint and which fields it changed.
pub(super) fn with_made(
    connection: &Connection,
    thread: &ThreadId,
    namespace: &Namespace,
    id: CheckpointId,
) -> Answer<Option<WithMade>> {
    let Some(loaded) = load(connection, thread, namespace, At::Id(id))? else { return Ok(None) };
    let Some((_, names)) = line(connection, thread, namespace)? else { return Ok(None) };
    let Some(own) = base(connection, thread, namespace, At::Id(id))? else { return Ok(None) };
    let parent = match loaded.checkpoint.parent {
        None => Some(Base::default()),
        Some(parent) => base(connection, thread, namespace, At::Id(parent))?,
    };
    let made = parent.map(|parent| log::made(&names, &own, &parent));
    Ok(Some((loaded, made)))
}

/// The paths of all graphs that have checkpoints on a thread.
pub(super) fn namespaces(connection: &Connection, thread: &ThreadId) -> Answer<Vec<Namespace>> {
    let lines = "SELECT line.namespace, line.names, line.sum FROM thread JOIN line ON line.thread = thread.id \
                 WHERE thread.name = ?1 \
                 AND EXISTS (SELECT 1 FROM checkpoint WHERE key BETWEEN line.id << 32 AND (line.id << 32) + 4294967295) \
                 ORDER BY line.namespace";
    let mut statement = connection.prepare_cached(lines)?;
    let mut rows = statement.query([thread.as_str()])?;
    let mut namespaces = Vec::new();
    while let Some(row) = rows.next()? {
        let namespace = Namespace::from(text(row, 0)?);
        read_names((thread, &namespace), text(row, 1)?, row.get(2)?)?;
        namespaces.push(namespace);
    }
    Ok(namespaces)
}
