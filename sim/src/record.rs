//! What is on the disk and who may write there, noted beside the engine, and the rules that follow from it.
//!
//! Never asks the engine: it sees what the store took and refused, what nodes did, and what clients were told.

use std::sync::Arc;

use serde_json::Value;
use superstep::core::checkpoint::{Checkpoint, Entry, Namespace, Source};
use superstep::core::id::{CheckpointId, InterruptId, RunId, TaskId, derive};
use superstep::core::machine::Event;
use superstep::core::port::Commit;
use superstep::{Code, Error};

use crate::disk::THREAD;
use crate::rules::{Rule, Verdict};

/// What the outside knows a task by, on every attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    /// The key a node is given.
    pub(crate) fn given(key: TaskId) -> Self {
        Self(key.bits())
    }

    /// The key of a task as stores and events name it.
    pub(crate) fn of(task: TaskId) -> Self {
        Self(derive(&[THREAD.as_bytes(), &task.bits().to_le_bytes()]))
    }
}

/// One execution of a task.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub(crate) key: Key,
    pub(crate) label: u64,
    pub(crate) run: RunId,
    pub(crate) namespace: Namespace,
    pub(crate) checkpoint: Option<CheckpointId>,
}

/// What an execution is, seen from the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The first of its task.
    First,
    /// Its task has run before, and nothing of that was saved.
    Again,
    /// Its run has lost the thread, and its task is done.
    Zombie,
}

/// What is known to be on the disk.
#[derive(Default)]
pub(crate) struct Record {
    newest: u64,
    is_held: bool,
    fences: Vec<(RunId, u64)>,
    /// In the order they were saved.
    pub(crate) checkpoints: Vec<Arc<Checkpoint>>,
    done: Vec<Key>,
    failed: Vec<Key>,
    questions: Vec<InterruptId>,
    answers: Vec<(CheckpointId, InterruptId, Value)>,
    records: Vec<(Key, String)>,
    tasks: Vec<(u64, Key)>,
    /// Nodes that have returned under the newest lease, in order.
    returned: Vec<(CheckpointId, Key)>,
    /// How many of them had returned when the run was asked to stop.
    before_cancel: usize,
    told: Vec<CheckpointId>,
}

impl Record {
    /// A run got the thread.
    pub(crate) fn acquired(&mut self, run: RunId, fence: u64) {
        (self.newest, self.is_held) = (fence, true);
        // What returned under an earlier lease and was not kept is lost with it.
        self.returned.clear();
        self.before_cancel = 0;
        self.fences.retain(|(known, _)| *known != run);
        self.fences.push((run, fence));
    }

    /// Nobody has the thread any more.
    pub(crate) fn let_go(&mut self, fence: u64) {
        self.is_held &= self.newest != fence;
    }

    fn is_stale(&self, run: RunId) -> bool {
        let fence = self.fences.iter().find(|(known, _)| *known == run).map(|(_, fence)| *fence);
        !self.is_held || fence != Some(self.newest)
    }

    fn may_write(&self, fence: u64) -> bool {
        self.is_held && fence == self.newest
    }

    /// The disk took a commit.
    pub(crate) fn committed(&mut self, commit: &Commit) -> Verdict {
        if !self.may_write(commit.lease.fence) {
            let (mine, newest) = (commit.lease.fence, self.newest);
            return Rule::OneWriter.broken(format!("a commit of lease {mine} was taken; the newest is {newest}"));
        }
        self.checkpoints.extend(commit.checkpoint.clone());
        let mut finished = Vec::new();
        for pending in &commit.pending {
            let key = Key::of(pending.task);
            match &pending.entry {
                Entry::Done(_) => finished.push((pending.checkpoint, key)),
                Entry::Failed(_) => self.failed.push(key),
                Entry::Question(question) => self.questions.push(question.id),
                Entry::Answer(answer) => self.answered(pending.checkpoint, answer.id, &answer.value)?,
                Entry::Once { key: name, .. } => self.records.push((key, name.clone())),
                _ => {}
            }
        }
        self.done.extend(finished.iter().map(|(_, key)| *key));
        finished.iter().try_for_each(|(checkpoint, key)| self.check_siblings(*checkpoint, *key))
    }

