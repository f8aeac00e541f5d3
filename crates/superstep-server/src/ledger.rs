//! Records of runs and of threads, in the long-term store.
//!
//! A record is written before its run starts and again when it has ended, so a record that says `running` when a server
//! starts is of a run that died. What a run has done is not here: that is in its checkpoints. Of each thread the records of
//! the newest runs are kept ([`KEPT`]); those of older ones go when a later run ends.
//!
//! Runs that have not ended are on a list of their own ([`UNFINISHED`]), written with their records: servers look at it every
//! few seconds, and it is as long as there are such runs, however many have ended.
//!
//! Several processes write here. Who takes a run up counts that in its record ([`Record::taken_up`]), so that a process
//! that was taken for dead does not write over it.

use serde::Serialize;
use serde_json::Value;
use superstep::Error;
use superstep::core::id::{RunId, ThreadId};
use superstep::store::{Delete, Filter, Index, Item, Operation, Put, Search, SharedStore};

mod record;

pub use record::{Record, RecordsQuery, RunFailure, RunStatus, ThreadRecord};
pub(crate) use record::{Unfinished, now};
use record::{VERSION, thread_record};

use crate::problem::Problem;

/// How many runs of a thread have a record.
const KEPT: usize = 20;

const RUNS: [&str; 2] = ["server", "runs"];
const THREADS: [&str; 2] = ["server", "threads"];
const UNFINISHED: [&str; 2] = ["server", "unfinished"];

/// How many belongings of a thread are removed at once; each may be long.
const BELONGINGS: usize = 20;

