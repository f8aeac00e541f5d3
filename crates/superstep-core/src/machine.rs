//! A run without I/O: it says what to run, what to save and when to stop; the rim does it.
//!
//! Nothing awaits here and nothing is read from the world but through [`World`]. The rim calls
//! [`Machine::step`] until it says stop, and reports back with [`Machine::finished`] and
//! [`Machine::saved`]. Folding is in `apply`, succession in `advance`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;

use crate::advance::{Due, Leads, Position};
use crate::apply::{Applied, FieldSet};
use crate::change::Change;
use crate::checkpoint::{Namespace, Pending, Question};
use crate::datum::Datum;
use crate::error::{Code, Error, Partial};
use crate::field::AnyState;
use crate::graph::{BranchPolicy, Topology};
use crate::id::{CheckpointId, FieldId, NodeId, RunId, TaskId, ThreadId};
use crate::port::{Commit, Lease, StateRef, ThreadStatus};
use crate::update::Update;

mod begin;
mod ephemeral;
mod event;
mod exit;
mod finish;
mod fold;
mod limits;
mod resume;
mod save;
mod settle;
mod store;
mod task;
mod update;
mod view;
mod ways;

pub use begin::Warm;
pub use event::Event;
pub use exit::Draft;
pub use limits::{Breakpoints, OnLimit};
pub use resume::{Answers, Resume, already_answered};
pub use store::{Read, check_thread, read_state, read_thread};
pub use task::{HANDLER_ORDINALS, Task, TaskEnd, TaskKey, ids_at, ids_under, question_id, question_id_in};
pub use update::{AsNode, StateUpdate};
pub use view::without;

/// What the machine takes from the world: time and fresh ids.
pub trait World: Send + Sync {
    /// Now, in microseconds since 1970.
    fn now(&self) -> i64;
    /// A fresh id whose text sorts after those given before.
    fn fresh(&self) -> u128;
}

/// What a run is told at its start.
#[derive(Clone)]
pub struct Config {
    /// The run.
    pub run: RunId,
    /// The thread, where there is one.
    pub thread: Option<ThreadId>,
    /// The path of the graph.
    pub namespace: Namespace,
    /// The right to save; without it nothing is saved.
    pub lease: Option<Lease>,
    /// How many supersteps may run.
    pub limit: u32,
    /// What happens when they are used up.
    pub on_limit: OnLimit,
    /// Where to stop before a node.
    pub before: Breakpoints,
    /// Where to stop after a node.
    pub after: Breakpoints,
    /// What the failure of one task means for the others.
    pub failures: BranchPolicy,
    /// A second value for a `set_once` field is an error.
    pub strict_set_once: bool,
    /// Whether all is saved in one commit when the run ends, and nothing before.
    pub at_exit: bool,
    /// Whether anybody watches: without it no events are made.
    pub observe: bool,
    /// What the caller says about the run.
    pub metadata: Arc<BTreeMap<String, Value>>,
    /// The task of the graph around, for a graph inside another.
    pub outer_task: Option<TaskId>,
    /// Time and ids.
    pub world: Arc<dyn World>,
}

/// What the rim is to do next.
pub enum Step {
    /// Start these tasks.
    Run(SmallVec<[Task; 1]>),
    /// Wait until a task ends, then report it.
    Wait,
    /// Stop these tasks, by index: their results no longer matter.
    Cancel(Vec<usize>),
    /// Stop these tasks if they still run, and report how each ended: what has finished counts.
    Abort(Vec<usize>),
    /// Make this durable, then call [`Machine::saved`].
    Save(Box<Commit>),
    /// The run is over.
    Stop(Box<Outcome>),
}

