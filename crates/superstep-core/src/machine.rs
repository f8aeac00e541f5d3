//! The state machine of a run, without I/O: decides what to run, what to commit and when to stop; the engine
//! performs it.
//!
//! Nothing awaits here, and the only inputs from outside are those of [`Environment`]. The engine calls
//! [`Machine::next_action`] until it returns a stop, and reports back with [`Machine::task_ended`] and
//! [`Machine::commit_completed`]. Reducing is in `apply`, scheduling in `schedule`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;

use crate::apply::{Applied, FieldSet};
use crate::change::Change;
use crate::checkpoint::{CheckpointNamespace, Interrupt, PendingEntry};
use crate::error::{Error, ErrorCode, PartialOutcome};
use crate::field::AnyState;
use crate::graph::{BranchPolicy, Topology};
use crate::id::{CheckpointId, FieldId, NodeId, RunId, TaskId, ThreadId};
use crate::port::{Commit, Lease, StateRef, ThreadStatus};
use crate::schedule::{NextTask, Position, Routing};
use crate::update::Update;
use crate::value::AnyValue;

mod apply_updates;
mod commit;
mod complete_superstep;
mod ephemeral;
mod event;
mod exit_durability;
mod external_update;
mod limits;
mod resume;
mod routing;
mod start;
mod stored_form;
mod task;
mod task_finished;
mod view;

pub use event::MachineEvent;
pub use exit_durability::UnsavedCheckpoint;
pub use external_update::{AsNode, StateUpdate};
pub use limits::{Breakpoints, OnLimit};
pub use resume::{Resume, ResumeValues, already_resumed};
pub use start::CachedState;
pub use stored_form::{RestoredCheckpoint, check_compatibility, restore_checkpoint, restore_state};
pub use task::{
    ERROR_HANDLER_ORDINAL_BASE, Task, TaskEnd, TaskIdParts, interrupt_id, interrupt_id_in_step, task_ids_at,
    task_ids_under_name,
};
pub use view::with_fields_reset;

/// The source of time and new ids.
pub trait Environment: Send + Sync {
    /// Returns the current time, in microseconds since 1970.
    fn now(&self) -> i64;
    /// Returns a new id whose text sorts after those returned before.
    fn new_id(&self) -> u128;
}

/// The configuration of a run.
#[derive(Clone)]
pub struct MachineConfig {
    /// Id of the run.
    pub run: RunId,
    /// Id of the thread, if there is one.
    pub thread: Option<ThreadId>,
    /// Namespace of the graph.
    pub namespace: CheckpointNamespace,
    /// Lease on the thread; without a lease nothing is saved.
    pub lease: Option<Lease>,
    /// Maximum number of supersteps.
    pub recursion_limit: u32,
    /// Result of a run that reaches the limit.
    pub on_limit: OnLimit,
    /// Nodes to pause before.
    pub interrupt_before: Breakpoints,
    /// Nodes to pause after.
    pub interrupt_after: Breakpoints,
    /// Effect of one failed task on the others.
    pub branch_policy: BranchPolicy,
    /// True if a second value for a `set_once` field is an error.
    pub strict_set_once: bool,
    /// True if everything is saved in one commit when the run ends, and nothing before.
    pub saves_at_exit: bool,
    /// True if the run has a subscriber; otherwise no events are created.
    pub emits_events: bool,
    /// Metadata that the caller set for the run.
    pub metadata: Arc<BTreeMap<String, Value>>,
    /// Task of the parent graph that runs this subgraph; `None` for the root graph.
    pub parent_task: Option<TaskId>,
    /// Source of time and ids.
    pub environment: Arc<dyn Environment>,
}

/// The next action of the engine.
pub enum Action {
    /// Start these tasks.
    Run(SmallVec<[Task; 1]>),
    /// Wait until a task ends, then report it.
    Wait,
    /// Stop these tasks, by index: their results no longer matter.
    Cancel(Vec<usize>),
    /// Stop these tasks if they still run, and report how each ended: finished results count.
    Abort(Vec<usize>),
    /// Make this commit durable, then call [`Machine::commit_completed`].
    Save(Box<Commit>),
    /// The run has ended.
    Stop(Box<MachineOutcome>),
}

