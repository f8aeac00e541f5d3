//! Threads that LangGraph wrote in Python, brought over: out of the tables of its SQLite and PostgreSQL savers, into any
//! store of ours.
//!
//! Reads and never writes there. Everything is data: nothing is imported, constructed or run, whatever a value asks for.
//! What a value of Python becomes is listed in the book, in "Coming from LangGraph: bring your threads".

use std::path::Path;
use std::sync::Arc;

use superstep_core::checkpoint::{Entry, Pending, ThreadCopy};
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{SharedCheckpointer, ThreadStatus};

mod channels;
mod constructed;
mod convert;
mod msgpack;
mod pending;
mod postgres;
mod row;
mod sqlite;
mod typed;

use convert::Conversion;
use row::ThreadRows;

/// A place where LangGraph has its threads.
///
/// ```no_run
/// use superstep::Memory;
/// use superstep_adapters::langgraph::LangGraph;
///
/// # async fn bring() -> superstep::Result<()> {
/// let python = LangGraph::sqlite("checkpoints.sqlite")?;
/// let store = Memory::new();
/// for thread in python.threads().await? {
///     let brought = python.import(&thread, store.clone()).await?;
///     println!("{}: {} checkpoints, {} open questions", brought.thread, brought.checkpoints, brought.questions);
/// }
/// # Ok(()) }
/// ```
pub struct LangGraph(Tables);

enum Tables {
    Sqlite(Arc<sqlite::File>),
    Postgres(Box<postgres::Server>),
}

/// What was brought over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Brought {
    /// The thread, as it is called here.
    pub thread: ThreadId,
    /// Its graphs that have checkpoints: itself, and those that ran inside.
    pub graphs: usize,
    /// The checkpoints of all of them.
    pub checkpoints: usize,
    /// The questions that wait for an answer.
    pub questions: usize,
    /// The nodes that are due.
    pub due: Vec<String>,
    /// Channels of LangGraph's own that have no place here.
    pub left_out: Vec<String>,
    /// What somebody should know before the thread goes on.
    pub notes: Vec<String>,
}

impl LangGraph {
    /// The file of an `SqliteSaver` or an `AsyncSqliteSaver`, opened for reading only.
    ///
    /// # Errors
    /// When it cannot be opened, or is no such file.
    pub fn sqlite(path: impl AsRef<Path>) -> Result<Self> {
        sqlite::File::open(path.as_ref()).map(|file| Self(Tables::Sqlite(Arc::new(file))))
    }

    /// The database of a `PostgresSaver` or an `AsyncPostgresSaver`. A user who may only read is enough.
    ///
    /// # Errors
    /// When it cannot be reached, or has no such tables.
    pub async fn postgres(url: &str) -> Result<Self> {
        postgres::Server::connect(url).await.map(|server| Self(Tables::Postgres(Box::new(server))))
    }

