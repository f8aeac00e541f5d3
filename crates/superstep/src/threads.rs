//! Persisted threads: states, history, external updates, copies.

use std::marker::PhantomData;
use std::sync::Arc;

use superstep_core::checkpoint::{Checkpoint, CheckpointNamespace, Interrupt, StoredError, TaskEntry};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId};
use superstep_core::machine::{
    AsNode, Breakpoints, Environment, Machine, MachineConfig, OnLimit, RestoredCheckpoint, StateUpdate,
    restore_checkpoint,
};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, HistoryQuery, SharedCheckpointer, ThreadStatus, ThreadsQuery,
};
use superstep_core::state::{GraphState, IntoUpdate};

use crate::engine::redaction::redact_updates;
use crate::engine::start::{LeaseGuard, checkpoint_not_found, system_environment};
use crate::graph::compiled::CompiledGraph;
use crate::graph::extract::View;
use crate::run::multitask::MultitaskStrategy;

mod compatibility;
mod events;
mod prune;
pub mod transfer;

pub use compatibility::{CheckDepth, CompatibilityReport, ThreadCompatibility};
pub use events::JournalEvent;
pub use prune::PruneSummary;
pub(crate) use prune::prune_after_run;

/// API of the persisted threads of a graph.
pub struct Threads<S, C = ()> {
    graph: CompiledGraph<S, C>,
    checkpointer: Option<SharedCheckpointer>,
}

/// A persisted state of a thread.
#[derive(Debug, Clone)]
pub struct StateSnapshot<S> {
    /// State of the thread at the checkpoint.
    pub state: View<S>,
    /// The checkpoint of the state.
    pub checkpoint: Arc<Checkpoint>,
    /// Names of the nodes with next tasks.
    pub next: Vec<String>,
    /// Status of the next tasks.
    pub tasks: Vec<TaskSnapshot>,
}

impl<S> StateSnapshot<S> {
    /// Returns the open interrupts.
    #[must_use]
    pub fn interrupts(&self) -> Vec<&Interrupt> {
        self.tasks.iter().flat_map(|task| &task.interrupts).collect()
    }

    /// Returns the id of the checkpoint.
    #[must_use]
    pub fn id(&self) -> CheckpointId {
        self.checkpoint.id
    }
}

/// Status of a scheduled task.
#[derive(Debug, Clone)]
pub struct TaskSnapshot {
    /// Id of the task.
    pub id: TaskId,
    /// Node of the task.
    pub node: String,
    /// True if the task has finished.
    pub is_finished: bool,
    /// Error of its last failure.
    pub error: Option<StoredError>,
    /// Interrupts: the open ones in the latest state, all of them in a history.
    pub interrupts: Vec<Interrupt>,
}