/// The result of a run.
pub struct MachineOutcome {
    /// State after the last complete superstep.
    pub state: Arc<AnyState>,
    /// Reason why the run ended.
    pub end: MachineEnd,
    /// Latest checkpoint, or `None` without a checkpointer.
    pub checkpoint: Option<CheckpointId>,
    /// Step of that checkpoint.
    pub step: i64,
    /// Names of the scheduled nodes.
    pub next: Vec<Arc<str>>,
    /// Number of supersteps that ran.
    pub supersteps: u64,
    /// Warnings about tolerated problems.
    pub warnings: Vec<String>,
}

/// The reason why a run ended.
pub enum MachineEnd {
    /// No task is scheduled.
    Finished,
    /// The run waits for resume values.
    Interrupted(Vec<Interrupt>),
    /// The run paused at a breakpoint, before or after these nodes.
    Paused(Vec<Arc<str>>),
    /// The run stopped at a superstep boundary, as requested.
    Drained,
    /// The run reached its recursion limit and returns the state so far.
    Truncated,
    /// The run ends with a command for a parent graph.
    ParentCommand(Box<crate::command::ParentCommand>),
    /// The run failed.
    Failed(Error),
}

enum Phase {
    Plan,
    Running,
    Ended(Box<MachineEnd>),
    Over,
}

enum TaskStatus {
    Ready,
    Running,
    Done { resolved: ResolvedOutput, persisted: bool },
    Skipped { persisted: bool },
    Interrupted(Vec<Interrupt>),
    Paused(Vec<Arc<str>>),
    Failed(Error),
    Cancelled,
}

struct TaskSlot {
    task: NextTask,
    status: TaskStatus,
    recorded_results: Option<Arc<BTreeMap<String, AnyValue>>>,
}

/// The output of a task after validation against schema and topology.
#[derive(Default)]
struct ResolvedOutput {
    update: Update,
    routing: Routing,
    parent_command: Option<Box<crate::command::ParentCommand>>,
    cached: bool,
}

/// A run without I/O.
pub struct Machine {
    graph: Arc<Topology>,
    config: MachineConfig,
    state: Arc<AnyState>,
    written: FieldSet,
    position: Position,
    slots: SmallVec<[TaskSlot; 1]>,
    /// True if there are slots that were not handed out yet.
    has_ready: bool,
    /// No slot before this index is ready or running.
    first_active_slot: usize,
    /// Changes of a superstep of one task, which are applied when the task ends.
    early_applied: Option<Applied>,
    phase: Phase,
    latest_checkpoint: Option<CheckpointId>,
    /// The newest durable checkpoint; `latest_checkpoint` is ahead of it while a commit is in flight.
    latest_durable: Option<CheckpointId>,
    checkpoint_in_flight: Option<CheckpointId>,
    /// Work that is deferred to the end of the run, with exit durability.
    unsaved_work: Option<Box<exit_durability::UnsavedWork>>,
    /// Fields that the loaded checkpoint does not contain, because the schema is newer.
    fields_not_in_checkpoint: FieldSet,
    /// Fields that migrations created from the loaded checkpoint: the next checkpoint stores their full values.
    migrated: FieldSet,
    /// True if pending entries were migrated to the current schema while the checkpointer still has their old form.
    is_migrated: bool,
    /// True if the next checkpoint has no parent.
    starts_history: bool,
    /// Commits to hand out, each with the events that may be published after it.
    pending_commits: VecDeque<(Box<Commit>, Vec<MachineEvent>)>,
    events: Vec<MachineEvent>,
    unsaved_events: Vec<MachineEvent>,
    saving_events: Vec<MachineEvent>,
    resume_values: Option<Arc<ResumeValues>>,
    supersteps: u64,
    recent: Vec<NodeId>,
    warnings: Vec<String>,
    skip_breakpoint: bool,
    /// True if the next checkpoint starts a fork.
    forks_history: bool,
    drain: bool,
    cancel: SmallVec<[usize; 1]>,
    abort: SmallVec<[usize; 1]>,
    pending: Vec<PendingEntry>,
    /// Changes since the input, for the parent graph; `None` if the call started in an earlier process.
    since_input: Option<BTreeMap<FieldId, Change>>,
    /// Step of the checkpoint the run started from; on a new thread the step before the first one.
    start_step: i64,
}

