//! Truncated files and files with a flipped bit: reading returns correct values or an error, and nothing else.
//!
//! A file with several threads is closed, corrupted in one location, and read in a separate process. Every thread
//! must be read unchanged, or fail with a clear error; a reader never panics or hangs. One exception is counted:
//! corruption of a key hides the rows found by it, which only SQLite's own check detects.

use std::path::Path;

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildProcess, command};
use crate::options::TestOptions;
use crate::protocol::CheckpointSummary;
use crate::random::Random;
use crate::reader::ReaderArgs;
use crate::report::Report;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify::{self, StoredState, Unreadable};
use crate::worker::WorkerArgs;

/// Number of threads in the file.
const THREADS: usize = 6;
/// Numbers of flipped bits and of truncations.
const FLIPS: u64 = 300;
const TRUNCATIONS: u64 = 20;
/// Length of the SQLite file header. SQLite treats a shorter file as empty.
const HEADER_LENGTH: usize = 100;

/// Runs the corruption test.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    let mut report = Report::new("damage");
    let intact = IntactFile::create()?;
    let mut random = Random::for_stream(options.seed, 5);
    for _ in 0..options.times(FLIPS) {
        let offset = random.below(intact.bytes.len() as u32) as usize;
        let bit = random.below(8);
        let mut bytes = intact.bytes.clone();
        bytes[offset] ^= 1 << bit;
        let description = format!("bit {bit} of byte {offset} (page {}) flipped", offset / intact.page_size() + 1);
        report.count("bits flipped", 1);
        intact.check(&bytes, &Corruption { description, offset: Some(offset), seed: options.seed }, &mut report)?;
    }
    for number in 0..options.times(TRUNCATIONS) {
        let length = match number {
            0 => HEADER_LENGTH,
            1 => intact.page_size(),
            2 => intact.bytes.len() - 1,
            _ => HEADER_LENGTH + random.below((intact.bytes.len() - HEADER_LENGTH) as u32) as usize,
        };
        report.count("files cut off", 1);
        let description = format!("cut off after {length} of {} bytes", intact.bytes.len());
        intact.check(
            &intact.bytes[..length],
            &Corruption { description, offset: None, seed: options.seed },
            &mut report,
        )?;
    }
    test_foreign_files(options.seed, &mut report)?;
    report.require_count(options.seed, "threads with an error", 1);
    report.require_count(options.seed, "threads read next to corrupt ones", 1);
    Ok(report)
}

fn schema_pages(file: &Path) -> rusqlite::Result<Vec<usize>> {
    let connection = rusqlite::Connection::open(file)?;
    let mut statement = connection.prepare("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'")?;
    statement.query_map([], |row| row.get::<_, u32>(0).map(|page| page as usize))?.collect()
}

/// An intact file and its content.
struct IntactFile {
    bytes: Vec<u8>,
    threads: Vec<String>,
    stored: StoredState,
    /// Pages of the table schema, without which no row can be read.
    schema_pages: Vec<usize>,
}

impl IntactFile {
    fn create() -> Result<Self, String> {
        let folder = TempDir::new("damage")?;
        let location = CheckpointerLocation::sqlite_in(folder.path());
        let threads: Vec<String> = (0..THREADS).map(|number| format!("t{number}")).collect();
        let args = WorkerArgs { threads: threads.clone(), rounds: 1, weight: 3_000, ..WorkerArgs::default() };
        let exit = ChildProcess::start(&command("worker", &location, &args)?)?.wait()?;
        if !exit.status.success() {
            return Err(format!("a worker ended with {}", exit.describe()));
        }
        if folder.join(&format!("{}-wal", CheckpointerLocation::FILE)).exists() {
            return Err("the write-ahead log remained after the checkpointer was closed".to_owned());
        }
        let stored = verify::read(&location, &ReaderArgs { threads: threads.clone(), integrity: true, values: false })?;
        if let Some(violation) = stored.violations().first() {
            return Err(violation.clone());
        }
        let bytes =
            std::fs::read(location.file()).map_err(|error| format!("{}: {error}", location.file().display()))?;
        let schema_pages =
            schema_pages(location.file()).map_err(|error| format!("{}: {error}", location.file().display()))?;
        Ok(Self { bytes, threads, stored, schema_pages })
    }

    /// Returns the page size according to the file.
    fn page_size(&self) -> usize {
        match usize::from(u16::from_be_bytes([self.bytes[16], self.bytes[17]])) {
            1 => 65_536,
            size => size,
        }
    }

    /// Returns true if a byte belongs to a row: on a leaf page, behind the beginning of its rows.
    fn is_in_row(&self, offset: usize) -> bool {
        let page = &self.bytes[offset / self.page_size() * self.page_size()..];
        let is_leaf = matches!(page[0], 10 | 13);
        let rows = usize::from(u16::from_be_bytes([page[5], page[6]]));
        !self.schema_pages.contains(&(offset / self.page_size() + 1)) && is_leaf && offset % self.page_size() >= rows
    }