/// Where applications keep what belongs to a thread in the long-term store, such as what is too long for its state. It is
/// removed with the thread ([`Desk::forget`](crate::Desk::forget)). A label has no dot, so one in a name is written `%2E`.
#[must_use]
pub fn belongings(thread: &ThreadId) -> [String; 2] {
    ["belongings".to_owned(), thread.as_str().replace('%', "%25").replace('.', "%2E")]
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
        let mut operations: Vec<Operation> = thread.runs.drain(..too_many).flat_map(removed).collect();
        operations.extend(put_run(record)?);
        operations.push(put_thread(&thread)?);
        self.0.batch(operations).await?;
        Ok(())
    }

    /// Writes down how a run ended that this process drove. Where another process has taken it up meanwhile, or has
    /// removed it, there is nothing to say about it any more; where a later run has the thread, nothing about the thread.
    pub(crate) async fn write_end(&self, record: &Record) -> Result<(), Problem> {
        if !self.is_ours(record).await? {
            return Ok(());
        }
        let is_last = self.names(record).await?;
        if !is_last {
            self.close(record).await?;
        }
        // The later run may have been refused meanwhile, and have given the thread back as it was.
        if is_last || self.names(record).await? { self.write(record).await } else { Ok(()) }
    }

    /// Whether nobody has taken the run up, or removed it, since this record was written.
    async fn is_ours(&self, record: &Record) -> Result<bool, Problem> {
        let now = self.run(record.order.run).await?;
        Ok(now.is_some_and(|now| now.taken_up == record.taken_up))
    }

    /// Whether the thread has gone on with no other run.
    async fn names(&self, record: &Record) -> Result<bool, Problem> {
        let thread = self.thread(&record.order.thread).await?;
        Ok(thread.is_none_or(|thread| thread.run == record.order.run))
    }

    /// Writes down that an older run of a thread is over; the thread has gone on without it.
    pub(crate) async fn close(&self, record: &Record) -> Result<(), Problem> {
        self.0.batch(put_run(record)?.into()).await?;
        Ok(())
    }

    /// Takes back the record of a run that was refused before it began. The thread is restored as long as it says nothing
    /// of any other run.
    pub(crate) async fn take_back(&self, record: &Record, before: Option<ThreadRecord>) -> Result<(), Problem> {
        if !self.is_ours(record).await? {
            return Ok(());
        }
        let thread = self.thread(&record.order.thread).await?;
        let mut operations: Vec<Operation> = removed(record.order.run).into();
        let is_named = thread.is_some_and(|thread| thread.run == record.order.run);
        match &before {
            Some(before) if is_named => operations.push(put_thread(&self.as_it_stands(before.clone()).await?)?),
            None if is_named => operations.push(Delete::new(THREADS, record.order.thread.to_string()).into()),
            _ => {}
        }
        self.0.batch(operations).await?;
        match before {
            Some(before) if is_named => self.mend(&before).await,
            _ => Ok(()),
        }
    }

    /// What was known of a thread, with how its run stands now: it may have ended meanwhile in another process, which left
    /// the thread to the later run.
    async fn as_it_stands(&self, mut thread: ThreadRecord) -> Result<ThreadRecord, Problem> {
        if let Some(run) = self.run(thread.run).await? {
            (thread.status, thread.failure) = (run.status, run.failure);
        }
        Ok(thread)
    }

    /// Looks again after a thread was restored: its run may have ended between the look and the restoring.
    async fn mend(&self, restored: &ThreadRecord) -> Result<(), Problem> {
        let Some(now) = self.thread(&restored.thread).await?.filter(|now| now.run == restored.run) else {
            return Ok(());
        };
        let mended = self.as_it_stands(now.clone()).await?;
        if mended != now {
            self.0.batch(vec![put_thread(&mended)?]).await?;
        }
        Ok(())
    }

    /// Removes what is known of a thread and of every run on it, and its belongings; the thread last, so that it can be
    /// tried again.
    pub(crate) async fn forget(&self, thread: &ThreadId) -> Result<(), Problem> {
        loop {
            let found = self.0.search(Search::new(belongings(thread)).limit(BELONGINGS)).await?;
            if found.is_empty() {
                break;
            }
            let gone = found.into_iter().map(|hit| Delete::new(hit.item.namespace, hit.item.key).into());
            self.0.batch(gone.collect()).await?;
        }
        let runs = self.runs(Filter::is(["order", "thread"], thread.to_string())).await?;
        let mut operations: Vec<Operation> = runs.iter().flat_map(|record| removed(record.order.run)).collect();
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

    /// A page of the list of runs that have not ended.
    pub(crate) async fn listed(&self, offset: usize, limit: usize) -> Result<Vec<Unfinished>, Problem> {
        let hits = self.0.search(Search::new(UNFINISHED).offset(offset).limit(limit)).await?;
        hits.iter().map(|hit| read(&hit.item)).collect()
    }

    /// Puts a run on the list as its record has it, or takes it off.
    pub(crate) async fn list(&self, run: RunId) -> Result<(), Problem> {
        let operation = match self.run(run).await?.filter(Record::is_unfinished) {
            Some(record) => put_listed(&record)?,
            None => unlisted(run),
        };
        self.0.batch(vec![operation]).await?;
        Ok(())
    }

    /// Runs that say they run or are suspended: asked when a server starts, they are the ones that did not end. Every record
    /// is looked at, so that nothing depends on the list.
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

fn put(namespace: [&str; 2], key: String, value: Value, index: Index) -> Operation {
    Put::new(namespace, key, value).index(index).forever().into()
}

/// The record of a run, and its place on the list as long as it has not ended.
fn put_run(record: &Record) -> Result<[Operation; 2], Problem> {
    let run = record.order.run;
    let listed = if record.is_unfinished() { put_listed(record)? } else { unlisted(run) };
    Ok([put(RUNS, run.to_string(), to_value(record)?, Index::None), listed])
}

fn put_listed(record: &Record) -> Result<Operation, Problem> {
    Ok(put(UNFINISHED, record.order.run.to_string(), to_value(&Unfinished::from(record))?, Index::None))
}

fn put_thread(thread: &ThreadRecord) -> Result<Operation, Problem> {
    Ok(put(THREADS, thread.thread.to_string(), to_value(thread)?, title()))
}

fn removed(run: RunId) -> [Operation; 2] {
    [Delete::new(RUNS, run.to_string()).into(), unlisted(run)]
}

fn unlisted(run: RunId) -> Operation {
    Delete::new(UNFINISHED, run.to_string()).into()
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