    /// The threads there, ascending.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub async fn threads(&self) -> Result<Vec<String>> {
        match &self.0 {
            Tables::Sqlite(file) => blocking(file, |file| file.threads()).await,
            Tables::Postgres(server) => server.threads().await,
        }
    }

    /// Brings a thread over under its own name, whole or not at all.
    ///
    /// # Errors
    /// When there is no such thread, something in it cannot be read (named by checkpoint and channel), its name is none
    /// that stores take, or it exists already in `store`; nothing is imported then.
    pub async fn import(&self, thread: &str, store: impl Into<SharedCheckpointer>) -> Result<Brought> {
        self.import_as(thread, store, thread).await
    }

    /// As [`LangGraph::import`], under another name.
    ///
    /// # Errors
    /// As there.
    pub async fn import_as(
        &self,
        thread: &str,
        store: impl Into<SharedCheckpointer>,
        name: impl Into<ThreadId>,
    ) -> Result<Brought> {
        let (copy, brought) = self.read_as(thread, name).await?;
        let mut run = [0; 16];
        getrandom::fill(&mut run)
            .map_err(|error| Error::new(Code::StoreUnavailable, format!("the system gives no randomness: {error}")))?;
        store.into().put_thread(copy, RunId::from_bits(u128::from_be_bytes(run))).await?;
        Ok(brought)
    }

    /// A thread as it would be imported, for whoever wants to look at it or change it first.
    ///
    /// # Errors
    /// As [`LangGraph::import`], the store aside.
    pub async fn read_as(&self, thread: &str, name: impl Into<ThreadId>) -> Result<(ThreadCopy, Brought)> {
        let name = name.into();
        if !name.is_valid() {
            let message = format!("`{name}` is not the id of a thread");
            let help = format!("name another with `import_as`: 1 to {} of `A-Z a-z 0-9 _ . : -`", ThreadId::LONGEST);
            return Err(Error::new(Code::InputInvalid, message).help(help));
        }
        let wanted = thread.to_owned();
        let rows = match &self.0 {
            Tables::Sqlite(file) => blocking(file, move |file| file.read(&wanted)).await?,
            Tables::Postgres(server) => server.read(&wanted).await?,
        };
        if rows.checkpoints.is_empty() {
            return Err(Error::new(Code::NotFound, format!("LangGraph has no thread `{thread}` there"))
                .help("`threads` lists those there are"));
        }
        // Large histories take a while, and others want to run meanwhile.
        let converted = tokio::task::spawn_blocking(move || convert(&rows, name)).await;
        converted.unwrap_or_else(|panic| Err(Error::internal(format!("reading a thread of LangGraph: {panic}"))))
    }
}

/// Files are read where waiting for them holds nobody up.
async fn blocking<T: Send + 'static>(
    file: &Arc<sqlite::File>,
    work: impl FnOnce(&sqlite::File) -> Result<T> + Send + 'static,
) -> Result<T> {
    let file = file.clone();
    let done = tokio::task::spawn_blocking(move || work(&file)).await;
    done.unwrap_or_else(|panic| Err(Error::internal(format!("reading a file of LangGraph: {panic}"))))
}

fn convert(rows: &ThreadRows, thread: ThreadId) -> Result<(ThreadCopy, Brought)> {
    let mut conversion = Conversion::new(rows, thread.clone(), "langgraph");
    conversion.checkpoints()?;
    conversion.pending()?;
    let newest = conversion.lines.get("").and_then(|line| line.last());
    let pending = newest.map_or(&[][..], |item| &item.copied.pending);
    let is_settled = |asked: &Pending, id| {
        pending.iter().any(|known| match &known.entry {
            Entry::Answer(answer) => answer.id == id,
            Entry::Done(_) => known.task == asked.task,
            _ => false,
        })
    };
    let is_open = |known: &&Pending| match &known.entry {
        Entry::Question(question) => !is_settled(known, question.id),
        _ => false,
    };
    let questions = pending.iter().filter(is_open).count();
    let has_failed = pending.iter().any(|known| matches!(known.entry, Entry::Failed(_)));
    let status = match (questions, has_failed) {
        (0, false) => ThreadStatus::Idle,
        (0, true) => ThreadStatus::Error,
        _ => ThreadStatus::Interrupted,
    };
    let due = newest.map(|item| item.copied.checkpoint.due.iter().map(|due| due.node.to_string()).collect());
    let graphs = conversion.lines.len();
    let checkpoints: Vec<_> = conversion.lines.into_values().flatten().map(|item| item.copied).collect();
    let brought = Brought {
        thread: thread.clone(),
        graphs,
        checkpoints: checkpoints.len(),
        questions,
        due: due.unwrap_or_default(),
        left_out: conversion.dropped.into_iter().collect(),
        notes: conversion.notes,
    };
    Ok((ThreadCopy { thread, status, checkpoints, events: Vec::new() }, brought))
}