impl Machine {
    /// Returns the next action.
    pub fn next_action(&mut self) -> Action {
        if !self.pending_commits.is_empty() {
            return self.save();
        }
        if !self.cancel.is_empty() {
            return Action::Cancel(self.cancel.drain(..).collect());
        }
        if !self.abort.is_empty() {
            return Action::Abort(self.abort.drain(..).collect());
        }
        loop {
            match self.phase {
                Phase::Plan => self.plan(),
                Phase::Running => {
                    if std::mem::take(&mut self.has_ready) {
                        let ready = self.start_ready();
                        if !ready.is_empty() {
                            return Action::Run(ready);
                        }
                    }
                    if self.has_unfinished_tasks() {
                        return Action::Wait;
                    }
                    self.complete_superstep();
                }
                Phase::Ended(_) if self.has_unsaved() => self.commit_unsaved(),
                Phase::Ended(_) => return self.stop(),
                Phase::Over => return Action::Wait,
            }
            if !self.pending_commits.is_empty() {
                return self.save();
            }
        }
    }

    fn save(&mut self) -> Action {
        let Some((commit, events)) = self.pending_commits.pop_front() else { return Action::Wait };
        self.saving_events = events;
        self.checkpoint_in_flight = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        Action::Save(commit)
    }

    /// Reports that the last [`Action::Save`] is durable: its events may be published.
    pub fn commit_completed(&mut self) {
        self.latest_durable = self.checkpoint_in_flight.take().or(self.latest_durable);
        self.unsaved_committed();
        self.events.append(&mut self.saving_events);
    }

    /// Invalidates the durable checkpoint after a commit that counted as saved was lost: the newest saved
    /// checkpoint is then unknown.
    pub fn invalidate_durable(&mut self) {
        self.latest_durable = None;
    }

    /// Takes the pending commits, in order, for a caller that runs no tasks.
    pub fn take_commits(&mut self) -> Vec<Commit> {
        std::mem::take(&mut self.pending_commits).into_iter().map(|(commit, _)| *commit).collect()
    }

    /// Returns the events to publish after the commit in flight; an engine with an event journal saves them with
    /// that commit.
    pub fn saving_events(&self) -> &[MachineEvent] {
        &self.saving_events
    }

