//! Everything a run may say. Stream modes are filters over it; without a listener none is made.

use std::sync::Arc;

use crate::checkpoint::{Question, Source};
use crate::datum::Datum;
use crate::error::Error;
use crate::id::{CheckpointId, TaskId};
use crate::port::StateRef;
use crate::update::Update;

/// One thing a run says.
#[derive(Clone)]
#[non_exhaustive]
pub enum Event {
    /// A task begins.
    TaskStarted {
        /// The task.
        task: TaskId,
        /// Its node.
        node: Arc<str>,
        /// The superstep.
        step: i64,
        /// What it sees: the state, as far as it may read it.
        view: Option<StateRef>,
        /// What it was sent in place of it.
        sent: Option<Datum>,
        /// The checkpoint it works on.
        checkpoint: Option<CheckpointId>,
    },
    /// A task ended well.
    TaskDone {
        /// The task.
        task: TaskId,
        /// Its node.
        node: Arc<str>,
        /// The superstep.
        step: i64,
        /// What it wrote.
        update: Update,
        /// Whether it was taken from a cache.
        cached: bool,
    },
    /// A task failed.
    TaskFailed {
        /// The task.
        task: TaskId,
        /// Its node.
        node: Arc<str>,
        /// The superstep.
        step: i64,
        /// Why.
        error: Error,
    },
    /// A task waits for answers.
    TaskAsked {
        /// The task.
        task: TaskId,
        /// Its node.
        node: Arc<str>,
        /// The superstep.
        step: i64,
        /// Its questions.
        questions: Vec<Question>,
    },
    /// A superstep was applied; comes after it is saved.
    Values {
        /// The step.
        step: i64,
        /// The state after it.
        state: StateRef,
        /// Whether a field changed that callers see.
        is_visible: bool,
    },
    /// A checkpoint was saved.
    Checkpoint {
        /// Its id.
        id: CheckpointId,
        /// The one it follows.
        parent: Option<CheckpointId>,
        /// Its step.
        step: i64,
        /// What made it.
        source: Source,
        /// The nodes that are due.
        next: Vec<Arc<str>>,
        /// The tasks that are due, with their nodes.
        tasks: Vec<(TaskId, Arc<str>)>,
        /// The state.
        state: Option<StateRef>,
    },
    /// The run waits for answers.
    Interrupted {
        /// The questions.
        questions: Vec<Question>,
    },
    /// Something was let pass that should be known.
    Warning {
        /// Which kind, for programs: `set_once_ignored`, or `warning` where there is no more to say.
        code: &'static str,
        /// The field, where it is about one.
        field: Option<Arc<str>>,
        /// What.
        message: String,
    },
}
