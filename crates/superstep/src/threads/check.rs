//! Whether stored threads fit a graph, before it runs on them: what is fine, what is migrated, what would break.
//!
//! Only reads, a page at a time.

use superstep_core::checkpoint::{Checkpoint, Namespace};
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::machine::{check_thread, ids_at};
use superstep_core::port::{At, HistoryQuery, Loaded, SharedCheckpointer, ThreadsQuery};
use superstep_core::state::State;

use super::Threads;
use crate::program::{Persistence, Program};

/// How many names of threads are asked for at once.
const PAGE: usize = 100;
/// How many checkpoints are held at once.
const HELD: usize = 16;

/// How far back threads are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Where they stand: what a run would go on from.
    #[default]
    Newest,
    /// All checkpoints: also what a fork would go on from.
    History,
}

/// What was found about a thread.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Finding {
    /// It is in the shape of today's state.
    Fine,
    /// It is read through migrations, from this version on; the oldest one, where there are several.
    Migrates {
        /// The version.
        from: u32,
    },
    /// It cannot go on.
    Breaks {
        /// The checkpoint.
        checkpoint: CheckpointId,
        /// The path of the graph it is of.
        namespace: Namespace,
        /// Why.
        error: Error,
    },
    /// It is of another graph, which shares the store.
    OfAnother {
        /// The name of that graph.
        graph: String,
    },
}

/// How many threads were found how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Fine as they are.
    pub fine: u64,
    /// Read through migrations.
    pub migrates: u64,
    /// Cannot go on.
    pub breaks: u64,
    /// Of other graphs.
    pub of_others: u64,
}

impl<S: State, C: Send + Sync + 'static> Threads<S, C> {
    /// Tries whether the threads in the store fit this graph: their states, the nodes that are due, and what finished
    /// tasks have written. Runs nothing and writes nothing; `each` hears of every thread, in the order of their ids.
    ///
    /// Graphs inside are looked at with it where they are nodes of this one.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use superstep::{Depth, Finding};
    ///
    /// # let mut graph = Graph::<Count>::new("count");
    /// # let one = graph.node("one", || Count::update().n(1_u64));
    /// # graph.edge(START, one).edge(one, END).checkpointer(Memory::new());
    /// # let graph = graph.compile()?;
    /// # graph.run(Count::input().n(0_u64)).thread("t").await?;
    /// let checked = graph.threads().check(Depth::Newest, |thread, finding| {
    ///     if let Finding::Breaks { error, .. } = finding {
    ///         eprintln!("{thread}: {error}");
    ///     }
    /// }).await?;
    /// assert_eq!((checked.fine, checked.breaks), (1, 0));
    /// # Ok::<(), superstep::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the store cannot be asked; what is wrong with a thread is a finding.
    pub async fn check(
        &self,
        depth: Depth,
        mut each: impl FnMut(&ThreadId, &Finding) + std::marker::Send,
    ) -> Result<Checked> {
        let saver = self.saver()?;
        let (mut checked, mut after) = (Checked::default(), None);
        loop {
            let page = saver.threads(&ThreadsQuery { after, limit: Some(PAGE) }).await?;
            for thread in &page {
                let look = Look { saver, thread, depth };
                let finding = look.at(&self.graph.program).await?;
                match &finding {
                    Finding::Fine => checked.fine += 1,
                    Finding::Migrates { .. } => checked.migrates += 1,
                    Finding::Breaks { .. } => checked.breaks += 1,
                    Finding::OfAnother { .. } => checked.of_others += 1,
                }
                each(thread, &finding);
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.clone()),
                _ => return Ok(checked),
            }
        }
    }
}

/// A look at one thread.
struct Look<'a> {
    saver: &'a SharedCheckpointer,
    thread: &'a ThreadId,
    depth: Depth,
}