/// How a run ended.
pub struct Outcome {
    /// The state after the last whole superstep.
    pub state: Arc<AnyState>,
    /// How.
    pub end: End,
    /// The newest checkpoint.
    pub checkpoint: Option<CheckpointId>,
    /// The step it is of.
    pub step: i64,
    /// The nodes that are due.
    pub next: Vec<Arc<str>>,
    /// How many supersteps ran.
    pub supersteps: u64,
    /// What was let pass but should be known.
    pub warnings: Vec<String>,
}

/// How a run ended.
pub enum End {
    /// Nothing is due.
    Finished,
    /// It waits for answers.
    Interrupted(Vec<Question>),
    /// It stopped at a breakpoint, before or after these nodes.
    Paused(Vec<Arc<str>>),
    /// It stopped at a step boundary because it was asked to.
    Drained,
    /// It used up its supersteps and was told to return what there is.
    Truncated,
    /// It hands a command to a graph around it.
    Outward(Box<crate::command::Outward>),
    /// It failed.
    Failed(Error),
}

enum Phase {
    Plan,
    Running,
    Ended(Box<End>),
    Over,
}

enum Status {
    Ready,
    Running,
    Done { resolved: Resolved, kept: bool },
    Skipped { kept: bool },
    Asked(Vec<Question>),
    Paused(Vec<Arc<str>>),
    Failed(Error),
    Cancelled,
}

struct Slot {
    due: Due,
    status: Status,
    records: Option<Arc<BTreeMap<String, Datum>>>,
}

/// A task's output held against schema and drawing.
#[derive(Default)]
struct Resolved {
    update: Update,
    leads: Leads,
    outward: Option<Box<crate::command::Outward>>,
    cached: bool,
}

/// A run without I/O.
pub struct Machine {
    graph: Arc<Topology>,
    config: Config,
    state: Arc<AnyState>,
    written: FieldSet,
    position: Position,
    slots: SmallVec<[Slot; 1]>,
    /// Slots that were not handed out yet.
    has_ready: bool,
    /// No slot before this one is ready or running.
    first_open: usize,
    folded: Option<Applied>,
    phase: Phase,
    head: Option<CheckpointId>,
    /// The newest checkpoint that is known to be saved; `head` runs ahead of it while a commit is under way.
    durable: Option<CheckpointId>,
    saving: Option<CheckpointId>,
    /// What is held back until the run ends, where it saves only then.
    unsaved: Option<Box<exit::Unsaved>>,
    /// Fields that the loaded checkpoint does not know, because the schema is newer.
    unknown: FieldSet,
    /// Fields that migrations have made of the loaded checkpoint: the next one holds them whole.
    migrated: FieldSet,
    /// What is known of tasks has been brought into the shape of today's state, and the store has it as it was.
    is_migrated: bool,
    /// The next checkpoint builds on none.
    begins_line: bool,
    /// What is to be saved, each with the events that may be told after it.
    outbox: VecDeque<(Box<Commit>, Vec<Event>)>,
    events: Vec<Event>,
    unsaved_events: Vec<Event>,
    saving_events: Vec<Event>,
    answers: Option<Arc<Answers>>,
    supersteps: u64,
    recent: Vec<NodeId>,
    warnings: Vec<String>,
    skip_breakpoint: bool,
    /// The next checkpoint begins a new line of history.
    branches: bool,
    drain: bool,
    cancel: SmallVec<[usize; 1]>,
    abort: SmallVec<[usize; 1]>,
    pending: Vec<Pending>,
    /// What changed since the input, for the graph around; `None` when it began in an earlier process.
    since_input: Option<BTreeMap<FieldId, Change>>,
    /// The step of the checkpoint the run started from; before the first one, on a new thread.
    came_in: i64,
}

