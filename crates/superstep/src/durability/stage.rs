//! Saving at the end of a run: what graphs inside do waits here until the outermost one saves, in the same transaction.
//!
//! So no crash finds a graph inside that is ahead of the one around it. Reading sees what waits on top of what is
//! stored. What the outermost graph does waits in its machine.

use std::sync::{Arc, Mutex};

use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, FieldChange, Namespace, Pending, Source};
use superstep_core::error::Result;
use superstep_core::forward_checkpointer;
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, FieldLog, HistoryQuery, Loaded, SharedCheckpointer, StoredEvent,
};

use super::without_state;
use crate::context::lock;

/// A store in front of which the commits of graphs inside wait. Clones are one and the same.
#[derive(Clone)]
pub(crate) struct Stage {
    store: SharedCheckpointer,
    waiting: Arc<Mutex<Vec<Commit>>>,
}

impl Stage {
    pub(super) fn new(store: SharedCheckpointer) -> Self {
        Self { store, waiting: Arc::default() }
    }

    /// Lets a commit wait. The last of each graph keeps its state, for full copies: the graph is over or has to ask, so
    /// nobody is made to copy it. After its input it goes on, so that one does not.
    pub(crate) fn put(&self, commit: &Commit) {
        let goes_on = |checkpoint: &Arc<Checkpoint>| checkpoint.source == Source::Input;
        let state = commit.state.clone().filter(|_| !commit.checkpoint.as_ref().is_some_and(goes_on));
        let mut waiting = lock(&self.waiting);
        let mut same = waiting.iter_mut().rev().filter(|other| other.namespace == commit.namespace);
        if let Some(earlier) = same.find(|other| other.state.is_some()).filter(|_| state.is_some()) {
            earlier.state = None;
        }
        waiting.push(Commit { state, ..without_state(commit) });
    }

    /// The commits that wait and lead to a checkpoint, oldest first.
    fn row(&self, namespace: &Namespace, at: At) -> Vec<Commit> {
        let waiting = lock(&self.waiting);
        let (mut wanted, mut row) = (Some(at), Vec::new());
        for commit in waiting.iter().rev().filter(|commit| commit.namespace == *namespace) {
            let Some(checkpoint) = &commit.checkpoint else { continue };
            let is_newest = matches!(wanted, Some(At::Latest | At::Newer(_)));
            if is_newest || wanted == Some(At::Id(checkpoint.id)) {
                wanted = checkpoint.parent.map(At::Id);
                row.push(commit.clone());
            }
        }
        row.reverse();
        row
    }

    /// Adds what waits to be known of the tasks of a checkpoint.
    fn add_pending(&self, namespace: &Namespace, loaded: &mut Loaded) {
        let waiting = lock(&self.waiting);
        let commits = waiting.iter().filter(|commit| commit.namespace == *namespace);
        for pending in commits.flat_map(|commit| &commit.pending).filter(|it| it.checkpoint == loaded.checkpoint.id) {
            let is_same = |it: &&mut Pending| it.task == pending.task && it.entry.slot() == pending.entry.slot();
            match loaded.pending.iter_mut().find(is_same) {
                Some(known) => *known = pending.clone(),
                None => loaded.pending.push(pending.clone()),
            }
        }
    }

    /// The events that wait, in the order of their numbers; all that are stored come before them.
    fn unsaved_events(&self) -> Vec<StoredEvent> {
        let mut events: Vec<_> = lock(&self.waiting).iter().flat_map(|commit| commit.events.clone()).collect();
        events.sort_by_key(|event| event.number);
        events
    }

    /// The checkpoints that wait, newest first.
    fn ids(&self, namespace: &Namespace) -> Vec<CheckpointId> {
        let waiting = lock(&self.waiting);
        let mine = waiting.iter().rev().filter(|commit| commit.namespace == *namespace);
        mine.filter_map(|commit| commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id)).collect()
    }
}

fn add_change(fields: &mut Vec<(Arc<str>, FieldLog)>, change: FieldChange) {
    let FieldChange { field, change, part } = change;
    let place = fields.iter().position(|(name, _)| *name == field).unwrap_or_else(|| {
        fields.push((field, Vec::new()));
        fields.len() - 1
    });
    let log = &mut fields[place].1;
    if change == Change::Set {
        log.clear();
    }
    log.push((change, part));
}

