//! Records of runs and threads, in the long-term store.
//!
//! A record is persisted before its run starts and again when the run has ended, so a record with status `running` at
//! startup belongs to a run whose process died. The progress of a run is not here but in its checkpoints. The
//! repository retains the records of the newest runs of each thread ([`MAX_RUNS_PER_THREAD`]) and removes older ones
//! when a later run ends.
//!
//! Unfinished runs are also on a list ([`UNFINISHED`]), written with their records: servers scan the list every few
//! seconds, and its length is the number of unfinished runs, however many have ended.
//!
//! Several processes write here. A process that recovers a run increments a counter in its record
//! ([`RunRecord::recoveries`]), so that a process that was wrongly considered dead does not overwrite the record.

use serde::Serialize;
use serde_json::Value;
use superstep::Error;
use superstep::core::id::{RunId, ThreadId};
use superstep::store::{DeleteOp, Filter, IndexFields, Item, PutOp, SearchOp, SharedStore, StoreOp};

pub use crate::runs::record::{RunError, RunRecord, RunStatus, ThreadRecord, ThreadSearch};
pub(crate) use crate::runs::record::{UnfinishedRun, now};
use crate::runs::record::{VERSION, thread_record};

use crate::api::problem::Problem;

/// Maximum number of run records per thread.
const MAX_RUNS_PER_THREAD: usize = 20;

const RUNS: [&str; 2] = ["server", "runs"];
const THREADS: [&str; 2] = ["server", "threads"];
const UNFINISHED: [&str; 2] = ["server", "unfinished"];

/// Number of thread data items deleted per batch; each may be large.
const DELETE_BATCH: usize = 20;

/// Returns the namespace of the long-term store for application data that belongs to a thread, such as values too
/// large for its state. The data is deleted with the thread
/// ([`RunService::delete_thread`](crate::RunService::delete_thread)). Namespace labels must not contain a dot, so a
/// dot in the id becomes `%2E`.
#[must_use]
pub fn thread_data_namespace(thread: &ThreadId) -> [String; 2] {
    ["belongings".to_owned(), thread.as_str().replace('%', "%25").replace('.', "%2E")]
}

/// Run and thread records in the long-term store.
#[derive(Clone)]
pub(crate) struct RunRepository(SharedStore);

impl RunRepository {
    pub(crate) fn new(store: SharedStore) -> Self {
        Self(store)
    }

    /// Persists the status of a run and of its thread in one batch. Once the run has ended, the oldest run records
    /// of the thread are removed.
    pub(crate) async fn save(&self, record: &RunRecord) -> Result<(), Problem> {
        let before = self.thread(&record.request.thread).await?;
        let mut thread = thread_record(record, before);
        let excess = if record.is_unfinished() { 0 } else { thread.runs.len().saturating_sub(MAX_RUNS_PER_THREAD) };
        let mut operations: Vec<StoreOp> = thread.runs.drain(..excess).flat_map(delete_run).collect();
        operations.extend(put_run(record)?);
        operations.push(put_thread(&thread)?);
        self.0.batch(operations).await?;
        Ok(())
    }

    /// Persists the end of a run that this process executed. Writes nothing if another process has recovered or
    /// removed the run meanwhile, and leaves the thread record alone if the thread has a later run.
    pub(crate) async fn save_end(&self, record: &RunRecord) -> Result<(), Problem> {
        if !self.is_owned(record).await? {
            return Ok(());
        }
        let is_last = self.is_current_run(record).await?;
        if !is_last {
            self.close_superseded(record).await?;
        }
        // The later run may have been rejected meanwhile, which restores this run as the last of the thread.
        if is_last || self.is_current_run(record).await? { self.save(record).await } else { Ok(()) }
    }

    /// Returns true if no process has recovered or removed the run since this record was written.
    async fn is_owned(&self, record: &RunRecord) -> Result<bool, Problem> {
        let current = self.run(record.request.run).await?;
        Ok(current.is_some_and(|current| current.recoveries == record.recoveries))
    }

    /// Returns true if the run is the last of its thread.
    async fn is_current_run(&self, record: &RunRecord) -> Result<bool, Problem> {
        let thread = self.thread(&record.request.thread).await?;
        Ok(thread.is_none_or(|thread| thread.run == record.request.run))
    }