impl<S: GraphState, C: Send + Sync + 'static> Threads<S, C> {
    pub(crate) fn new(graph: &CompiledGraph<S, C>) -> Self {
        Self { graph: graph.clone(), checkpointer: graph.program.settings.checkpointer.clone() }
    }

    /// Sets the checkpointer. Default: the checkpointer of the graph.
    #[must_use]
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.checkpointer = Some(checkpointer.into());
        self
    }

    fn require_checkpointer(&self) -> Result<&SharedCheckpointer> {
        self.checkpointer.as_ref().ok_or_else(|| {
            Error::new(ErrorCode::NoCheckpointer, "thread operations require a checkpointer")
                .with_help("configure one with `graph.checkpointer(..)` or `threads().checkpointer(..)`")
        })
    }

    /// Returns the ids of all threads in the checkpointer, ascending, including threads of other graphs.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn list(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        self.require_checkpointer()?.threads(query).await
    }

    /// Returns the latest state of a thread, with its open interrupts.
    ///
    /// # Errors
    /// Returns an error if there is no such thread, or if its data is incompatible with the graph.
    pub async fn get_state(&self, thread: impl Into<ThreadId>) -> Result<StateSnapshot<S>> {
        self.get_subgraph_state(thread, &CheckpointNamespace::root()).await
    }

    /// Returns the latest state of a subgraph, with its open interrupts. Call this method on the threads of the
    /// compiled subgraph.
    ///
    /// # Errors
    /// Returns an error if no such subgraph has run on the thread, or if its data is incompatible with the graph.
    pub async fn get_subgraph_state(
        &self,
        thread: impl Into<ThreadId>,
        namespace: &CheckpointNamespace,
    ) -> Result<StateSnapshot<S>> {
        let thread = thread.into();
        let loaded = self.require_checkpointer()?.load(&thread, namespace, CheckpointSelector::Latest).await?;
        self.snapshot(loaded.ok_or_else(|| no_thread(&thread, namespace))?, true)
    }

    /// Returns the state of a thread at a checkpoint.
    ///
    /// # Errors
    /// Returns an error if there is no such checkpoint, or if its data is incompatible with the graph.
    pub async fn get_state_at(
        &self,
        thread: impl Into<ThreadId>,
        checkpoint: CheckpointId,
    ) -> Result<StateSnapshot<S>> {
        let thread = thread.into();
        let loaded = self
            .require_checkpointer()?
            .load(&thread, &CheckpointNamespace::root(), CheckpointSelector::Id(checkpoint))
            .await?;
        let loaded = loaded.ok_or_else(|| checkpoint_not_found(&thread, checkpoint))?;
        self.snapshot(loaded, false)
    }

    /// Returns the states of a thread, newest first.
    ///
    /// # Errors
    /// Returns an error if the data is incompatible with the graph.
    pub async fn get_state_history(
        &self,
        thread: impl Into<ThreadId>,
        query: &HistoryQuery,
    ) -> Result<Vec<StateSnapshot<S>>> {
        self.get_subgraph_state_history(thread, &CheckpointNamespace::root(), query).await
    }

    /// Returns the states of a subgraph, newest first. Call this method on the threads of the compiled subgraph.
    ///
    /// # Errors
    /// Returns an error if the data is incompatible with the graph.
    pub async fn get_subgraph_state_history(
        &self,
        thread: impl Into<ThreadId>,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<StateSnapshot<S>>> {
        let loaded = self.require_checkpointer()?.history(&thread.into(), namespace, query).await?;
        loaded.into_iter().map(|loaded| self.snapshot(loaded, false)).collect()
    }

    /// Returns the namespaces of all graphs with checkpoints on a thread.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn namespaces(&self, thread: impl Into<ThreadId>) -> Result<Vec<CheckpointNamespace>> {
        self.require_checkpointer()?.namespaces(&thread.into()).await
    }

    /// Returns the status of a thread, or `None` if there is no such thread.
    ///
    /// # Errors
    /// Returns an error if the checkpointer fails.
    pub async fn status(&self, thread: impl Into<ThreadId>) -> Result<Option<ThreadStatus>> {
        self.require_checkpointer()?.status(&thread.into()).await
    }

    fn snapshot(&self, loaded: CheckpointTuple, is_live: bool) -> Result<StateSnapshot<S>> {
        let (topology, checkpoint) = (&self.graph.program.topology, loaded.checkpoint.clone());
        let RestoredCheckpoint { state, mut loaded, .. } = restore_checkpoint(topology, loaded)?;
        // Nodes are listed with their current names.
        let name = |name: &Arc<str>| {
            topology.find_node(name).map_or_else(|| name.clone(), |id| topology.node(id).name.clone())
        };
        loaded.pending.iter_mut().for_each(|pending| pending.node = name(&pending.node));
        let state = state.downcast::<S>().map_err(|_| Error::internal("the thread has a state of another type"))?;
        let mut next: Vec<String> = checkpoint.next_tasks.iter().map(|task| name(&task.node).to_string()).collect();
        next.dedup();
        Ok(StateSnapshot { state: View::new(state), checkpoint, next, tasks: tasks(&loaded, is_live) })
    }

    /// Updates the state of a thread from outside a run, through the reducers. By default the update is not
    /// attributed to a node.
    #[must_use = "an update has no effect until it is awaited"]
    pub fn update_state(&self, thread: impl Into<ThreadId>, update: impl IntoUpdate) -> UpdateStateBuilder<S, C> {
        let update = StateUpdate { update: update.into_update(), as_node: AsNode::None };
        self.bulk_update_state(thread, vec![vec![update]])
    }

    /// Updates the state of a thread from outside a run, in several supersteps with several updates each.
    #[must_use = "an update has no effect until it is awaited"]
    pub fn bulk_update_state(
        &self,
        thread: impl Into<ThreadId>,
        supersteps: Vec<Vec<StateUpdate>>,
    ) -> UpdateStateBuilder<S, C> {
        UpdateStateBuilder {
            graph: self.graph.clone(),
            checkpointer: self.checkpointer.clone(),
            thread: thread.into(),
            namespace: CheckpointNamespace::root(),
            from_checkpoint: None,
            supersteps,
            environment: None,
            types: PhantomData,
        }
    }

    /// Copies all data of a thread to a new thread.
    ///
    /// # Errors
    /// Returns an error if there is no such thread, or if the other one exists.
    pub async fn copy(&self, from: impl Into<ThreadId>, to: impl Into<ThreadId>) -> Result<()> {
        self.require_checkpointer()?.copy_thread(&from.into(), &to.into()).await
    }

    /// Deletes all data of a thread.
    ///
    /// # Errors
    /// Returns an error if a run holds the lease of the thread, or if the checkpointer fails.
    pub async fn delete(&self, thread: impl Into<ThreadId>) -> Result<()> {
        self.require_checkpointer()?.delete_thread(&thread.into()).await
    }
}

