//! Moves a thread from one store to another, as one file of JSON Lines.
//!
//! Speaks only the port of stores, so any two can be the ends. What a line says is the business of
//! [`superstep_core::checkpoint`]. Reading and writing the file blocks, as files do.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use serde_json::Value;
use superstep_core::change::Change;
use superstep_core::checkpoint::{
    Checkpoint, CopiedCheckpoint, FieldChange, LONGEST_LINE, Namespace, ThreadReader, ThreadWriter,
};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use superstep_core::json_reducer;
use superstep_core::port::{At, FieldLog, HistoryQuery, Loaded, SharedCheckpointer};

use crate::launch::real_world;

/// Checkpoints that are in memory at once while a thread is exported.
const PAGE: usize = 32;

/// Which name a thread gets where it is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// The one it had.
    Same,
    /// Another one.
    As(ThreadId),
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The thread, as it is called in the file or in its new store.
    pub thread: ThreadId,
    /// Its graphs that have checkpoints: itself, and those that ran inside.
    pub graphs: usize,
    /// The checkpoints of all of them.
    pub checkpoints: usize,
    /// What is known of tasks: results, questions, answers.
    pub pending: usize,
    /// The length of the file.
    pub bytes: u64,
}

impl Report {
    fn new(thread: ThreadId) -> Self {
        Self { thread, graphs: 0, checkpoints: 0, pending: 0, bytes: 0 }
    }
}

/// Writes everything of a thread to `out`: the checkpoints of all its graphs, oldest first, each with what it changed and
/// what is known of its tasks.
///
/// Whoever reads what was written has a thread only if this returned well: the last line says that the file is whole.
///
/// ```
/// use superstep::prelude::*;
/// use superstep::transfer::{self, Name};
/// # #[derive(State, Clone, Serialize, Deserialize)]
/// # struct Talk { #[reduce(append)] log: Vec<String> }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let (here, there) = (Memory::new(), Memory::new());
/// # let mut graph = Graph::<Talk>::new("talk");
/// # let hear = graph.node("hear", || Talk::update().log("heard"));
/// # graph.edge(START, hear).edge(hear, END);
/// let talk = graph.checkpointer(here.clone()).compile()?;
/// talk.run(Talk::input().log("hi")).thread("ann").await?;
///
/// let mut file = Vec::new();
/// transfer::export(here, "ann", &mut file).await?;
/// let report = transfer::import(there.clone(), &file[..], Name::As("ann-2".into())).await?;
/// assert_eq!(report.checkpoints, 2);
/// assert_eq!(talk.threads().checkpointer(there).state("ann-2").await?.state.log, ["hi", "heard"]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// When there is no such thread, it is moved meanwhile, or the store or `out` fails. The thread is as it was; what `out`
/// has is not whole, and [`import`] refuses it.
pub async fn export(
    store: impl Into<SharedCheckpointer>,
    thread: impl Into<ThreadId>,
    out: &mut (impl io::Write + Send),
) -> Result<Report> {
    let (store, thread) = (store.into(), thread.into());
    let exported = Box::pin(export_to(&store, &thread, out)).await;
    exported.map_err(|error| error.on_thread(Some(&thread)))
}

/// Puts the thread of a file into a store, whole or not at all: history, ids, forks, open questions, answers and results
/// are as they were, so that a run that waits for a person can be resumed here.
///
/// # Errors
/// When the file is damaged, cut off or of a newer version (with the number of the line), when the thread exists already
/// in the store, or the store fails; nothing is imported then.
pub async fn import(store: impl Into<SharedCheckpointer>, file: impl io::BufRead + Send, name: Name) -> Result<Report> {
    Box::pin(import_from(&store.into(), file, name)).await
}

async fn import_from(store: &SharedCheckpointer, file: impl io::BufRead + Send, name: Name) -> Result<Report> {
    let (copy, bytes) = read(file)?;
    let copy = match name {
        Name::Same => copy,
        Name::As(thread) => copy.renamed(thread),
    };
    let graphs: BTreeSet<&Namespace> = copy.checkpoints.iter().map(|copied| &copied.checkpoint.namespace).collect();
    let report = Report {
        thread: copy.thread.clone(),
        graphs: graphs.len(),
        checkpoints: copy.checkpoints.len(),
        pending: copy.checkpoints.iter().map(|copied| copied.pending.len()).sum(),
        bytes,
    };
    store.put_thread(copy, RunId::from_bits(real_world().1.fresh())).await?;
    Ok(report)
}

