//! The storage that survives a process: an in-memory checkpointer in the role of a disk.
//!
//! Every call completes immediately; `faulty_checkpointer` adds await points, faults and checks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use superstep::core::checkpoint::{Checkpoint, CheckpointNamespace, PendingEntry, StoredSend, StoredTask};
use superstep::core::error::Result;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::machine::restore_state;
use superstep::core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, StoredEvent,
};
use superstep::core::state::GraphState;
use superstep::core::value::AnyValue;
use superstep::{MemoryCheckpointer, Schema, ThreadStatus};

use crate::state::SimState;

/// Id of the only thread of a schedule.
pub(crate) const THREAD: &str = "t";

/// A simulated disk.
pub(crate) struct SimulatedDisk {
    memory: Mutex<MemoryCheckpointer>,
    /// Commits recorded for a seeded bug.
    written: Mutex<Vec<Commit>>,
    thread: ThreadId,
    schema: Arc<Schema>,
    /// True if values are returned as plain data, as after a restart, instead of the typed values that were saved.
    is_cold: bool,
}

impl SimulatedDisk {
    pub(crate) fn new(is_cold: bool) -> Self {
        let schema = SimState::schema().expect("a derived state has a schema");
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

    pub(crate) fn load(
        &self,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        let loaded = immediate(self.memory().load(&self.thread, namespace, at))?;
        if self.is_cold { loaded.map(with_plain_values).transpose() } else { Ok(loaded) }
    }

    pub(crate) fn history(
        &self,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let history = immediate(self.memory().history(&self.thread, namespace, query))?;
        if self.is_cold { history.into_iter().map(with_plain_values).collect() } else { Ok(history) }
    }

    pub(crate) fn status(&self) -> Result<Option<ThreadStatus>> {
        immediate(self.memory().status(&self.thread))
    }

    pub(crate) fn namespaces(&self) -> Result<Vec<CheckpointNamespace>> {
        immediate(self.memory().namespaces(&self.thread))
    }

    pub(crate) fn events(&self, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let mut events = immediate(self.memory().events(&self.thread, query))?;
        if self.is_cold {
            events.iter_mut().try_for_each(|event| plain(&event.payload).map(|payload| event.payload = payload))?;
        }
        Ok(events)
    }

    pub(crate) fn last_event(&self) -> Result<u64> {
        immediate(self.memory().last_event_number(&self.thread))
    }

    fn memory(&self) -> MutexGuard<'_, MemoryCheckpointer> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, Vec<Commit>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a checkpoint with this id was written; recorded only for a seeded bug.
    pub(crate) fn was_written(&self, id: CheckpointId) -> bool {
        self.written().iter().any(|commit| commit.checkpoint.as_ref().is_some_and(|written| written.id == id))
    }

    /// Records a commit for [`SimulatedDisk::rewrite`].
    pub(crate) fn remember(&self, commit: Commit) {
        self.written().push(commit);
    }

    /// Writes all commits again except the checkpoint with this id and those that depend on it.
    pub(crate) fn rewrite(&self, without: CheckpointId, fence: u64) {
        let rebuilt = MemoryCheckpointer::new();
        let mut lease = immediate(rebuilt.acquire(&self.thread, RunId::from_bits(0)));
        while lease.as_ref().is_ok_and(|lease| lease.fence < fence) {
            lease = immediate(rebuilt.acquire(&self.thread, RunId::from_bits(0)));
        }
        let mut written = self.written();
        written.retain(|commit| commit.checkpoint.as_ref().is_none_or(|written| written.id != without));
        if let Ok(lease) = lease {
            for commit in &mut *written {
                commit.lease = lease.clone();
                let _ = immediate(rebuilt.commit(commit));
            }
        }
        *self.memory() = rebuilt;
    }

    /// Reads the state of the root graph at a checkpoint.
    pub(crate) fn read(&self, at: CheckpointSelector) -> Result<Option<(Arc<SimState>, CheckpointTuple)>> {
        let loaded = immediate(self.memory().load(&self.thread, &CheckpointNamespace::root(), at))?;
        loaded.map(|loaded| Ok((self.restore(&loaded)?, loaded))).transpose()
    }

    /// Returns true if a checkpoint of the root graph exists.
    pub(crate) fn has(&self, id: CheckpointId) -> bool {
        // With limit 0 nothing is read, but an unknown id is still rejected.
        let query = HistoryQuery { before: Some(id), limit: Some(0), ..HistoryQuery::default() };
        immediate(self.memory().history(&self.thread, &CheckpointNamespace::root(), &query)).is_ok()
    }

    /// Reads the states of the root graph, oldest first.
    pub(crate) fn root_history(&self) -> Result<Vec<(Arc<Checkpoint>, Arc<SimState>)>> {
        let query = HistoryQuery::default();
        let history = immediate(self.memory().history(&self.thread, &CheckpointNamespace::root(), &query))?;
        history.iter().rev().map(|loaded| Ok((loaded.checkpoint.clone(), self.restore(loaded)?))).collect()
    }

    fn restore(&self, loaded: &CheckpointTuple) -> Result<Arc<SimState>> {
        let (state, _) = restore_state(&self.schema, loaded)?;
        state.downcast::<SimState>().map_err(|_| superstep::Error::internal("a state of another type"))
    }
}

/// Returns the result of a future that never waits.
fn immediate<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the in-memory checkpointer never waits"),
    }
}

/// Converts a loaded checkpoint to plain data and back.
fn with_plain_values(loaded: CheckpointTuple) -> Result<CheckpointTuple> {
    let CheckpointTuple { checkpoint, mut fields, pending } = loaded;
    for (_, log) in &mut fields {
        for (_, value) in log {
            *value = plain(value)?;
        }
    }
    let tasks = checkpoint.next_tasks.iter().map(plain_task).collect::<Result<Vec<StoredTask>>>()?;
    let checkpoint = Arc::new(Checkpoint { next_tasks: tasks, ..(*checkpoint).clone() });
    let pending = pending.iter().map(round_trip::<PendingEntry>).collect::<Result<_>>()?;
    Ok(CheckpointTuple { checkpoint, fields, pending })
}

fn plain(value: &AnyValue) -> Result<AnyValue> {
    Ok(AnyValue::json(value.to_json().map_err(|error| superstep::Error::internal(error.to_string()))?))
}

fn plain_task(task: &StoredTask) -> Result<StoredTask> {
    let Some(send) = &task.send else { return Ok(task.clone()) };
    let send = Some(StoredSend { payload: plain(&send.payload)?, ..send.clone() });
    Ok(StoredTask { send, ..task.clone() })
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> Result<T> {
    let unreadable = |error: serde_json::Error| superstep::Error::internal(error.to_string());
    serde_json::from_value(serde_json::to_value(value).map_err(unreadable)?).map_err(unreadable)
}