fn no_thread(thread: &ThreadId, namespace: &CheckpointNamespace) -> Error {
    let error = if namespace.is_root() {
        Error::new(ErrorCode::NotFound, format!("thread `{thread}` not found")).with_help("run the graph on it first")
    } else {
        let message = format!("thread `{thread}` has no subgraph at `{}`", namespace.as_str());
        Error::new(ErrorCode::NotFound, message).with_help("`namespaces` lists the existing ones")
    };
    error.with_thread(Some(thread))
}

fn tasks(loaded: &CheckpointTuple, is_live: bool) -> Vec<TaskSnapshot> {
    let mut tasks: Vec<TaskSnapshot> = Vec::new();
    for pending in &loaded.pending {
        let index = tasks.iter().position(|task| task.id == pending.task).unwrap_or_else(|| {
            let (id, node) = (pending.task, pending.node.to_string());
            tasks.push(TaskSnapshot { id, node, is_finished: false, error: None, interrupts: Vec::new() });
            tasks.len() - 1
        });
        let task = &mut tasks[index];
        match &pending.entry {
            TaskEntry::Done(_) => (task.is_finished, task.error) = (true, None),
            TaskEntry::Failed(error) | TaskEntry::Rejected(error) => task.error = Some(error.clone()),
            TaskEntry::Interrupt(interrupt) => task.interrupts.push(interrupt.clone()),
            TaskEntry::Resume(resume_value) if is_live => {
                task.interrupts.retain(|interrupt| interrupt.id != resume_value.id)
            }
            _ => {}
        }
    }
    tasks
}

/// Builder of an external update.
pub struct UpdateStateBuilder<S, C = ()> {
    graph: CompiledGraph<S, C>,
    checkpointer: Option<SharedCheckpointer>,
    thread: ThreadId,
    namespace: CheckpointNamespace,
    from_checkpoint: Option<CheckpointId>,
    supersteps: Vec<Vec<StateUpdate>>,
    environment: Option<Arc<dyn Environment>>,
    types: PhantomData<fn() -> (S, C)>,
}

