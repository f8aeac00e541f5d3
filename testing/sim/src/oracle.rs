//! The oracle: tracks the expected stored data and lease holder independently of the engine, and checks the invariants
//! that follow from them.
//!
//! The oracle never queries the engine: it observes commits that the checkpointer accepted or rejected, executions of
//! nodes, and everything reported to clients.

use std::sync::Arc;

use serde_json::Value;
use superstep::core::checkpoint::{Checkpoint, CheckpointNamespace, CheckpointSource, TaskEntry};
use superstep::core::id::{CheckpointId, InterruptId, RunId, TaskId, hash_id};
use superstep::core::machine::MachineEvent;
use superstep::core::port::Commit;
use superstep::{Error, ErrorCode};

use crate::checkpointer_backend::THREAD;
use crate::invariants::{CheckResult, Rule};

/// Identity of a task, the same on every attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskIdentity(u128);

impl TaskIdentity {
    /// Returns the identity of the idempotency key that a node receives.
    pub(crate) fn from_key(key: TaskId) -> Self {
        Self(key.bits())
    }

    /// Returns the identity of a task id as in checkpoints and events.
    pub(crate) fn from_task(task: TaskId) -> Self {
        Self(hash_id(&[THREAD.as_bytes(), &task.bits().to_le_bytes()]))
    }
}

/// One execution of a task.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub(crate) key: TaskIdentity,
    pub(crate) label: u64,
    pub(crate) run: RunId,
    pub(crate) namespace: CheckpointNamespace,
    pub(crate) checkpoint: Option<CheckpointId>,
}

/// Kind of an execution, judged by the stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExecutionKind {
    /// First execution of the task.
    First,
    /// The task ran before, and its result was not saved.
    Repeated,
    /// The run has lost the thread, and the task is already done.
    Zombie,
}

/// The expected stored data.
#[derive(Default)]
pub(crate) struct Oracle {
    newest_fence: u64,
    is_held: bool,
    fences: Vec<(RunId, u64)>,
    /// In the order in which they were saved.
    pub(crate) checkpoints: Vec<Arc<Checkpoint>>,
    done: Vec<TaskIdentity>,
    failed: Vec<TaskIdentity>,
    interrupts: Vec<InterruptId>,
    resume_values: Vec<(CheckpointId, InterruptId, Value)>,
    records: Vec<(TaskIdentity, String)>,
    tasks: Vec<(u64, TaskIdentity)>,
    /// Nodes that have returned under the newest lease, in order.
    returned: Vec<(CheckpointId, TaskIdentity)>,
    /// Number of nodes that had returned when the run was cancelled.
    before_cancel: usize,
    published: Vec<CheckpointId>,
}

impl Oracle {
    /// Records that a run acquired the thread.
    pub(crate) fn acquired(&mut self, run: RunId, fence: u64) {
        (self.newest_fence, self.is_held) = (fence, true);
        // Results returned under an earlier lease and not saved are lost.
        self.returned.clear();
        self.before_cancel = 0;
        self.fences.retain(|(holder, _)| *holder != run);
        self.fences.push((run, fence));
    }

    /// Records that the lease was released.
    pub(crate) fn released(&mut self, fence: u64) {
        self.is_held &= self.newest_fence != fence;
    }

    fn is_stale(&self, run: RunId) -> bool {
        let fence = self.fences.iter().find(|(holder, _)| *holder == run).map(|(_, fence)| *fence);
        !self.is_held || fence != Some(self.newest_fence)
    }

    fn may_write(&self, fence: u64) -> bool {
        self.is_held && fence == self.newest_fence
    }

    /// Checks and records an accepted commit.
    pub(crate) fn committed(&mut self, commit: &Commit) -> CheckResult {
        if !self.may_write(commit.lease.fence) {
            let (fence, newest) = (commit.lease.fence, self.newest_fence);
            return Rule::OneWriter.broken(format!("a commit of lease {fence} was accepted; the newest is {newest}"));
        }
        self.checkpoints.extend(commit.checkpoint.clone());
        let mut finished = Vec::new();
        for pending in &commit.pending {
            let key = TaskIdentity::from_task(pending.task);
            match &pending.entry {
                TaskEntry::Done(_) => finished.push((pending.checkpoint, key)),
                TaskEntry::Failed(_) => self.failed.push(key),
                TaskEntry::Interrupt(interrupt) => self.interrupts.push(interrupt.id),
                TaskEntry::Resume(resume) => self.record_resume(pending.checkpoint, resume.id, &resume.value)?,
                TaskEntry::Recorded { key: name, .. } => self.records.push((key, name.clone())),
                _ => {}
            }
        }
        self.done.extend(finished.iter().map(|(_, key)| *key));
        finished.iter().try_for_each(|(checkpoint, key)| self.check_siblings(*checkpoint, *key))
    }

