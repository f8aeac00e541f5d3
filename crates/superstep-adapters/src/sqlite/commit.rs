//! From a commit to a job for the writer: what is known of the lines of threads that this process holds.
//!
//! Values become bytes here, on the thread of whoever commits, so that the writer only writes. What is remembered of a
//! line is a help, never the truth: the writer compares it with the file in the same transaction, and when somebody
//! else was there it is read anew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{At, Commit, Lease};

use super::lease::Taken;
use super::trouble::Trouble;
use super::write::{Job, LineJob};
use super::writer::Effect;
use super::{Sqlite, TRIES, read};
use crate::log::{self, Base, Line, PendingRow};

/// Threads that are remembered after they were given back.
const REMEMBERED: usize = 1_024;

/// What is known of threads.
#[derive(Default)]
pub(super) struct Held(Mutex<BTreeMap<ThreadId, Arc<Thread>>>);

struct Thread {
    row: i64,
    fence: u64,
    is_held: bool,
    /// Few: a graph and those inside it.
    lines: Mutex<Vec<(Namespace, Entry)>>,
}

/// A line and its row.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) row: Option<i64>,
    pub(super) line: Line,
    /// A checkpoint is added to it.
    is_planned: bool,
}

impl Entry {
    pub(super) fn new(row: Option<i64>, line: Line) -> Self {
        Self { row, line, is_planned: false }
    }

    /// As much of it as is needed to say something about tasks.
    fn outline(&self) -> Self {
        let Base { id, number, .. } = self.line.base;
        let base = Base { id, number, ..Base::default() };
        Self::new(self.row, Line::new((self.line.newest, 0), Vec::new(), base))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    /// Remembers that a thread was taken. What was known of it still holds when nobody else had it in between.
    pub(super) fn take(&self, thread: &ThreadId, taken: Taken) -> Lease {
        let mut threads = lock(&self.0);
        let known = threads.remove(thread).filter(|known| known.row == taken.row && known.fence == taken.before);
        let lines = known.map(|known| std::mem::take(&mut *lock(&known.lines))).unwrap_or_default();
        if threads.len() >= REMEMBERED {
            threads.retain(|_, thread| thread.is_held);
        }
        let held = Thread { row: taken.row, fence: taken.fence, is_held: true, lines: Mutex::new(lines) };
        threads.insert(thread.clone(), Arc::new(held));
        Lease { thread: thread.clone(), fence: taken.fence }
    }

    /// The row of a thread that is given back by whoever has it.
    pub(super) fn give_back(&self, lease: &Lease) -> Option<i64> {
        let mut threads = lock(&self.0);
        let known = threads.get(&lease.thread).filter(|known| known.fence == lease.fence && known.is_held)?;
        let (row, fence, lines) = (known.row, known.fence, std::mem::take(&mut *lock(&known.lines)));
        let given = Thread { row, fence, is_held: false, lines: Mutex::new(lines) };
        threads.insert(lease.thread.clone(), Arc::new(given));
        Some(row)
    }

    pub(super) fn forget(&self, thread: &ThreadId) {
        lock(&self.0).remove(thread);
    }

    fn find(&self, lease: &Lease) -> Result<Arc<Thread>> {
        let known = lock(&self.0).get(&lease.thread).cloned();
        known.filter(|known| known.fence == lease.fence && known.is_held).ok_or_else(|| log::fenced(lease))
    }
}

/// A job while it is put together.
struct Drafting<'a> {
    store: &'a Sqlite,
    thread: &'a Thread,
    lease: &'a Lease,
    lines: Vec<(LineJob, Entry)>,
}

impl Sqlite {
    /// Saves a commit, whole or not at all.
    pub(super) async fn save(&self, commit: &Commit) -> Result<()> {
        let mut left: Vec<&Commit> = commit.inside.iter().chain([commit]).collect();
        for _ in 0..TRIES {
            match self.try_save(commit, &left).await {
                Err(Trouble::Stale) => {}
                Err(Trouble::Known(id)) => {
                    left = self.without_known(left, id).await?;
                    if left.is_empty() {
                        return Ok(());
                    }
                }
                saved => return saved.map_err(|trouble| trouble.into_error(&self.name())),
            }
        }
        Err(Trouble::Stale.into_error(&self.name()))
    }

    fn name(&self) -> String {
        self.0.writer.place().name()
    }

    async fn try_save(&self, commit: &Commit, parts: &[&Commit]) -> std::result::Result<(), Trouble> {
        let thread = self.0.held.find(&commit.lease)?;
        let mut drafting = Drafting { store: self, thread: &thread, lease: &commit.lease, lines: Vec::new() };
        for part in parts {
            drafting.add(part).await?;
        }
        let (lines, entries): (Vec<_>, Vec<_>) = drafting.lines.into_iter().unzip();
        let namespaces: Vec<Namespace> = lines.iter().map(|line| line.namespace.clone()).collect();
        let job = Job { lease: commit.lease.clone(), thread: thread.row, lines, status: commit.status };
        let rows = self.0.writer.ask(Effect::Durable, move |desk| job.write(desk)).await?;
        let mut known = lock(&thread.lines);
        for ((namespace, entry), row) in namespaces.into_iter().zip(entries).zip(rows) {
            // One that only had tasks was never taken out.
            if entry.is_planned {
                known.retain(|(other, _)| *other != namespace);
                known.push((namespace, Entry { row: Some(row), ..entry }));
            }
        }
        Ok(())
    }

