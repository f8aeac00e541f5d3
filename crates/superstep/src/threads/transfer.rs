//! Transfer of a thread between checkpointers, as one JSON Lines file.
//!
//! Uses only the checkpointer port, so that any two checkpointers work. The line format is defined in
//! [`superstep_core::checkpoint`]. File reads and writes block.

use std::collections::BTreeSet;
use std::io;

use superstep_core::checkpoint::{CheckpointNamespace, MAX_LINE_BYTES, ThreadFileReader, ThreadFileWriter};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::SharedCheckpointer;

use crate::engine::start::system_environment;

/// Name of an imported thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportName {
    /// The original name.
    Same,
    /// Another name.
    As(ThreadId),
}

/// Summary of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransferReport {
    /// Name of the thread in the file or in its new checkpointer.
    pub thread: ThreadId,
    /// Number of graphs with checkpoints: the root graph and its subgraphs.
    pub graphs: usize,
    /// Number of checkpoints of all graphs.
    pub checkpoints: usize,
    /// Number of pending entries: results, interrupts, resume values.
    pub pending: usize,
    /// Size of the file in bytes.
    pub bytes: u64,
}

impl TransferReport {
    fn new(thread: ThreadId) -> Self {
        Self { thread, graphs: 0, checkpoints: 0, pending: 0, bytes: 0 }
    }
}

/// Writes all data of a thread to `out`: the checkpoints of all its graphs, oldest first, each with its changes and
/// pending entries.
///
/// The file is complete only if this function returns `Ok`: the last line marks a complete file.
///
/// ```
/// use superstep::prelude::*;
/// use superstep::transfer::{self, ImportName};
/// # #[derive(GraphState, Clone, Serialize, Deserialize)]
/// # struct Chat { #[reduce(append)] log: Vec<String> }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let (here, there) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
/// # let mut graph = StateGraph::<Chat>::new("chat");
/// # let answer = graph.add_node("answer", || Chat::update().log("hello"));
/// # graph.add_edge(START, answer).add_edge(answer, END);
/// let chat = graph.checkpointer(here.clone()).compile()?;
/// chat.invoke(Chat::input().log("hi")).thread("ann").await?;
///
/// let mut file = Vec::new();
/// transfer::export(here, "ann", &mut file).await?;
/// let report = transfer::import(there.clone(), &file[..], ImportName::As("ann-2".into())).await?;
/// assert_eq!(report.checkpoints, 2);
/// assert_eq!(chat.threads().checkpointer(there).get_state("ann-2").await?.state.log, ["hi", "hello"]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Returns an error if there is no such thread, if a run changes the thread in the meantime, or if the checkpointer
/// or `out` fails. The thread is not changed. The output is incomplete, and [`import`] rejects it.
pub async fn export(
    store: impl Into<SharedCheckpointer>,
    thread: impl Into<ThreadId>,
    out: &mut (impl io::Write + Send),
) -> Result<TransferReport> {
    let (store, thread) = (store.into(), thread.into());
    let exported = Box::pin(export_to(&store, &thread, out)).await;
    exported.map_err(|error| error.with_thread(Some(&thread)))
}

/// Imports the thread of a file into a checkpointer, completely or not at all. History, ids, forks, open interrupts,
/// resume values and results are preserved, so that an interrupted run can be resumed.
///
/// # Errors
/// Returns an error, without importing anything, if the file is corrupt, truncated or of a newer version (with the
/// line number), if the thread already exists, or if the checkpointer fails.
pub async fn import(
    store: impl Into<SharedCheckpointer>,
    file: impl io::BufRead + Send,
    name: ImportName,
) -> Result<TransferReport> {
    Box::pin(import_from(&store.into(), file, name)).await
}

async fn import_from(
    store: &SharedCheckpointer,
    file: impl io::BufRead + Send,
    name: ImportName,
) -> Result<TransferReport> {
    let (copy, bytes) = read(file)?;
    let copy = match name {
        ImportName::Same => copy,
        ImportName::As(thread) => copy.with_thread_id(thread),
    };
    let graphs: BTreeSet<&CheckpointNamespace> =
        copy.checkpoints.iter().map(|copied| &copied.checkpoint.namespace).collect();
    let report = TransferReport {
        thread: copy.thread.clone(),
        graphs: graphs.len(),
        checkpoints: copy.checkpoints.len(),
        pending: copy.checkpoints.iter().map(|copied| copied.pending.len()).sum(),
        bytes,
    };
    store.import_thread(copy, RunId::from_bits(system_environment().1.new_id())).await?;
    Ok(report)
}

fn read(mut file: impl io::BufRead) -> Result<(superstep_core::checkpoint::ThreadExport, u64)> {
    let (mut reader, mut line, mut bytes) = (ThreadFileReader::default(), Vec::new(), 0);
    loop {
        line.clear();
        // One byte more than the limit distinguishes a line of the maximum length from a longer one.
        let mut capped = io::Read::take(&mut file, MAX_LINE_BYTES as u64 + 1);
        let read = io::BufRead::read_until(&mut capped, b'\n', &mut line);
        match read.map_err(|error| read_error(&error))? {
            0 => return Ok((reader.finish()?, bytes)),
            read => bytes += read as u64,
        }
        reader.push_line(&line)?;
    }
}

fn read_error(error: &io::Error) -> Error {
    Error::new(ErrorCode::InputInvalid, format!("failed to read the file: {error}")).with_help("nothing was imported")
}

async fn export_to(
    store: &SharedCheckpointer,
    thread: &ThreadId,
    out: &mut (dyn io::Write + Send),
) -> Result<TransferReport> {
    let Some(status) = store.status(thread).await? else {
        return Err(Error::new(ErrorCode::NotFound, format!("thread `{thread}` to export not found")));
    };
    let (writer, first) = ThreadFileWriter::new(thread, status)?;
    let (mut file, mut graphs) =
        (ExportFile { out, writer, report: TransferReport::new(thread.clone()) }, BTreeSet::new());
    file.put(&first)?;
    let exporting = store.export_thread(thread, |copied| {
        let line = file.writer.checkpoint(&copied)?;
        file.put(&line)?;
        file.report.checkpoints += 1;
        file.report.pending += copied.pending.len();
        graphs.insert(copied.checkpoint.namespace);
        Ok(())
    });
    exporting.await?;
    file.report.graphs = graphs.len();
    let last = file.writer.finish()?;
    file.put(&last)?;
    file.out.flush().map_err(|error| write_error(&error))?;
    Ok(file.report)
}

fn write_error(error: &io::Error) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("failed to write the file: {error}"))
        .with_help("the thread is unchanged; the file is incomplete")
}

/// File that is being written.
struct ExportFile<'a> {
    out: &'a mut (dyn io::Write + Send),
    writer: ThreadFileWriter,
    report: TransferReport,
}

impl ExportFile<'_> {
    fn put(&mut self, line: &[u8]) -> Result<()> {
        self.report.bytes += line.len() as u64;
        self.out.write_all(line).map_err(|error| write_error(&error))
    }
}