    fn record_resume(&mut self, checkpoint: CheckpointId, id: InterruptId, value: &Value) -> CheckResult {
        // An external update copies resume values to its own checkpoint, where they must be unchanged.
        let existing = self
            .resume_values
            .iter()
            .find(|(at, existing, old)| *existing == id && (*at == checkpoint || old != value));
        if let Some((_, _, old)) = existing {
            return Rule::ResumedOnce.broken(format!("interrupt {id} was resumed with {old} and again with {value}"));
        }
        self.resume_values.push((checkpoint, id, value.clone()));
        Ok(())
    }

    /// Checks the order of saved results: tasks end one after the other, and a later result must not be saved without
    /// an earlier one.
    fn check_siblings(&self, checkpoint: CheckpointId, key: TaskIdentity) -> CheckResult {
        let index = self.returned.iter().position(|returned| *returned == (checkpoint, key)).unwrap_or(0);
        let earlier = self.returned[..index].iter().filter(|(at, _)| *at == checkpoint);
        let mut lost = earlier.filter(|(_, sibling)| !self.done.contains(sibling));
        match lost.next() {
            Some((_, sibling)) => {
                let (sibling, key) = (self.label_of(*sibling), self.label_of(key));
                Rule::CancelKeepsResults
                    .broken(format!("task {key} was saved, and task {sibling}, which ended earlier, was not"))
            }
            None => Ok(()),
        }
    }

    fn label_of(&self, key: TaskIdentity) -> u64 {
        self.tasks.iter().find(|(_, identity)| *identity == key).map_or(0, |(label, _)| *label)
    }

    /// Checks a rejected commit. Returns true if it was rejected because of its lease.
    pub(crate) fn rejected(&self, commit: &Commit, error: &Error) -> Result<bool, crate::invariants::Violation> {
        let is_stale = !self.may_write(commit.lease.fence);
        if error.code() == ErrorCode::ThreadBusy && !is_stale {
            return Rule::OneWriter.broken(format!("lease {} is the newest and was rejected", commit.lease.fence));
        }
        Ok(is_stale)
    }

    /// Checks and records the start of a node.
    pub(crate) fn task_started(
        &mut self,
        execution: &Execution,
    ) -> Result<ExecutionKind, crate::invariants::Violation> {
        let Execution { key, label, run, namespace, checkpoint } = execution;
        if let Some(id) = checkpoint.filter(|id| self.checkpoint(*id).is_none()) {
            return Rule::ReportedIsSaved
                .broken(format!("task {label} started on checkpoint {id}, which is not saved"));
        }
        let existing = self.tasks.iter().find(|(other, existing)| other == label || existing == key);
        let kind = match existing {
            None => {
                self.tasks.push((*label, *key));
                ExecutionKind::First
            }
            Some((other, existing)) if other == label && existing == key => ExecutionKind::Repeated,
            Some((other, _)) if other == label => {
                return Rule::OneKey.broken(format!("task {label} ran with two keys"));
            }
            Some((other, _)) => return Rule::OneKey.broken(format!("tasks {other} and {label} have one key")),
        };
        if !self.is_finished(*key, namespace, *checkpoint) {
            return Ok(kind);
        }
        if self.is_stale(*run) {
            return Ok(ExecutionKind::Zombie);
        }
        Rule::FinishedNotRerun.broken(format!("task {label} started again, and its result was saved"))
    }

    fn is_finished(
        &self,
        key: TaskIdentity,
        namespace: &CheckpointNamespace,
        checkpoint: Option<CheckpointId>,
    ) -> bool {
        let follows = |saved: &Arc<Checkpoint>| {
            saved.source == CheckpointSource::Loop && saved.parent == checkpoint && saved.namespace == *namespace
        };
        self.done.contains(&key) || (checkpoint.is_some() && self.checkpoints.iter().any(follows))
    }

    /// Records that a node returned its result.
    pub(crate) fn task_returned(&mut self, execution: &Execution) {
        if let Some(checkpoint) = execution.checkpoint.filter(|_| !self.is_stale(execution.run)) {
            self.returned.push((checkpoint, execution.key));
        }
    }

    /// Records a cancellation: everything returned until now has to be saved.
    pub(crate) fn record_cancellation(&mut self) {
        self.before_cancel = self.returned.len();
    }

