//! The persisted form: what a thread's history is made of.
//!
//! Names instead of dense numbers, plain data instead of types, a format version in every checkpoint.
//! Only this module says what is stored; how it is stored is the adapters' business.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::change::Change;
use crate::command::{Go, Hop, Outward, Scope, Send};
use crate::datum::Datum;
use crate::error::{Code, Error, Place};
use crate::id::{CheckpointId, InterruptId, RunId, TaskId, ThreadId};

mod pieces;
mod thread_copy;
mod thread_file;

pub use pieces::{Ahead, Mark, Origin};
pub use thread_copy::{CopiedCheckpoint, ThreadCopy};
pub use thread_file::{FILE_VERSION, LONGEST_LINE, ThreadReader, ThreadWriter, json_depth};

/// The version of the persisted form. A number is never reused.
pub const FORMAT_VERSION: u32 = 1;

/// The path of a graph inside graphs; empty for the outermost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// The outermost graph.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The graph that runs as `segment` inside this one.
    #[must_use]
    pub fn child(&self, segment: &str) -> Self {
        if self.0.is_empty() { Self(segment.into()) } else { Self(format!("{}|{segment}", self.0).into()) }
    }

    /// The path as text: segments joined by `|`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the outermost graph.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Namespace {
    fn from(path: &str) -> Self {
        Self(path.into())
    }
}

/// What made a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// An input.
    Input,
    /// A superstep.
    Loop,
    /// A question to a person.
    Interrupt,
    /// A change from outside.
    Update,
    /// A new line of history.
    Fork,
}

/// One saved state of a thread, without its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The version of this form.
    pub format: u32,
    /// The id.
    pub id: CheckpointId,
    /// The checkpoint it follows.
    pub parent: Option<CheckpointId>,
    /// The thread.
    pub thread: ThreadId,
    /// The path of the graph.
    pub namespace: Namespace,
    /// 0 is the input; *n* follows the *n*-th superstep.
    pub step: i64,
    /// What made it.
    pub source: Source,
    /// The run that made it.
    pub run: RunId,
    /// When, in microseconds since 1970.
    pub time: i64,
    /// The name of the graph.
    pub graph: Arc<str>,
    /// The version of the state's shape.
    pub schema_version: u32,
    /// The tasks of the next superstep, in order.
    pub due: Vec<StoredDue>,
    /// Joins that some but not all sources have reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<StoredJoin>,
    /// Nodes that wait until nothing else is due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<Arc<str>>,
    /// Fields that were written on this thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Arc<str>>,
    /// The task of the graph around, for a graph inside another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer_task: Option<TaskId>,
    /// What changed since the input, for the graph around.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_input: Option<Vec<(Arc<str>, Change)>>,
    /// What the caller said about the run.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub metadata: Arc<BTreeMap<String, Value>>,
}

fn is_empty(map: &Arc<BTreeMap<String, Value>>) -> bool {
    map.is_empty()
}

/// A task that is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredDue {
    /// The node.
    pub node: Arc<str>,
    /// Why it is due.
    pub why: StoredWhy,
    /// What it is given in place of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<StoredSend>,
    /// The checkpoint and step it became due at, when that is an earlier one: its id is made of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<(CheckpointId, i64)>,
}

/// Why a task is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredWhy {
    /// The kind of reason.
    pub kind: WhyKind,
    /// The node that led here, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Arc<str>>,
}

/// The kinds of reason why a task is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyKind {
    /// An edge.
    Edge,
    /// A conditional edge.
    Route,
    /// All sources of a join have finished.
    Join,
    /// A command.
    Goto,
    /// A task with its own input.
    Send,
    /// Nothing else was due.
    Deferred,
    /// Somebody outside said so.
    Update,
}

/// The input of a task of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredSend {
    /// Its place among the sends of its superstep.
    pub index: u32,
    /// The input.
    pub payload: Datum,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// How far a join is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredJoin {
    /// The node that waits.
    pub target: Arc<str>,
    /// All sources.
    pub sources: Vec<Arc<str>>,
    /// The sources that have finished.
    pub arrived: Vec<Arc<str>>,
}

/// One changed field of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// The field.
    pub field: Arc<str>,
    /// What happened to it.
    pub change: Change,
    /// The piece of its value the change speaks of.
    pub part: Datum,
}

