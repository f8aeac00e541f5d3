//! A commit: one record, put when everything it needs is there.

use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
use superstep_core::port::{At, KeyValue, Lease};
use tokio::sync::Mutex;

use super::events;
use super::frame::close;
use super::keys::{part_name, part_place};
use super::read::{self, with_bodies};
use super::record::{Added, Record};
use super::room::Room;
use super::tables::{Body, Event, Known, Part, Tables as Rows};
use super::thread::Log;
use crate::log::{Base, Draft, Entry, Held, Job, LineJob, PartRow, Place, Refusal, Tables, WithMade, fenced, missing};

/// Values up to this length stand in the record; it is what has to be read to know a thread.
const SHORT: usize = 1_024;

/// One thread as the log of changes sees it.
pub(super) struct Desk<'a, K> {
    pub(super) room: &'a Room<K>,
    pub(super) lease: &'a Lease,
    pub(super) log: Arc<Mutex<Log>>,
}

impl<K: KeyValue> Tables for Desk<'_, K> {
    fn held(&self) -> &Held {
        &self.room.held
    }

    async fn entry(&self, _thread: i64, place: Place) -> Result<Entry> {
        let mut log = self.log.lock().await;
        log.ensure(self.room).await?;
        read::entry(&log.tables, &place)
    }

    async fn base(&self, place: Place, id: CheckpointId) -> Result<Option<Base>> {
        let mut log = self.log.lock().await;
        log.ensure(self.room).await?;
        // What is missed may have been pruned by whoever took the thread over: that is then the reason.
        check_lease(self.lease, &log.tables, self.room.token)?;
        read::base(&log.tables, &place, At::Id(id))
    }

    async fn number_of(&self, line: i64, id: CheckpointId) -> Result<Option<u64>> {
        let mut log = self.log.lock().await;
        log.ensure(self.room).await?;
        check_lease(self.lease, &log.tables, self.room.token)?;
        let line = usize::try_from(line).ok().and_then(|line| log.tables.lines.get(line));
        Ok(line.and_then(|line| line.numbers.get(&id).copied()))
    }

    async fn with_made(&self, place: Place, id: CheckpointId) -> Result<Option<WithMade>> {
        let mut log = self.log.lock().await;
        log.ensure(self.room).await?;
        with_bodies(self.room, &mut log, |tables, bodies| read::with_made(tables, &place, id, bodies)).await
    }

    async fn write(&self, mut job: Job) -> Result<Vec<i64>, Refusal> {
        let mut log = self.log.lock().await;
        log.ensure(self.room).await?;
        // What is in memory may be old. The number of the record tells: if it is, that is taken.
        check(&job, &log.tables, self.room.token)?;
        let status = job.status.or(log.tables.status).unwrap_or_default();
        events::leave_unsaved(&mut job, &log.tables)?;
        if job.lines.is_empty() && job.events.is_empty() && log.tables.status == Some(status) {
            log.catch_up(self.room).await?;
            check(&job, &log.tables, self.room.token)?;
            return Ok(Vec::new());
        }
        let namespaces: Vec<_> = job.lines.iter().map(|line| line.namespace.clone()).collect();
        let mut long = Vec::new();
        let mut lines = Vec::with_capacity(job.lines.len());
        for line in job.lines {
            lines.push(self.added(line, log.next(), &mut long)?);
        }
        let said = job.events.into_iter().map(|row| {
            let (number, run, sum) = (row.number, row.run, row.sum());
            Event { number, run, sum, body: self.body(row.body, log.next(), &mut long) }
        });
        let events = said.collect();
        for (name, value) in &long {
            let (bytes, _) = close(&part_place(&log.thread, name), value);
            self.room.put(&self.room.keys.part(&log.thread, name), &bytes, None).await?;
        }
        log.list(self.room).await?;
        let record = Record::Saved { status, lasts: self.room.lasts(), lines, events };
        if !log.append(self.room, record).await? {
            return Err(Refusal::Stale);
        }
        let place = |namespace| log.tables.line(namespace).map_or(0, |(place, _)| place as i64);
        Ok(namespaces.iter().map(place).collect())
    }
}

/// Refuses what cannot follow what is there.
fn check(job: &Job, tables: &Rows, token: u64) -> Result<(), Refusal> {
    check_lease(&job.lease, tables, token)?;
    job.lines.iter().try_for_each(|line| check_line(line, tables))
}

/// Refuses a lease that is not the newest of its thread.
fn check_lease(lease: &Lease, tables: &Rows, token: u64) -> Result<()> {
    let is_mine = tables.mover.is_some_and(|mover| mover.holder == token);
    if is_mine && tables.fence == lease.fence { Ok(()) } else { Err(fenced(lease)) }
}

fn check_line(job: &LineJob, tables: &Rows) -> Result<(), Refusal> {
    let Some((place, line)) = tables.line(&job.namespace) else {
        return if job.row.is_none() { Ok(()) } else { Err(Refusal::Stale) };
    };
    let is_newest = job.drafts.is_empty() || line.newest() == job.newest;
    if job.row != Some(place as i64) || !is_newest || job.bases.iter().any(|(number, id)| !line.has(*number, *id)) {
        return Err(Refusal::Stale);
    }
    if let Some(known) = job.drafts.iter().find(|draft| line.numbers.contains_key(&draft.row.mark.id)) {
        return Err(Refusal::Known(known.row.mark.id));
    }
    for (id, row) in job.pending.iter().filter(|(_, row)| row.checkpoint <= job.newest) {
        if !line.has(row.checkpoint, *id) {
            // A line that was remembered may not be the one that is there: the tables tell.
            let is_gone = !line.numbers.contains_key(id);
            return Err(if is_gone { Refusal::Because(missing(*id)) } else { Refusal::Stale });
        }
    }
    Ok(())
}

impl<K: KeyValue> Desk<'_, K> {
    /// A value in the record with this number; a long one is set aside.
    fn body(&self, bytes: Vec<u8>, number: u64, long: &mut Vec<(String, Vec<u8>)>) -> Body {
        if bytes.len() <= SHORT {
            return Body::Short(bytes);
        }
        let (name, length) = (part_name(number, self.room.unique()), bytes.len() as u64);
        long.push((name.clone(), bytes));
        Body::Long { name, length }
    }

    /// What comes to a line by the record with this number; long values are set aside.
    fn added(&self, job: LineJob, number: u64, long: &mut Vec<(String, Vec<u8>)>) -> Result<Added> {
        let mut body = |bytes: Vec<u8>| self.body(bytes, number, long);
        let (mut rows, mut origins, mut parts, mut names) = (Vec::new(), Vec::new(), Vec::new(), None);
        for Draft { row, origin, parts: made, names: named } in job.drafts {
            rows.push(row);
            origins.extend(origin);
            names = named.or(names);
            for part in made {
                let change = part.change_text()?;
                let PartRow { number, field, before, body: bytes, .. } = part;
                parts.push(Part { number, field, before, change, body: body(bytes) });
            }
        }
        let pending = job.pending.into_iter().map(|(_, row)| {
            let (checkpoint, task, slot) = (row.checkpoint, row.task, row.slot);
            Known { checkpoint, task, slot, body: body(row.body) }
        });
        let pending = pending.collect();
        Ok(Added { namespace: job.namespace, names, rows, origins, parts, pending })
    }
}
