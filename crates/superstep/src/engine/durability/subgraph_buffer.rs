//! Commits at the end of a run: commits of subgraphs are buffered until the root graph commits, in the same
//! transaction.
//!
//! So a crash never leaves a subgraph ahead of its parent. Reads see buffered commits on top of stored data. Commits
//! of the root graph are buffered in its machine.

use std::sync::{Arc, Mutex};

use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, CheckpointNamespace, CheckpointSource, FieldChange, PendingEntry};
use superstep_core::delegate_checkpointer;
use superstep_core::error::Result;
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, Commit, EventsQuery, FieldLog, HistoryQuery, SharedCheckpointer,
    StoredEvent,
};

use super::without_state;
use crate::engine::context::lock;

/// A checkpointer that buffers the commits of subgraphs. Clones share one buffer.
#[derive(Clone)]
pub(crate) struct SubgraphCommitBuffer {
    store: SharedCheckpointer,
    waiting: Arc<Mutex<Vec<Commit>>>,
}

impl SubgraphCommitBuffer {
    pub(super) fn new(store: SharedCheckpointer) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// Buffers a commit. The last commit of each graph keeps its state for full values: the graph has ended or is
    /// interrupted, so nothing has to copy the state. A graph continues after its input commit, so that commit is
    /// buffered without state.
    pub(crate) fn buffer(&self, commit: &Commit) {
        let is_input = |checkpoint: &Arc<Checkpoint>| checkpoint.source == CheckpointSource::Input;
        let state = commit.state.clone().filter(|_| !commit.checkpoint.as_ref().is_some_and(is_input));
        let mut waiting = lock(&self.waiting);
        let mut same_graph = waiting.iter_mut().rev().filter(|other| other.namespace == commit.namespace);
        if let Some(earlier) = same_graph.find(|other| other.state.is_some()).filter(|_| state.is_some()) {
            earlier.state = None;
        }
        waiting.push(Commit { state, ..without_state(commit) });
    }

    /// Returns the buffered commits that lead to a checkpoint, oldest first.
    fn commits_to(&self, namespace: &CheckpointNamespace, at: CheckpointSelector) -> Vec<Commit> {
        let waiting = lock(&self.waiting);
        let (mut selector, mut commits) = (Some(at), Vec::new());
        for commit in waiting.iter().rev().filter(|commit| commit.namespace == *namespace) {
            let Some(checkpoint) = &commit.checkpoint else { continue };
            let is_newest = matches!(selector, Some(CheckpointSelector::Latest | CheckpointSelector::NewerThan(_)));
            if is_newest || selector == Some(CheckpointSelector::Id(checkpoint.id)) {
                selector = checkpoint.parent.map(CheckpointSelector::Id);
                commits.push(commit.clone());
            }
        }
        commits.reverse();
        commits
    }

    /// Adds buffered pending entries of the tasks of a checkpoint.
    fn add_pending_entries(&self, namespace: &CheckpointNamespace, loaded: &mut CheckpointTuple) {
        let waiting = lock(&self.waiting);
        let commits = waiting.iter().filter(|commit| commit.namespace == *namespace);
        for pending in
            commits.flat_map(|commit| &commit.pending).filter(|pending| pending.checkpoint == loaded.checkpoint.id)
        {
            let is_same =
                |other: &&mut PendingEntry| other.task == pending.task && other.entry.slot() == pending.entry.slot();
            match loaded.pending.iter_mut().find(is_same) {
                Some(existing) => *existing = pending.clone(),
                None => loaded.pending.push(pending.clone()),
            }
        }
    }

    /// Returns the buffered events in the order of their numbers. All stored events precede them.
    fn unsaved_events(&self) -> Vec<StoredEvent> {
        let mut events: Vec<_> = lock(&self.waiting).iter().flat_map(|commit| commit.events.clone()).collect();
        events.sort_by_key(|event| event.number);
        events
    }

    /// Returns the buffered checkpoints, newest first.
    fn ids(&self, namespace: &CheckpointNamespace) -> Vec<CheckpointId> {
        let waiting = lock(&self.waiting);
        let commits = waiting.iter().rev().filter(|commit| commit.namespace == *namespace);
        commits.filter_map(|commit| commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id)).collect()
    }
}

fn add_change(fields: &mut Vec<(Arc<str>, FieldLog)>, change: FieldChange) {
    let FieldChange { field, change, delta: part } = change;
    let index = fields.iter().position(|(name, _)| *name == field).unwrap_or_else(|| {
        fields.push((field, Vec::new()));
        fields.len() - 1
    });
    let log = &mut fields[index].1;
    if change == Change::Set {
        log.clear();
    }
    log.push((change, part));
}