impl Look<'_> {
    async fn at(&self, program: &Program) -> Result<Finding> {
        let root = Namespace::root();
        let newest = match self.saver.load(self.thread, &root, At::Latest).await {
            Ok(Some(newest)) => newest,
            Ok(None) => return Ok(Finding::Fine),
            Err(error) => return unreadable(CheckpointId::from_bits(0), &root, error),
        };
        if newest.checkpoint.graph != program.topology.name {
            return Ok(Finding::OfAnother { graph: newest.checkpoint.graph.to_string() });
        }
        let mut finding = self.graph(program, &root, newest).await?;
        for namespace in self.saver.namespaces(self.thread).await?.iter().filter(|namespace| !namespace.is_root()) {
            if matches!(finding, Finding::Breaks { .. }) {
                return Ok(finding);
            }
            if let Some((inner, newest)) = self.inside(program, namespace).await? {
                finding = worse(finding, self.graph(inner, namespace, newest).await?);
            }
        }
        Ok(finding)
    }

    /// A graph inside and where it stands, unless nobody will go on with it.
    async fn inside<'p>(&self, program: &'p Program, path: &Namespace) -> Result<Option<(&'p Program, Loaded)>> {
        let (mut program, mut around) = (program, Namespace::root());
        let mut is_gone = false;
        for segment in path.as_str().split('|') {
            let name = segment.split(':').next().unwrap_or(segment);
            let Some(id) = program.topology.find(name) else { return Ok(None) };
            let Some(inner) = &program.nodes[id.index()].inner else { return Ok(None) };
            if inner.settings.persistence != Persistence::PerThread && self.depth == Depth::Newest {
                let outer = self.saver.load(self.thread, &around, At::Latest).await?;
                let spec = program.topology.node(id);
                let is_due = |outer: Loaded| is_due(&around, spec, &outer.checkpoint, segment);
                is_gone |= !outer.is_some_and(is_due);
            }
            (program, around) = (inner, around.child(segment));
        }
        let newest = self.saver.load(self.thread, path, At::Latest).await?;
        Ok(newest.filter(|_| !is_gone).map(|newest| (program, newest)))
    }

    async fn graph(&self, program: &Program, namespace: &Namespace, newest: Loaded) -> Result<Finding> {
        let mut before = newest.checkpoint.id;
        let mut finding = found(program, namespace, newest)?;
        while self.depth == Depth::History && !matches!(finding, Finding::Breaks { .. }) {
            let query = HistoryQuery { before: Some(before), limit: Some(HELD), ..HistoryQuery::default() };
            let page = match self.saver.history(self.thread, namespace, &query).await {
                Ok(page) => page,
                Err(error) => return unreadable(before, namespace, error),
            };
            let Some(oldest) = page.last() else { break };
            before = oldest.checkpoint.id;
            for loaded in page {
                finding = worse(finding, found(program, namespace, loaded)?);
            }
        }
        Ok(finding)
    }
}

/// Whether the task that a path names is still due.
fn is_due(around: &Namespace, node: &superstep_core::graph::NodeSpec, outer: &Checkpoint, segment: &str) -> bool {
    let task = segment.split(':').nth(1).unwrap_or_default();
    ids_at(around, node, outer).any(|id| id.to_string() == task)
}

fn found(program: &Program, namespace: &Namespace, loaded: Loaded) -> Result<Finding> {
    let checkpoint = loaded.checkpoint.id;
    match check_thread(&program.topology, loaded) {
        Ok(None) => Ok(Finding::Fine),
        Ok(Some(from)) => Ok(Finding::Migrates { from }),
        Err(error) => unreadable(checkpoint, namespace, error),
    }
}

/// What is wrong with a thread is told of it; a store that cannot be asked ends the look at all of them.
fn unreadable(checkpoint: CheckpointId, namespace: &Namespace, error: Error) -> Result<Finding> {
    match error.code() {
        Code::StoreUnavailable | Code::Timeout | Code::Cancelled => Err(error),
        _ => Ok(Finding::Breaks { checkpoint, namespace: namespace.clone(), error }),
    }
}

fn worse(one: Finding, other: Finding) -> Finding {
    match (one, other) {
        (Finding::Migrates { from: one }, Finding::Migrates { from: other }) => {
            Finding::Migrates { from: one.min(other) }
        }
        (Finding::Fine, other) | (other @ Finding::Breaks { .. }, _) | (_, other @ Finding::Breaks { .. }) => other,
        (one, _) => one,
    }
}
