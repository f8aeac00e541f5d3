//! What survives a process: a store in memory that stands for a disk.
//!
//! Every call is immediate and whole; pauses, faults and checks are added around it by `store`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use superstep::core::checkpoint::{Checkpoint, Namespace, Pending, StoredDue, StoredSend};
use superstep::core::datum::Datum;
use superstep::core::error::Result;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::machine::read_state;
use superstep::core::port::{At, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, Loaded, StoredEvent};
use superstep::core::state::State;
use superstep::{Memory, Schema, ThreadStatus};

use crate::work::Work;

/// The one thread of a schedule.
pub(crate) const THREAD: &str = "t";

/// A disk.
pub(crate) struct Disk {
    memory: Mutex<Memory>,
    /// What was written, where a planted bug needs it.
    written: Mutex<Vec<Commit>>,
    thread: ThreadId,
    schema: Arc<Schema>,
    /// Values come back as plain data, as after a restart, and not as the live values that went in.
    is_cold: bool,
}

impl Disk {
    pub(crate) fn new(is_cold: bool) -> Self {
        let schema = Work::schema().expect("a derived state has a schema");
        Self { memory: Mutex::default(), written: Mutex::default(), thread: THREAD.into(), schema, is_cold }
    }

    pub(crate) fn acquire(&self, run: RunId) -> Result<Lease> {
        immediate(self.memory().acquire(&self.thread, run))
    }

    pub(crate) fn release(&self, lease: &Lease) {
        self.memory().release(lease);
    }

    pub(crate) fn commit(&self, commit: &Commit) -> Result<()> {
        immediate(self.memory().commit(commit))
    }

    pub(crate) fn load(&self, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        let loaded = immediate(self.memory().load(&self.thread, namespace, at))?;
        if self.is_cold { loaded.map(thawed).transpose() } else { Ok(loaded) }
    }

    pub(crate) fn history(&self, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let history = immediate(self.memory().history(&self.thread, namespace, query))?;
        if self.is_cold { history.into_iter().map(thawed).collect() } else { Ok(history) }
    }

    pub(crate) fn status(&self) -> Result<Option<ThreadStatus>> {
        immediate(self.memory().status(&self.thread))
    }

    pub(crate) fn namespaces(&self) -> Result<Vec<Namespace>> {
        immediate(self.memory().namespaces(&self.thread))
    }

    pub(crate) fn events(&self, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let mut events = immediate(self.memory().events(&self.thread, query))?;
        if self.is_cold {
            events.iter_mut().try_for_each(|event| plain(&event.body).map(|body| event.body = body))?;
        }
        Ok(events)
    }

    pub(crate) fn last_event(&self) -> Result<u64> {
        immediate(self.memory().last_event(&self.thread))
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, Vec<Commit>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a checkpoint with this id was written; only a planted bug keeps account.
    pub(crate) fn was_written(&self, id: CheckpointId) -> bool {
        self.written().iter().any(|commit| commit.checkpoint.as_ref().is_some_and(|written| written.id == id))
    }

    /// Keeps account of a commit, for [`Disk::rewrite`].
    pub(crate) fn remember(&self, commit: Commit) {
        self.written().push(commit);
    }

    /// Writes everything anew but the checkpoint with this id, and whatever cannot stand without it.
    pub(crate) fn rewrite(&self, without: CheckpointId, fence: u64) {
        let fresh = Memory::new();
        let mut lease = immediate(fresh.acquire(&self.thread, RunId::from_bits(0)));
        while lease.as_ref().is_ok_and(|lease| lease.fence < fence) {
            lease = immediate(fresh.acquire(&self.thread, RunId::from_bits(0)));
        }
        let mut written = self.written();
        written.retain(|commit| commit.checkpoint.as_ref().is_none_or(|written| written.id != without));
        if let Ok(lease) = lease {
            for commit in &mut *written {
                commit.lease = lease.clone();
                let _ = immediate(fresh.commit(commit));
            }
        }
        *self.memory() = fresh;
    }

    /// The state of the outermost graph at a checkpoint, as a reader sees it.
    pub(crate) fn read(&self, at: At) -> Result<Option<(Arc<Work>, Loaded)>> {
        let loaded = immediate(self.memory().load(&self.thread, &Namespace::root(), at))?;
        loaded.map(|loaded| Ok((self.work(&loaded)?, loaded))).transpose()
    }

    /// Whether a checkpoint of the outermost graph is there.
    pub(crate) fn has(&self, id: CheckpointId) -> bool {
        // None of the checkpoints before it, so that nothing is read; an unknown id is refused all the same.
        let query = HistoryQuery { before: Some(id), limit: Some(0), ..HistoryQuery::default() };
        immediate(self.memory().history(&self.thread, &Namespace::root(), &query)).is_ok()
    }

    /// The states of the outermost graph, oldest first.
    pub(crate) fn line(&self) -> Result<Vec<(Arc<Checkpoint>, Arc<Work>)>> {
        let query = HistoryQuery::default();
        let history = immediate(self.memory().history(&self.thread, &Namespace::root(), &query))?;
        history.iter().rev().map(|loaded| Ok((loaded.checkpoint.clone(), self.work(loaded)?))).collect()
    }

    fn work(&self, loaded: &Loaded) -> Result<Arc<Work>> {
        let (state, _) = read_state(&self.schema, loaded)?;
        state.downcast::<Work>().map_err(|_| superstep::Error::internal("a state of another type"))
    }
}

/// The result of a future that never waits.
fn immediate<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the store in memory never waits"),
    }
}

/// What was loaded, after a way through plain data and back.
fn thawed(loaded: Loaded) -> Result<Loaded> {
    let Loaded { checkpoint, mut fields, pending } = loaded;
    for (_, log) in &mut fields {
        for (_, part) in log {
            *part = plain(part)?;
        }
    }
    let due = checkpoint.due.iter().map(plain_due).collect::<Result<Vec<StoredDue>>>()?;
    let checkpoint = Arc::new(Checkpoint { due, ..(*checkpoint).clone() });
    let pending = pending.iter().map(again::<Pending>).collect::<Result<_>>()?;
    Ok(Loaded { checkpoint, fields, pending })
}

fn plain(datum: &Datum) -> Result<Datum> {
    Ok(Datum::json(datum.to_json().map_err(|fault| superstep::Error::internal(fault.to_string()))?))
}

fn plain_due(due: &StoredDue) -> Result<StoredDue> {
    let Some(send) = &due.send else { return Ok(due.clone()) };
    let send = Some(StoredSend { payload: plain(&send.payload)?, ..send.clone() });
    Ok(StoredDue { send, ..due.clone() })
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> Result<T> {
    let unreadable = |error: serde_json::Error| superstep::Error::internal(error.to_string());
    serde_json::from_value(serde_json::to_value(value).map_err(unreadable)?).map_err(unreadable)
}
