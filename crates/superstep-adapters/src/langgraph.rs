//! Import of threads that LangGraph wrote in Python, from the tables of its SQLite and PostgreSQL checkpointers into
//! any checkpointer.
//!
//! The source is only read. Stored values are treated as data: nothing is imported, constructed or executed, whatever
//! a value requests. The book lists the result for each Python type in "Coming from LangGraph: bring your threads".

use std::path::Path;
use std::sync::Arc;

use superstep_core::checkpoint::{PendingEntry, TaskEntry, ThreadExport};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{SharedCheckpointer, ThreadStatus};

mod channels;
mod convert;
mod decode;
mod msgpack;
mod pending_writes;
mod postgres;
mod python_values;
mod rows;
mod sqlite;

use convert::Conversion;
use rows::ThreadRows;

/// A database with threads of LangGraph.
///
/// ```no_run
/// use superstep::MemoryCheckpointer;
/// use superstep_adapters::langgraph::LangGraphImporter;
///
/// # async fn import() -> superstep::Result<()> {
/// let python = LangGraphImporter::sqlite("checkpoints.sqlite")?;
/// let store = MemoryCheckpointer::new();
/// for thread in python.threads().await? {
///     let report = python.import(&thread, store.clone()).await?;
///     println!("{}: {} checkpoints, {} open interrupts", report.thread, report.checkpoints, report.interrupts);
/// }
/// # Ok(()) }
/// ```
pub struct LangGraphImporter(SourceTables);

enum SourceTables {
    Sqlite(Arc<sqlite::SqliteSource>),
    Postgres(Box<postgres::PostgresSource>),
}

/// Summary of an imported thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Id of the imported thread.
    pub thread: ThreadId,
    /// Number of namespaces with checkpoints: the root graph and its subgraphs.
    pub graphs: usize,
    /// Number of checkpoints in all namespaces.
    pub checkpoints: usize,
    /// Number of open interrupts.
    pub interrupts: usize,
    /// Nodes that run next.
    pub next_nodes: Vec<String>,
    /// Internal channels of LangGraph without an equivalent, which were skipped.
    pub skipped_channels: Vec<String>,
    /// Warnings to read before the thread is continued.
    pub warnings: Vec<String>,
}

impl LangGraphImporter {
    /// Opens the file of a `SqliteSaver` or an `AsyncSqliteSaver` read-only.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or has no tables of LangGraph.
    pub fn sqlite(path: impl AsRef<Path>) -> Result<Self> {
        sqlite::SqliteSource::open(path.as_ref()).map(|file| Self(SourceTables::Sqlite(Arc::new(file))))
    }

    /// Connects to the database of a `PostgresSaver` or an `AsyncPostgresSaver`. A user with read permission is
    /// sufficient.
    ///
    /// # Errors
    /// Returns an error if the database cannot be reached or has no tables of LangGraph.
    pub async fn postgres(url: &str) -> Result<Self> {
        postgres::PostgresSource::connect(url).await.map(|server| Self(SourceTables::Postgres(Box::new(server))))
    }

    /// Lists the threads of the source in ascending order.
    ///
    /// # Errors
    /// Returns an error if the tables cannot be read.
    pub async fn threads(&self) -> Result<Vec<String>> {
        match &self.0 {
            SourceTables::Sqlite(file) => blocking(file, |file| file.threads()).await,
            SourceTables::Postgres(server) => server.threads().await,
        }
    }

    /// Imports a thread under its own id, completely or not at all.
    ///
    /// # Errors
    /// Returns an error if the thread does not exist, if a value in it cannot be read (the error names checkpoint and
    /// channel), if its id is not valid here, or if it exists already in `store`. Nothing is imported then.
    pub async fn import(&self, thread: &str, store: impl Into<SharedCheckpointer>) -> Result<ImportReport> {
        self.import_as(thread, store, thread).await
    }

    /// Imports a thread like [`LangGraphImporter::import`], under another id.
    ///
    /// # Errors
    /// Returns the errors of [`LangGraphImporter::import`].
    pub async fn import_as(
        &self,
        thread: &str,
        store: impl Into<SharedCheckpointer>,
        name: impl Into<ThreadId>,
    ) -> Result<ImportReport> {
        let (copy, report) = self.read_thread(thread, name).await?;
        let mut run = [0; 16];
        getrandom::fill(&mut run).map_err(|error| {
            Error::new(ErrorCode::StoreUnavailable, format!("failed to generate random bytes: {error}"))
        })?;
        store.into().import_thread(copy, RunId::from_bits(u128::from_be_bytes(run))).await?;
        Ok(report)
    }

