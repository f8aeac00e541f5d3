//! The records of the log of a thread and their binary format.
//!
//! A record contains results and no decisions: it is applied without conditions.

use std::sync::Arc;

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::Result;
use superstep_core::id::RunId;
use superstep_core::port::ThreadStatus;

use super::codec::{ByteReader, ByteWriter};
use super::envelope::{corrupt_value_error, decode, encode_version};
use super::thread_tables::{FieldPart, HistoryTable, LeaseOwner, PendingRow, StoredEventRow, ThreadTables};
use crate::change_log::{CheckpointRow, RetainedValuesRow, RunInfoRow};

/// One change of a thread.
#[derive(Debug, Clone)]
pub(super) enum LogRecord {
    /// The complete tables; earlier records are no longer needed. A log begins with such a record.
    Full(Box<ThreadTables>),
    /// A run acquired the lease.
    Acquired { fence: u64, owner: LeaseOwner },
    /// The lease was released.
    Released { fence: u64 },
    /// A commit.
    Committed { status: ThreadStatus, ttl_millis: u64, histories: Vec<AddedRows>, events: Vec<StoredEventRow> },
    /// Old checkpoints were pruned.
    Pruned(Vec<RemovedRows>),
    /// Events up to a number were deleted.
    EventsDeleted { up_to: u64 },
}

/// Rows added to a history.
#[derive(Debug, Clone)]
pub(super) struct AddedRows {
    pub(super) namespace: CheckpointNamespace,
    /// All field names, if there are new ones.
    pub(super) names: Option<Vec<Arc<str>>>,
    pub(super) rows: Vec<CheckpointRow>,
    pub(super) origins: Vec<RunInfoRow>,
    pub(super) parts: Vec<FieldPart>,
    pub(super) pending: Vec<PendingRow>,
}

/// Rows removed from a history.
#[derive(Debug, Clone)]
pub(super) struct RemovedRows {
    pub(super) namespace: CheckpointNamespace,
    pub(super) checkpoints: Vec<u64>,
    /// New value indexes of checkpoints whose index was rewritten in full.
    pub(super) heads: Vec<(u64, Vec<u8>)>,
    /// All retained values that exist after the change.
    pub(super) retained_values: Vec<RetainedValuesRow>,
    pub(super) parts: Vec<u64>,
    pub(super) origins: Vec<u64>,
}

/// Header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHeader {
    /// Process token and counter of the writer, so that no two records are equal.
    pub(super) writer: (u64, u64),
    /// Checksum of the previous record; 0 in a record with complete tables.
    pub(super) before: u64,
}

impl LogRecord {
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Encodes the record for a path; returns its checksum as well.
    pub(super) fn to_bytes(&self, key: &str, header: RecordHeader) -> (Vec<u8>, u64) {
        let mut out = ByteWriter::default();
        let version = if self.has_events() { 2 } else { 1 };
        [header.writer.0, header.writer.1, header.before].into_iter().for_each(|number| out.number(number));
        match self {
            Self::Full(tables) => {
                out.number(if self.has_events() { 7 } else { 1 });
                write_tables(&mut out, tables);
                if self.has_events() {
                    out.number(tables.last_event);
                    out.list(tables.events.values(), ByteWriter::event);
                }
            }
            Self::Acquired { fence, owner } => {
                out.number(2);
                out.number(*fence);
                write_owner(&mut out, *owner);
            }
            Self::Released { fence } => {
                out.number(3);
                out.number(*fence);
            }
            Self::Committed { status, ttl_millis, histories, events } => {
                out.number(if self.has_events() { 6 } else { 4 });
                out.number(u64::from(status.number()));
                out.number(*ttl_millis);
                out.list(histories.iter(), write_added);
                if self.has_events() {
                    out.list(events.iter(), ByteWriter::event);
                }
            }
            Self::Pruned(histories) => {
                out.number(5);
                out.list(histories.iter(), write_removed);
            }
            Self::EventsDeleted { up_to } => {
                out.number(8);
                out.number(*up_to);
            }
        }
        encode_version(version, key, &out.0)
    }

    /// Returns true if the record contains event data, which version 1 of the format cannot express.
    fn has_events(&self) -> bool {
        match self {
            Self::Full(tables) => tables.last_event > 0,
            Self::Committed { events, .. } => !events.is_empty(),
            Self::EventsDeleted { .. } => true,
            Self::Acquired { .. } | Self::Released { .. } | Self::Pruned(_) => false,
        }
    }

    /// Decodes a record that was read from a path, with its header and checksum.
    pub(super) fn from_bytes(key: &str, bytes: &[u8]) -> Result<(Self, RecordHeader, u64)> {
        let (body, sum) = decode(key, bytes)?;
        let mut body = ByteReader::new(body);
        let read = read(&mut body).filter(|_| body.is_empty());
        let (record, header) = read.ok_or_else(|| corrupt_value_error(key, "it is not a record"))?;
        Ok((record, header, sum))
    }
}

fn read(body: &mut ByteReader<'_>) -> Option<(LogRecord, RecordHeader)> {
    let header = RecordHeader { writer: (body.number()?, body.number()?), before: body.number()? };
    let record = match body.number()? {
        1 => LogRecord::Full(Box::new(read_tables(body)?)),
        2 => LogRecord::Acquired { fence: body.number()?, owner: read_owner(body)? },
        3 => LogRecord::Released { fence: body.number()? },
        kind @ (4 | 6) => {
            let (status, ttl_millis, histories) = (read_status(body)??, body.number()?, body.list(read_added)?);
            let events = if kind == 6 { body.list(ByteReader::event)? } else { Vec::new() };
            LogRecord::Committed { status, ttl_millis, histories, events }
        }
        5 => LogRecord::Pruned(body.list(read_removed)?),
        7 => {
            let (tables, last_event) = (read_tables(body)?, body.number()?);
            let events = body.list(ByteReader::event)?.into_iter().map(|event| (event.number, event)).collect();
            LogRecord::Full(Box::new(ThreadTables { last_event, events, ..tables }))
        }
        8 => LogRecord::EventsDeleted { up_to: body.number()? },
        _ => return None,
    };
    Some((record, header))
}