impl Checkpointer for SubgraphCommitBuffer {
    delegate_checkpointer!(this => this.store; acquire, release, threads, status);
    delegate_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        if !commit.namespace.is_root() {
            self.buffer(commit);
            return Ok(());
        }
        let subgraph_commits = std::mem::take(&mut *lock(&self.waiting));
        if subgraph_commits.is_empty() {
            return self.store.commit(commit).await;
        }
        let all = Commit { subgraph_commits, ..commit.clone() };
        let saved = self.store.commit(&all).await;
        if saved.is_err() {
            // A retry of the commit must include the subgraphs again.
            lock(&self.waiting).splice(..0, all.subgraph_commits);
        }
        saved
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        let commits = self.commits_to(namespace, at);
        let stored = match commits.first().and_then(|first| first.checkpoint.as_ref()) {
            None => Some(at),
            Some(first) => first.parent.map(CheckpointSelector::Id),
        };
        let mut loaded = match stored {
            Some(at) => self.store.load(thread, namespace, at).await?,
            None => None,
        };
        for Commit { checkpoint, changes, .. } in commits {
            let Some(checkpoint) = checkpoint else { continue };
            let mut fields = loaded.map(|loaded| loaded.fields).unwrap_or_default();
            changes.into_iter().for_each(|change| add_change(&mut fields, change));
            loaded = Some(CheckpointTuple { checkpoint, fields, pending: Vec::new() });
        }
        if let Some(loaded) = &mut loaded {
            self.add_pending_entries(namespace, loaded);
        }
        Ok(loaded)
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let mut ids = self.ids(namespace);
        let mut stored_query = query.clone();
        match query.before.map(|before| ids.iter().position(|id| *id == before)) {
            Some(Some(index)) => {
                ids.drain(..=index);
                stored_query.before = None;
            }
            // Stored checkpoints are older than all buffered ones.
            Some(None) => ids.clear(),
            None => {}
        }
        let max = query.limit.unwrap_or(usize::MAX);
        let mut checkpoints = Vec::new();
        for id in ids {
            let loaded = self.load(thread, namespace, CheckpointSelector::Id(id)).await?;
            checkpoints.extend(loaded.filter(|loaded| query.matches(&loaded.checkpoint)));
        }
        checkpoints.truncate(max);
        stored_query.limit = query.limit.map(|limit| limit - checkpoints.len());
        if stored_query.limit != Some(0) {
            let mut stored = self.store.history(thread, namespace, &stored_query).await?;
            stored.iter_mut().for_each(|loaded| self.add_pending_entries(namespace, loaded));
            checkpoints.extend(stored);
        }
        Ok(checkpoints)
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
        let mut namespaces = self.store.namespaces(thread).await?;
        namespaces.extend(lock(&self.waiting).iter().map(|commit| commit.namespace.clone()));
        namespaces.sort();
        namespaces.dedup();
        Ok(namespaces)
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let mut events = self.store.events(thread, query).await?;
        events.extend(self.unsaved_events().into_iter().filter(|event| query.matches(event.number, event.run)));
        events.truncate(query.limit.unwrap_or(usize::MAX));
        Ok(events)
    }

    async fn last_event_number(&self, thread: &ThreadId) -> Result<u64> {
        let waiting = self.unsaved_events().last().map(|event| event.number);
        Ok(self.store.last_event_number(thread).await?.max(waiting.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use superstep_core::id::RunId;
    use superstep_core::testing::block_on;
    use superstep_core::value::AnyValue;

    use super::*;
    use crate::MemoryCheckpointer;

    /// R-FWK-33: buffered events are returned after stored events, and are stored with the commit of the root graph.
    #[test]
    fn buffered_events_are_returned_and_then_stored() {
        let (memory, run) = (MemoryCheckpointer::new(), RunId::from_bits(1));
        let buffer = SubgraphCommitBuffer::new(memory.clone().into());
        let lease = block_on(buffer.acquire(&"t".into(), run)).unwrap();
        let commit = |path: &str, numbers: &[u64]| {
            let event = |number: &u64| StoredEvent { number: *number, run, payload: AnyValue::json(json!(number)) };
            let events = numbers.iter().map(event).collect();
            Commit { events, ..Commit::empty(lease.clone(), path.into()) }
        };
        block_on(buffer.commit(&commit("", &[1]))).unwrap();
        block_on(buffer.commit(&commit("inner", &[3]))).unwrap();
        let event_numbers = |store: &SharedCheckpointer, query: &EventsQuery| -> Vec<u64> {
            block_on(store.events(&"t".into(), query)).unwrap().iter().map(|event| event.number).collect()
        };
        let (all, first) = (EventsQuery::default(), EventsQuery { limit: Some(1), ..EventsQuery::default() });
        let (above, below) = (buffer.clone().into(), memory.into());
        assert_eq!(
            (event_numbers(&above, &all), event_numbers(&above, &first), event_numbers(&below, &all)),
            (vec![1, 3], vec![1], vec![1])
        );
        assert_eq!(event_numbers(&above, &EventsQuery { after: Some(1), ..all.clone() }), [3]);
        assert_eq!(block_on(above.last_event_number(&"t".into())).unwrap(), 3);
        // Earlier events of the root graph are stored with this commit.
        block_on(buffer.commit(&commit("", &[2, 4]))).unwrap();
        assert_eq!((event_numbers(&above, &all), event_numbers(&below, &all)), (vec![1, 2, 3, 4], vec![1, 2, 3, 4]));
    }
}
