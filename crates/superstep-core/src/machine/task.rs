//! One task as the rim sees it: what it is given, what names it, how it ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Answers;
use crate::checkpoint::{Checkpoint, Namespace, Question};
use crate::command::Output;
use crate::datum::Datum;
use crate::error::Error;
use crate::field::AnyState;
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
    /// What it is given in place of the state.
    pub payload: Option<Datum>,
    /// How long it may take, in place of the node's own limit.
    pub timeout: Option<Duration>,
    /// What its id is made of.
    pub key: TaskKey,
    /// The superstep.
    pub step: i64,
    /// How many supersteps may still run, this one included.
    pub remaining: u32,
    /// Answers to questions it has asked.
    pub answers: Arc<Answers>,
    /// Results it has recorded.
    pub records: Arc<BTreeMap<String, Datum>>,
    /// The checkpoint it works on.
    pub checkpoint: Option<CheckpointId>,
}

/// What the id of a task is made of; hashed only when somebody asks.
#[derive(Clone)]
pub struct TaskKey {
    pub(super) origin: u128,
    pub(super) namespace: Namespace,
    pub(super) step: i64,
    pub(super) node: Arc<str>,
    pub(super) fan_out: u32,
}

impl TaskKey {
    /// The id: the same on every attempt, also after a crash.
    #[must_use]
    pub fn id(&self) -> TaskId {
        TaskId::from_bits(derive(&[
            &self.origin.to_le_bytes(),
            self.namespace.as_str().as_bytes(),
            &self.step.to_le_bytes(),
            self.node.as_bytes(),
            &self.fan_out.to_le_bytes(),
        ]))
    }

    /// The ids that tasks of the same node have at a checkpoint.
    pub fn ids_at<'a>(&'a self, checkpoint: &'a Checkpoint) -> impl Iterator<Item = TaskId> + 'a {
        let mine = checkpoint.due.iter().filter(|due| due.node == self.node);
        mine.map(|due| {
            let (origin, step) = due.since.unwrap_or((checkpoint.id, checkpoint.step));
            let fan_out = due.send.as_ref().map_or(0, |send| send.index + 1);
            Self { origin: origin.bits(), step, fan_out, ..self.clone() }.id()
        })
    }

    /// Its place among the sends of its superstep, from 1; 0 when it was reached by an edge.
    #[must_use]
    pub fn fan_out(&self) -> u32 {
        self.fan_out
    }

    /// The id of a question the task asks, by its place among its questions.
    #[must_use]
    pub fn question(&self, ordinal: u32) -> InterruptId {
        InterruptId::from_bits(derive(&[&self.id().bits().to_le_bytes(), b"question", &ordinal.to_le_bytes()]))
    }
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