    /// Persists that an older run of a thread has ended; the thread record stays with the later run.
    pub(crate) async fn close_superseded(&self, record: &RunRecord) -> Result<(), Problem> {
        self.0.batch(put_run(record)?.into()).await?;
        Ok(())
    }

    /// Removes the record of a run that was rejected before it started. The thread record is restored, unless it
    /// already names another run.
    pub(crate) async fn revert_start(&self, record: &RunRecord, before: Option<ThreadRecord>) -> Result<(), Problem> {
        if !self.is_owned(record).await? {
            return Ok(());
        }
        let thread = self.thread(&record.request.thread).await?;
        let mut operations: Vec<StoreOp> = delete_run(record.request.run).into();
        let is_current = thread.is_some_and(|thread| thread.run == record.request.run);
        match &before {
            Some(before) if is_current => operations.push(put_thread(&self.refresh_status(before.clone()).await?)?),
            None if is_current => operations.push(DeleteOp::new(THREADS, record.request.thread.to_string()).into()),
            _ => {}
        }
        self.0.batch(operations).await?;
        match before {
            Some(before) if is_current => self.recheck_restored(&before).await,
            _ => Ok(()),
        }
    }

    /// Returns an earlier thread record with the current status of its run: the run may have ended meanwhile in another
    /// process, which left the thread record to the later run.
    async fn refresh_status(&self, mut thread: ThreadRecord) -> Result<ThreadRecord, Problem> {
        if let Some(run) = self.run(thread.run).await? {
            (thread.status, thread.error) = (run.status, run.error);
        }
        Ok(thread)
    }

    /// Checks a restored thread record again: its run may have ended between the read and the write.
    async fn recheck_restored(&self, restored: &ThreadRecord) -> Result<(), Problem> {
        let Some(current) = self.thread(&restored.thread).await?.filter(|current| current.run == restored.run) else {
            return Ok(());
        };
        let refreshed = self.refresh_status(current.clone()).await?;
        if refreshed != current {
            self.0.batch(vec![put_thread(&refreshed)?]).await?;
        }
        Ok(())
    }

    /// Deletes the records of a thread and all its runs, and the thread data; the thread record last, so that a
    /// failed deletion can be repeated.
    pub(crate) async fn delete_thread(&self, thread: &ThreadId) -> Result<(), Problem> {
        loop {
            let hits = self.0.search(SearchOp::new(thread_data_namespace(thread)).limit(DELETE_BATCH)).await?;
            if hits.is_empty() {
                break;
            }
            let deletions = hits.into_iter().map(|hit| DeleteOp::new(hit.item.namespace, hit.item.key).into());
            self.0.batch(deletions.collect()).await?;
        }
        let runs = self.runs(Filter::eq(["order", "thread"], thread.to_string())).await?;
        let mut operations: Vec<StoreOp> = runs.iter().flat_map(|record| delete_run(record.request.run)).collect();
        operations.push(DeleteOp::new(THREADS, thread.to_string()).into());
        self.0.batch(operations).await?;
        Ok(())
    }

    /// Returns the record of a run, if there is one.
    pub(crate) async fn run(&self, run: RunId) -> Result<Option<RunRecord>, Problem> {
        self.0.get(RUNS, run.to_string()).await?.map(|item| read(&item)).transpose()
    }

    /// Returns the record of a thread, if there is one.
    pub(crate) async fn thread(&self, thread: &ThreadId) -> Result<Option<ThreadRecord>, Problem> {
        self.0.get(THREADS, thread.to_string()).await?.map(|item| read(&item)).transpose()
    }

    /// Searches threads, the newest first; by relevance if the query has search words.
    pub(crate) async fn threads(&self, query: &ThreadSearch) -> Result<Vec<ThreadRecord>, Problem> {
        let mut filters = Vec::new();
        filters.extend(query.graph.as_ref().map(|graph| Filter::eq("graph", graph.as_str())));
        if !query.status.is_empty() {
            filters.push(Filter::one_of("status", query.status.iter().map(|status| status.name())));
        }
        let mut search = SearchOp::new(THREADS).filter(Filter::All(filters)).limit(query.limit.unwrap_or(50));
        search = search.offset(query.offset);
        if let Some(words) = query.query.as_deref().filter(|words| !words.trim().is_empty()) {
            search = search.query(words);
        }
        let hits = self.0.search(search).await?;
        hits.iter().map(|hit| read(&hit.item)).collect()
    }

