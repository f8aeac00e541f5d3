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
const CUTS: u64 = 20;
/// Length of the SQLite file header. SQLite treats a shorter file as empty.
const HEADER: usize = 100;

/// Runs the corruption test.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn prove(stage: &TestOptions) -> Result<Report, String> {
    let mut report = Report::new("damage");
    let intact = IntactFile::make()?;
    let mut random = Random::apart(stage.seed, 5);
    for _ in 0..stage.times(FLIPS) {
        let at = random.below(intact.bytes.len() as u32) as usize;
        let bit = random.below(8);
        let mut bytes = intact.bytes.clone();
        bytes[at] ^= 1 << bit;
        let description = format!("bit {bit} of byte {at} (page {}) flipped", at / intact.page() + 1);
        report.count("bits flipped", 1);
        intact.judge(&bytes, &Corruption { description, at: Some(at), seed: stage.seed }, &mut report)?;
    }
    for number in 0..stage.times(CUTS) {
        let length = match number {
            0 => HEADER,
            1 => intact.page(),
            2 => intact.bytes.len() - 1,
            _ => HEADER + random.below((intact.bytes.len() - HEADER) as u32) as usize,
        };
        report.count("files cut off", 1);
        let description = format!("cut off after {length} of {} bytes", intact.bytes.len());
        intact.judge(&intact.bytes[..length], &Corruption { description, at: None, seed: stage.seed }, &mut report)?;
    }
    foreign(stage.seed, &mut report)?;
    report.require_count(stage.seed, "threads with an error", 1);
    report.require_count(stage.seed, "threads read next to corrupt ones", 1);
    Ok(report)
}

fn table_pages(file: &Path) -> rusqlite::Result<Vec<usize>> {
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
    tables: Vec<usize>,
}

impl IntactFile {
    fn make() -> Result<Self, String> {
        let folder = TempDir::new("damage")?;
        let location = CheckpointerLocation::sqlite_in(folder.path());
        let threads: Vec<String> = (0..THREADS).map(|number| format!("t{number}")).collect();
        let order = WorkerArgs { threads: threads.clone(), rounds: 1, weight: 3_000, ..WorkerArgs::default() };
        let end = ChildProcess::start(&command("victim", &location, &order)?)?.end()?;
        if !end.status.success() {
            return Err(format!("a worker ended with {}", end.describe()));
        }
        if folder.join(&format!("{}-wal", CheckpointerLocation::FILE)).exists() {
            return Err("the write-ahead log remained after the checkpointer was closed".to_owned());
        }
        let stored = verify::read(&location, &ReaderArgs { threads: threads.clone(), integrity: true, values: false })?;
        if let Some(problem) = stored.problems().first() {
            return Err(problem.clone());
        }
        let bytes =
            std::fs::read(location.file()).map_err(|error| format!("{}: {error}", location.file().display()))?;
        let tables = table_pages(location.file()).map_err(|error| format!("{}: {error}", location.file().display()))?;
        Ok(Self { bytes, threads, stored, tables })
    }

    /// Returns the page size according to the file.
    fn page(&self) -> usize {
        match usize::from(u16::from_be_bytes([self.bytes[16], self.bytes[17]])) {
            1 => 65_536,
            size => size,
        }
    }

    /// Returns true if a byte belongs to a row: on a leaf page, behind the beginning of its rows.
    fn is_row(&self, at: usize) -> bool {
        let page = &self.bytes[at / self.page() * self.page()..];
        let is_leaf = matches!(page[0], 10 | 13);
        let rows = usize::from(u16::from_be_bytes([page[5], page[6]]));
        !self.tables.contains(&(at / self.page() + 1)) && is_leaf && at % self.page() >= rows
    }