impl Machine {
    /// What to do next.
    pub fn step(&mut self) -> Step {
        if !self.outbox.is_empty() {
            return self.save();
        }
        if !self.cancel.is_empty() {
            return Step::Cancel(self.cancel.drain(..).collect());
        }
        if !self.abort.is_empty() {
            return Step::Abort(self.abort.drain(..).collect());
        }
        loop {
            match self.phase {
                Phase::Plan => self.plan(),
                Phase::Running => {
                    if std::mem::take(&mut self.has_ready) {
                        let ready = self.start_ready();
                        if !ready.is_empty() {
                            return Step::Run(ready);
                        }
                    }
                    if self.has_open() {
                        return Step::Wait;
                    }
                    self.settle();
                }
                Phase::Ended(_) if self.has_unsaved() => self.save_unsaved(),
                Phase::Ended(_) => return self.stop(),
                Phase::Over => return Step::Wait,
            }
            if !self.outbox.is_empty() {
                return self.save();
            }
        }
    }

    fn save(&mut self) -> Step {
        let Some((commit, events)) = self.outbox.pop_front() else { return Step::Wait };
        self.saving_events = events;
        self.saving = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        Step::Save(commit)
    }

    /// The last [`Step::Save`] is durable: what it speaks of may be told.
    pub fn saved(&mut self) {
        self.durable = self.saving.take().or(self.durable);
        self.unsaved_is_saved();
        self.events.append(&mut self.saving_events);
    }

    /// A commit that counted as saved was not: nobody knows which checkpoint is the newest one saved.
    pub fn forget_saved(&mut self) {
        self.durable = None;
    }

    /// What is to be saved, in order, for a rim that runs nothing.
    pub fn take_commits(&mut self) -> Vec<Commit> {
        std::mem::take(&mut self.outbox).into_iter().map(|(commit, _)| *commit).collect()
    }

    /// What may be told once the commit that is under way is saved: a rim that keeps events saves them with it.
    pub fn saving_events(&self) -> &[Event] {
        &self.saving_events
    }

    /// Events made since the last call, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Asks the run to stop at the next step boundary.
    pub fn drain(&mut self) {
        self.drain = true;
    }

    /// Ends the run inside its superstep: what has finished is kept, what still runs is stopped and counts as not begun.
    pub fn cancel(&mut self) {
        if !matches!(self.phase, Phase::Running) {
            return;
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let is_running = matches!(slot.status, Status::Running);
            if is_running || matches!(slot.status, Status::Ready) {
                slot.status = Status::Cancelled;
            }
            if is_running {
                self.cancel.push(index);
            }
        }
    }

    /// The compiled graph.
    #[must_use]
    pub fn graph(&self) -> &Arc<Topology> {
        &self.graph
    }

    /// The state after the last whole superstep.
    #[must_use]
    pub fn state(&self) -> StateRef {
        StateRef { schema: self.graph.schema.clone(), state: self.state.clone() }
    }

    /// Turns a failure outside the machine into the error of this run, with what there is of it.
    #[must_use]
    pub fn failure(&self, error: Error) -> Error {
        error.on_thread(self.config.thread.as_ref()).at_step(self.position.step).with_partial(self.partial())
    }

    fn partial(&self) -> Partial {
        let is_saved = !self.is_ahead();
        let next = self.next_names().into_iter().filter(|_| is_saved);
        Partial {
            state: is_saved.then(|| self.state.clone() as _),
            next: next.map(|name| name.to_string()).collect(),
            recent: self.recent.iter().map(|id| self.graph.node(*id).name.to_string()).collect(),
            checkpoint: self.durable,
        }
    }

    /// True while the state holds more than the newest checkpoint that is known to be saved.
    fn is_ahead(&self) -> bool {
        let is_step = |commit: &Commit| commit.checkpoint.is_some();
        let is_under_way = self.saving.is_some() || self.outbox.iter().any(|(commit, _)| is_step(commit));
        self.config.lease.is_some() && (is_under_way || self.folded.is_some())
    }

