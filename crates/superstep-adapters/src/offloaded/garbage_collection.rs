//! Garbage collection of unreferenced values.
//!
//! A value may be referenced again at any time, so removal takes two rounds. The first round marks a value: from then
//! on no new reference to this copy is created, and a commit with the same value stores another copy. The second
//! round, after all commits that had just stored the value have finished, removes the marked values that are still
//! unreferenced; a mark that the value was removed stays for a while, for commits that found the value shortly before.

use std::collections::BTreeSet;
use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::{Checkpointer, EventsQuery, HistoryQuery, KeyValue, PutOptions, ThreadsQuery};

use super::reference::{DELETION_MARKS_PREFIX, FetchPass, GRACE_PERIOD_PREFIX, VALUES_PREFIX, ValueReference};
use super::{OffloadedCheckpointer, restore_event, restore_tuple};

/// Number of keys, threads or checkpoints per page.
const PAGE: usize = 64;

/// Result of a round of [`OffloadedCheckpointer::collect_garbage`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollectReport {
    /// Number of values that are referenced.
    pub referenced: usize,
    /// Number of unreferenced values that a later round will remove, after the waiting time.
    pub marked: usize,
    /// Number of removed values.
    pub removed: usize,
}

/// Content of the mark of a value that a later round will remove.
const MARKED: &[u8] = b"doomed";
/// Content of the mark of a value that was removed.
const DELETED: &[u8] = b"gone";

fn with_ttl(time: Duration) -> PutOptions {
    PutOptions { if_absent: false, ttl: Some(time) }
}

impl<C: Checkpointer, K: KeyValue> OffloadedCheckpointer<C, K> {
    /// Removes values that are unreferenced and were unreferenced in an earlier round; reads all threads.
    ///
    /// To be called periodically, for example once a day; calls may overlap, and the next call finishes the work of a
    /// process that died. `wait` is the minimum time for which an unreferenced value stays, so it has to be longer
    /// than any commit and any round; an hour is sufficient.
    ///
    /// # Errors
    ///
    /// Returns an error if a store cannot be reached or a checkpoint cannot be read. No referenced value is removed.
    pub async fn collect_garbage(&self, wait: Duration) -> Result<CollectReport> {
        let marked = self.keys(DELETION_MARKS_PREFIX).await?;
        // Read before the checkpoints: a commit that stored a value before its waiting time was over has referenced
        // it by then.
        let in_grace_period = self.keys(GRACE_PERIOD_PREFIX).await?;
        let values = self.keys(VALUES_PREFIX).await?;
        let referenced = self.all_references().await?;
        let mut report = CollectReport { referenced: referenced.len(), ..CollectReport::default() };
        for reference in values {
            if referenced.contains(&reference) {
                if marked.contains(&reference) {
                    self.values.delete(&[reference.deletion_mark_key()]).await?;
                }
            } else if !marked.contains(&reference) {
                self.values.put(&reference.grace_period_key(), b"", with_ttl(wait)).await?;
                self.values.put(&reference.deletion_mark_key(), MARKED, PutOptions::default()).await?;
                report.marked += 1;
            } else if in_grace_period.contains(&reference) {
                report.marked += 1;
            } else if self.values.get(&reference.deletion_mark_key()).await?.as_deref() == Some(MARKED) {
                // From now on the value counts as removed, and for a while no commit stores this copy again: a commit may
                // have just checked it.
                self.values.put(&reference.deletion_mark_key(), DELETED, with_ttl(wait)).await?;
                self.values.delete(&[reference.key()]).await?;
                report.removed += 1;
            }
        }
        Ok(report)
    }

    async fn keys(&self, prefix: &str) -> Result<BTreeSet<ValueReference>> {
        let (mut references, mut after) = (BTreeSet::new(), None::<String>);
        loop {
            let keys = self.values.list(prefix, after.as_deref(), PAGE).await?;
            references.extend(keys.iter().filter_map(|key| ValueReference::from_key(key)));
            match keys.into_iter().last() {
                Some(last) => after = Some(last),
                None => return Ok(references),
            }
        }
    }

    /// Returns all references in checkpoints and events of all threads.
    async fn all_references(&self) -> Result<BTreeSet<ValueReference>> {
        let (mut references, mut query) = (BTreeSet::new(), ThreadsQuery { after: None, limit: Some(PAGE) });
        loop {
            let threads = self.store.threads(&query).await?;
            for thread in &threads {
                self.references_of_thread(thread, &mut references).await?;
                self.references_of_events(thread, &mut references).await?;
            }
            match threads.into_iter().last() {
                Some(last) => query.after = Some(last),
                None => return Ok(references),
            }
        }
    }

    async fn references_of_events(&self, thread: &ThreadId, references: &mut BTreeSet<ValueReference>) -> Result<()> {
        let mut query = EventsQuery { limit: Some(PAGE), ..EventsQuery::default() };
        loop {
            let mut events = self.store.events(thread, &query).await?;
            let first_pass = FetchPass::find();
            events.iter_mut().try_for_each(|event| restore_event(&first_pass, thread, event))?;
            references.extend(first_pass.into_references().unwrap_or_default());
            match events.last() {
                Some(last) => query.after = Some(last.number),
                None => return Ok(()),
            }
        }
    }

    async fn references_of_thread(&self, thread: &ThreadId, references: &mut BTreeSet<ValueReference>) -> Result<()> {
        for namespace in self.store.namespaces(thread).await? {
            let mut query = HistoryQuery { limit: Some(PAGE), ..HistoryQuery::default() };
            loop {
                let mut listed = self.store.history(thread, &namespace, &query).await?;
                let first_pass = FetchPass::find();
                listed.iter_mut().try_for_each(|loaded| restore_tuple(&first_pass, thread, loaded))?;
                references.extend(first_pass.into_references().unwrap_or_default());
                match listed.last() {
                    Some(last) => query.before = Some(last.checkpoint.id),
                    None => break,
                }
            }
        }
        Ok(())
    }
}