    /// Takes the events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<MachineEvent> {
        std::mem::take(&mut self.events)
    }

    /// Requests a stop at the next superstep boundary.
    pub fn drain(&mut self) {
        self.drain = true;
    }

    /// Ends the run inside its superstep: finished results are kept, running tasks are stopped and count as not
    /// started.
    pub fn cancel(&mut self) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let is_running = matches!(slot.status, TaskStatus::Running);
            if is_running || matches!(slot.status, TaskStatus::Ready) {
                slot.status = TaskStatus::Cancelled;
            }
            if is_running {
                self.cancel.push(index);
            }
        }
    }

    /// Returns the compiled graph.
    #[must_use]
    pub fn graph(&self) -> &Arc<Topology> {
        &self.graph
    }

    /// Returns the state after the last complete superstep.
    #[must_use]
    pub fn state(&self) -> StateRef {
        StateRef { schema: self.graph.schema.clone(), state: self.state.clone() }
    }

    /// Converts a failure outside the machine into the error of this run, with its partial result.
    #[must_use]
    pub fn failure(&self, error: Error) -> Error {
        error.with_thread(self.config.thread.as_ref()).with_step(self.position.step).with_partial(self.partial())
    }

    fn partial(&self) -> PartialOutcome {
        let is_saved = !self.has_unsaved_state();
        let next = self.next_names().into_iter().filter(|_| is_saved);
        PartialOutcome {
            state: is_saved.then(|| self.state.clone() as _),
            next: next.map(|name| name.to_string()).collect(),
            recent: self.recent.iter().map(|id| self.graph.node(*id).name.to_string()).collect(),
            checkpoint: self.latest_durable,
        }
    }

    /// Returns true if the state is ahead of the newest durable checkpoint.
    fn has_unsaved_state(&self) -> bool {
        let has_checkpoint = |commit: &Commit| commit.checkpoint.is_some();
        let is_in_flight = self.checkpoint_in_flight.is_some()
            || self.pending_commits.iter().any(|(commit, _)| has_checkpoint(commit));
        self.config.lease.is_some() && (is_in_flight || self.early_applied.is_some())
    }

    fn next_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for task in &self.position.next_tasks {
            let name = &self.graph.node(task.node).name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn plan(&mut self) {
        if let Some((end, status)) = self.limit_reached() {
            self.end_between_supersteps(end, status);
            return;
        }
        if self.position.next_tasks.is_empty() {
            self.phase = Phase::Ended(Box::new(MachineEnd::Finished));
            return;
        }
        let paused = self.breakpoint_before();
        if !paused.is_empty() {
            self.end_between_supersteps(MachineEnd::Paused(paused), ThreadStatus::Interrupted);
            return;
        }
        if self.drain {
            self.end_between_supersteps(MachineEnd::Drained, ThreadStatus::Idle);
            return;
        }
        self.phase = match self.prepare_tasks() {
            Ok(()) => Phase::Running,
            Err(error) => Phase::Ended(Box::new(MachineEnd::Failed(error))),
        };
    }

    fn start_ready(&mut self) -> SmallVec<[Task; 1]> {
        let mut tasks = SmallVec::new();
        for index in 0..self.slots.len() {
            if !matches!(self.slots[index].status, TaskStatus::Ready) {
                continue;
            }
            self.slots[index].status = TaskStatus::Running;
            tasks.push(self.task(index));
        }
        tasks
    }

    /// Returns true if a task is ready or running. Visits each slot once per superstep, because an ended task stays
    /// ended.
    fn has_unfinished_tasks(&mut self) -> bool {
        let is_open = |slot: &TaskSlot| matches!(slot.status, TaskStatus::Ready | TaskStatus::Running);
        while self.slots.get(self.first_active_slot).is_some_and(|slot| !is_open(slot)) {
            self.first_active_slot += 1;
        }
        self.first_active_slot < self.slots.len()
    }

    fn task(&mut self, index: usize) -> Task {
        let slot = &self.slots[index];
        if self.config.emits_events {
            let id = self.task_id(&slot.task);
            let node = self.graph.node(slot.task.node).name.clone();
            let state = Some(StateRef { schema: self.graph.schema.clone(), state: self.node_view(slot.task.node) });
            let (send_payload, step, checkpoint) = (
                slot.task.send.as_ref().map(|send| send.payload.clone()),
                self.position.step + 1,
                self.latest_checkpoint,
            );
            self.events.push(MachineEvent::TaskStarted { task: id, node, step, state, send_payload, checkpoint });
        }
        Task {
            index,
            node: slot.task.node,
            view: self.node_view(slot.task.node),
            send: slot.task.send.clone(),
            key: self.task_id_parts(&slot.task),
            id_node_name: slot.task.id_node_name().cloned(),
            step: self.position.step + 1,
            remaining: self.remaining(),
            resume_values: self.resume_values.clone(),
            recorded_results: slot.recorded_results.clone(),
            checkpoint: self.latest_checkpoint,
            unsaved_checkpoint: self.unsaved_checkpoint(),
        }
    }

    fn task_id_parts(&self, task: &NextTask) -> TaskIdParts {
        // Without a checkpoint the id is derived from the parent task: an unsaved subgraph gets the same task ids
        // when it runs again.
        let unsaved = || self.config.parent_task.map_or(self.config.run.bits(), TaskId::bits);
        let (origin, step) = match &task.scheduled_at {
            Some(since) => (since.checkpoint.bits(), since.step),
            None => (self.latest_checkpoint.map_or_else(unsaved, CheckpointId::bits), self.position.step),
        };
        TaskIdParts { origin, step, send_index: task.send_index() }
    }

    fn task_id(&self, task: &NextTask) -> TaskId {
        let name = task.id_node_name().unwrap_or_else(|| &self.graph.node(task.node).name);
        self.task_id_parts(task).id(&self.config.namespace, name)
    }

    fn stop(&mut self) -> Action {
        // Everything is saved at this point: events since the last commit may be published.
        self.events.append(&mut self.unsaved_events);
        let Phase::Ended(end) = std::mem::replace(&mut self.phase, Phase::Over) else { return Action::Wait };
        let end = match *end {
            MachineEnd::Failed(error) => MachineEnd::Failed(self.failure(error)),
            end => end,
        };
        Action::Stop(Box::new(MachineOutcome {
            state: self.state.clone(),
            end,
            checkpoint: self.latest_checkpoint,
            step: self.position.step,
            next: self.next_names(),
            supersteps: self.supersteps,
            warnings: std::mem::take(&mut self.warnings),
        }))
    }
}

/// Returns the error for a violation of the protocol between engine and machine.
fn protocol_error(input: &str) -> Error {
    Error::new(ErrorCode::Internal, format!("unexpected machine input: {input}"))
}