    /// Reads and converts a thread without importing it, so that the caller can inspect or change it first.
    ///
    /// # Errors
    /// Returns the errors of [`LangGraphImporter::import`] except those of the store.
    pub async fn read_thread(&self, thread: &str, name: impl Into<ThreadId>) -> Result<(ThreadExport, ImportReport)> {
        let name = name.into();
        if !name.is_valid() {
            let message = format!("`{name}` is not a valid thread id");
            let help =
                format!("choose another id with `import_as`: 1 to {} of `A-Z a-z 0-9 _ . : -`", ThreadId::MAX_BYTES);
            return Err(Error::new(ErrorCode::InputInvalid, message).with_help(help));
        }
        let thread_id = thread.to_owned();
        let rows = match &self.0 {
            SourceTables::Sqlite(file) => blocking(file, move |file| file.read(&thread_id)).await?,
            SourceTables::Postgres(server) => server.read(&thread_id).await?,
        };
        if rows.checkpoints.is_empty() {
            return Err(Error::new(ErrorCode::NotFound, format!("LangGraph thread `{thread}` not found"))
                .with_help("list the available threads with `threads`"));
        }
        // Converting a large history takes long and would block the runtime.
        let converted = tokio::task::spawn_blocking(move || convert(&rows, name)).await;
        converted.unwrap_or_else(|panic| Err(Error::internal(format!("converting a LangGraph thread failed: {panic}"))))
    }
}

/// Runs blocking file access outside of the async worker threads.
async fn blocking<T: Send + 'static>(
    file: &Arc<sqlite::SqliteSource>,
    work: impl FnOnce(&sqlite::SqliteSource) -> Result<T> + Send + 'static,
) -> Result<T> {
    let file = file.clone();
    let result = tokio::task::spawn_blocking(move || work(&file)).await;
    result.unwrap_or_else(|panic| Err(Error::internal(format!("reading a LangGraph file failed: {panic}"))))
}

fn convert(rows: &ThreadRows, thread: ThreadId) -> Result<(ThreadExport, ImportReport)> {
    let mut conversion = Conversion::new(rows, thread.clone(), "langgraph");
    conversion.checkpoints()?;
    conversion.pending()?;
    let newest = conversion.histories.get("").and_then(|history| history.last());
    let pending = newest.map_or(&[][..], |item| &item.exported.pending);
    let is_settled = |interrupt: &PendingEntry, id| {
        pending.iter().any(|other| match &other.entry {
            TaskEntry::Resume(resume) => resume.id == id,
            TaskEntry::Done(_) => other.task == interrupt.task,
            _ => false,
        })
    };
    let is_open = |entry: &&PendingEntry| match &entry.entry {
        TaskEntry::Interrupt(interrupt) => !is_settled(entry, interrupt.id),
        _ => false,
    };
    let open_interrupts = pending.iter().filter(is_open).count();
    let has_failed = pending.iter().any(|entry| matches!(entry.entry, TaskEntry::Failed(_)));
    let status = match (open_interrupts, has_failed) {
        (0, false) => ThreadStatus::Idle,
        (0, true) => ThreadStatus::Error,
        _ => ThreadStatus::Interrupted,
    };
    let next =
        newest.map(|item| item.exported.checkpoint.next_tasks.iter().map(|next| next.node.to_string()).collect());
    let graphs = conversion.histories.len();
    let checkpoints: Vec<_> = conversion.histories.into_values().flatten().map(|item| item.exported).collect();
    let report = ImportReport {
        thread: thread.clone(),
        graphs,
        checkpoints: checkpoints.len(),
        interrupts: open_interrupts,
        next_nodes: next.unwrap_or_default(),
        skipped_channels: conversion.skipped_channels.into_iter().collect(),
        warnings: conversion.warnings,
    };
    Ok((ThreadExport { thread, status, checkpoints, events: Vec::new() }, report))
}