    /// Returns a page of the list of unfinished runs.
    pub(crate) async fn list_unfinished_page(
        &self,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<UnfinishedRun>, Problem> {
        let hits = self.0.search(SearchOp::new(UNFINISHED).offset(offset).limit(limit)).await?;
        hits.iter().map(|hit| read(&hit.item)).collect()
    }

    /// Adds a run to the list of unfinished runs or removes it, depending on its record.
    pub(crate) async fn sync_unfinished_entry(&self, run: RunId) -> Result<(), Problem> {
        let operation = match self.run(run).await?.filter(RunRecord::is_unfinished) {
            Some(record) => put_unfinished(&record)?,
            None => delete_unfinished(run),
        };
        self.0.batch(vec![operation]).await?;
        Ok(())
    }

    /// Returns the runs with status running or suspended: at startup, these did not end. Reads every record, so
    /// that the result does not depend on the list.
    pub(crate) async fn find_unfinished(&self) -> Result<Vec<RunRecord>, Problem> {
        let status = [RunStatus::Running, RunStatus::Suspended].map(RunStatus::name);
        self.runs(Filter::one_of("status", status)).await
    }

    /// Returns the runs that match, in order of their request, the oldest first.
    async fn runs(&self, filter: Filter) -> Result<Vec<RunRecord>, Problem> {
        let mut records = Vec::new();
        loop {
            let search = SearchOp::new(RUNS).filter(filter.clone()).limit(500);
            let hits = self.0.search(search.offset(records.len())).await?;
            let is_last = hits.len() < 500;
            for hit in &hits {
                records.push(read::<RunRecord>(&hit.item)?);
            }
            if is_last {
                records.sort_by_key(|record| record.request.run);
                return Ok(records);
            }
        }
    }
}

fn put(namespace: [&str; 2], key: String, value: Value, index: IndexFields) -> StoreOp {
    PutOp::new(namespace, key, value).index(index).no_ttl().into()
}

/// Writes the record of a run, and its entry in the list of unfinished runs.
fn put_run(record: &RunRecord) -> Result<[StoreOp; 2], Problem> {
    let run = record.request.run;
    let list_entry = if record.is_unfinished() { put_unfinished(record)? } else { delete_unfinished(run) };
    Ok([put(RUNS, run.to_string(), to_value(record)?, IndexFields::None), list_entry])
}

fn put_unfinished(record: &RunRecord) -> Result<StoreOp, Problem> {
    Ok(put(UNFINISHED, record.request.run.to_string(), to_value(&UnfinishedRun::from(record))?, IndexFields::None))
}

fn put_thread(thread: &ThreadRecord) -> Result<StoreOp, Problem> {
    Ok(put(THREADS, thread.thread.to_string(), to_value(thread)?, title_index()))
}

fn delete_run(run: RunId) -> [StoreOp; 2] {
    [DeleteOp::new(RUNS, run.to_string()).into(), delete_unfinished(run)]
}

fn delete_unfinished(run: RunId) -> StoreOp {
    DeleteOp::new(UNFINISHED, run.to_string()).into()
}

/// Returns the index of the searchable text of a thread.
fn title_index() -> IndexFields {
    IndexFields::Paths(vec!["title".to_owned()])
}

fn to_value(record: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(record).map_err(|error| Error::internal(error.to_string()).into())
}

fn read<T: serde::de::DeserializeOwned>(item: &Item) -> Result<T, Problem> {
    let version = item.value["version"].as_u64().unwrap_or_default();
    if version > u64::from(VERSION) {
        let message =
            format!("record `{}` has version {version}; this server supports versions up to {VERSION}", item.key);
        return Err(Error::new(superstep::ErrorCode::CheckpointTooNew, message).with_help("use a newer server").into());
    }
    serde_json::from_value(item.value.clone()).map_err(|error| {
        let message = format!("record `{}` cannot be read: {error}", item.key);
        Error::new(superstep::ErrorCode::CheckpointCorrupt, message).into()
    })
}
