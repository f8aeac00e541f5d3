//! Rows that become checkpoints.
//!
//! What is in memory answers at once; long values are fetched when a checkpoint needs them. A reader says which are
//! missing and is asked again once they are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::checkpoint::{Origin, Pending};
use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
use superstep_core::port::{At, HistoryQuery, KeyValue, Loaded};

use super::frame::damaged as damaged_value;
use super::keys::part_place;
use super::room::Room;
use super::tables::{Body, LineTable, Tables};
use super::thread::{Log, long_values};
use crate::log::{
    self, Base, End, Entry, Gather, Line, Need, OriginRow, PartRow, PendingRow, Place, Row, WithMade, damaged,
    read_change,
};

/// How often others may remove values while they are read.
const TRIES: usize = 8;

/// Long values that were fetched, and those that are still to be.
#[derive(Default)]
pub(super) struct Bodies {
    known: BTreeMap<String, Vec<u8>>,
    missing: BTreeSet<String>,
}

impl Bodies {
    /// The bytes of a body, where they are known; otherwise they are noted as missing.
    pub(super) fn of<'a>(&'a mut self, body: &'a Body) -> Option<&'a [u8]> {
        match body {
            Body::Short(bytes) => Some(bytes),
            Body::Long { name, .. } => {
                if !self.known.contains_key(name) {
                    self.missing.insert(name.clone());
                }
                self.known.get(name).map(Vec::as_slice)
            }
        }
    }
}

/// Reads until nothing is missing. `read` gives `None` as long as something is.
pub(super) async fn with_bodies<K: KeyValue, T>(
    room: &Room<K>,
    log: &mut Log,
    mut read: impl FnMut(&Tables, &mut Bodies) -> Result<Option<T>>,
) -> Result<T> {
    let (mut bodies, mut tries, was_whole) = (Bodies::default(), 0, log.damage.is_none());
    loop {
        if let Some(done) = read(&log.tables, &mut bodies)? {
            return Ok(done);
        }
        let names: Vec<String> = std::mem::take(&mut bodies.missing).into_iter().collect();
        let values = long_values(room, &log.thread, &names).await?;
        for (name, value) in names.into_iter().zip(values) {
            if let Some(value) = value {
                bodies.known.insert(name, value);
                continue;
            }
            // Somebody may have pruned it away since the thread was read; then the tables say so now.
            let (before, place) = (log.next(), part_place(&log.thread, &name));
            log.read_up(room).await?;
            if was_whole {
                log.check_whole()?;
            }
            tries += 1;
            if log.next() == before || tries > TRIES {
                return Err(damaged_value(&place, "this value is missing"));
            }
            break;
        }
    }
}

fn find(line: &LineTable, at: At) -> Option<&Row> {
    match at {
        At::Latest | At::Newer(_) => line.rows.last_key_value().map(|(_, row)| row),
        At::Id(id) => line.rows.get(line.numbers.get(&id)?),
    }
}

/// What the run of a checkpoint has in common.
pub(super) fn origin(line: &LineTable, row: &Row) -> Result<Arc<Origin>> {
    match line.origins.get(&row.origin) {
        Some(origin) => Ok(Arc::new(OriginRow::read(&origin.body, row.mark.id)?)),
        None => Err(damaged(row.mark.id, "what its run has in common is gone")),
    }
}

/// What is known of the tasks of a checkpoint, in the order it became known; `None` while a part of it is missing.
pub(super) fn pending(line: &LineTable, row: &Row, bodies: &mut Bodies) -> Result<Option<Vec<Pending>>> {
    let (mut pending, mut is_whole) = (Vec::new(), true);
    for known in line.pending.get(&row.number).into_iter().flatten() {
        match bodies.of(&known.body) {
            Some(body) => {
                let (task, slot) = (known.task, known.slot.clone());
                pending.push(PendingRow { checkpoint: row.number, task, slot, body: body.to_vec() }.read(row.mark.id)?);
            }
            None => is_whole = false,
        }
    }
    Ok(is_whole.then_some(pending))
}

/// Gives whatever the checkpoints still need; false while a part of it is missing.
fn fill(line: &LineTable, gather: &mut Gather, bodies: &mut Bodies) -> Result<bool> {
    loop {
        let needs = gather.needs()?;
        if needs.is_empty() {
            return Ok(true);
        }
        let mut is_whole = true;
        for need in needs {
            match need {
                Need::Row(number) => give_row(line, number, gather)?,
                Need::Values(number) => give_values(line, number, gather)?,
                Need::Parts(number) => is_whole &= give_parts(line, number, gather, bodies)?,
            }
        }
        if !is_whole {
            return Ok(false);
        }
    }
}

fn give_row(line: &LineTable, number: u64, gather: &mut Gather) -> Result<()> {
    match line.rows.get(&number) {
        Some(row) => gather.give_row(row.clone()),
        None => Err(gather.damaged(None, &format!("checkpoint {number} of its line is gone"))),
    }
}

fn give_values(line: &LineTable, number: u64, gather: &mut Gather) -> Result<()> {
    let row = line.rows.get(&number).map(|row| &row.values);
    match row.or_else(|| line.remnants.get(&number).map(|remnant| &remnant.values)) {
        Some(values) => {
            gather.give_values(number, values.clone());
            Ok(())
        }
        None => Err(gather.damaged(None, &format!("the values of checkpoint {number} of its line are gone"))),
    }
}