    /// The parts of a commit without those up to the one with a checkpoint that is there already, which must be equal.
    async fn without_known<'a>(&self, mut parts: Vec<&'a Commit>, id: CheckpointId) -> Result<Vec<&'a Commit>> {
        let has_it = |part: &&Commit| part.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.id == id);
        let Some(place) = parts.iter().position(has_it) else {
            return Err(Error::internal(format!("checkpoint {id} is known and not in the commit")));
        };
        let part = parts.remove(place);
        let (name, namespace) = (part.lease.thread.clone(), part.namespace.clone());
        let stored = self.ask(move |connection| read::with_made(connection, &name, &namespace, id)).await?;
        let is_same = stored.is_some_and(|(stored, made)| {
            let changes = || part.changes.iter().filter(|change| !change.change.is_unchanged());
            let last = |field: &str| stored.fields.iter().find(|(name, _)| **name == *field)?.1.last();
            Some(&stored.checkpoint) == part.checkpoint.as_ref()
                && made.as_ref().is_none_or(|made| changes().count() == made.len())
                && changes().all(|change| {
                    made.as_ref().is_none_or(|made| made.contains(&change.field))
                        && last(&change.field).is_some_and(|last| log::is_made_by(last, change, part.state.as_ref()))
                })
        });
        if is_same { Ok(parts) } else { Err(Trouble::Known(id).into_error(&self.name())) }
    }
}

impl Drafting<'_> {
    async fn add(&mut self, part: &Commit) -> std::result::Result<(), Trouble> {
        log::check_place(part)?;
        if part.checkpoint.is_none() && part.pending.is_empty() {
            return Ok(());
        }
        let place = self.place(part).await?;
        let Base { id, number, .. } = self.lines[place].1.line.base;
        if let Some(checkpoint) = &part.checkpoint {
            self.build_on(place, checkpoint.parent).await?;
            let (job, entry) = &mut self.lines[place];
            job.drafts.push(entry.line.plan(checkpoint, part)?);
            entry.is_planned = true;
        }
        for pending in &part.pending {
            let number = self.number(place, id.map(|id| (id, number)), pending.checkpoint).await?;
            let row = PendingRow::new(number, pending)?;
            self.lines[place].0.pending.push((pending.checkpoint, row));
        }
        Ok(())
    }

    /// The place of a line in the job.
    async fn place(&mut self, part: &Commit) -> std::result::Result<usize, Trouble> {
        let is_outline = part.checkpoint.is_none();
        let known = self.lines.iter().position(|(job, _)| job.namespace == part.namespace);
        if let Some(place) = known {
            if !is_outline && !self.lines[place].1.is_planned {
                // There was only something about tasks up to now.
                self.lines[place].1 = self.entry(&part.namespace, false).await?;
            }
            return Ok(place);
        }
        let entry = self.entry(&part.namespace, is_outline).await?;
        let (row, newest, namespace) = (entry.row, entry.line.newest, part.namespace.clone());
        self.lines.push((LineJob { namespace, row, newest, drafts: Vec::new(), pending: Vec::new() }, entry));
        Ok(self.lines.len() - 1)
    }

    /// What is known of a line, or is in the file.
    async fn entry(&self, namespace: &Namespace, is_outline: bool) -> std::result::Result<Entry, Trouble> {
        let known = {
            let mut lines = lock(&self.thread.lines);
            // Taken out to be added to: until that is written nobody else can build on what may come to nothing.
            let place = lines.iter().position(|(known, _)| known == namespace);
            if is_outline {
                place.map(|place| lines[place].1.outline())
            } else {
                place.map(|place| lines.swap_remove(place).1)
            }
        };
        if let Some(entry) = known {
            return Ok(entry);
        }
        let (thread, place) = (self.thread.row, (self.lease.thread.clone(), namespace.clone()));
        Ok(self.store.ask(move |connection| read::entry(connection, thread, &place)).await?)
    }

    /// Makes a checkpoint what the next one of the line builds on.
    async fn build_on(&mut self, place: usize, parent: Option<CheckpointId>) -> std::result::Result<(), Trouble> {
        let (job, entry) = &mut self.lines[place];
        if parent == entry.line.base.id && (parent.is_some() || entry.line.newest == 0) {
            return Ok(());
        }
        let Some(parent) = parent else {
            entry.line.base = Base::default();
            return Ok(());
        };
        let (thread, namespace) = (self.lease.thread.clone(), job.namespace.clone());
        let found =
            self.store.ask(move |connection| read::base(connection, &thread, &namespace, At::Id(parent))).await?;
        let base = found.ok_or_else(|| Trouble::Refused(log::missing(parent)))?;
        self.lines[place].1.line.base = base;
        Ok(())
    }

    /// The number of a checkpoint that something is known of.
    async fn number(
        &self,
        place: usize,
        before: Option<(CheckpointId, u64)>,
        id: CheckpointId,
    ) -> std::result::Result<u64, Trouble> {
        let (job, entry) = &self.lines[place];
        if let Some(draft) = job.drafts.iter().find(|draft| draft.row.mark.id == id) {
            return Ok(draft.row.number);
        }
        if let Some((_, number)) = before.filter(|(known, _)| *known == id) {
            return Ok(number);
        }
        let Some(line) = entry.row else { return Err(Trouble::Refused(log::missing(id))) };
        let found = self.store.ask(move |connection| super::write::number_of(connection, line, id)).await?;
        found.ok_or_else(|| Trouble::Refused(log::missing(id)))
    }
}
