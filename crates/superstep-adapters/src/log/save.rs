//! From a commit to a transaction that only needs to be written.
//!
//! Values become bytes here, on the thread of whoever commits. How rows are read and written is the store's business
//! ([`Tables`]); that a commit is put together anew when somebody else was there, and that one which is in the tables
//! already is recognised, is decided here for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{Commit, Lease, Loaded, ThreadStatus};

use super::event::EventRow;
use super::held::{Entry, Held, Thread};
use super::plan::{Base, Draft, check_place, is_made_by};
use super::row::PendingRow;

/// How often a commit is put together anew because somebody pruned or wrote the thread in between.
const TRIES: usize = 5;

/// A line of a thread.
pub(crate) type Place = (ThreadId, Namespace);

/// A checkpoint with the fields that it changed itself; `None` of them when what it builds on is gone.
pub(crate) type WithMade = (Loaded, Option<Vec<Arc<str>>>);

/// How rows are read and written.
pub(crate) trait Tables: Sync {
    /// What is known of threads.
    fn held(&self) -> &Held;
    /// A line as its writer needs it.
    fn entry(&self, thread: i64, place: Place) -> impl Future<Output = Result<Entry>> + Send;
    /// A checkpoint as far as the next one builds on it.
    fn base(&self, place: Place, id: CheckpointId) -> impl Future<Output = Result<Option<Base>>> + Send;
    /// The number of a checkpoint in its line.
    fn number_of(&self, line: i64, id: CheckpointId) -> impl Future<Output = Result<Option<u64>>> + Send;
    /// A checkpoint and which fields it changed.
    fn with_made(&self, place: Place, id: CheckpointId) -> impl Future<Output = Result<Option<WithMade>>> + Send;
    /// Writes everything, or nothing; gives the rows of the lines.
    fn write(&self, job: Job) -> impl Future<Output = Result<Vec<i64>, Refusal>> + Send;
}

/// Why a transaction was not written.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// This is why.
    Because(Error),
    /// Somebody pruned or wrote the thread since it was put together.
    Stale,
    /// This checkpoint is there already.
    Known(CheckpointId),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Because(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Because(error) => error,
            Refusal::Stale => {
                Self::new(Code::StoreUnavailable, "the thread was changed again and again while it was saved")
                    .help("nothing of this was saved; try again")
            }
            Refusal::Known(id) => Self::internal(format!("checkpoint {id} was saved with other content")),
        }
    }
}

/// A transaction that is ready to be written.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) lease: Lease,
    /// The row of the thread.
    pub(crate) thread: i64,
    pub(crate) lines: Vec<LineJob>,
    pub(crate) status: Option<ThreadStatus>,
    /// What was said, in the order of numbers.
    pub(crate) events: Vec<EventRow>,
    /// Some of the commit is in the tables already, so all of it was there once.
    pub(crate) is_repeat: bool,
}

/// What comes to one line.
#[derive(Debug)]
pub(crate) struct LineJob {
    pub(crate) namespace: Namespace,
    /// Its row; `None` when the line is new.
    pub(crate) row: Option<i64>,
    /// The number of the newest checkpoint when this was put together.
    pub(crate) newest: u64,
    /// Checkpoints it was put together from, each with its number: without them what is added cannot be read.
    pub(crate) bases: Vec<(u64, CheckpointId)>,
    pub(crate) drafts: Vec<Draft>,
    /// What is known of tasks, each with the checkpoint it names.
    pub(crate) pending: Vec<(CheckpointId, PendingRow)>,
}

/// Saves a commit, whole or not at all.
pub(crate) async fn save(tables: &impl Tables, commit: &Commit) -> Result<()> {
    let mut left: Vec<&Commit> = commit.inside.iter().chain([commit]).collect();
    let (mut tries, mut is_repeat) = (0, false);
    loop {
        tries += 1;
        match try_save(tables, commit, &left, is_repeat).await {
            Err(Refusal::Stale) if tries < TRIES => {}
            Err(Refusal::Known(id)) => {
                // Each time there is less left: this is no try.
                (tries, is_repeat) = (0, true);
                left = without_known(tables, left, id).await?;
                if left.is_empty() {
                    return Ok(());
                }
            }
            saved => return Ok(saved?),
        }
    }
}

