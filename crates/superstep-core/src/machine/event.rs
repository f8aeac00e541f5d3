//! The events of a run. Stream modes filter them; without a subscriber no events are created.

use std::sync::Arc;

use crate::checkpoint::{CheckpointSource, Interrupt};
use crate::error::Error;
use crate::id::{CheckpointId, TaskId};
use crate::port::StateRef;
use crate::update::Update;
use crate::value::AnyValue;

/// One event of a run.
#[derive(Clone)]
#[non_exhaustive]
pub enum MachineEvent {
    /// A task starts.
    TaskStarted {
        /// Id of the task.
        task: TaskId,
        /// Name of its node.
        node: Arc<str>,
        /// Number of the superstep.
        step: i64,
        /// The part of the state that the task may read.
        state: Option<StateRef>,
        /// Input of a send, in place of the state.
        send_payload: Option<AnyValue>,
        /// The checkpoint that the task runs on.
        checkpoint: Option<CheckpointId>,
    },
    /// A task succeeded.
    TaskFinished {
        /// Id of the task.
        task: TaskId,
        /// Name of its node.
        node: Arc<str>,
        /// Number of the superstep.
        step: i64,
        /// Update of the task.
        update: Update,
        /// True if the result was read from a cache.
        cached: bool,
    },
    /// A task failed.
    TaskFailed {
        /// Id of the task.
        task: TaskId,
        /// Name of its node.
        node: Arc<str>,
        /// Number of the superstep.
        step: i64,
        /// Error of the task.
        error: Error,
    },
    /// A task waits for resume values.
    TaskInterrupted {
        /// Id of the task.
        task: TaskId,
        /// Name of its node.
        node: Arc<str>,
        /// Number of the superstep.
        step: i64,
        /// Interrupts of the task.
        interrupts: Vec<Interrupt>,
    },
    /// A superstep was applied; published after it is saved.
    Values {
        /// Number of the step.
        step: i64,
        /// State after the step.
        state: StateRef,
        /// True if a field that callers can see changed.
        is_visible: bool,
    },
    /// A checkpoint was saved.
    Checkpoint {
        /// Id of the checkpoint.
        id: CheckpointId,
        /// Id of its parent.
        parent: Option<CheckpointId>,
        /// Step of the checkpoint.
        step: i64,
        /// Cause of the checkpoint.
        source: CheckpointSource,
        /// Names of the scheduled nodes.
        next: Vec<Arc<str>>,
        /// The scheduled tasks, with their nodes.
        tasks: Vec<(TaskId, Arc<str>)>,
        /// State at the checkpoint.
        state: Option<StateRef>,
    },
    /// The run waits for resume values.
    Interrupted {
        /// Open interrupts of the run.
        interrupts: Vec<Interrupt>,
    },
    /// A warning about a tolerated problem.
    Warning {
        /// Machine-readable kind: `set_once_ignored`, or `warning` for any other.
        code: &'static str,
        /// Name of the field, if the warning is about one.
        field: Option<Arc<str>>,
        /// Text of the warning.
        message: String,
    },
}