impl Checkpointer for Stage {
    forward_checkpointer!(this => this.store; acquire, release, threads, status);
    forward_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        if !commit.namespace.is_root() {
            self.put(commit);
            return Ok(());
        }
        let inside = std::mem::take(&mut *lock(&self.waiting));
        if inside.is_empty() {
            return self.store.commit(commit).await;
        }
        let all = Commit { inside, ..commit.clone() };
        let saved = self.store.commit(&all).await;
        if saved.is_err() {
            // Who tries again must not leave the graphs inside behind.
            lock(&self.waiting).splice(..0, all.inside);
        }
        saved
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        let row = self.row(namespace, at);
        let stored = match row.first().and_then(|first| first.checkpoint.as_ref()) {
            None => Some(at),
            Some(first) => first.parent.map(At::Id),
        };
        let mut loaded = match stored {
            Some(at) => self.store.load(thread, namespace, at).await?,
            None => None,
        };
        for Commit { checkpoint, changes, .. } in row {
            let Some(checkpoint) = checkpoint else { continue };
            let mut fields = loaded.map(|loaded| loaded.fields).unwrap_or_default();
            changes.into_iter().for_each(|change| add_change(&mut fields, change));
            loaded = Some(Loaded { checkpoint, fields, pending: Vec::new() });
        }
        if let Some(loaded) = &mut loaded {
            self.add_pending(namespace, loaded);
        }
        Ok(loaded)
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let mut ids = self.ids(namespace);
        let mut rest = query.clone();
        match query.before.map(|before| ids.iter().position(|id| *id == before)) {
            Some(Some(place)) => {
                ids.drain(..=place);
                rest.before = None;
            }
            // What is stored is older than all that waits.
            Some(None) => ids.clear(),
            None => {}
        }
        let most = query.limit.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for id in ids {
            let loaded = self.load(thread, namespace, At::Id(id)).await?;
            found.extend(loaded.filter(|loaded| query.matches(&loaded.checkpoint)));
        }
        found.truncate(most);
        rest.limit = query.limit.map(|limit| limit - found.len());
        if rest.limit != Some(0) {
            let mut stored = self.store.history(thread, namespace, &rest).await?;
            stored.iter_mut().for_each(|loaded| self.add_pending(namespace, loaded));
            found.extend(stored);
        }
        Ok(found)
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<Namespace>> {
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

    async fn last_event(&self, thread: &ThreadId) -> Result<u64> {
        let waiting = self.unsaved_events().last().map(|event| event.number);
        Ok(self.store.last_event(thread).await?.max(waiting.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use superstep_core::datum::Datum;
    use superstep_core::id::RunId;
    use superstep_core::testing::block_on;

    use super::*;
    use crate::Memory;

    /// R-FWK-33: events that wait are heard behind those that are stored, and are stored with the outermost graph.
    #[test]
    fn events_that_wait_are_heard_and_then_stored() {
        let (memory, run) = (Memory::new(), RunId::from_bits(1));
        let stage = Stage::new(memory.clone().into());
        let lease = block_on(stage.acquire(&"t".into(), run)).unwrap();
        let commit = |path: &str, numbers: &[u64]| {
            let event = |number: &u64| StoredEvent { number: *number, run, body: Datum::json(json!(number)) };
            let events = numbers.iter().map(event).collect();
            Commit { events, ..Commit::empty(lease.clone(), path.into()) }
        };
        block_on(stage.commit(&commit("", &[1]))).unwrap();
        block_on(stage.commit(&commit("inner", &[3]))).unwrap();
        let heard = |store: &SharedCheckpointer, query: &EventsQuery| -> Vec<u64> {
            block_on(store.events(&"t".into(), query)).unwrap().iter().map(|event| event.number).collect()
        };
        let (all, first) = (EventsQuery::default(), EventsQuery { limit: Some(1), ..EventsQuery::default() });
        let (above, below) = (stage.clone().into(), memory.into());
        assert_eq!((heard(&above, &all), heard(&above, &first), heard(&below, &all)), (vec![1, 3], vec![1], vec![1]));
        assert_eq!(heard(&above, &EventsQuery { after: Some(1), ..all.clone() }), [3]);
        assert_eq!(block_on(above.last_event(&"t".into())).unwrap(), 3);
        // What the outermost graph said before is saved with it.
        block_on(stage.commit(&commit("", &[2, 4]))).unwrap();
        assert_eq!((heard(&above, &all), heard(&below, &all)), (vec![1, 2, 3, 4], vec![1, 2, 3, 4]));
    }
}