async fn try_save(tables: &impl Tables, commit: &Commit, parts: &[&Commit], is_repeat: bool) -> Result<(), Refusal> {
    let thread = tables.held().find(&commit.lease)?;
    let forks = forks(parts);
    let mut drafting =
        Drafting { tables, thread: &thread, lease: &commit.lease, lines: Vec::new(), forks, bases: Vec::new() };
    for part in parts {
        drafting.add(part).await?;
    }
    let (lines, entries): (Vec<_>, Vec<_>) = drafting.lines.into_iter().unzip();
    let namespaces: Vec<Namespace> = lines.iter().map(|line| line.namespace.clone()).collect();
    let (lease, events) = (commit.lease.clone(), EventRow::all(parts, tables.held().form())?);
    let job = Job { lease, thread: thread.row, lines, status: commit.status, events, is_repeat };
    let rows = tables.write(job).await?;
    for ((namespace, entry), row) in namespaces.into_iter().zip(entries).zip(rows) {
        // One that only had tasks was never taken out.
        if entry.is_planned {
            thread.remember(namespace, Entry { row: Some(row), ..entry });
        }
    }
    Ok(())
}

/// The parts of a commit without the one with a checkpoint that is there already, which must be equal.
async fn without_known<'a>(
    tables: &impl Tables,
    mut parts: Vec<&'a Commit>,
    id: CheckpointId,
) -> Result<Vec<&'a Commit>> {
    let has_it = |part: &&Commit| part.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.id == id);
    let Some(place) = parts.iter().position(has_it) else {
        return Err(Error::internal(format!("checkpoint {id} is known and not in the commit")));
    };
    let part = parts.remove(place);
    let stored = tables.with_made((part.lease.thread.clone(), part.namespace.clone()), id).await?;
    let is_same = stored.is_some_and(|(stored, made)| {
        let changes = || part.changes.iter().filter(|change| !change.change.is_unchanged());
        let last = |field: &str| stored.fields.iter().find(|(name, _)| **name == *field)?.1.last();
        Some(&stored.checkpoint) == part.checkpoint.as_ref()
            && made.as_ref().is_none_or(|made| changes().count() == made.len())
            && changes().all(|change| {
                made.as_ref().is_none_or(|made| made.contains(&change.field))
                    && last(&change.field).is_some_and(|last| is_made_by(last, change, part.state.as_ref()))
            })
    });
    if is_same { Ok(parts) } else { Err(Refusal::Known(id).into()) }
}

/// The fields that a checkpoint changed itself, by what it and its parent are built of.
pub(crate) fn made(names: &[Arc<str>], own: &Base, parent: &Base) -> Vec<Arc<str>> {
    let end = |base: &Base, field: usize| base.heads.get(field).copied().flatten().map(|head| head.end);
    let is_made = |field: &usize| end(own, *field) != end(parent, *field);
    (0..names.len()).filter(is_made).map(|field| names[field].clone()).collect()
}

/// A job while it is put together.
struct Drafting<'a, T> {
    tables: &'a T,
    thread: &'a Thread,
    lease: &'a Lease,
    lines: Vec<(LineJob, Entry)>,
    /// Checkpoints that something later than their first child may build on.
    forks: BTreeSet<CheckpointId>,
    /// Those of them that are not in the tables yet, each with the place of its line.
    bases: Vec<(usize, Base)>,
}

/// The checkpoints that a part builds on without coming right after them.
fn forks(parts: &[&Commit]) -> BTreeSet<CheckpointId> {
    let mut newest: BTreeMap<&Namespace, CheckpointId> = BTreeMap::new();
    let mut forks = BTreeSet::new();
    for part in parts {
        let Some(checkpoint) = &part.checkpoint else { continue };
        let before = newest.insert(&part.namespace, checkpoint.id);
        forks.extend(checkpoint.parent.filter(|parent| before.is_some_and(|before| before != *parent)));
    }
    forks
}