/// What is known of a task of a checkpoint's next superstep before that superstep is whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The checkpoint whose next superstep the task belongs to.
    pub checkpoint: CheckpointId,
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: Arc<str>,
    /// What is known.
    pub entry: Entry,
}

/// One thing known of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// It finished.
    Done(StoredOutput),
    /// It was called off because enough others succeeded.
    Skipped,
    /// It failed.
    Failed(StoredError),
    /// It finished, but its update and those of its siblings could not be folded together.
    Refused(StoredError),
    /// It asks a person.
    Question(Question),
    /// A person answered.
    Answer(Answer),
    /// A result recorded inside it, by key.
    Once {
        /// The key.
        key: String,
        /// The result.
        value: Datum,
    },
}

impl Entry {
    /// What tells entries of one task apart: a second one with the same slot replaces the first.
    #[must_use]
    pub fn slot(&self) -> String {
        match self {
            Self::Done(_) | Self::Skipped | Self::Failed(_) => "end".to_owned(),
            Self::Refused(_) => "refused".to_owned(),
            Self::Question(question) => format!("question {}", question.id),
            Self::Answer(answer) => format!("answer {}", answer.id),
            Self::Once { key, .. } => format!("once {key}"),
        }
    }
}

/// What a task gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredOutput {
    /// Its writes, in order.
    pub writes: Vec<StoredWrite>,
    /// Whether the edges of its node are followed.
    pub follow_edges: bool,
    /// Where its routes, commands and sends lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<StoredDue>,
    /// What it asks of a graph around its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outward: Option<StoredOutward>,
    /// True when it was taken from a cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// A command for a graph around the one a task is in, by names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredOutward {
    /// The graph; `None` is the next one out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Arc<str>>,
    /// The update there.
    pub updates: Vec<Map<String, Value>>,
    /// The nodes to go on at there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goto: Vec<String>,
    /// The tasks to start there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<(String, StoredSend)>,
}

impl From<&Outward> for StoredOutward {
    fn from(outward: &Outward) -> Self {
        let (mut goto, mut sends) = (Vec::new(), Vec::new());
        for hop in outward.goto.hops() {
            match hop {
                Hop::To(endpoint) => goto.push(endpoint.to_string()),
                Hop::Send(send) => {
                    let stored = StoredSend { index: 0, payload: send.payload.clone(), timeout: send.timeout };
                    sends.push((send.node.to_string(), stored));
                }
            }
        }
        let graph = match &outward.scope {
            Scope::Named(name) => Some(name.clone()),
            Scope::Here | Scope::Parent => None,
        };
        Self { graph, updates: outward.updates.clone(), goto, sends }
    }
}

impl From<StoredOutward> for Outward {
    fn from(stored: StoredOutward) -> Self {
        let mut goto = Go::all(stored.goto.iter().map(String::as_str));
        for (node, StoredSend { payload, timeout, .. }) in stored.sends {
            goto = goto.and_send(Send { node: node.as_str().into(), payload, timeout });
        }
        let scope = stored.graph.map_or(Scope::Parent, Scope::Named);
        Self { scope, updates: stored.updates, goto }
    }
}

/// One write of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredWrite {
    /// The field.
    pub field: Arc<str>,
    /// Past the reducer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overwrite: bool,
    /// The value.
    pub value: Datum,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The id an answer names.
    pub id: InterruptId,
    /// The node that asks.
    pub node: Arc<str>,
    /// The path of its graph.
    pub namespace: Namespace,
    /// What the question is called.
    pub name: String,
    /// What the person is shown.
    pub value: Value,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// A sentence for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub id: InterruptId,
    /// What the person said.
    pub value: Value,
    /// When, in microseconds since 1970.
    pub time: i64,
}

/// An error as it is stored: what a reader can act on, not the live cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredError {
    /// The code.
    pub code: Code,
    /// The fact.
    pub message: String,
    /// The advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether trying again may help.
    pub retryable: bool,
    /// Where.
    pub place: Place,
    /// The causes, outermost first.
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
            help: error.advice().map(str::to_owned),
            retryable: error.is_retryable(),
            place: error.place().clone(),
            causes,
        }
    }
}

impl Serialize for Datum {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Datum {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::json)
    }
}
