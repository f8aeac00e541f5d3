//! Moves a thread from one store to another, as one file of JSON Lines.
//!
//! Speaks only the port of stores, so any two can be the ends. What a line says is the business of
//! [`superstep_core::checkpoint`]. Reading and writing the file blocks, as files do.

use std::collections::BTreeSet;
use std::io;

use superstep_core::checkpoint::{LONGEST_LINE, Namespace, ThreadReader, ThreadWriter};
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::SharedCheckpointer;

use crate::launch::real_world;

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
    let (writer, first) = ThreadWriter::new(thread, status)?;
    let (mut file, mut graphs) = (File { out, writer, report: Report::new(thread.clone()) }, BTreeSet::new());
    file.put(&first)?;
    let walked = store.walk_thread(thread, |copied| {
        let line = file.writer.checkpoint(&copied)?;
        file.put(&line)?;
        file.report.checkpoints += 1;
        file.report.pending += copied.pending.len();
        graphs.insert(copied.checkpoint.namespace);
        Ok(())
    });
    walked.await?;
    file.report.graphs = graphs.len();
    let last = file.writer.last()?;
    file.put(&last)?;
    file.out.flush().map_err(|error| unwritten(&error))?;
    Ok(file.report)
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
