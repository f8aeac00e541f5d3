//! Records of runs and of threads, in the long-term store.
//!
//! A record is written before its run starts and again when it has ended, so a record that says `running` when a server
//! starts is of a run that died. What a run has done is not here: that is in its checkpoints. Of each thread the records of
//! the newest runs are kept ([`KEPT`]); those of older ones go when a later run ends.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Error;
use superstep::core::checkpoint::StoredError;
use superstep::core::id::{CheckpointId, RunId, ThreadId};
use superstep::core::time::Time;
use superstep::store::{Delete, Filter, Index, Item, Operation, Put, Search, SharedStore};

use crate::problem::Problem;
use crate::registry::Order;

/// The version of what is written here. A number is never reused.
const VERSION: u32 = 1;

/// How many runs of a thread have a record.
const KEPT: usize = 20;

const RUNS: [&str; 2] = ["server", "runs"];
const THREADS: [&str; 2] = ["server", "threads"];

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
    fn is_unfinished(self) -> bool {
        matches!(self, Self::Running | Self::Suspended)
    }

    fn name(self) -> Value {
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
    runs: Vec<RunId>,
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

/// The records, over the long-term store.
#[derive(Clone)]
pub(crate) struct Ledger(SharedStore);

impl Ledger {
    pub(crate) fn new(store: SharedStore) -> Self {
        Self(store)
    }

    /// Writes down how a run stands, and with it its thread, in one. Once it has ended, the oldest runs of the thread go.
    pub(crate) async fn write(&self, record: &Record) -> Result<(), Problem> {
        let before = self.thread(&record.order.thread).await?;
        let mut thread = thread_record(record, before);
        let too_many = if record.is_unfinished() { 0 } else { thread.runs.len().saturating_sub(KEPT) };
        let mut operations: Vec<Operation> = thread.runs.drain(..too_many).map(removed).collect();
        operations.push(put_run(record)?);
        operations.push(put(THREADS, record.order.thread.to_string(), to_value(&thread)?, title()));
        self.0.batch(operations).await?;
        Ok(())
    }

    /// Writes down that an older run of a thread is over; the thread has gone on without it.
    pub(crate) async fn close(&self, record: &Record) -> Result<(), Problem> {
        self.0.batch(vec![put_run(record)?]).await?;
        Ok(())
    }

    /// Takes back the record of a run that was refused before it began.
    pub(crate) async fn take_back(&self, record: &Record, before: Option<ThreadRecord>) -> Result<(), Problem> {
        let thread = record.order.thread.to_string();
        let restored = match before {
            Some(before) => put(THREADS, thread, to_value(&before)?, title()),
            None => Operation::from(Delete::new(THREADS, thread)),
        };
        self.0.batch(vec![removed(record.order.run), restored]).await?;
        Ok(())
    }

    /// Removes what is known of a thread and of every run on it; the thread last, so that it can be tried again.
    pub(crate) async fn forget(&self, thread: &ThreadId) -> Result<(), Problem> {
        let runs = self.runs(Filter::is(["order", "thread"], thread.to_string())).await?;
        let mut operations: Vec<Operation> = runs.iter().map(|record| removed(record.order.run)).collect();
        operations.push(Delete::new(THREADS, thread.to_string()).into());
        self.0.batch(operations).await?;
        Ok(())
    }

    /// What is known of a run.
    pub(crate) async fn run(&self, run: RunId) -> Result<Option<Record>, Problem> {
        self.0.get(RUNS, run.to_string()).await?.map(|item| read(&item)).transpose()
    }

    /// What is known of a thread.
    pub(crate) async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRecord>, Problem> {
        self.0.get(THREADS, thread.to_string()).await?.map(|item| read(&item)).transpose()
    }

    /// Threads, the newest first; by how well they fit where words are looked for.
    pub(crate) async fn threads(&self, query: &RecordsQuery) -> Result<Vec<ThreadRecord>, Problem> {
        let mut filters = Vec::new();
        filters.extend(query.graph.as_ref().map(|graph| Filter::is("graph", graph.as_str())));
        if !query.status.is_empty() {
            filters.push(Filter::one_of("status", query.status.iter().map(|status| status.name())));
        }
        let mut search = Search::new(THREADS).filter(Filter::All(filters)).limit(query.limit.unwrap_or(50));
        search = search.offset(query.offset);
        if let Some(words) = query.words.as_deref().filter(|words| !words.trim().is_empty()) {
            search = search.query(words);
        }
        let hits = self.0.search(search).await?;
        hits.iter().map(|hit| read(&hit.item)).collect()
    }

    /// Runs that say they run or are suspended: asked when a server starts, they are the ones that did not end.
    pub(crate) async fn unfinished(&self) -> Result<Vec<Record>, Problem> {
        let status = [RunStatus::Running, RunStatus::Suspended].map(RunStatus::name);
        self.runs(Filter::one_of("status", status)).await
    }

    /// Runs, the oldest first, as they were asked for.
    async fn runs(&self, filter: Filter) -> Result<Vec<Record>, Problem> {
        let mut found = Vec::new();
        loop {
            let search = Search::new(RUNS).filter(filter.clone()).limit(500);
            let hits = self.0.search(search.offset(found.len())).await?;
            let is_last = hits.len() < 500;
            for hit in &hits {
                found.push(read::<Record>(&hit.item)?);
            }
            if is_last {
                found.sort_by_key(|record| record.order.run);
                return Ok(found);
            }
        }
    }
}

fn thread_record(record: &Record, before: Option<ThreadRecord>) -> ThreadRecord {
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

fn put(namespace: [&str; 2], key: String, value: Value, index: Index) -> Operation {
    Put::new(namespace, key, value).index(index).forever().into()
}

fn put_run(record: &Record) -> Result<Operation, Problem> {
    Ok(put(RUNS, record.order.run.to_string(), to_value(record)?, Index::None))
}

fn removed(run: RunId) -> Operation {
    Delete::new(RUNS, run.to_string()).into()
}

/// What of a thread is searched by words.
fn title() -> Index {
    Index::Paths(vec!["title".to_owned()])
}

fn to_value(record: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(record).map_err(|error| Error::internal(error.to_string()).into())
}

fn read<T: serde::de::DeserializeOwned>(item: &Item) -> Result<T, Problem> {
    let version = item.value["version"].as_u64().unwrap_or_default();
    if version > u64::from(VERSION) {
        let message = format!("record `{}` is of version {version}, and this server knows {VERSION}", item.key);
        return Err(Error::new(superstep::Code::CheckpointTooNew, message).help("use a newer server").into());
    }
    serde_json::from_value(item.value.clone()).map_err(|error| {
        let message = format!("record `{}` cannot be read: {error}", item.key);
        Error::new(superstep::Code::CheckpointCorrupt, message).into()
    })
}

pub(crate) fn now() -> String {
    let micros = jiff::Timestamp::now().as_microsecond();
    Time::from_unix_micros(micros).map(|time| time.to_string()).unwrap_or_default()
}
