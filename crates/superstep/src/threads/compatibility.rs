//! Compatibility check of stored threads with a graph before it runs on them: current, needs migration, incompatible.
//!
//! Read-only; threads are read page by page.

use superstep_core::checkpoint::{Checkpoint, CheckpointNamespace};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::machine::{check_compatibility, task_ids_at};
use superstep_core::port::{CheckpointSelector, CheckpointTuple, HistoryQuery, SharedCheckpointer, ThreadsQuery};
use superstep_core::state::GraphState;

use super::Threads;
use crate::graph::program::{Program, SubgraphPersistence};

/// Page size in threads.
const THREAD_PAGE: usize = 100;
/// Page size in checkpoints, which are held in memory.
const CHECKPOINT_PAGE: usize = 16;

/// Scope of a compatibility check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckDepth {
    /// The latest checkpoint, from which a run continues.
    #[default]
    Newest,
    /// All checkpoints, from which a fork may continue.
    History,
}

/// Result for one thread.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ThreadCompatibility {
    /// The thread has the current version of the state.
    Current,
    /// The thread is read through migrations; if there are several versions, from the oldest.
    NeedsMigration {
        /// Oldest stored version of the state.
        from: u32,
    },
    /// The thread cannot continue.
    Incompatible {
        /// Checkpoint that is incompatible with the graph.
        checkpoint: CheckpointId,
        /// Namespace of its graph.
        namespace: CheckpointNamespace,
        /// Reason why the thread cannot continue.
        error: Error,
    },
    /// The thread belongs to another graph in the same checkpointer.
    OtherGraph {
        /// Name of that graph.
        graph: String,
    },
}

/// Thread counts of a compatibility check, by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompatibilityReport {
    /// Threads with the current version.
    pub current: u64,
    /// Threads that are read through migrations.
    pub needs_migration: u64,
    /// Threads that cannot continue.
    pub incompatible: u64,
    /// Threads of other graphs.
    pub other_graphs: u64,
}

impl<S: GraphState, C: Send + Sync + 'static> Threads<S, C> {
    /// Checks whether the threads in the checkpointer are compatible with this graph: their states, their next nodes,
    /// and the results of finished tasks. Runs nothing and writes nothing. Calls `each` for every thread, in the
    /// order of ids.
    ///
    /// Includes subgraphs that are nodes of this graph.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use superstep::{CheckDepth, ThreadCompatibility};
    ///
    /// # let mut graph = StateGraph::<Count>::new("count");
    /// # let one = graph.add_node("one", || Count::update().n(1_u64));
    /// # graph.add_edge(START, one).add_edge(one, END).checkpointer(MemoryCheckpointer::new());
    /// # let graph = graph.compile()?;
    /// # graph.invoke(Count::input().n(0_u64)).thread("t").await?;
    /// let report = graph.threads().check_compatibility(CheckDepth::Newest, |thread, result| {
    ///     if let ThreadCompatibility::Incompatible { error, .. } = result {
    ///         eprintln!("{thread}: {error}");
    ///     }
    /// }).await?;
    /// assert_eq!((report.current, report.incompatible), (1, 0));
    /// # Ok::<(), superstep::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails; a problem of a thread is part of the report.
    pub async fn check_compatibility(
        &self,
        depth: CheckDepth,
        mut each: impl FnMut(&ThreadId, &ThreadCompatibility) + std::marker::Send,
    ) -> Result<CompatibilityReport> {
        let checkpointer = self.require_checkpointer()?;
        let (mut report, mut after) = (CompatibilityReport::default(), None);
        loop {
            let page = checkpointer.threads(&ThreadsQuery { after, limit: Some(THREAD_PAGE) }).await?;
            for thread in &page {
                let checker = ThreadChecker { checkpointer, thread, depth };
                let result = checker.check(&self.graph.program).await?;
                match &result {
                    ThreadCompatibility::Current => report.current += 1,
                    ThreadCompatibility::NeedsMigration { .. } => report.needs_migration += 1,
                    ThreadCompatibility::Incompatible { .. } => report.incompatible += 1,
                    ThreadCompatibility::OtherGraph { .. } => report.other_graphs += 1,
                }
                each(thread, &result);
            }
            match page.last() {
                Some(last) if page.len() == THREAD_PAGE => after = Some(last.clone()),
                _ => return Ok(report),
            }
        }
    }
}

/// Check of one thread.
struct ThreadChecker<'a> {
    checkpointer: &'a SharedCheckpointer,
    thread: &'a ThreadId,
    depth: CheckDepth,
}

