//! The persisted form of the history of a thread.
//!
//! Uses names instead of dense ids, plain data instead of types, and a format version in every checkpoint. This
//! module defines the stored data; adapters decide how to store it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::change::Change;
use crate::command::{CommandScope, Goto, GotoTarget, ParentCommand, SendTo};
use crate::error::{Error, ErrorCode, ErrorLocation};
use crate::id::{CheckpointId, InterruptId, RunId, TaskId, ThreadId};
use crate::value::AnyValue;

mod stored_columns;
mod thread_export;
mod thread_file;

pub use stored_columns::{CheckpointHeader, RunInfo, StoredSchedule};
pub use thread_export::{ExportedCheckpoint, ThreadExport};
pub use thread_file::{FILE_VERSION, MAX_LINE_BYTES, ThreadFileReader, ThreadFileWriter, json_depth};

/// Version of the persisted form. A number is never reused.
pub const FORMAT_VERSION: u32 = 1;

/// The path of a subgraph in a thread (`checkpoint_ns`); empty for the root graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointNamespace(Arc<str>);

impl CheckpointNamespace {
    /// Returns the namespace of the root graph.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the namespace of the subgraph that runs as `segment` in this graph.
    #[must_use]
    pub fn child(&self, segment: &str) -> Self {
        if self.0.is_empty() { Self(segment.into()) } else { Self(format!("{}|{segment}", self.0).into()) }
    }

    /// Returns the path as text: segments joined by `|`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for the root graph.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for CheckpointNamespace {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

/// The cause of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckpointSource {
    /// Input of a run.
    Input,
    /// Completed superstep.
    Loop,
    /// Interrupt of a task.
    Interrupt,
    /// A state update from outside the graph.
    Update,
    /// A fork of the history.
    Fork,
}

/// One saved state of a thread, without its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Format version of this checkpoint.
    pub format: u32,
    /// Id of the checkpoint.
    pub id: CheckpointId,
    /// The preceding checkpoint.
    pub parent: Option<CheckpointId>,
    /// Id of the thread.
    pub thread: ThreadId,
    /// Namespace of the graph.
    pub namespace: CheckpointNamespace,
    /// Step number: 0 is the input; *n* follows the *n*-th superstep.
    pub step: i64,
    /// Cause of the checkpoint.
    pub source: CheckpointSource,
    /// The run that created the checkpoint.
    pub run: RunId,
    /// Creation time, in microseconds since 1970.
    pub time: i64,
    /// Name of the graph.
    pub graph: Arc<str>,
    /// Version of the state schema.
    pub schema_version: u32,
    /// The tasks of the next superstep, in order.
    #[serde(rename = "due")]
    pub next_tasks: Vec<StoredTask>,
    /// Joins that some but not all sources have reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<StoredJoin>,
    /// Deferred nodes that wait until no other task is scheduled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<Arc<str>>,
    /// Fields that were written on this thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "written")]
    pub written_fields: Vec<Arc<str>>,
    /// Task of the parent graph that runs this subgraph; `None` for the root graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "outer_task")]
    pub parent_task: Option<TaskId>,
    /// Changes since the input, for the parent graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "since_input")]
    pub changes_since_input: Option<Vec<(Arc<str>, Change)>>,
    /// Metadata that the caller set for the run.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub metadata: Arc<BTreeMap<String, Value>>,
}

fn is_empty(map: &Arc<BTreeMap<String, Value>>) -> bool {
    map.is_empty()
}

/// A scheduled task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTask {
    /// Name of the node.
    pub node: Arc<str>,
    /// Reason why the task is scheduled.
    #[serde(rename = "why")]
    pub trigger: StoredTrigger,
    /// Input of the task in place of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<StoredSend>,
    /// Checkpoint and step at which the task was scheduled, if that is an earlier checkpoint; the task id is
    /// derived from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "since")]
    pub scheduled_at: Option<(CheckpointId, i64)>,
}

/// The reason why a task is scheduled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTrigger {
    /// Kind of the trigger.
    pub kind: TriggerKind,
    /// Name of the node that routed to the task, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Arc<str>>,
}

/// The kinds of reason why a task is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TriggerKind {
    /// An edge.
    Edge,
    /// A conditional edge.
    Route,
    /// A join: all its sources have finished.
    Join,
    /// The goto of a command.
    Goto,
    /// A send: a task with its own input.
    Send,
    /// A deferred node is released because no other task is scheduled.
    Deferred,
    /// A state update from outside the graph.
    Update,
}

/// The input of a task that was created by a send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredSend {
    /// Position among the sends of its superstep.
    pub index: u32,
    /// Input of the task.
    pub payload: AnyValue,
    /// Timeout of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// Progress of a join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredJoin {
    /// Name of the target node.
    pub target: Arc<str>,
    /// All sources.
    pub sources: Vec<Arc<str>>,
    /// The sources that have finished.
    pub arrived: Vec<Arc<str>>,
}

/// One changed field of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// Name of the field.
    pub field: Arc<str>,
    /// Change of the value.
    pub change: Change,
    /// Delta: the part of the value that the change covers.
    #[serde(rename = "part")]
    pub delta: AnyValue,
}

