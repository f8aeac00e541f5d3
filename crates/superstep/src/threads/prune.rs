//! Pruning of old checkpoints: of one thread, of all threads, and automatically after a run.

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention, SharedCheckpointer, ThreadsQuery};
use superstep_core::state::GraphState;

use super::Threads;
use crate::engine::context::RunShared;
use crate::engine::start::system_environment;

/// Page size in threads.
const PAGE: usize = 100;

/// Summary of pruning many threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneSummary {
    /// Number of threads.
    pub threads: u64,
    /// Number of removed checkpoints.
    pub checkpoints: u64,
    /// Removed bytes, if the checkpointer reports them.
    pub bytes: u64,
}

impl<S: GraphState, C: Send + Sync + 'static> Threads<S, C> {
    /// Removes old checkpoints of a thread. The remaining ones stay complete.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn prune(&self, thread: impl Into<ThreadId>, retention: &Retention) -> Result<PruneReport> {
        self.require_checkpointer()?.prune(&thread.into(), &retention.resolve_max_age(&*system_environment().0)).await
    }

    /// Removes old checkpoints of all threads in the checkpointer, including threads of other graphs. Calls `each`
    /// after every thread.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use superstep::Retention;
    ///
    /// # let mut graph = StateGraph::<Count>::new("count");
    /// # let one = graph.add_node("one", || Count::update().n(1_u64));
    /// # graph.add_edge(START, one).add_edge(one, END).checkpointer(MemoryCheckpointer::new());
    /// # let graph = graph.compile()?;
    /// # graph.invoke(Count::input().n(0_u64)).thread("t").await?;
    /// let summary = graph.threads().prune_all(&Retention::keep_last(1).dry_run(), |_, _| {}).await?;
    /// assert_eq!((summary.threads, summary.checkpoints), (1, 1));
    /// # Ok::<(), superstep::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails; the threads before the failing one are pruned.
    pub async fn prune_all(
        &self,
        retention: &Retention,
        mut each: impl FnMut(&ThreadId, &PruneReport) + std::marker::Send,
    ) -> Result<PruneSummary> {
        let (checkpointer, retention) =
            (self.require_checkpointer()?, retention.resolve_max_age(&*system_environment().0));
        let (mut pruned, mut after) = (PruneSummary::default(), None);
        loop {
            let page = checkpointer.threads(&ThreadsQuery { after, limit: Some(PAGE) }).await?;
            for thread in &page {
                let report = checkpointer.prune(thread, &retention).await?;
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

/// Prunes the thread of a run that has ended, if its graph has a retention. A failure is returned as a warning; the
/// next run retries.
pub(crate) async fn prune_after_run(shared: &RunShared, store: Option<&SharedCheckpointer>) -> Option<String> {
    let (retention, store, thread) = (shared.program.settings.retention.as_ref()?, store?, shared.thread.as_ref()?);
    let error = store.prune(thread, &retention.resolve_max_age(&*shared.clock)).await.err()?;
    Some(format!("failed to prune old checkpoints of thread `{thread}`: {error}"))
}