impl ThreadChecker<'_> {
    async fn check(&self, program: &Program) -> Result<ThreadCompatibility> {
        let root = CheckpointNamespace::root();
        let newest = match self.checkpointer.load(self.thread, &root, CheckpointSelector::Latest).await {
            Ok(Some(newest)) => newest,
            Ok(None) => return Ok(ThreadCompatibility::Current),
            Err(error) => return unreadable(CheckpointId::from_bits(0), &root, error),
        };
        if newest.checkpoint.graph != program.topology.name {
            return Ok(ThreadCompatibility::OtherGraph { graph: newest.checkpoint.graph.to_string() });
        }
        let mut result = self.check_graph(program, &root, newest).await?;
        for namespace in
            self.checkpointer.namespaces(self.thread).await?.iter().filter(|namespace| !namespace.is_root())
        {
            if matches!(result, ThreadCompatibility::Incompatible { .. }) {
                return Ok(result);
            }
            if let Some((inner, newest)) = self.find_subgraph(program, namespace).await? {
                result = more_severe(result, self.check_graph(inner, namespace, newest).await?);
            }
        }
        Ok(result)
    }

    /// Returns a subgraph with its latest checkpoint, unless no run will continue it.
    async fn find_subgraph<'p>(
        &self,
        program: &'p Program,
        path: &CheckpointNamespace,
    ) -> Result<Option<(&'p Program, CheckpointTuple)>> {
        let (mut program, mut parent_namespace) = (program, CheckpointNamespace::root());
        let mut is_obsolete = false;
        for segment in path.as_str().split('|') {
            let name = segment.split(':').next().unwrap_or(segment);
            let Some(id) = program.topology.find_node(name) else { return Ok(None) };
            let Some(inner) = &program.nodes[id.index()].subgraph else { return Ok(None) };
            if inner.settings.persistence != SubgraphPersistence::PerThread && self.depth == CheckDepth::Newest {
                let outer = self.checkpointer.load(self.thread, &parent_namespace, CheckpointSelector::Latest).await?;
                let spec = program.topology.node(id);
                let is_scheduled =
                    |outer: CheckpointTuple| is_scheduled(&parent_namespace, spec, &outer.checkpoint, segment);
                is_obsolete |= !outer.is_some_and(is_scheduled);
            }
            (program, parent_namespace) = (inner, parent_namespace.child(segment));
        }
        let newest = self.checkpointer.load(self.thread, path, CheckpointSelector::Latest).await?;
        Ok(newest.filter(|_| !is_obsolete).map(|newest| (program, newest)))
    }

    async fn check_graph(
        &self,
        program: &Program,
        namespace: &CheckpointNamespace,
        newest: CheckpointTuple,
    ) -> Result<ThreadCompatibility> {
        let mut before = newest.checkpoint.id;
        let mut result = checkpoint_compatibility(program, namespace, newest)?;
        while self.depth == CheckDepth::History && !matches!(result, ThreadCompatibility::Incompatible { .. }) {
            let query = HistoryQuery { before: Some(before), limit: Some(CHECKPOINT_PAGE), ..HistoryQuery::default() };
            let page = match self.checkpointer.history(self.thread, namespace, &query).await {
                Ok(page) => page,
                Err(error) => return unreadable(before, namespace, error),
            };
            let Some(oldest) = page.last() else { break };
            before = oldest.checkpoint.id;
            for loaded in page {
                result = more_severe(result, checkpoint_compatibility(program, namespace, loaded)?);
            }
        }
        Ok(result)
    }
}

/// Returns true if the task that a namespace segment names is still scheduled.
fn is_scheduled(
    parent_namespace: &CheckpointNamespace,
    node: &superstep_core::graph::NodeSpec,
    outer: &Checkpoint,
    segment: &str,
) -> bool {
    let task = segment.split(':').nth(1).unwrap_or_default();
    task_ids_at(parent_namespace, node, outer).any(|id| id.to_string() == task)
}

fn checkpoint_compatibility(
    program: &Program,
    namespace: &CheckpointNamespace,
    loaded: CheckpointTuple,
) -> Result<ThreadCompatibility> {
    let checkpoint = loaded.checkpoint.id;
    match check_compatibility(&program.topology, loaded) {
        Ok(None) => Ok(ThreadCompatibility::Current),
        Ok(Some(from)) => Ok(ThreadCompatibility::NeedsMigration { from }),
        Err(error) => unreadable(checkpoint, namespace, error),
    }
}

/// Reports an error of a thread as its result; a failure of the checkpointer ends the whole check.
fn unreadable(checkpoint: CheckpointId, namespace: &CheckpointNamespace, error: Error) -> Result<ThreadCompatibility> {
    match error.code() {
        ErrorCode::StoreUnavailable | ErrorCode::Timeout | ErrorCode::Cancelled => Err(error),
        _ => Ok(ThreadCompatibility::Incompatible { checkpoint, namespace: namespace.clone(), error }),
    }
}

fn more_severe(one: ThreadCompatibility, other: ThreadCompatibility) -> ThreadCompatibility {
    match (one, other) {
        (ThreadCompatibility::NeedsMigration { from: one }, ThreadCompatibility::NeedsMigration { from: other }) => {
            ThreadCompatibility::NeedsMigration { from: one.min(other) }
        }
        (ThreadCompatibility::Current, other)
        | (other @ ThreadCompatibility::Incompatible { .. }, _)
        | (_, other @ ThreadCompatibility::Incompatible { .. }) => other,
        (one, _) => one,
    }
}