    fn answered(&mut self, checkpoint: CheckpointId, id: InterruptId, value: &Value) -> Verdict {
        // An update from outside carries answers over to its own checkpoint; there they must be what they were.
        let known = self.answers.iter().find(|(at, known, old)| *known == id && (*at == checkpoint || old != value));
        if let Some((_, _, old)) = known {
            return Rule::AnsweredOnce.broken(format!("question {id} was answered with {old} and again with {value}"));
        }
        self.answers.push((checkpoint, id, value.clone()));
        Ok(())
    }

    /// Tasks end one after the other and are kept in that order: a later one never overtakes an earlier one.
    fn check_siblings(&self, checkpoint: CheckpointId, key: Key) -> Verdict {
        let mine = self.returned.iter().position(|returned| *returned == (checkpoint, key)).unwrap_or(0);
        let earlier = self.returned[..mine].iter().filter(|(at, _)| *at == checkpoint);
        let mut lost = earlier.filter(|(_, sibling)| !self.done.contains(sibling));
        match lost.next() {
            Some((_, sibling)) => {
                let (sibling, key) = (self.label_of(*sibling), self.label_of(key));
                Rule::CleanCancel.broken(format!("task {key} was kept, and task {sibling}, which ended before it, not"))
            }
            None => Ok(()),
        }
    }

    fn label_of(&self, key: Key) -> u64 {
        self.tasks.iter().find(|(_, known)| *known == key).map_or(0, |(label, _)| *label)
    }

    /// The disk refused a commit. True when that was because of its lease.
    pub(crate) fn refused(&self, commit: &Commit, error: &Error) -> Result<bool, crate::rules::Violation> {
        let is_stale = !self.may_write(commit.lease.fence);
        if error.code() == Code::ThreadBusy && !is_stale {
            return Rule::OneWriter.broken(format!("lease {} is the newest and was refused", commit.lease.fence));
        }
        Ok(is_stale)
    }

    /// A node begins.
    pub(crate) fn begins(&mut self, execution: &Execution) -> Result<Standing, crate::rules::Violation> {
        let Execution { key, label, run, namespace, checkpoint } = execution;
        if let Some(id) = checkpoint.filter(|id| self.checkpoint(*id).is_none()) {
            return Rule::ToldIsSaved.broken(format!("task {label} began on checkpoint {id}, which is not saved"));
        }
        let known = self.tasks.iter().find(|(other, known)| other == label || known == key);
        let standing = match known {
            None => {
                self.tasks.push((*label, *key));
                Standing::First
            }
            Some((other, known)) if other == label && known == key => Standing::Again,
            Some((other, _)) if other == label => {
                return Rule::OneKey.broken(format!("task {label} ran with two keys"));
            }
            Some((other, _)) => return Rule::OneKey.broken(format!("tasks {other} and {label} have one key")),
        };
        if !self.is_finished(*key, namespace, *checkpoint) {
            return Ok(standing);
        }
        if self.is_stale(*run) {
            return Ok(Standing::Zombie);
        }
        Rule::DoneIsDone.broken(format!("task {label} began again, and its result was saved"))
    }

    fn is_finished(&self, key: Key, namespace: &Namespace, checkpoint: Option<CheckpointId>) -> bool {
        let follows = |saved: &Arc<Checkpoint>| {
            saved.source == Source::Loop && saved.parent == checkpoint && saved.namespace == *namespace
        };
        self.done.contains(&key) || (checkpoint.is_some() && self.checkpoints.iter().any(follows))
    }

    /// A node has returned its result.
    pub(crate) fn returns(&mut self, execution: &Execution) {
        if let Some(checkpoint) = execution.checkpoint.filter(|_| !self.is_stale(execution.run)) {
            self.returned.push((checkpoint, execution.key));
        }
    }

    /// The run is asked to stop: what has returned until now is to be kept.
    pub(crate) fn cancels(&mut self) {
        self.before_cancel = self.returned.len();
    }