impl<T: Tables> Drafting<'_, T> {
    async fn add(&mut self, part: &Commit) -> Result<(), Refusal> {
        check_place(part)?;
        if part.checkpoint.is_none() && part.pending.is_empty() {
            return Ok(());
        }
        let place = self.place(part).await?;
        let Base { id, number, .. } = self.lines[place].1.line.base;
        if let Some(checkpoint) = &part.checkpoint {
            if let Some(missing) = self.build_on(place, checkpoint.parent).await? {
                // One that is sent again may have outlived what it was built on.
                return Err(match self.number(place, None, checkpoint.id).await {
                    Ok(_) => Refusal::Known(checkpoint.id),
                    Err(_) => super::missing(missing).into(),
                });
            }
            let (job, entry) = &mut self.lines[place];
            let base = &entry.line.base;
            job.bases.extend(base.id.filter(|_| base.number <= job.newest).map(|id| (base.number, id)));
            job.drafts.push(entry.line.plan(checkpoint, part, self.tables.held().form())?);
            entry.is_planned = true;
            if self.forks.contains(&checkpoint.id) {
                self.bases.push((place, entry.line.base.clone()));
            }
        }
        for pending in &part.pending {
            let number = self.number(place, id.map(|id| (id, number)), pending.checkpoint).await?;
            let row = PendingRow::new(number, pending, self.tables.held().form())?;
            self.lines[place].0.pending.push((pending.checkpoint, row));
        }
        Ok(())
    }

    /// The place of a line in the job.
    async fn place(&mut self, part: &Commit) -> Result<usize> {
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
        let (bases, drafts, pending) = (Vec::new(), Vec::new(), Vec::new());
        self.lines.push((LineJob { namespace, row, newest, bases, drafts, pending }, entry));
        Ok(self.lines.len() - 1)
    }

    /// What is known of a line, or is in the tables.
    async fn entry(&self, namespace: &Namespace, is_outline: bool) -> Result<Entry> {
        match self.thread.entry(namespace, is_outline) {
            Some(entry) => Ok(entry),
            None => self.tables.entry(self.thread.row, self.at(namespace)).await,
        }
    }

    fn at(&self, namespace: &Namespace) -> Place {
        (self.lease.thread.clone(), namespace.clone())
    }

    /// Makes a checkpoint what the next one of the line builds on; gives it back when it is not there.
    async fn build_on(&mut self, place: usize, parent: Option<CheckpointId>) -> Result<Option<CheckpointId>> {
        let (job, entry) = &mut self.lines[place];
        if parent == entry.line.base.id && (parent.is_some() || entry.line.newest == 0) {
            return Ok(None);
        }
        let Some(parent) = parent else {
            entry.line.base = Base::default();
            return Ok(None);
        };
        if let Some((_, base)) = self.bases.iter().find(|(line, base)| *line == place && base.id == Some(parent)) {
            entry.line.base = base.clone();
            return Ok(None);
        }
        let at = (self.lease.thread.clone(), job.namespace.clone());
        let Some(base) = self.tables.base(at, parent).await? else { return Ok(Some(parent)) };
        self.lines[place].1.line.base = base;
        Ok(None)
    }

    /// The number of a checkpoint that something is known of.
    async fn number(&self, place: usize, before: Option<(CheckpointId, u64)>, id: CheckpointId) -> Result<u64> {
        let (job, entry) = &self.lines[place];
        // As a rule it is the newest one.
        if let Some(draft) = job.drafts.iter().rev().find(|draft| draft.row.mark.id == id) {
            return Ok(draft.row.number);
        }
        if let Some((_, number)) = before.filter(|(known, _)| *known == id) {
            return Ok(number);
        }
        let missing = || super::missing(id);
        let line = entry.row.ok_or_else(missing)?;
        self.tables.number_of(line, id).await?.ok_or_else(missing)
    }
}
