//! A task as the engine sees it: its input, the parts of its id, and its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{ResumeValues, UnsavedCheckpoint};
use crate::checkpoint::{Checkpoint, CheckpointNamespace, Interrupt};
use crate::command::TaskOutput;
use crate::error::Error;
use crate::field::AnyState;
use crate::graph::NodeSpec;
use crate::id::{CheckpointId, InterruptId, NodeId, TaskId, hash_id};
use crate::schedule::SendInput;
use crate::value::AnyValue;

/// One execution of one node in one superstep, to be run by the engine.
#[derive(Clone)]
pub struct Task {
    /// Index in the superstep; identifies the task in reports to the machine.
    pub index: usize,
    /// Id of the node.
    pub node: NodeId,
    /// State visible to the task.
    pub view: Arc<AnyState>,
    pub(super) send: Option<Arc<SendInput>>,
    /// Parts of the task id.
    pub key: TaskIdParts,
    pub(super) id_node_name: Option<Arc<str>>,
    /// Number of the superstep.
    pub step: i64,
    /// Number of supersteps that may still run, including this one.
    pub remaining: u32,
    /// Resume values for its interrupts, if there are any.
    pub resume_values: Option<Arc<ResumeValues>>,
    /// Its recorded results, if there are any.
    pub recorded_results: Option<Arc<BTreeMap<String, AnyValue>>>,
    /// The checkpoint it runs on.
    pub checkpoint: Option<CheckpointId>,
    /// Origin of that checkpoint, if exit durability has not saved it yet.
    pub unsaved_checkpoint: Option<Box<UnsavedCheckpoint>>,
}

impl Task {
    /// Returns the name the node had when the task was scheduled, if it differs from the current name: the task id
    /// is derived from it.
    #[must_use]
    pub fn named(&self) -> Option<&str> {
        self.id_node_name.as_deref()
    }

    /// Returns the input of a send, in place of the state.
    #[must_use]
    pub fn payload(&self) -> Option<&AnyValue> {
        self.send.as_ref().map(|send| &send.payload)
    }

    /// Returns the timeout of the send, in place of the timeout of the node.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.send.as_ref().and_then(|send| send.timeout)
    }
}

/// The parts of a task id besides namespace and node; hashed only on request.
#[derive(Debug, Clone, Copy)]
pub struct TaskIdParts {
    pub(super) origin: u128,
    pub(super) step: i64,
    pub(super) send_index: u32,
}

impl TaskIdParts {
    /// Returns the id: the same on every attempt, also after a crash.
    #[must_use]
    pub fn id(&self, namespace: &CheckpointNamespace, node: &str) -> TaskId {
        TaskId::from_bits(hash_id(&[
            &self.origin.to_le_bytes(),
            namespace.as_str().as_bytes(),
            &self.step.to_le_bytes(),
            node.as_bytes(),
            &self.send_index.to_le_bytes(),
        ]))
    }

    /// Returns the parts of the id of the task with the same send index in another superstep.
    #[must_use]
    pub fn for_superstep(&self, checkpoint: CheckpointId, step: i64) -> Self {
        Self { origin: checkpoint.bits(), step, ..*self }
    }

    /// Returns the position among the sends of its superstep, starting at 1; 0 if an edge scheduled the task.
    #[must_use]
    pub fn send_index(&self) -> u32 {
        self.send_index
    }
}

/// Iterates over the ids of the tasks of a node at a checkpoint, including those under former names.
pub fn task_ids_at<'a>(
    namespace: &'a CheckpointNamespace,
    node: &'a NodeSpec,
    checkpoint: &'a Checkpoint,
) -> impl Iterator<Item = TaskId> + 'a {
    ids_where(namespace, checkpoint, |name| node.is_named(name))
}

/// Iterates over the ids of the tasks of a node at a checkpoint, under this name only.
pub fn task_ids_under_name<'a>(
    namespace: &'a CheckpointNamespace,
    name: &'a str,
    checkpoint: &'a Checkpoint,
) -> impl Iterator<Item = TaskId> + 'a {
    ids_where(namespace, checkpoint, move |other| other == name)
}

fn ids_where<'a>(
    namespace: &'a CheckpointNamespace,
    checkpoint: &'a Checkpoint,
    matches_node: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = TaskId> + 'a {
    let tasks = checkpoint.next_tasks.iter().filter(move |task| matches_node(&task.node));
    tasks.map(move |task| {
        let (origin, step) = task.scheduled_at.unwrap_or((checkpoint.id, checkpoint.step));
        let send_index = task.send.as_ref().map_or(0, |send| send.index + 1);
        TaskIdParts { origin: origin.bits(), step, send_index }.id(namespace, &task.node)
    })
}

/// Returns the id of an interrupt of a task, by its ordinal in the task.
#[must_use]
pub fn interrupt_id(task: TaskId, ordinal: u32) -> InterruptId {
    InterruptId::from_bits(hash_id(&[&task.bits().to_le_bytes(), b"question", &ordinal.to_le_bytes()]))
}

/// Returns the id of an interrupt inside a recorded step of a task, by its ordinal in that step.
#[must_use]
pub fn interrupt_id_in_step(task: TaskId, step: &str, ordinal: u32) -> InterruptId {
    if step.is_empty() {
        return interrupt_id(task, ordinal);
    }
    let parts: [&[u8]; 4] = [&task.bits().to_le_bytes(), b"question", step.as_bytes(), &ordinal.to_le_bytes()];
    InterruptId::from_bits(hash_id(&parts))
}

/// First ordinal for interrupts of an error handler: a handler never receives the resume values of its node.
pub const ERROR_HANDLER_ORDINAL_BASE: u32 = 1 << 20;

/// The end of a task.
pub enum TaskEnd {
    /// The task succeeded.
    Finished(TaskOutput),
    /// The task succeeded, with the result of an earlier equal call.
    Cached(TaskOutput),
    /// The task interrupted; the run stops for resume values when the other tasks have ended.
    Interrupted(Vec<Interrupt>),
    /// A subgraph of the task paused at a breakpoint, at these nodes.
    Paused(Vec<Arc<str>>),
    /// The task failed.
    Failed(Error),
    /// The task was cancelled.
    Cancelled,
}