/// A part and those it builds on, as far as they are not known.
fn give_parts(line: &LineTable, number: u64, gather: &mut Gather, bodies: &mut Bodies) -> Result<bool> {
    let (mut next, mut is_whole) = (Some(End::Part(number)), true);
    while let Some(End::Part(number)) = next
        && !gather.has_part(number)
    {
        let Some(part) = line.parts.get(&number) else {
            return Err(gather.damaged(None, &format!("part {number} of its values is gone")));
        };
        let Some(change) = read_change(&part.change) else {
            return Err(gather.damaged(Some(part.field), "it is no change"));
        };
        // Parts build on earlier ones: another way round would be followed for ever.
        next = part.before.filter(|before| !matches!(before, End::Part(before) if *before >= number));
        match bodies.of(&part.body) {
            Some(body) => {
                let (field, before, body) = (part.field, part.before, body.to_vec());
                gather.give_part(PartRow { number, field, before, change, body });
            }
            None => is_whole = false,
        }
    }
    Ok(is_whole)
}

/// Refuses what would have to be read behind the damage of a thread: all but the checkpoint with this id and what is
/// before it. What became known of its tasks there is lost.
pub(super) fn check_readable(log: &Log, place: &Place, id: Option<CheckpointId>) -> Result<()> {
    let line = log.tables.line(&place.1).map(|(_, line)| line);
    match (line, id) {
        (Some(line), Some(id)) if line.numbers.contains_key(&id) => Ok(()),
        _ => log.check_whole(),
    }
}

/// A checkpoint, where there is one.
pub(super) fn load(tables: &Tables, place: &Place, at: At, bodies: &mut Bodies) -> Result<Option<Option<Loaded>>> {
    let Some((_, line)) = tables.line(&place.1) else { return Ok(Some(None)) };
    let Some(row) = find(line, at) else { return Ok(Some(None)) };
    let (origin, pending) = (origin(line, row)?, pending(line, row, bodies)?);
    let mut gather = Gather::new(&place.0, &place.1, line.names.clone());
    if at == At::Newer(row.mark.id) {
        let Some(pending) = pending else { return Ok(None) };
        return Ok(Some(Some(gather.outline(row.clone(), &origin, pending)?)));
    }
    let is_known = pending.is_some();
    gather.want(row.clone(), origin, pending.unwrap_or_default())?;
    if !fill(line, &mut gather, bodies)? || !is_known {
        return Ok(None);
    }
    Ok(Some(gather.finish()?.pop()))
}

/// A part of a history, newest first.
pub(super) fn history(
    tables: &Tables,
    place: &Place,
    query: &HistoryQuery,
    bodies: &mut Bodies,
) -> Result<Option<Vec<Loaded>>> {
    let Some((_, line)) = tables.line(&place.1) else { return Ok(Some(Vec::new())) };
    let before = match query.before {
        None => u64::MAX,
        Some(id) => *line.numbers.get(&id).ok_or_else(|| log::missing(id))?,
    };
    let mut gather = Gather::new(&place.0, &place.1, line.names.clone());
    let (mut origins, mut is_known, mut left) = (BTreeMap::new(), true, query.limit.unwrap_or(usize::MAX));
    for row in line.rows.range(..before).rev().map(|(_, row)| row) {
        if left == 0 {
            break;
        }
        let shared = match origins.get(&row.origin) {
            Some(shared) => Arc::clone(shared),
            None => {
                let read = origin(line, row)?;
                origins.insert(row.origin, read.clone());
                read
            }
        };
        if query.matches_pieces(&row.mark, &shared) {
            let pending = pending(line, row, bodies)?;
            is_known &= pending.is_some();
            gather.want(row.clone(), shared, pending.unwrap_or_default())?;
            left -= 1;
        }
    }
    if !fill(line, &mut gather, bodies)? || !is_known {
        return Ok(None);
    }
    gather.finish().map(Some)
}

/// A line as its writer needs it.
pub(super) fn entry(tables: &Tables, place: &Place) -> Result<Entry> {
    let Some((number, line)) = tables.line(&place.1) else { return Ok(Entry::default()) };
    let base = base(tables, place, At::Latest)?.unwrap_or_default();
    let newest_part = line.parts.last_key_value().map_or(0, |(number, _)| *number);
    let known = Line::new((base.number, newest_part), line.names.to_vec(), base);
    Ok(Entry::new(Some(number as i64), known))
}

/// A checkpoint as far as the next one builds on it.
pub(super) fn base(tables: &Tables, place: &Place, at: At) -> Result<Option<Base>> {
    let Some((_, line)) = tables.line(&place.1) else { return Ok(None) };
    let Some(row) = find(line, at) else { return Ok(None) };
    let mut gather = Gather::new(&place.0, &place.1, line.names.clone());
    gather.want(row.clone(), origin(line, row)?, Vec::new())?;
    loop {
        match gather.base()? {
            Ok(base) => return Ok(base),
            Err(missing) => give_row(line, missing, &mut gather)?,
        }
    }
}

/// A checkpoint and which fields it changed.
pub(super) fn with_made(
    tables: &Tables,
    place: &Place,
    id: CheckpointId,
    bodies: &mut Bodies,
) -> Result<Option<Option<WithMade>>> {
    let Some(loaded) = load(tables, place, At::Id(id), bodies)? else { return Ok(None) };
    let (Some(loaded), Some((_, line)), Some(own)) = (loaded, tables.line(&place.1), base(tables, place, At::Id(id))?)
    else {
        return Ok(Some(None));
    };
    let parent = match loaded.checkpoint.parent {
        None => Some(Base::default()),
        Some(parent) => base(tables, place, At::Id(parent))?,
    };
    let made = parent.map(|parent| log::made(&line.names, &own, &parent));
    Ok(Some(Some((loaded, made))))
}