    /// Reads the corrupt file and counts the results of the threads.
    fn judge(&self, bytes: &[u8], corruption: &Corruption, report: &mut Report) -> Result<(), String> {
        let folder = TempDir::new("damaged")?;
        let location = CheckpointerLocation::sqlite_in(folder.path());
        write(location.file(), bytes)?;
        let question = ReaderArgs { threads: self.threads.clone(), integrity: true, values: false };
        let stored = verify::read(&location, &question)?;
        let Corruption { description, seed, .. } = corruption;
        if let Some(wild) = &stored.crash {
            report.add_violation(*seed, format!("{description}: {wild}"));
        }
        let (mut right, mut failed, mut incorrect) = (0, 0, 0);
        for thread in &self.threads {
            match self.fate(thread, &stored, &location) {
                ThreadReadResult::Right => right += 1,
                ThreadReadResult::Failed => failed += 1,
                ThreadReadResult::Shorter if stored.integrity.as_deref() != Some("ok") => {
                    report.count("threads with rows missing", 1)
                }
                ThreadReadResult::Shorter => report
                    .add_violation(*seed, format!("{description}: rows of `{thread}` are missing without an error")),
                ThreadReadResult::Incorrect(how) => {
                    incorrect += 1;
                    report.add_violation(*seed, format!("{description}: {how}"));
                }
            }
        }
        report.count("threads read wrongly", incorrect);
        report.count("threads read rightly", right);
        report.count("threads with an error", failed);
        if failed > 0 && corruption.at.is_some_and(|at| self.is_row(at)) {
            report.count("rows hit", 1);
            report.count("threads read next to corrupt ones", right);
            if right == 0 {
                let first = stored.unreadable.first().map(|error| error.message.clone()).unwrap_or_default();
                report.add_violation(
                    *seed,
                    format!("{description}: one row is corrupt, and no thread can be read: {first}"),
                );
            }
        }
        Ok(())
    }

    fn fate(&self, thread: &str, stored: &StoredState, location: &CheckpointerLocation) -> ThreadReadResult {
        let error = stored.unreadable.iter().find(|error| error.thread == thread || error.thread.is_empty());
        if let Some(error) = error {
            let unclear =
                || ThreadReadResult::Incorrect(format!("an error that does not name the corrupt part: {error:?}"));
            return if is_clean(error, location) { ThreadReadResult::Failed } else { unclear() };
        }
        let of = |stored: &StoredState| -> Vec<CheckpointSummary> {
            stored.seen.iter().filter(|seen| seen.thread == thread).cloned().collect()
        };
        let (before, now) = (of(&self.stored), of(stored));
        if before == now {
            return ThreadReadResult::Right;
        }
        // Remaining checkpoints must be unchanged, except for missing task results.
        let is_known = |seen: &CheckpointSummary| {
            let was = before.iter().find(|was| was.id == seen.id && was.path == seen.path);
            was.is_some_and(|was| {
                let same = CheckpointSummary { done: was.done.clone(), ..seen.clone() };
                same == *was && seen.done.iter().all(|done| was.done.contains(done))
            })
        };
        match now.into_iter().find(|seen| !is_known(seen)) {
            Some(other) => ThreadReadResult::Incorrect(format!("a checkpoint that was never saved: {other:?}")),
            None => ThreadReadResult::Shorter,
        }
    }
}

/// A corruption of a file.
struct Corruption {
    description: String,
    /// Changed byte, if it was one.
    at: Option<usize>,
    seed: u64,
}

/// Result of reading a thread.
enum ThreadReadResult {
    /// Read unchanged.
    Right,
    /// Not readable, with a clear error.
    Failed,
    /// Some rows are no longer found because a key is corrupt. Row checksums do not detect that, but the integrity
    /// check of the file does.
    Shorter,
    /// Read with other values, or not readable without a clear error.
    Incorrect(String),
}

/// Returns true if an error reports corruption or names the file.
fn is_clean(error: &Unreadable, location: &CheckpointerLocation) -> bool {
    let names_file = error.message.contains(&tools::text(location.file()));
    error.code == "CheckpointCorrupt" || (names_file && matches!(&*error.code, "StoreUnavailable" | "CheckpointTooNew"))
}

/// Checks that a file of another program is rejected and unchanged, and that an empty file becomes a new database.
fn foreign(seed: u64, report: &mut Report) -> Result<(), String> {
    let question = ReaderArgs { threads: vec!["t0".to_owned()], integrity: false, values: false };
    let text = "This is a letter, and not a database.\n".repeat(200);
    let folder = TempDir::new("foreign")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    write(location.file(), text.as_bytes())?;
    let stored = verify::read(&location, &question)?;
    let is_rejected = stored.crash.is_none() && stored.unreadable.iter().any(|error| is_clean(error, &location));
    let is_same = std::fs::read(location.file()).is_ok_and(|now| now == text.as_bytes());
    if !is_rejected || !is_same {
        report.add_violation(seed, format!("a text file was accepted as a database, or changed: {stored:?}"));
    }
    let folder = TempDir::new("empty")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    write(location.file(), b"")?;
    let stored = verify::read(&location, &question)?;
    if stored.crash.is_some() || !stored.unreadable.is_empty() || !stored.seen.is_empty() {
        report.add_violation(seed, format!("an empty file is not a new database: {stored:?}"));
    }
    report.count("foreign files", 2);
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
