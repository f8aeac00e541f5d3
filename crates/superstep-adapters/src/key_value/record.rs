//! What one record of a thread's log says, and its form.
//!
//! A record says what became of the thread and never how: whoever reads it decides nothing.

use std::sync::Arc;

use superstep_core::checkpoint::Namespace;
use superstep_core::error::Result;
use superstep_core::id::RunId;
use superstep_core::port::ThreadStatus;

use super::codec::{In, Out};
use super::frame::{close_as, damaged, open};
use super::tables::{Event, Known, LineTable, Mover, Part, Tables};
use crate::log::{OriginRow, RemnantRow, Row};

/// One thing that became of a thread.
#[derive(Debug, Clone)]
pub(super) enum Record {
    /// Everything that is to be known: what came before no longer matters. A log begins with one.
    Whole(Box<Tables>),
    /// Somebody may move it now, and nobody else.
    Taken { fence: u64, mover: Mover },
    /// Nobody moves it.
    Given { fence: u64 },
    /// A commit.
    Saved { status: ThreadStatus, lasts: u64, lines: Vec<Added>, events: Vec<Event> },
    /// Old checkpoints went.
    Pruned(Vec<Removed>),
    /// Events up to a number went.
    Forgotten { up_to: u64 },
}

/// What came to a line.
#[derive(Debug, Clone)]
pub(super) struct Added {
    pub(super) namespace: Namespace,
    /// All names of fields, when there are new ones.
    pub(super) names: Option<Vec<Arc<str>>>,
    pub(super) rows: Vec<Row>,
    pub(super) origins: Vec<OriginRow>,
    pub(super) parts: Vec<Part>,
    pub(super) pending: Vec<Known>,
}

/// What went from a line.
#[derive(Debug, Clone)]
pub(super) struct Removed {
    pub(super) namespace: Namespace,
    pub(super) gone: Vec<u64>,
    /// Where the values are, of checkpoints that now say it themselves.
    pub(super) heads: Vec<(u64, Vec<u8>)>,
    /// All remnants there are now.
    pub(super) remnants: Vec<RemnantRow>,
    pub(super) parts: Vec<u64>,
    pub(super) origins: Vec<u64>,
}

/// What stands before the content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Who wrote it, and their how manyth it was: no two records are equal.
    pub(super) writer: (u64, u64),
    /// The checksum of the record before; 0 where everything begins anew.
    pub(super) before: u64,
}

impl Record {
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// The form at a place, and its checksum.
    pub(super) fn to_bytes(&self, place: &str, stamp: Stamp) -> (Vec<u8>, u64) {
        let mut out = Out::default();
        let version = if self.has_events() { 2 } else { 1 };
        [stamp.writer.0, stamp.writer.1, stamp.before].into_iter().for_each(|number| out.number(number));
        match self {
            Self::Whole(tables) => {
                out.number(if self.has_events() { 7 } else { 1 });
                write_tables(&mut out, tables);
                if self.has_events() {
                    out.number(tables.last_event);
                    out.list(tables.events.values(), Out::event);
                }
            }
            Self::Taken { fence, mover } => {
                out.number(2);
                out.number(*fence);
                write_mover(&mut out, *mover);
            }
            Self::Given { fence } => {
                out.number(3);
                out.number(*fence);
            }
            Self::Saved { status, lasts, lines, events } => {
                out.number(if self.has_events() { 6 } else { 4 });
                out.number(u64::from(status.number()));
                out.number(*lasts);
                out.list(lines.iter(), write_added);
                if self.has_events() {
                    out.list(events.iter(), Out::event);
                }
            }
            Self::Pruned(lines) => {
                out.number(5);
                out.list(lines.iter(), write_removed);
            }
            Self::Forgotten { up_to } => {
                out.number(8);
                out.number(*up_to);
            }
        }
        close_as(version, place, &out.0)
    }

    /// Whether it says something of events, which the first version of the form does not know.
    fn has_events(&self) -> bool {
        match self {
            Self::Whole(tables) => tables.last_event > 0,
            Self::Saved { events, .. } => !events.is_empty(),
            Self::Forgotten { .. } => true,
            Self::Taken { .. } | Self::Given { .. } | Self::Pruned(_) => false,
        }
    }

    /// Reads what was got from a place; with its stamp and its checksum.
    pub(super) fn from_bytes(place: &str, bytes: &[u8]) -> Result<(Self, Stamp, u64)> {
        let (body, sum) = open(place, bytes)?;
        let mut body = In::new(body);
        let read = read(&mut body).filter(|_| body.is_empty());
        let (record, stamp) = read.ok_or_else(|| damaged(place, "it is no record"))?;
        Ok((record, stamp, sum))
    }
}

