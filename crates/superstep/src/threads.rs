//! What is saved of threads: states, history, updates from outside, copies.

use std::marker::PhantomData;
use std::sync::Arc;

use superstep_core::checkpoint::{Checkpoint, Entry, Namespace, Question, StoredError};
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId};
use superstep_core::machine::{AsNode, Breakpoints, Config, Machine, OnLimit, Read, StateUpdate, World, read_thread};
use superstep_core::port::{At, HistoryQuery, Loaded, SharedCheckpointer, ThreadStatus, ThreadsQuery};
use superstep_core::state::{IntoDraft, State};

use crate::compiled::Compiled;
use crate::extract::View;
use crate::lanes::WhenBusy;
use crate::launch::{Held, no_checkpoint, real_world};
use crate::redacting::redact_updates;

mod check;
mod events;
mod prune;

pub use check::{Checked, Depth, Finding};
pub use events::KeptEvent;
pub use prune::Pruned;
pub(crate) use prune::prune_after;

/// What is saved of a graph's threads.
pub struct Threads<S, C = ()> {
    graph: Compiled<S, C>,
    saver: Option<SharedCheckpointer>,
}

/// One saved state of a thread.
#[derive(Debug, Clone)]
pub struct Snapshot<S> {
    /// The state.
    pub state: View<S>,
    /// The checkpoint it is of.
    pub checkpoint: Arc<Checkpoint>,
    /// The nodes that are due.
    pub next: Vec<String>,
    /// What is known of the tasks that are due.
    pub tasks: Vec<TaskState>,
}

impl<S> Snapshot<S> {
    /// The questions that wait for an answer.
    #[must_use]
    pub fn questions(&self) -> Vec<&Question> {
        self.tasks.iter().flat_map(|task| &task.questions).collect()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> CheckpointId {
        self.checkpoint.id
    }
}

/// What is known of a task that is due.
#[derive(Debug, Clone)]
pub struct TaskState {
    /// The task.
    pub id: TaskId,
    /// Its node.
    pub node: String,
    /// Whether it has finished.
    pub is_done: bool,
    /// Why it failed the last time.
    pub error: Option<StoredError>,
    /// Its questions: open ones in a live state, all in a history.
    pub questions: Vec<Question>,
}

impl<S: State, C: Send + Sync + 'static> Threads<S, C> {
    pub(crate) fn new(graph: &Compiled<S, C>) -> Self {
        Self { graph: graph.clone(), saver: graph.program.settings.checkpointer.clone() }
    }

