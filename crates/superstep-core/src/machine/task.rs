//! One task as the rim sees it: what it is given, what names it, how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Answers, Draft};
use crate::advance::SendInput;
use crate::checkpoint::{Checkpoint, Namespace, Question};
use crate::command::Output;
use crate::datum::Datum;
use crate::error::Error;
use crate::field::AnyState;
use crate::graph::NodeSpec;
use crate::id::{CheckpointId, InterruptId, NodeId, TaskId, derive};

/// One execution of one node in one superstep, for the rim to run.
#[derive(Clone)]
pub struct Task {
    /// Its place in the superstep; names it in reports.
    pub index: usize,
    /// The node.
    pub node: NodeId,
    /// The state it sees.
    pub view: Arc<AnyState>,
    pub(super) send: Option<Arc<SendInput>>,
    /// What its id is made of.
    pub key: TaskKey,
    pub(super) named: Option<Arc<str>>,
    /// The superstep.
    pub step: i64,
    /// How many supersteps may still run, this one included.
    pub remaining: u32,
    /// Answers to questions it has asked, where there are any.
    pub answers: Option<Arc<Answers>>,
    /// Results it has recorded, where there are any.
    pub records: Option<Arc<BTreeMap<String, Datum>>>,
    /// The checkpoint it works on.
    pub checkpoint: Option<CheckpointId>,
    /// What that checkpoint builds on, while it is not saved because the run saves at its end.
    pub draft: Option<Box<Draft>>,
}

impl Task {
    /// The name its node had when it became due, when that is not the one it has now: its id is made of it.
    #[must_use]
    pub fn named(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// What it is given in place of the state.
    #[must_use]
    pub fn payload(&self) -> Option<&Datum> {
        self.send.as_ref().map(|send| &send.payload)
    }

    /// How long it may take, in place of the node's own limit.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.send.as_ref().and_then(|send| send.timeout)
    }
}

/// What the id of a task is made of, beside its graph and node; hashed only when somebody asks.
#[derive(Debug, Clone, Copy)]
pub struct TaskKey {
    pub(super) origin: u128,
    pub(super) step: i64,
    pub(super) fan_out: u32,
}

impl TaskKey {
    /// The id: the same on every attempt, also after a crash.
    #[must_use]
    pub fn id(&self, namespace: &Namespace, node: &str) -> TaskId {
        TaskId::from_bits(derive(&[
            &self.origin.to_le_bytes(),
            namespace.as_str().as_bytes(),
            &self.step.to_le_bytes(),
            node.as_bytes(),
            &self.fan_out.to_le_bytes(),
        ]))
    }

    /// What the id of a task in the same place of another superstep is made of.
    #[must_use]
    pub fn at(&self, checkpoint: CheckpointId, step: i64) -> Self {
        Self { origin: checkpoint.bits(), step, ..*self }
    }

    /// Its place among the sends of its superstep, from 1; 0 when it was reached by an edge.
    #[must_use]
    pub fn fan_out(&self) -> u32 {
        self.fan_out
    }
}

/// The ids that tasks of a node have at a checkpoint, also under names it had before.
pub fn ids_at<'a>(
    namespace: &'a Namespace,
    node: &'a NodeSpec,
    checkpoint: &'a Checkpoint,
) -> impl Iterator<Item = TaskId> + 'a {
    ids_where(namespace, checkpoint, |name| node.is_named(name))
}

/// The ids that tasks of a node have at a checkpoint, under this name alone.
pub fn ids_under<'a>(
    namespace: &'a Namespace,
    name: &'a str,
    checkpoint: &'a Checkpoint,
) -> impl Iterator<Item = TaskId> + 'a {
    ids_where(namespace, checkpoint, move |other| other == name)
}

fn ids_where<'a>(
    namespace: &'a Namespace,
    checkpoint: &'a Checkpoint,
    is_asked: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = TaskId> + 'a {
    let asked = checkpoint.due.iter().filter(move |due| is_asked(&due.node));
    asked.map(move |due| {
        let (origin, step) = due.since.unwrap_or((checkpoint.id, checkpoint.step));
        let fan_out = due.send.as_ref().map_or(0, |send| send.index + 1);
        TaskKey { origin: origin.bits(), step, fan_out }.id(namespace, &due.node)
    })
}

/// The id of a question a task asks, by its place among its questions.
#[must_use]
pub fn question_id(task: TaskId, ordinal: u32) -> InterruptId {
    InterruptId::from_bits(derive(&[&task.bits().to_le_bytes(), b"question", &ordinal.to_le_bytes()]))
}

/// The id of a question a task asks inside a recorded step, by its place among those of that step.
#[must_use]
pub fn question_id_in(task: TaskId, step: &str, ordinal: u32) -> InterruptId {
    if step.is_empty() {
        return question_id(task, ordinal);
    }
    let parts: [&[u8]; 4] = [&task.bits().to_le_bytes(), b"question", step.as_bytes(), &ordinal.to_le_bytes()];
    InterruptId::from_bits(derive(&parts))
}

/// Where the questions of an error handler are numbered from: a handler never gets the answers of its node.
pub const HANDLER_ORDINALS: u32 = 1 << 20;

/// How a task ended.
pub enum TaskEnd {
    /// Well.
    Done(Output),
    /// Well, with the result of an earlier equal call.
    Cached(Output),
    /// It asks; the run stops for answers once the other tasks have ended.
    Asked(Vec<Question>),
    /// A graph inside it stopped at a breakpoint, at these nodes.
    Paused(Vec<Arc<str>>),
    /// Badly.
    Failed(Error),
    /// It was stopped.
    Cancelled,
}