    /// Checks a run that ended as cancelled: results returned before are saved. Tasks of subgraphs stop with their
    /// parent task, and only their results saved by then count.
    pub(crate) fn cancelled(&self) -> CheckResult {
        let root = CheckpointNamespace::root();
        let is_root = |id: &CheckpointId| self.checkpoint(*id).is_some_and(|saved| saved.namespace.is_root());
        let is_saved = |key: &TaskIdentity, id: &CheckpointId| self.is_finished(*key, &root, Some(*id));
        let returned = self.returned[..self.before_cancel].iter();
        match returned.filter(|(id, _)| is_root(id)).find(|(id, key)| !is_saved(key, id)) {
            Some((_, key)) => {
                let label = self.label_of(*key);
                Rule::CancelKeepsResults
                    .broken(format!("task {label} had ended when the run was cancelled, and is lost"))
            }
            None => Ok(()),
        }
    }

    /// Returns true if a result is recorded.
    pub(crate) fn has_record(&self, key: TaskIdentity, name: &str) -> bool {
        self.records.iter().any(|(task, recorded)| *task == key && recorded == name)
    }

    /// Checks that a result that is about to be computed is not recorded already.
    pub(crate) fn record_computed(&self, execution: &Execution, name: &str) -> CheckResult {
        if self.has_record(execution.key, name) && !self.is_stale(execution.run) {
            let label = execution.label;
            return Rule::OnceNotRepeated.broken(format!("task {label} computed the recorded result `{name}` again"));
        }
        Ok(())
    }

    /// Returns the checkpoint with this id.
    pub(crate) fn checkpoint(&self, id: CheckpointId) -> Option<&Arc<Checkpoint>> {
        self.checkpoints.iter().rev().find(|saved| saved.id == id)
    }

    fn step_of(&self, namespace: &CheckpointNamespace) -> Option<i64> {
        self.checkpoints.iter().rev().find(|saved| saved.namespace == *namespace).map(|saved| saved.step)
    }

    /// Checks an event reported to a client. Returns false for previews, which guarantee nothing.
    pub(crate) fn event_published(
        &mut self,
        namespace: &CheckpointNamespace,
        event: &MachineEvent,
    ) -> Result<bool, crate::invariants::Violation> {
        let has_step = |step: i64| self.step_of(namespace).is_some_and(|saved| saved >= step);
        let is_saved = match event {
            MachineEvent::Checkpoint { id, .. } => {
                self.published.push(*id);
                self.checkpoint(*id).is_some()
            }
            MachineEvent::Values { step, .. } => has_step(*step),
            MachineEvent::TaskFinished { task, step, .. } => {
                self.done.contains(&TaskIdentity::from_task(*task)) || has_step(*step)
            }
            MachineEvent::TaskFailed { task, .. } => self.failed.contains(&TaskIdentity::from_task(*task)),
            MachineEvent::Interrupted { interrupts } => {
                interrupts.iter().all(|interrupt| self.interrupts.contains(&interrupt.id))
            }
            _ => return Ok(false),
        };
        if is_saved {
            Ok(true)
        } else {
            Rule::ReportedIsSaved.broken(format!("reported before it was saved: {}", describe_event(event)))
        }
    }

    /// Checks a checkpoint reported to a client as saved.
    pub(crate) fn checkpoint_published(&mut self, id: CheckpointId) -> CheckResult {
        self.published.push(id);
        match self.checkpoint(id) {
            Some(_) => Ok(()),
            None => Rule::ReportedIsSaved.broken(format!("checkpoint {id} was reported to a client, and is not saved")),
        }
    }

    /// Checks at the end that everything reported to clients is still stored.
    pub(crate) fn check_published(&self, exists: impl Fn(CheckpointId) -> bool) -> CheckResult {
        let is_in_subgraph = |id: &CheckpointId| self.checkpoint(*id).is_some_and(|saved| !saved.namespace.is_root());
        match self.published.iter().find(|id| !is_in_subgraph(id) && !exists(**id)) {
            Some(id) => Rule::ReportedIsSaved.broken(format!("checkpoint {id} was reported, and is missing")),
            None => Ok(()),
        }
    }
}

/// Returns a description of an event for the trace.
pub(crate) fn describe_event(event: &MachineEvent) -> String {
    match event {
        MachineEvent::TaskStarted { node, step, .. } => format!("`{node}` of step {step} starts"),
        MachineEvent::TaskFinished { node, step, .. } => format!("`{node}` of step {step} finished"),
        MachineEvent::TaskFailed { node, step, .. } => format!("`{node}` of step {step} failed"),
        MachineEvent::Values { step, .. } => format!("the values of step {step}"),
        MachineEvent::Checkpoint { step, id, .. } => format!("checkpoint {id} of step {step}"),
        MachineEvent::Interrupted { interrupts } => format!("{} interrupts", interrupts.len()),
        MachineEvent::Warning { message, .. } => message.clone(),
        _ => "another event".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