    fn next_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for due in &self.position.due {
            let name = &self.graph.node(due.node).name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn plan(&mut self) {
        if let Some((end, status)) = self.limit_reached() {
            self.end_between(end, status);
            return;
        }
        if self.position.due.is_empty() {
            self.phase = Phase::Ended(Box::new(End::Finished));
            return;
        }
        let paused = self.breakpoint_before();
        if !paused.is_empty() {
            self.end_between(End::Paused(paused), ThreadStatus::Interrupted);
            return;
        }
        if self.drain {
            self.end_between(End::Drained, ThreadStatus::Idle);
            return;
        }
        self.phase = match self.fill_slots() {
            Ok(()) => Phase::Running,
            Err(error) => Phase::Ended(Box::new(End::Failed(error))),
        };
    }

    fn start_ready(&mut self) -> SmallVec<[Task; 1]> {
        let mut tasks = SmallVec::new();
        for index in 0..self.slots.len() {
            if !matches!(self.slots[index].status, Status::Ready) {
                continue;
            }
            self.slots[index].status = Status::Running;
            tasks.push(self.task(index));
        }
        tasks
    }

    /// Whether a task is ready or running. Looks at each slot once in a superstep: what has ended stays so.
    fn has_open(&mut self) -> bool {
        let is_open = |slot: &Slot| matches!(slot.status, Status::Ready | Status::Running);
        while self.slots.get(self.first_open).is_some_and(|slot| !is_open(slot)) {
            self.first_open += 1;
        }
        self.first_open < self.slots.len()
    }

    fn task(&mut self, index: usize) -> Task {
        let slot = &self.slots[index];
        if self.config.observe {
            let id = self.task_id(&slot.due);
            let node = self.graph.node(slot.due.node).name.clone();
            let view = Some(StateRef { schema: self.graph.schema.clone(), state: self.view_of(slot.due.node) });
            let (sent, step, checkpoint) =
                (slot.due.send.as_ref().map(|send| send.payload.clone()), self.position.step + 1, self.head);
            self.events.push(Event::TaskStarted { task: id, node, step, view, sent, checkpoint });
        }
        Task {
            index,
            node: slot.due.node,
            view: self.view_of(slot.due.node),
            send: slot.due.send.clone(),
            key: self.key(&slot.due),
            named: slot.due.named().cloned(),
            step: self.position.step + 1,
            remaining: self.remaining(),
            answers: self.answers.clone(),
            records: slot.records.clone(),
            checkpoint: self.head,
            draft: self.draft(),
        }
    }

    fn key(&self, due: &Due) -> TaskKey {
        // Without a checkpoint the task around names it: a graph inside that is not saved is asked again as itself.
        let unsaved = || self.config.outer_task.map_or(self.config.run.bits(), TaskId::bits);
        let (origin, step) = match &due.since {
            Some(since) => (since.checkpoint.bits(), since.step),
            None => (self.head.map_or_else(unsaved, CheckpointId::bits), self.position.step),
        };
        TaskKey { origin, step, fan_out: due.fan_out() }
    }

    fn task_id(&self, due: &Due) -> TaskId {
        let name = due.named().unwrap_or_else(|| &self.graph.node(due.node).name);
        self.key(due).id(&self.config.namespace, name)
    }

    fn stop(&mut self) -> Step {
        // Everything is saved by now: what was said since the last commit may be told.
        self.events.append(&mut self.unsaved_events);
        let Phase::Ended(end) = std::mem::replace(&mut self.phase, Phase::Over) else { return Step::Wait };
        let end = match *end {
            End::Failed(error) => End::Failed(self.failure(error)),
            end => end,
        };
        Step::Stop(Box::new(Outcome {
            state: self.state.clone(),
            end,
            checkpoint: self.head,
            step: self.position.step,
            next: self.next_names(),
            supersteps: self.supersteps,
            warnings: std::mem::take(&mut self.warnings),
        }))
    }
}

/// A broken promise between rim and machine.
fn out_of_turn(what: &str) -> Error {
    Error::new(Code::Internal, format!("the machine was told {what} out of turn"))
}
