//! Persisted records of runs and threads.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Error;
use superstep::core::checkpoint::StoredError;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::time::Time;

use crate::api::problem::Problem;
use crate::graphs::registry::RunRequest;

/// Version of the record format. A number is never reused.
pub(crate) const VERSION: u32 = 1;

/// Stored status of a run; may be stale after a crash, see `RunService::current_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// The run is executing, or its process died.
    Running,
    /// The run was saved when the server shut down, and continues when a server starts.
    Suspended,
    /// The run waits for the resume value of an interrupt.
    #[serde(rename = "waiting")]
    AwaitingInput,
    /// The run has ended successfully.
    #[serde(rename = "finished")]
    Succeeded,
    /// The run was cancelled.
    #[serde(rename = "stopped")]
    Cancelled,
    /// The run failed.
    Failed,
    /// The process of the run died, and the run continues when a client requests it.
    #[serde(rename = "interrupted")]
    Orphaned,
}

impl RunStatus {
    pub(crate) fn is_unfinished(self) -> bool {
        matches!(self, Self::Running | Self::Suspended)
    }

    pub(crate) fn name(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Error a run failed with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// Stable error code.
    pub code: String,
    /// Description of the error.
    pub message: String,
    /// Advice for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// True if trying again may help.
    pub retryable: bool,
}

impl From<&Error> for RunError {
    fn from(error: &Error) -> Self {
        Problem::from(error.clone()).into()
    }
}

impl From<&StoredError> for RunError {
    fn from(error: &StoredError) -> Self {
        let StoredError { code, message, help, retryable, .. } = error;
        Self { code: code.to_string(), message: message.clone(), hint: help.clone(), retryable: *retryable }
    }
}

impl From<Problem> for RunError {
    fn from(problem: Problem) -> Self {
        let (code, message) = (problem.code().to_owned(), problem.detail().to_owned());
        Self { code, message, hint: problem.hint().map(str::to_owned), retryable: problem.is_retryable() }
    }
}

/// Persisted record of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    version: u32,
    /// Request of the run.
    #[serde(rename = "order")]
    pub request: RunRequest,
    /// Status of the run.
    pub status: RunStatus,
    /// Error the run failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "failure")]
    pub error: Option<RunError>,
    /// Latest checkpoint, once the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<CheckpointId>,
    /// Time of the request.
    pub started_at: String,
    /// Time at which the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Number of times the run was recovered after its process died.
    #[serde(default)]
    #[serde(rename = "taken_up")]
    pub recoveries: u32,
}

impl RunRecord {
    pub(crate) fn new(request: RunRequest) -> Self {
        let (error, checkpoint, ended_at) = (None, None, None);
        let status = RunStatus::Running;
        Self { version: VERSION, request, status, error, checkpoint, started_at: now(), ended_at, recoveries: 0 }
    }

    /// Returns true if the status is running or suspended.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.status.is_unfinished()
    }

    pub(crate) fn set_ended(&mut self, status: RunStatus, error: Option<RunError>) {
        (self.status, self.error, self.ended_at) = (status, error, Some(now()));
    }
}

/// Persisted record of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadRecord {
    version: u32,
    /// Id of the thread.
    pub thread: ThreadId,
    /// Graph of the last run.
    pub graph: String,
    /// Last requested run.
    pub run: RunId,
    /// Status of the last run.
    pub status: RunStatus,
    /// Runs that have a record, the oldest first.
    #[serde(default)]
    pub(crate) runs: Vec<RunId>,
    /// Title that users see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Context values of the first run, in the format of the application.
    #[serde(default)]
    #[serde(rename = "options")]
    pub context: Value,
    /// Error the last run failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "failure")]
    pub error: Option<RunError>,
    /// Time at which the first run was requested.
    pub created_at: String,
    /// Time at which the last run was requested or ended.
    pub updated_at: String,
}

impl ThreadRecord {
    /// Returns true if the status of the last run is running or suspended.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.status.is_unfinished()
    }
}

/// An entry of the list of unfinished runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnfinishedRun {
    version: u32,
    pub(crate) run: RunId,
    pub(crate) thread: ThreadId,
    pub(crate) graph: String,
    #[serde(rename = "taken_up")]
    pub(crate) recoveries: u32,
}

impl From<&RunRecord> for UnfinishedRun {
    fn from(record: &RunRecord) -> Self {
        let RunRequest { run, thread, graph, .. } = &record.request;
        let (thread, graph) = (thread.clone(), graph.clone());
        Self { version: VERSION, run: *run, thread, graph, recoveries: record.recoveries }
    }
}

/// Search criteria for threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadSearch {
    /// Only threads of this graph.
    pub graph: Option<String>,
    /// Only threads whose last run has one of these statuses; empty for all.
    pub status: Vec<RunStatus>,
    /// Only threads whose title matches these words.
    pub query: Option<String>,
    /// Maximum number of results. Default: 50.
    pub limit: Option<usize>,
    /// Number of results to skip.
    pub offset: usize,
}

/// Builds the thread record that follows from a run record.
pub(crate) fn thread_record(record: &RunRecord, before: Option<ThreadRecord>) -> ThreadRecord {
    let RunRecord { request, status, error, .. } = record;
    let created_at = before.as_ref().map_or_else(now, |before| before.created_at.clone());
    let (title, context, mut runs) =
        before.map(|before| (before.title, before.context, before.runs)).unwrap_or_default();
    if !runs.contains(&request.run) {
        runs.push(request.run);
    }
    ThreadRecord {
        version: VERSION,
        thread: request.thread.clone(),
        graph: request.graph.clone(),
        run: request.run,
        runs,
        status: *status,
        title: request.title.clone().or(title),
        context: if context.is_null() { request.context.clone() } else { context },
        error: error.clone(),
        created_at,
        updated_at: now(),
    }
}

pub(crate) fn now() -> String {
    let micros = jiff::Timestamp::now().as_microsecond();
    Time::from_unix_micros(micros).map(|time| time.to_string()).unwrap_or_default()
}