    /// Looks in this store, in place of the graph's own.
    #[must_use]
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.saver = Some(checkpointer.into());
        self
    }

    fn saver(&self) -> Result<&SharedCheckpointer> {
        self.saver.as_ref().ok_or_else(|| {
            Error::new(Code::NoCheckpointer, "looking at threads needs a store, and there is none")
                .help("give one: `graph.checkpointer(..)` or `threads().checkpointer(..)`")
        })
    }

    /// The ids of the threads in the store, ascending; threads of other graphs that share it are among them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        self.saver()?.threads(query).await
    }

    /// The newest state of a thread, with the questions that are open.
    ///
    /// # Errors
    /// When there is no such thread, or what is stored does not fit the graph.
    pub async fn state(&self, thread: impl Into<ThreadId>) -> Result<Snapshot<S>> {
        self.state_in(thread, &Namespace::root()).await
    }

    /// The newest state of a graph inside, with the questions that are open there. The graph is the one that runs there.
    ///
    /// # Errors
    /// When no such graph has run on the thread, or what is stored does not fit the graph.
    pub async fn state_in(&self, thread: impl Into<ThreadId>, namespace: &Namespace) -> Result<Snapshot<S>> {
        let thread = thread.into();
        let loaded = self.saver()?.load(&thread, namespace, At::Latest).await?;
        self.snapshot(loaded.ok_or_else(|| no_thread(&thread, namespace))?, true)
    }

    /// The state of a thread at a checkpoint.
    ///
    /// # Errors
    /// When there is no such checkpoint, or what is stored does not fit the graph.
    pub async fn state_at(&self, thread: impl Into<ThreadId>, checkpoint: CheckpointId) -> Result<Snapshot<S>> {
        let thread = thread.into();
        let loaded = self.saver()?.load(&thread, &Namespace::root(), At::Id(checkpoint)).await?;
        let loaded = loaded.ok_or_else(|| no_checkpoint(&thread, checkpoint))?;
        self.snapshot(loaded, false)
    }

    /// The states of a thread, newest first.
    ///
    /// # Errors
    /// When what is stored does not fit the graph.
    pub async fn history(&self, thread: impl Into<ThreadId>, query: &HistoryQuery) -> Result<Vec<Snapshot<S>>> {
        self.history_in(thread, &Namespace::root(), query).await
    }

    /// The states of a graph inside, newest first. The graph is the one that runs there.
    ///
    /// # Errors
    /// When what is stored does not fit the graph.
    pub async fn history_in(
        &self,
        thread: impl Into<ThreadId>,
        namespace: &Namespace,
        query: &HistoryQuery,
    ) -> Result<Vec<Snapshot<S>>> {
        let loaded = self.saver()?.history(&thread.into(), namespace, query).await?;
        loaded.into_iter().map(|loaded| self.snapshot(loaded, false)).collect()
    }

    /// The paths of all graphs that have saved states on a thread.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn namespaces(&self, thread: impl Into<ThreadId>) -> Result<Vec<Namespace>> {
        self.saver()?.namespaces(&thread.into()).await
    }

    /// How a thread stands, or `None` when there is no such thread.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self, thread: impl Into<ThreadId>) -> Result<Option<ThreadStatus>> {
        self.saver()?.status(&thread.into()).await
    }

    fn snapshot(&self, loaded: Loaded, is_live: bool) -> Result<Snapshot<S>> {
        let (topology, checkpoint) = (&self.graph.program.topology, loaded.checkpoint.clone());
        let Read { state, mut loaded, .. } = read_thread(topology, loaded)?;
        // Nodes are shown by the names they have now.
        let name =
            |name: &Arc<str>| topology.find(name).map_or_else(|| name.clone(), |id| topology.node(id).name.clone());
        loaded.pending.iter_mut().for_each(|known| known.node = name(&known.node));
        let state = state.downcast::<S>().map_err(|_| Error::internal("a thread holds a state of another type"))?;
        let mut next: Vec<String> = checkpoint.due.iter().map(|due| name(&due.node).to_string()).collect();
        next.dedup();
        Ok(Snapshot { state: View::new(state), checkpoint, next, tasks: tasks(&loaded, is_live) })
    }

    /// Changes the state of a thread from outside: through the reducers, as nobody or as a node.
    #[must_use = "an update does nothing until it is awaited"]
    pub fn update(&self, thread: impl Into<ThreadId>, update: impl IntoDraft) -> UpdateState<S, C> {
        let update = StateUpdate { update: update.into_draft(), as_node: AsNode::Nobody };
        self.updates(thread, vec![vec![update]])
    }

    /// Changes the state of a thread from outside in several supersteps of several updates each.
    #[must_use = "an update does nothing until it is awaited"]
    pub fn updates(&self, thread: impl Into<ThreadId>, supersteps: Vec<Vec<StateUpdate>>) -> UpdateState<S, C> {
        UpdateState {
            graph: self.graph.clone(),
            saver: self.saver.clone(),
            thread: thread.into(),
            namespace: Namespace::root(),
            at: None,
            supersteps,
            world: None,
            types: PhantomData,
        }
    }

    /// Copies everything of a thread to a new one.
    ///
    /// # Errors
    /// When there is no such thread, or the other exists.
    pub async fn copy(&self, from: impl Into<ThreadId>, to: impl Into<ThreadId>) -> Result<()> {
        self.saver()?.copy_thread(&from.into(), &to.into()).await
    }

    /// Removes everything of a thread.
    ///
    /// # Errors
    /// When a run moves it, or the store fails.
    pub async fn delete(&self, thread: impl Into<ThreadId>) -> Result<()> {
        self.saver()?.delete_thread(&thread.into()).await
    }
}

fn no_thread(thread: &ThreadId, namespace: &Namespace) -> Error {
    let error = if namespace.is_root() {
        Error::new(Code::NotFound, format!("no thread `{thread}`")).help("run the graph on it first")
    } else {
        let message = format!("thread `{thread}` has no graph inside at `{}`", namespace.as_str());
        Error::new(Code::NotFound, message).help("`namespaces` lists the paths there are")
    };
    error.on_thread(Some(thread))
}

fn tasks(loaded: &Loaded, is_live: bool) -> Vec<TaskState> {
    let mut tasks: Vec<TaskState> = Vec::new();
    for pending in &loaded.pending {
        let place = tasks.iter().position(|task| task.id == pending.task).unwrap_or_else(|| {
            let (id, node) = (pending.task, pending.node.to_string());
            tasks.push(TaskState { id, node, is_done: false, error: None, questions: Vec::new() });
            tasks.len() - 1
        });
        let task = &mut tasks[place];
        match &pending.entry {
            Entry::Done(_) => (task.is_done, task.error) = (true, None),
            Entry::Failed(error) | Entry::Refused(error) => task.error = Some(error.clone()),
            Entry::Question(question) => task.questions.push(question.clone()),
            Entry::Answer(answer) if is_live => task.questions.retain(|question| question.id != answer.id),
            _ => {}
        }
    }
    tasks
}

