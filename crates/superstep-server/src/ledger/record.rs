//! What is written down of runs and of threads.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Error;
use superstep::core::checkpoint::StoredError;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::time::Time;

use crate::problem::Problem;
use crate::registry::Order;

/// The version of what is written here. A number is never reused.
pub(super) const VERSION: u32 = 1;

/// How a run stands, as far as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// It runs, or died.
    Running,
    /// It was saved when the server stopped, and goes on when one starts.
    Suspended,
    /// It waits for a person.
    Waiting,
    /// It has ended well.
    Finished,
    /// It was stopped.
    Stopped,
    /// It failed.
    Failed,
    /// It died with the server, and goes on when somebody says so.
    Interrupted,
}

impl RunStatus {
    pub(crate) fn is_unfinished(self) -> bool {
        matches!(self, Self::Running | Self::Suspended)
    }

    pub(super) fn name(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What a run failed with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// The stable code.
    pub code: String,
    /// The fact.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether trying again may help.
    pub retryable: bool,
}

impl From<&Error> for RunFailure {
    fn from(error: &Error) -> Self {
        Problem::from(error.clone()).into()
    }
}

impl From<&StoredError> for RunFailure {
    fn from(error: &StoredError) -> Self {
        let StoredError { code, message, help, retryable, .. } = error;
        Self { code: code.to_string(), message: message.clone(), hint: help.clone(), retryable: *retryable }
    }
}

impl From<Problem> for RunFailure {
    fn from(problem: Problem) -> Self {
        let (code, message) = (problem.code().to_owned(), problem.detail().to_owned());
        Self { code, message, hint: problem.advice().map(str::to_owned), retryable: problem.is_retryable() }
    }
}

/// What is known of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    version: u32,
    /// What was asked of it.
    pub order: Order,
    /// How it stands.
    pub status: RunStatus,
    /// What it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// The newest checkpoint, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// When it was asked for.
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How often it was taken up after its process died.
    #[serde(default)]
    pub taken_up: u32,
}

impl Record {
    pub(crate) fn new(order: Order) -> Self {
        let (failure, checkpoint, ended_at) = (None, None, None);
        let status = RunStatus::Running;
        Self { version: VERSION, order, status, failure, checkpoint, started_at: now(), ended_at, taken_up: 0 }
    }

    /// Whether it says that it runs, or is to go on.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.status.is_unfinished()
    }

    pub(crate) fn ended(&mut self, status: RunStatus, failure: Option<RunFailure>) {
        (self.status, self.failure, self.ended_at) = (status, failure, Some(now()));
    }
}

/// What is known of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadRecord {
    version: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The graph that ran on it last.
    pub graph: String,
    /// The run that was asked for last.
    pub run: RunId,
    /// How that run stands.
    pub status: RunStatus,
    /// The runs that have a record, the oldest first.
    #[serde(default)]
    pub(super) runs: Vec<RunId>,
    /// What people call the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was asked of the first run, in the words of the application.
    #[serde(default)]
    pub options: Value,
    /// What the last run failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
    /// When the first run was asked for.
    pub created_at: String,
    /// When the last run was asked for, or ended.
    pub updated_at: String,
}

impl ThreadRecord {
    /// Whether its last run says that it runs, or is to go on.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.status.is_unfinished()
    }
}

/// A run that has not ended, as the list of them has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Unfinished {
    version: u32,
    pub(crate) run: RunId,
    pub(crate) thread: ThreadId,
    pub(crate) graph: String,
    pub(crate) taken_up: u32,
}

impl From<&Record> for Unfinished {
    fn from(record: &Record) -> Self {
        let Order { run, thread, graph, .. } = &record.order;
        let (thread, graph) = (thread.clone(), graph.clone());
        Self { version: VERSION, run: *run, thread, graph, taken_up: record.taken_up }
    }
}

/// Which threads.
#[derive(Debug, Clone, Default)]
pub struct RecordsQuery {
    /// Only threads of this graph.
    pub graph: Option<String>,
    /// Only threads whose last run stands so.
    pub status: Vec<RunStatus>,
    /// Only threads whose title has these words.
    pub words: Option<String>,
    /// At most this many; 50 unless told.
    pub limit: Option<usize>,
    /// Without the first so many.
    pub offset: usize,
}

/// What is known of a thread once its run stands so.
pub(super) fn thread_record(record: &Record, before: Option<ThreadRecord>) -> ThreadRecord {
    let Record { order, status, failure, .. } = record;
    let created_at = before.as_ref().map_or_else(now, |before| before.created_at.clone());
    let kept = before.map(|before| (before.title, before.options, before.runs)).unwrap_or_default();
    let mut runs = kept.2;
    if !runs.contains(&order.run) {
        runs.push(order.run);
    }
    ThreadRecord {
        version: VERSION,
        thread: order.thread.clone(),
        graph: order.graph.clone(),
        run: order.run,
        runs,
        status: *status,
        title: order.title.clone().or(kept.0),
        options: if kept.1.is_null() { order.options.clone() } else { kept.1 },
        failure: failure.clone(),
        created_at,
        updated_at: now(),
    }
}

pub(crate) fn now() -> String {
    let micros = jiff::Timestamp::now().as_microsecond();
    Time::from_unix_micros(micros).map(|time| time.to_string()).unwrap_or_default()
}