fn write_owner(out: &mut ByteWriter, owner: LeaseOwner) {
    out.id(owner.run.bits());
    out.number(owner.process_token);
}

fn read_owner(body: &mut ByteReader<'_>) -> Option<LeaseOwner> {
    Some(LeaseOwner { run: RunId::from_bits(body.id()?), process_token: body.number()? })
}

/// Reads a status; the inner `None` means that nothing was saved yet.
fn read_status(body: &mut ByteReader<'_>) -> Option<Option<ThreadStatus>> {
    match body.number()? {
        0 => Some(None),
        number => Some(Some(ThreadStatus::from_number(number.try_into().ok()?)?)),
    }
}

fn write_tables(out: &mut ByteWriter, tables: &ThreadTables) {
    let ThreadTables {
        first_record,
        fence,
        lease_owner: owner,
        status,
        ttl_millis,
        histories,
        recent,
        events: _,
        last_event: _,
    } = tables;
    [*first_record, *fence, u64::from(owner.is_some())].into_iter().for_each(|number| out.number(number));
    if let Some(owner) = owner {
        write_owner(out, *owner);
    }
    out.number(status.map_or(0, |status| u64::from(status.number())));
    out.number(*ttl_millis);
    out.list(histories.iter(), |out, history| {
        write_added(out, &all_rows(history));
        out.list(history.retained_values.values(), ByteWriter::write_retained);
    });
    out.list(recent.iter(), |out, (number, sum)| {
        out.number(*number);
        out.number(*sum);
    });
}

/// Returns all rows of a history.
fn all_rows(history: &HistoryTable) -> AddedRows {
    AddedRows {
        namespace: history.namespace.clone(),
        names: Some(history.names.to_vec()),
        rows: history.rows.values().cloned().collect(),
        origins: history.origins.values().cloned().collect(),
        parts: history.parts.values().cloned().collect(),
        pending: history.pending.values().flatten().cloned().collect(),
    }
}

fn read_tables(body: &mut ByteReader<'_>) -> Option<ThreadTables> {
    let (first_record, fence) = (body.number()?, body.number()?);
    let owner = if body.number()? == 1 { Some(read_owner(body)?) } else { None };
    let (status, ttl_millis) = (read_status(body)?, body.number()?);
    let histories = body.list(|body| {
        let added = read_added(body)?;
        let mut history = HistoryTable::new(added.namespace.clone());
        history.add(added);
        history.retained_values =
            body.list(ByteReader::read_retained)?.into_iter().map(|row| (row.number, row)).collect();
        Some(history)
    })?;
    let recent = body.list(|body| Some((body.number()?, body.number()?)))?.into();
    Some(ThreadTables {
        first_record,
        fence,
        lease_owner: owner,
        status,
        ttl_millis,
        histories,
        recent,
        ..ThreadTables::default()
    })
}

fn write_added(out: &mut ByteWriter, added: &AddedRows) {
    out.write_bytes(added.namespace.as_str().as_bytes());
    out.number(u64::from(added.names.is_some()));
    if let Some(names) = &added.names {
        out.list(names.iter(), |out, name| out.write_bytes(name.as_bytes()));
    }
    out.list(added.rows.iter(), ByteWriter::row);
    out.list(added.origins.iter(), ByteWriter::origin);
    out.list(added.parts.iter(), ByteWriter::part);
    out.list(added.pending.iter(), ByteWriter::write_pending);
}

fn read_added(body: &mut ByteReader<'_>) -> Option<AddedRows> {
    let namespace = CheckpointNamespace::from(&*body.text()?);
    let names = match body.number()? {
        0 => None,
        _ => Some(body.list(|body| Some(Arc::from(body.text()?)))?),
    };
    Some(AddedRows {
        namespace,
        names,
        rows: body.list(ByteReader::row)?,
        origins: body.list(ByteReader::origin)?,
        parts: body.list(ByteReader::part)?,
        pending: body.list(ByteReader::read_pending)?,
    })
}

fn write_removed(out: &mut ByteWriter, removed: &RemovedRows) {
    let write_number = |out: &mut ByteWriter, number: &u64| out.number(*number);
    out.write_bytes(removed.namespace.as_str().as_bytes());
    out.list(removed.checkpoints.iter(), write_number);
    out.list(removed.heads.iter(), |out, (number, heads)| {
        out.number(*number);
        out.write_bytes(heads);
    });
    out.list(removed.retained_values.iter(), ByteWriter::write_retained);
    out.list(removed.parts.iter(), write_number);
    out.list(removed.origins.iter(), write_number);
}

fn read_removed(body: &mut ByteReader<'_>) -> Option<RemovedRows> {
    Some(RemovedRows {
        namespace: CheckpointNamespace::from(&*body.text()?),
        checkpoints: body.list(ByteReader::number)?,
        heads: body.list(|body| Some((body.number()?, body.read_bytes()?)))?,
        retained_values: body.list(ByteReader::read_retained)?,
        parts: body.list(ByteReader::number)?,
        origins: body.list(ByteReader::number)?,
    })
}