/// A stored fact about a task of the superstep after a checkpoint, saved before that superstep is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingEntry {
    /// The checkpoint that scheduled the task.
    pub checkpoint: CheckpointId,
    /// Id of the task.
    pub task: TaskId,
    /// Name of its node.
    pub node: Arc<str>,
    /// Stored fact.
    pub entry: TaskEntry,
}

/// The kinds of facts stored about a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskEntry {
    /// The task finished.
    Done(StoredOutput),
    /// The task was cancelled because enough others succeeded.
    Skipped,
    /// The task failed.
    Failed(StoredError),
    /// The task finished, but its update and those of its siblings could not be applied together.
    #[serde(rename = "refused")]
    Rejected(StoredError),
    /// An interrupt of the task.
    #[serde(rename = "question")]
    Interrupt(Interrupt),
    /// A resume value for an interrupt of the task.
    #[serde(rename = "answer")]
    Resume(ResumeValue),
    /// A result recorded inside the task, by key.
    #[serde(rename = "once")]
    Recorded {
        /// Key of the recorded result.
        key: String,
        /// The recorded result.
        value: AnyValue,
    },
}

impl TaskEntry {
    /// Returns the key that separates entries of one task: a second entry with the same slot replaces the first.
    #[must_use]
    pub fn slot(&self) -> String {
        match self {
            Self::Done(_) | Self::Skipped | Self::Failed(_) => "end".to_owned(),
            Self::Rejected(_) => "refused".to_owned(),
            Self::Interrupt(interrupt) => format!("question {}", interrupt.id),
            Self::Resume(resume_value) => format!("answer {}", resume_value.id),
            Self::Recorded { key, .. } => format!("once {key}"),
        }
    }
}

/// The output of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredOutput {
    /// Writes of the task, in order.
    pub writes: Vec<StoredWrite>,
    /// True if the outgoing edges of the node are followed.
    pub follow_edges: bool,
    /// Targets of its conditional edges, commands and sends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "ways")]
    pub targets: Vec<StoredTask>,
    /// Command for a parent graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "outward")]
    pub parent_command: Option<StoredParentCommand>,
    /// True if the output was read from a cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// A command for a parent graph, with names instead of ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredParentCommand {
    /// Name of the graph; `None` is the direct parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Arc<str>>,
    /// Updates for that graph.
    pub updates: Vec<Map<String, Value>>,
    /// Names of the target nodes in that graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goto: Vec<String>,
    /// Sends: tasks to start in that graph, by node name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<(String, StoredSend)>,
}

impl From<&ParentCommand> for StoredParentCommand {
    fn from(command: &ParentCommand) -> Self {
        let (mut goto, mut sends) = (Vec::new(), Vec::new());
        for target in command.goto.targets() {
            match target {
                GotoTarget::Node(endpoint) => goto.push(endpoint.to_string()),
                GotoTarget::Send(send) => {
                    let stored = StoredSend { index: 0, payload: send.payload.clone(), timeout: send.timeout };
                    sends.push((send.node.to_string(), stored));
                }
            }
        }
        let graph = match &command.scope {
            CommandScope::Named(name) => Some(name.clone()),
            CommandScope::Current | CommandScope::Parent => None,
        };
        Self { graph, updates: command.updates.clone(), goto, sends }
    }
}

impl From<StoredParentCommand> for ParentCommand {
    fn from(stored: StoredParentCommand) -> Self {
        let mut goto = Goto::all(stored.goto.iter().map(String::as_str));
        for (node, StoredSend { payload, timeout, .. }) in stored.sends {
            goto = goto.and_send(SendTo { node: node.as_str().into(), payload, timeout });
        }
        let scope = stored.graph.map_or(CommandScope::Parent, CommandScope::Named);
        Self { scope, updates: stored.updates, goto }
    }
}

/// One write of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredWrite {
    /// Name of the field.
    pub field: Arc<str>,
    /// True if the value replaces the field without its reducer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
    /// Written value.
    pub value: AnyValue,
}

/// An interrupt: a request for a value from outside, such as a human decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Id that a resume value refers to.
    pub id: InterruptId,
    /// Name of the node that interrupted.
    pub node: Arc<str>,
    /// Namespace of its graph.
    pub namespace: CheckpointNamespace,
    /// Name of the interrupt.
    pub name: String,
    /// Payload shown to the user.
    pub value: Value,
    /// JSON Schema of the resume value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "schema")]
    pub resume_schema: Option<Value>,
    /// Prompt for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "text")]
    pub prompt: Option<String>,
}

/// A resume value for an interrupt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResumeValue {
    /// Id of the interrupt.
    pub id: InterruptId,
    /// Value given by the user.
    pub value: Value,
    /// Time of the resume, in microseconds since 1970.
    pub time: i64,
}

/// An error as it is stored: the information a reader can act on, without the live cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredError {
    /// Code of the error.
    pub code: ErrorCode,
    /// Message: the fact.
    pub message: String,
    /// Help text: the advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// True if a retry may help.
    pub retryable: bool,
    /// Location of the error.
    #[serde(rename = "place")]
    pub location: ErrorLocation,
    /// Causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl From<&Error> for StoredError {
    fn from(error: &Error) -> Self {
        let mut causes = Vec::new();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        Self {
            code: error.code(),
            message: error.message().to_owned(),
            help: error.help().map(str::to_owned),
            retryable: error.is_retryable(),
            location: error.location().clone(),
            causes,
        }
    }
}

impl Serialize for AnyValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::json)
    }
}