    /// Reads the corrupt file and counts the results of the threads.
    fn check(&self, bytes: &[u8], corruption: &Corruption, report: &mut Report) -> Result<(), String> {
        let folder = TempDir::new("damaged")?;
        let location = CheckpointerLocation::sqlite_in(folder.path());
        write(location.file(), bytes)?;
        let args = ReaderArgs { threads: self.threads.clone(), integrity: true, values: false };
        let stored = verify::read(&location, &args)?;
        let Corruption { description, seed, .. } = corruption;
        if let Some(crash) = &stored.crash {
            report.add_violation(*seed, format!("{description}: {crash}"));
        }
        let (mut unchanged, mut failed, mut incorrect) = (0, 0, 0);
        for thread in &self.threads {
            match self.read_result(thread, &stored, &location) {
                ThreadReadResult::Unchanged => unchanged += 1,
                ThreadReadResult::Failed => failed += 1,
                ThreadReadResult::RowsMissing if stored.integrity.as_deref() != Some("ok") => {
                    report.count("threads with rows missing", 1)
                }
                ThreadReadResult::RowsMissing => report
                    .add_violation(*seed, format!("{description}: rows of `{thread}` are missing without an error")),
                ThreadReadResult::Incorrect(reason) => {
                    incorrect += 1;
                    report.add_violation(*seed, format!("{description}: {reason}"));
                }
            }
        }
        report.count("threads read wrongly", incorrect);
        report.count("threads read rightly", unchanged);
        report.count("threads with an error", failed);
        if failed > 0 && corruption.offset.is_some_and(|offset| self.is_in_row(offset)) {
            report.count("rows hit", 1);
            report.count("threads read next to corrupt ones", unchanged);
            if unchanged == 0 {
                let first = stored.unreadable.first().map(|error| error.message.clone()).unwrap_or_default();
                report.add_violation(
                    *seed,
                    format!("{description}: one row is corrupt, and no thread can be read: {first}"),
                );
            }
        }
        Ok(())
    }

    fn read_result(&self, thread: &str, stored: &StoredState, location: &CheckpointerLocation) -> ThreadReadResult {
        let error = stored.unreadable.iter().find(|error| error.thread == thread || error.thread.is_empty());
        if let Some(error) = error {
            let unclear_error =
                || ThreadReadResult::Incorrect(format!("an error that does not name the corrupt part: {error:?}"));
            return if is_clear(error, location) { ThreadReadResult::Failed } else { unclear_error() };
        }
        let checkpoints_of = |stored: &StoredState| -> Vec<CheckpointSummary> {
            stored.checkpoints.iter().filter(|checkpoint| checkpoint.thread == thread).cloned().collect()
        };
        let (before, now) = (checkpoints_of(&self.stored), checkpoints_of(stored));
        if before == now {
            return ThreadReadResult::Unchanged;
        }
        // Remaining checkpoints must be unchanged, except for missing task results.
        let was_saved = |checkpoint: &CheckpointSummary| {
            let saved_before = before
                .iter()
                .find(|saved_before| saved_before.id == checkpoint.id && saved_before.path == checkpoint.path);
            saved_before.is_some_and(|saved_before| {
                let same = CheckpointSummary { done: saved_before.done.clone(), ..checkpoint.clone() };
                same == *saved_before && checkpoint.done.iter().all(|done| saved_before.done.contains(done))
            })
        };
        match now.into_iter().find(|checkpoint| !was_saved(checkpoint)) {
            Some(other) => ThreadReadResult::Incorrect(format!("a checkpoint that was never saved: {other:?}")),
            None => ThreadReadResult::RowsMissing,
        }
    }
}

/// A corruption of a file.
struct Corruption {
    description: String,
    /// Changed byte, if it was one.
    offset: Option<usize>,
    seed: u64,
}

/// Result of reading a thread.
enum ThreadReadResult {
    /// Read unchanged.
    Unchanged,
    /// Not readable, with a clear error.
    Failed,
    /// Some rows are no longer found because a key is corrupt. Row checksums do not detect that, but the integrity
    /// check of the file does.
    RowsMissing,
    /// Read with other values, or not readable without a clear error.
    Incorrect(String),
}

/// Returns true if an error reports corruption or names the file.
fn is_clear(error: &Unreadable, location: &CheckpointerLocation) -> bool {
    let names_file = error.message.contains(&tools::path_text(location.file()));
    error.code == "CheckpointCorrupt" || (names_file && matches!(&*error.code, "StoreUnavailable" | "CheckpointTooNew"))
}

/// Checks that a file of another program is rejected and unchanged, and that an empty file becomes a new database.
fn test_foreign_files(seed: u64, report: &mut Report) -> Result<(), String> {
    let args = ReaderArgs { threads: vec!["t0".to_owned()], integrity: false, values: false };
    let text = "This is a letter, and not a database.\n".repeat(200);
    let folder = TempDir::new("foreign")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    write(location.file(), text.as_bytes())?;
    let stored = verify::read(&location, &args)?;
    let is_rejected = stored.crash.is_none() && stored.unreadable.iter().any(|error| is_clear(error, &location));
    let is_same = std::fs::read(location.file()).is_ok_and(|now| now == text.as_bytes());
    if !is_rejected || !is_same {
        report.add_violation(seed, format!("a text file was accepted as a database, or changed: {stored:?}"));
    }
    let folder = TempDir::new("empty")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    write(location.file(), b"")?;
    let stored = verify::read(&location, &args)?;
    if stored.crash.is_some() || !stored.unreadable.is_empty() || !stored.checkpoints.is_empty() {
        report.add_violation(seed, format!("an empty file is not a new database: {stored:?}"));
    }
    report.count("foreign files", 2);
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
