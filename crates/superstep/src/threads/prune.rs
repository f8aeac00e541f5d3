//! Removing old checkpoints: of one thread, of all, and by itself when a run ends.

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention, SharedCheckpointer, ThreadsQuery};
use superstep_core::state::State;

use super::Threads;
use crate::context::Shared;
use crate::launch::real_world;

/// How many names of threads are asked for at once.
const PAGE: usize = 100;

/// What pruning many threads did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Threads that were looked at.
    pub threads: u64,
    /// Checkpoints that went.
    pub checkpoints: u64,
    /// Bytes that went, as far as the store knows.
    pub bytes: u64,
}

impl<S: State, C: Send + Sync + 'static> Threads<S, C> {
    /// Removes old checkpoints of a thread; those that stay remain whole.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn prune(&self, thread: impl Into<ThreadId>, retention: &Retention) -> Result<PruneReport> {
        self.saver()?.prune(&thread.into(), &retention.at(&*real_world().0)).await
    }

    /// Removes old checkpoints of all threads in the store, also of other graphs that share it; `each` hears of every
    /// thread when it is done.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use superstep::Retention;
    ///
    /// # let mut graph = Graph::<Count>::new("count");
    /// # let one = graph.node("one", || Count::update().n(1_u64));
    /// # graph.edge(START, one).edge(one, END).checkpointer(Memory::new());
    /// # let graph = graph.compile()?;
    /// # graph.run(Count::input().n(0_u64)).thread("t").await?;
    /// let would = graph.threads().prune_all(&Retention::last(1).dry_run(), |_, _| {}).await?;
    /// assert_eq!((would.threads, would.checkpoints), (1, 1));
    /// # Ok::<(), superstep::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the store fails; the threads before that one are pruned.
    pub async fn prune_all(
        &self,
        retention: &Retention,
        mut each: impl FnMut(&ThreadId, &PruneReport) + std::marker::Send,
    ) -> Result<Pruned> {
        let (saver, retention) = (self.saver()?, retention.at(&*real_world().0));
        let (mut pruned, mut after) = (Pruned::default(), None);
        loop {
            let page = saver.threads(&ThreadsQuery { after, limit: Some(PAGE) }).await?;
            for thread in &page {
                let report = saver.prune(thread, &retention).await?;
                pruned.threads += 1;
                pruned.checkpoints += report.checkpoints as u64;
                pruned.bytes += report.bytes;
                each(thread, &report);
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.clone()),
                _ => return Ok(pruned),
            }
        }
    }
}

/// Prunes the thread of a run that has ended, where its graph asks for it. What cannot be removed now is next time.
pub(crate) async fn prune_after(shared: &Shared, store: Option<&SharedCheckpointer>) -> Option<String> {
    let (retention, store, thread) = (shared.program.settings.retention.as_ref()?, store?, shared.thread.as_ref()?);
    let error = store.prune(thread, &retention.at(&*shared.clock)).await.err()?;
    Some(format!("old checkpoints of thread `{thread}` were not removed: {error}"))
}