/// A change of a thread's state in the making.
pub struct UpdateState<S, C = ()> {
    graph: Compiled<S, C>,
    saver: Option<SharedCheckpointer>,
    thread: ThreadId,
    namespace: Namespace,
    at: Option<CheckpointId>,
    supersteps: Vec<Vec<StateUpdate>>,
    world: Option<Arc<dyn World>>,
    types: PhantomData<fn() -> (S, C)>,
}

impl<S: State, C: Send + Sync + 'static> UpdateState<S, C> {
    /// As if this node had just returned the update: its edges are followed.
    #[must_use]
    pub fn as_node(mut self, node: impl Into<AsNode>) -> Self {
        let node = node.into();
        self.supersteps.iter_mut().flatten().for_each(|update| update.as_node = node.clone());
        self
    }

    /// Of the graph inside that runs at this path; the graph is the one that runs there.
    #[must_use]
    pub fn inside(mut self, namespace: &Namespace) -> Self {
        self.namespace = namespace.clone();
        self
    }

    /// At this checkpoint, on a new line of history.
    #[must_use]
    pub fn at(mut self, checkpoint: CheckpointId) -> Self {
        self.at = Some(checkpoint);
        self
    }

    /// Where the time and id of the checkpoint come from, for tests.
    #[must_use]
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    async fn apply(self) -> Result<CheckpointId> {
        let saver = self.saver.as_ref().ok_or_else(|| {
            Error::new(Code::NoCheckpointer, "an update needs a store, and there is none")
                .help("give one: `graph.checkpointer(..)`")
        })?;
        if self.supersteps.iter().all(Vec::is_empty) {
            return Err(Error::new(Code::InputInvalid, "there is nothing to update").help("give at least one update"));
        }
        let (clock, real) = real_world();
        let world = self.world.as_ref().unwrap_or(real);
        let run = RunId::from_bits(world.fresh());
        let turn = self.graph.lanes.enter(&self.thread, &crate::control::Control::new(), WhenBusy::Reject).await?;
        let held = Held::take(saver, &self.thread, run, false, &**clock).await?;
        let at = self.at.map_or(At::Latest, At::Id);
        let loaded = saver.load(&self.thread, &self.namespace, at).await?;
        let newest = match self.at {
            Some(_) => saver.load(&self.thread, &self.namespace, At::Latest).await?,
            None => None,
        };
        if let (None, Some(id)) = (&loaded, self.at) {
            return Err(no_checkpoint(&self.thread, id));
        }
        if loaded.is_none() && !self.namespace.is_root() {
            return Err(no_thread(&self.thread, &self.namespace));
        }
        let config = Config {
            run,
            thread: Some(self.thread.clone()),
            namespace: self.namespace.clone(),
            lease: Some(held.lease.clone()),
            limit: 1,
            on_limit: OnLimit::Fail,
            before: Breakpoints::None,
            after: Breakpoints::None,
            failures: self.graph.program.settings.failures,
            strict_set_once: self.graph.program.settings.strict_set_once,
            at_exit: false,
            observe: false,
            metadata: Arc::default(),
            outer_task: loaded.as_ref().and_then(|loaded| loaded.checkpoint.outer_task),
            world: world.clone(),
        };
        let mut machine = Machine::new(self.graph.program.topology.clone(), config, loaded)?;
        if self.at.is_some() && self.at != newest.map(|newest| newest.checkpoint.id) {
            machine.branch();
        }
        for mut updates in self.supersteps {
            let program = &self.graph.program;
            redact_updates(program, &mut updates);
            machine.update(updates).map_err(|error| error.on_thread(Some(&self.thread)))?;
        }
        let checkpoint = save_all(&mut machine, saver).await?;
        drop((held, turn));
        checkpoint.ok_or_else(|| Error::internal("an update made no checkpoint"))
    }
}

/// Saves what a machine asks to save, without running anything.
async fn save_all(machine: &mut Machine, saver: &SharedCheckpointer) -> Result<Option<CheckpointId>> {
    let mut newest = None;
    for commit in machine.take_commits() {
        saver.commit(&commit).await?;
        newest = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id).or(newest);
        machine.saved();
    }
    Ok(newest)
}

impl<S: State, C: Send + Sync + 'static> std::future::IntoFuture for UpdateState<S, C> {
    type Output = Result<CheckpointId>;
    type IntoFuture = superstep_core::port::BoxFuture<'static, Result<CheckpointId>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.apply())
    }
}