fn read(mut file: impl io::BufRead) -> Result<(superstep_core::checkpoint::ThreadCopy, u64)> {
    let (mut reader, mut line, mut bytes) = (ThreadReader::default(), Vec::new(), 0);
    loop {
        line.clear();
        // One byte more than is taken tells a line that is too long from one that is just as long.
        let mut capped = io::Read::take(&mut file, LONGEST_LINE as u64 + 1);
        let read = io::BufRead::read_until(&mut capped, b'\n', &mut line);
        match read.map_err(|error| unreadable(&error))? {
            0 => return Ok((reader.finish()?, bytes)),
            read => bytes += read as u64,
        }
        reader.line(&line)?;
    }
}

fn unreadable(error: &io::Error) -> Error {
    Error::new(Code::InputInvalid, format!("the file cannot be read: {error}")).help("nothing was imported")
}

async fn export_to(store: &SharedCheckpointer, thread: &ThreadId, out: &mut (dyn io::Write + Send)) -> Result<Report> {
    let Some(status) = store.status(thread).await? else {
        return Err(Error::new(Code::NotFound, format!("no thread `{thread}` to export")));
    };
    let namespaces = namespaces(store, thread).await?;
    let (writer, first) = ThreadWriter::new(thread, status)?;
    let mut file = File { out, writer, report: Report::new(thread.clone()) };
    file.put(&first)?;
    let mut ends = Vec::new();
    for namespace in &namespaces {
        let line = Line::of(store, thread, namespace).await?;
        ends.push(line.write(&mut file).await?);
    }
    if !is_as_it_was(store, thread, &namespaces, &ends).await? {
        return Err(moved(thread));
    }
    let last = file.writer.last()?;
    file.put(&last)?;
    file.out.flush().map_err(|error| unwritten(&error))?;
    Ok(file.report)
}

/// Ascending, so that equal threads give equal files.
async fn namespaces(store: &SharedCheckpointer, thread: &ThreadId) -> Result<Vec<Namespace>> {
    let mut namespaces = store.namespaces(thread).await?;
    namespaces.sort();
    Ok(namespaces)
}

/// Whether the thread still ends where its lines were seen to end. A run in between would leave pieces of two moments.
async fn is_as_it_was(
    store: &SharedCheckpointer,
    thread: &ThreadId,
    seen: &[Namespace],
    ends: &[Option<Loaded>],
) -> Result<bool> {
    if namespaces(store, thread).await? != *seen {
        return Ok(false);
    }
    for (namespace, end) in seen.iter().zip(ends) {
        let Some(end) = end else { continue };
        let newest = store.load(thread, namespace, At::Newer(end.checkpoint.id)).await?;
        let is_same = |newest: Loaded| newest.checkpoint == end.checkpoint && newest.pending == end.pending;
        if !newest.is_some_and(is_same) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn moved(thread: &ThreadId) -> Error {
    Error::new(Code::ThreadBusy, format!("thread `{thread}` was changed while it was exported"))
        .help("the thread is fine, the file is not whole: export again when no run moves it")
}

fn unwritten(error: &io::Error) -> Error {
    Error::new(Code::StoreUnavailable, format!("the file cannot be written: {error}"))
        .help("the thread is as it was, the file is not whole")
}

/// The file while it is written.
struct File<'a> {
    out: &'a mut (dyn io::Write + Send),
    writer: ThreadWriter,
    report: Report,
}

impl File<'_> {
    fn put(&mut self, line: &[u8]) -> Result<()> {
        self.report.bytes += line.len() as u64;
        self.out.write_all(line).map_err(|error| unwritten(&error))
    }
}

/// The checkpoints of one graph.
struct Line<'a> {
    store: &'a SharedCheckpointer,
    thread: &'a ThreadId,
    namespace: &'a Namespace,
    /// Newest first.
    ids: Vec<CheckpointId>,
    known: BTreeSet<CheckpointId>,
}

impl<'a> Line<'a> {
    async fn of(store: &'a SharedCheckpointer, thread: &'a ThreadId, namespace: &'a Namespace) -> Result<Self> {
        let mut ids: Vec<CheckpointId> = Vec::new();
        loop {
            let query = HistoryQuery { before: ids.last().copied(), limit: Some(PAGE), ..HistoryQuery::default() };
            let page = store.history(thread, namespace, &query).await?;
            ids.extend(page.iter().map(|loaded| loaded.checkpoint.id));
            if page.len() < PAGE {
                let known = ids.iter().copied().collect();
                return Ok(Self { store, thread, namespace, ids, known });
            }
        }
    }