impl<S: GraphState, C: Send + Sync + 'static> UpdateStateBuilder<S, C> {
    /// Attributes the update to a node, as if the node had just returned it: its edges are followed.
    #[must_use]
    pub fn as_node(mut self, node: impl Into<AsNode>) -> Self {
        let node = node.into();
        self.supersteps.iter_mut().flatten().for_each(|update| update.as_node = node.clone());
        self
    }

    /// Updates the subgraph in this namespace. Create the builder from the threads of the compiled subgraph.
    #[must_use]
    pub fn namespace(mut self, namespace: &CheckpointNamespace) -> Self {
        self.namespace = namespace.clone();
        self
    }

    /// Updates this checkpoint, on a new branch of the history (a fork).
    #[must_use]
    pub fn from_checkpoint(mut self, checkpoint: CheckpointId) -> Self {
        self.from_checkpoint = Some(checkpoint);
        self
    }

    /// Sets the source of time and id of the checkpoint. Tests inject one.
    #[must_use]
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = Some(environment);
        self
    }

    async fn apply(self) -> Result<CheckpointId> {
        let checkpointer = self.checkpointer.as_ref().ok_or_else(|| {
            Error::new(ErrorCode::NoCheckpointer, "a state update requires a checkpointer")
                .with_help("configure one with `graph.checkpointer(..)`")
        })?;
        if self.supersteps.iter().all(Vec::is_empty) {
            return Err(Error::new(ErrorCode::InputInvalid, "the list of updates is empty")
                .with_help("give at least one update"));
        }
        let (clock, system) = system_environment();
        let environment = self.environment.as_ref().unwrap_or(system);
        let run = RunId::from_bits(environment.new_id());
        let control = crate::run::control::RunControl::new();
        let queue_guard = self.graph.thread_queues.acquire(&self.thread, &control, MultitaskStrategy::Reject).await?;
        let lease_guard = LeaseGuard::acquire(checkpointer, &self.thread, run, false, &**clock).await?;
        let at = self.from_checkpoint.map_or(CheckpointSelector::Latest, CheckpointSelector::Id);
        let loaded = checkpointer.load(&self.thread, &self.namespace, at).await?;
        let newest = match self.from_checkpoint {
            Some(_) => checkpointer.load(&self.thread, &self.namespace, CheckpointSelector::Latest).await?,
            None => None,
        };
        if let (None, Some(id)) = (&loaded, self.from_checkpoint) {
            return Err(checkpoint_not_found(&self.thread, id));
        }
        if loaded.is_none() && !self.namespace.is_root() {
            return Err(no_thread(&self.thread, &self.namespace));
        }
        let config = MachineConfig {
            run,
            thread: Some(self.thread.clone()),
            namespace: self.namespace.clone(),
            lease: Some(lease_guard.lease.clone()),
            recursion_limit: 1,
            on_limit: OnLimit::Fail,
            interrupt_before: Breakpoints::None,
            interrupt_after: Breakpoints::None,
            branch_policy: self.graph.program.settings.branch_policy,
            strict_set_once: self.graph.program.settings.strict_set_once,
            saves_at_exit: false,
            emits_events: false,
            metadata: Arc::default(),
            parent_task: loaded.as_ref().and_then(|loaded| loaded.checkpoint.parent_task),
            environment: environment.clone(),
        };
        let mut machine = Machine::new(self.graph.program.topology.clone(), config, loaded)?;
        if self.from_checkpoint.is_some() && self.from_checkpoint != newest.map(|newest| newest.checkpoint.id) {
            machine.fork_on_next_update();
        }
        for mut updates in self.supersteps {
            let program = &self.graph.program;
            redact_updates(program, &mut updates);
            machine.update(updates).map_err(|error| error.with_thread(Some(&self.thread)))?;
        }
        let checkpoint = commit_all(&mut machine, checkpointer).await?;
        drop((lease_guard, queue_guard));
        checkpoint.ok_or_else(|| Error::internal("the update created no checkpoint"))
    }
}

/// Commits the commits of a machine, without running tasks.
async fn commit_all(machine: &mut Machine, checkpointer: &SharedCheckpointer) -> Result<Option<CheckpointId>> {
    let mut newest = None;
    for commit in machine.take_commits() {
        checkpointer.commit(&commit).await?;
        newest = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id).or(newest);
        machine.commit_completed();
    }
    Ok(newest)
}

impl<S: GraphState, C: Send + Sync + 'static> std::future::IntoFuture for UpdateStateBuilder<S, C> {
    type Output = Result<CheckpointId>;
    type IntoFuture = superstep_core::port::BoxFuture<'static, Result<CheckpointId>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.apply())
    }
}