fn read(body: &mut In<'_>) -> Option<(Record, Stamp)> {
    let stamp = Stamp { writer: (body.number()?, body.number()?), before: body.number()? };
    let record = match body.number()? {
        1 => Record::Whole(Box::new(read_tables(body)?)),
        2 => Record::Taken { fence: body.number()?, mover: read_mover(body)? },
        3 => Record::Given { fence: body.number()? },
        kind @ (4 | 6) => {
            let (status, lasts, lines) = (read_status(body)??, body.number()?, body.list(read_added)?);
            let events = if kind == 6 { body.list(In::event)? } else { Vec::new() };
            Record::Saved { status, lasts, lines, events }
        }
        5 => Record::Pruned(body.list(read_removed)?),
        7 => {
            let (tables, last_event) = (read_tables(body)?, body.number()?);
            let events = body.list(In::event)?.into_iter().map(|event| (event.number, event)).collect();
            Record::Whole(Box::new(Tables { last_event, events, ..tables }))
        }
        8 => Record::Forgotten { up_to: body.number()? },
        _ => return None,
    };
    Some((record, stamp))
}

fn write_mover(out: &mut Out, mover: Mover) {
    out.id(mover.run.bits());
    out.number(mover.holder);
}

fn read_mover(body: &mut In<'_>) -> Option<Mover> {
    Some(Mover { run: RunId::from_bits(body.id()?), holder: body.number()? })
}

/// A status, or that there is none yet.
fn read_status(body: &mut In<'_>) -> Option<Option<ThreadStatus>> {
    match body.number()? {
        0 => Some(None),
        number => Some(Some(ThreadStatus::from_number(number.try_into().ok()?)?)),
    }
}

fn write_tables(out: &mut Out, tables: &Tables) {
    let Tables { life, fence, mover, status, lasts, lines, recent, events: _, last_event: _ } = tables;
    [*life, *fence, u64::from(mover.is_some())].into_iter().for_each(|number| out.number(number));
    if let Some(mover) = mover {
        write_mover(out, *mover);
    }
    out.number(status.map_or(0, |status| u64::from(status.number())));
    out.number(*lasts);
    out.list(lines.iter(), |out, line| {
        write_added(out, &whole_line(line));
        out.list(line.remnants.values(), Out::remnant);
    });
    out.list(recent.iter(), |out, (number, sum)| {
        out.number(*number);
        out.number(*sum);
    });
}

/// A line as if all of it had come at once.
fn whole_line(line: &LineTable) -> Added {
    Added {
        namespace: line.namespace.clone(),
        names: Some(line.names.to_vec()),
        rows: line.rows.values().cloned().collect(),
        origins: line.origins.values().cloned().collect(),
        parts: line.parts.values().cloned().collect(),
        pending: line.pending.values().flatten().cloned().collect(),
    }
}

fn read_tables(body: &mut In<'_>) -> Option<Tables> {
    let (life, fence) = (body.number()?, body.number()?);
    let mover = if body.number()? == 1 { Some(read_mover(body)?) } else { None };
    let (status, lasts) = (read_status(body)?, body.number()?);
    let lines = body.list(|body| {
        let added = read_added(body)?;
        let mut line = LineTable::new(added.namespace.clone());
        line.add(added);
        line.remnants = body.list(In::remnant)?.into_iter().map(|remnant| (remnant.number, remnant)).collect();
        Some(line)
    })?;
    let recent = body.list(|body| Some((body.number()?, body.number()?)))?.into();
    Some(Tables { life, fence, mover, status, lasts, lines, recent, ..Tables::default() })
}

fn write_added(out: &mut Out, added: &Added) {
    out.piece(added.namespace.as_str().as_bytes());
    out.number(u64::from(added.names.is_some()));
    if let Some(names) = &added.names {
        out.list(names.iter(), |out, name| out.piece(name.as_bytes()));
    }
    out.list(added.rows.iter(), Out::row);
    out.list(added.origins.iter(), Out::origin);
    out.list(added.parts.iter(), Out::part);
    out.list(added.pending.iter(), Out::known);
}

fn read_added(body: &mut In<'_>) -> Option<Added> {
    let namespace = Namespace::from(&*body.text()?);
    let names = match body.number()? {
        0 => None,
        _ => Some(body.list(|body| Some(Arc::from(body.text()?)))?),
    };
    Some(Added {
        namespace,
        names,
        rows: body.list(In::row)?,
        origins: body.list(In::origin)?,
        parts: body.list(In::part)?,
        pending: body.list(In::known)?,
    })
}

fn write_removed(out: &mut Out, removed: &Removed) {
    let write_number = |out: &mut Out, number: &u64| out.number(*number);
    out.piece(removed.namespace.as_str().as_bytes());
    out.list(removed.gone.iter(), write_number);
    out.list(removed.heads.iter(), |out, (number, heads)| {
        out.number(*number);
        out.piece(heads);
    });
    out.list(removed.remnants.iter(), Out::remnant);
    out.list(removed.parts.iter(), write_number);
    out.list(removed.origins.iter(), write_number);
}

fn read_removed(body: &mut In<'_>) -> Option<Removed> {
    Some(Removed {
        namespace: Namespace::from(&*body.text()?),
        gone: body.list(In::number)?,
        heads: body.list(|body| Some((body.number()?, body.piece()?)))?,
        remnants: body.list(In::remnant)?,
        parts: body.list(In::number)?,
        origins: body.list(In::number)?,
    })
}