    /// The run has ended as cancelled: what had returned before that is saved. What ran in graphs inside is stopped with
    /// the task around it, and only what it had kept by then counts.
    pub(crate) fn cancelled(&self) -> Verdict {
        let root = Namespace::root();
        let is_root = |id: &CheckpointId| self.checkpoint(*id).is_some_and(|saved| saved.namespace.is_root());
        let is_saved = |key: &Key, id: &CheckpointId| self.is_finished(*key, &root, Some(*id));
        let returned = self.returned[..self.before_cancel].iter();
        match returned.filter(|(id, _)| is_root(id)).find(|(id, key)| !is_saved(key, id)) {
            Some((_, key)) => {
                let label = self.label_of(*key);
                Rule::CleanCancel.broken(format!("task {label} had ended when the run was cancelled, and is lost"))
            }
            None => Ok(()),
        }
    }

    /// Whether a result is recorded.
    pub(crate) fn has_record(&self, key: Key, name: &str) -> bool {
        self.records.iter().any(|(known, record)| *known == key && record == name)
    }

    /// What is to be recorded under this name is made.
    pub(crate) fn makes(&self, execution: &Execution, name: &str) -> Verdict {
        if self.has_record(execution.key, name) && !self.is_stale(execution.run) {
            let label = execution.label;
            return Rule::OnceIsOnce.broken(format!("task {label} made `{name}` again, and it was recorded"));
        }
        Ok(())
    }

    /// The checkpoint with this id.
    pub(crate) fn checkpoint(&self, id: CheckpointId) -> Option<&Arc<Checkpoint>> {
        self.checkpoints.iter().rev().find(|saved| saved.id == id)
    }

    fn step_of(&self, namespace: &Namespace) -> Option<i64> {
        self.checkpoints.iter().rev().find(|saved| saved.namespace == *namespace).map(|saved| saved.step)
    }

    /// A client is told an event. Those that are previews prove nothing: false for them.
    pub(crate) fn tells(&mut self, namespace: &Namespace, event: &Event) -> Result<bool, crate::rules::Violation> {
        let has_step = |step: i64| self.step_of(namespace).is_some_and(|saved| saved >= step);
        let is_saved = match event {
            Event::Checkpoint { id, .. } => {
                self.told.push(*id);
                self.checkpoint(*id).is_some()
            }
            Event::Values { step, .. } => has_step(*step),
            Event::TaskDone { task, step, .. } => self.done.contains(&Key::of(*task)) || has_step(*step),
            Event::TaskFailed { task, .. } => self.failed.contains(&Key::of(*task)),
            Event::Interrupted { questions } => questions.iter().all(|asked| self.questions.contains(&asked.id)),
            _ => return Ok(false),
        };
        if is_saved {
            Ok(true)
        } else {
            Rule::ToldIsSaved.broken(format!("told before it was saved: {}", spoken(event)))
        }
    }

    /// A client is told that this checkpoint is saved.
    pub(crate) fn tells_checkpoint(&mut self, id: CheckpointId) -> Verdict {
        self.told.push(id);
        match self.checkpoint(id) {
            Some(_) => Ok(()),
            None => Rule::ToldIsSaved.broken(format!("a client was told checkpoint {id}, not saved")),
        }
    }

    /// What clients were told is still there at the end.
    pub(crate) fn check_told(&self, is_there: impl Fn(CheckpointId) -> bool) -> Verdict {
        let inner = |id: &CheckpointId| self.checkpoint(*id).is_some_and(|saved| !saved.namespace.is_root());
        match self.told.iter().find(|id| !inner(id) && !is_there(**id)) {
            Some(id) => Rule::ToldIsSaved.broken(format!("checkpoint {id} was told and is gone")),
            None => Ok(()),
        }
    }
}

/// An event in words.
pub(crate) fn spoken(event: &Event) -> String {
    match event {
        Event::TaskStarted { node, step, .. } => format!("`{node}` of step {step} begins"),
        Event::TaskDone { node, step, .. } => format!("`{node}` of step {step} is done"),
        Event::TaskFailed { node, step, .. } => format!("`{node}` of step {step} failed"),
        Event::Values { step, .. } => format!("the values of step {step}"),
        Event::Checkpoint { step, id, .. } => format!("checkpoint {id} of step {step}"),
        Event::Interrupted { questions } => format!("{} questions", questions.len()),
        Event::Warning { message, .. } => message.clone(),
        _ => "something new".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