    /// Writes the checkpoints, oldest first; gives the newest.
    async fn write(&self, file: &mut File<'_>) -> Result<Option<Loaded>> {
        let (mut end, mut newest) = (self.ids.len(), None);
        while end > 0 {
            let start = end.saturating_sub(PAGE);
            for loaded in self.page(start, end).await? {
                let parent = self.parent(&loaded, newest).await?;
                let copied = copied(&loaded, parent.as_ref())?;
                let line = file.writer.checkpoint(&copied)?;
                file.put(&line)?;
                file.report.checkpoints += 1;
                file.report.pending += copied.pending.len();
                newest = Some(loaded);
            }
            end = start;
        }
        file.report.graphs += 1;
        Ok(newest)
    }

    /// Some of the checkpoints, oldest first.
    async fn page(&self, start: usize, end: usize) -> Result<Vec<Loaded>> {
        let before = start.checked_sub(1).map(|newer| self.ids[newer]);
        let query = HistoryQuery { before, limit: Some(end - start), ..HistoryQuery::default() };
        let mut page = self.store.history(self.thread, self.namespace, &query).await?;
        if !page.iter().map(|loaded| &loaded.checkpoint.id).eq(&self.ids[start..end]) {
            return Err(moved(self.thread));
        }
        page.reverse();
        Ok(page)
    }

    /// The parent of a checkpoint, unless it was pruned.
    async fn parent(&self, loaded: &Loaded, before: Option<Loaded>) -> Result<Option<Loaded>> {
        let Some(parent) = loaded.checkpoint.parent.filter(|parent| self.known.contains(parent)) else {
            return Ok(None);
        };
        match before.filter(|before| before.checkpoint.id == parent) {
            Some(before) => Ok(Some(before)),
            None => {
                let found = self.store.load(self.thread, self.namespace, At::Id(parent)).await?;
                found.map(Some).ok_or_else(|| moved(self.thread))
            }
        }
    }
}

/// A checkpoint with only what it changed. One whose parent was pruned begins anew: no store takes it otherwise.
fn copied(loaded: &Loaded, parent: Option<&Loaded>) -> Result<CopiedCheckpoint> {
    let mut changes = Vec::new();
    for (field, log) in &loaded.fields {
        let before = parent.and_then(|parent| parent.fields.iter().find(|(name, _)| name == field));
        let change = changed(log, before.map(|(_, log)| log)).map_err(|fault| {
            let message = format!("checkpoint {}: field `{field}` cannot be read: {fault}", loaded.checkpoint.id);
            Error::new(Code::CheckpointCorrupt, message).help("the store is damaged here; prune what comes before")
        })?;
        changes.extend(change.map(|(change, part)| FieldChange { field: field.clone(), change, part }));
    }
    // Stores number fields as they meet them; equal threads give equal files.
    changes.sort_by(|one, other| one.field.cmp(&other.field));
    let checkpoint = Checkpoint { parent: parent.map(|parent| parent.checkpoint.id), ..(*loaded.checkpoint).clone() };
    Ok(CopiedCheckpoint { checkpoint, changes, pending: loaded.pending.clone() })
}

/// The one change that leads from one log to the other; `None` when they are the same.
fn changed(
    log: &FieldLog,
    before: Option<&FieldLog>,
) -> std::result::Result<Option<(Change, Datum)>, superstep_core::fault::Fault> {
    let is_on_top = |before: &&FieldLog| log.len() >= before.len() && log.iter().zip(*before).all(is_same);
    let rest = before.filter(is_on_top).map_or(&log[..], |before| &log[before.len()..]);
    match rest {
        [] => Ok(None),
        [one] if rest.len() < log.len() || one.0 == Change::Set => Ok(Some(one.clone())),
        _ => {
            let mut whole = Value::Null;
            for (change, part) in log {
                json_reducer::restore(&mut whole, change, &part.to_json()?)?;
            }
            Ok(Some((Change::Set, Datum::json(whole))))
        }
    }
}

fn is_same(((one, part), (other, counterpart)): (&(Change, Datum), &(Change, Datum))) -> bool {
    let is_shared = match (part, counterpart) {
        (Datum::Live(one), Datum::Live(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
        (Datum::Json(one), Datum::Json(other)) => Arc::ptr_eq(one, other),
        _ => false,
    };
    one == other && (is_shared || part == counterpart)
}
