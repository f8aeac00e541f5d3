//! Files that were cut off, or in which one bit is another: right values or an error, and nothing else.
//!
//! A file with several threads is closed, damaged in one place, and read in a process of its own. Every thread must be
//! read exactly as before, or not at all and with an error that says so; and a reader never panics and never hangs. The
//! one exception is counted: damage to a key hides the rows that are found by it, and only SQLite's own check tells.

use std::path::Path;

use crate::check::{self, Stored, Unreadable};
use crate::child::{Child, command};
use crate::folder::Folder;
use crate::random::Random;
use crate::reader::Question;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::Seen;
use crate::tools;
use crate::victim::Order;

/// How many threads the file has.
const THREADS: usize = 6;
/// How many bits are flipped, and how many times the file is cut off.
const FLIPS: u64 = 300;
const CUTS: u64 = 20;
/// What a file begins with. A shorter one is an empty one to SQLite: there is nothing left to be read from it.
const HEADER: usize = 100;

/// Damages files.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    let mut report = Report::new("damage");
    let whole = Whole::make()?;
    let mut random = Random::apart(stage.seed, 5);
    for _ in 0..stage.times(FLIPS) {
        let at = random.below(whole.bytes.len() as u32) as usize;
        let bit = random.below(8);
        let mut bytes = whole.bytes.clone();
        bytes[at] ^= 1 << bit;
        let what = format!("bit {bit} of byte {at} (page {}) flipped", at / whole.page() + 1);
        report.count("bits flipped", 1);
        whole.judge(&bytes, &Damage { what, at: Some(at), seed: stage.seed }, &mut report)?;
    }
    for number in 0..stage.times(CUTS) {
        let length = match number {
            0 => HEADER,
            1 => whole.page(),
            2 => whole.bytes.len() - 1,
            _ => HEADER + random.below((whole.bytes.len() - HEADER) as u32) as usize,
        };
        report.count("files cut off", 1);
        let what = format!("cut off after {length} of {} bytes", whole.bytes.len());
        whole.judge(&whole.bytes[..length], &Damage { what, at: None, seed: stage.seed }, &mut report)?;
    }
    foreign(stage.seed, &mut report)?;
    report.must_have(stage.seed, "threads with an error", 1);
    report.must_have(stage.seed, "threads read beside damaged ones", 1);
    Ok(report)
}

fn table_pages(file: &Path) -> rusqlite::Result<Vec<usize>> {
    let connection = rusqlite::Connection::open(file)?;
    let mut statement = connection.prepare("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'")?;
    statement.query_map([], |row| row.get::<_, u32>(0).map(|page| page as usize))?.collect()
}

/// A file that is whole, and what is in it.
struct Whole {
    bytes: Vec<u8>,
    threads: Vec<String>,
    stored: Stored,
    /// The pages that say which tables there are: without them no row can be read.
    tables: Vec<usize>,
}

impl Whole {
    fn make() -> Result<Self, String> {
        let folder = Folder::new("damage")?;
        let place = Place::sqlite_in(folder.path());
        let threads: Vec<String> = (0..THREADS).map(|number| format!("t{number}")).collect();
        let order = Order { threads: threads.clone(), laps: 1, weight: 3_000, ..Order::default() };
        let end = Child::start(&command("victim", &place, &order)?)?.end()?;
        if !end.status.success() {
            return Err(format!("a victim ended with {}", end.spoken()));
        }
        if folder.join(&format!("{}-wal", Place::FILE)).exists() {
            return Err("a store that was closed left its log behind".to_owned());
        }
        let stored = check::read(&place, &Question { threads: threads.clone(), integrity: true, values: false })?;
        if let Some(problem) = stored.problems().first() {
            return Err(problem.clone());
        }
        let bytes = std::fs::read(place.file()).map_err(|error| format!("{}: {error}", place.file().display()))?;
        let tables = table_pages(place.file()).map_err(|error| format!("{}: {error}", place.file().display()))?;
        Ok(Self { bytes, threads, stored, tables })
    }

    /// How large a page is, as the file says.
    fn page(&self) -> usize {
        match usize::from(u16::from_be_bytes([self.bytes[16], self.bytes[17]])) {
            1 => 65_536,
            size => size,
        }
    }

    /// Whether a byte is part of a row: on a page of rows, behind where its rows begin.
    fn is_row(&self, at: usize) -> bool {
        let page = &self.bytes[at / self.page() * self.page()..];
        let is_leaf = matches!(page[0], 10 | 13);
        let rows = usize::from(u16::from_be_bytes([page[5], page[6]]));
        !self.tables.contains(&(at / self.page() + 1)) && is_leaf && at % self.page() >= rows
    }

    /// Reads the damaged file, and says what became of each thread.
    fn judge(&self, bytes: &[u8], damage: &Damage, report: &mut Report) -> Result<(), String> {
        let folder = Folder::new("damaged")?;
        let place = Place::sqlite_in(folder.path());
        write(place.file(), bytes)?;
        let question = Question { threads: self.threads.clone(), integrity: true, values: false };
        let stored = check::read(&place, &question)?;
        let Damage { what, seed, .. } = damage;
        if let Some(wild) = &stored.wild {
            report.find(*seed, format!("{what}: {wild}"));
        }
        let (mut right, mut failed, mut wrong) = (0, 0, 0);
        for thread in &self.threads {
            match self.fate(thread, &stored, &place) {
                Fate::Right => right += 1,
                Fate::Failed => failed += 1,
                Fate::Shorter if stored.integrity.as_deref() != Some("ok") => {
                    report.count("threads with rows missing", 1)
                }
                Fate::Shorter => report.find(*seed, format!("{what}: rows of `{thread}` are gone, and nothing tells")),
                Fate::Wrong(how) => {
                    wrong += 1;
                    report.find(*seed, format!("{what}: {how}"));
                }
            }
        }
        report.count("threads read wrongly", wrong);
        report.count("threads read rightly", right);
        report.count("threads with an error", failed);
        if failed > 0 && damage.at.is_some_and(|at| self.is_row(at)) {
            report.count("rows hit", 1);
            report.count("threads read beside damaged ones", right);
            if right == 0 {
                let first = stored.unreadable.first().map(|why| why.message.clone()).unwrap_or_default();
                report.find(*seed, format!("{what}: one row was hit, and no thread can be read: {first}"));
            }
        }
        Ok(())
    }

    fn fate(&self, thread: &str, stored: &Stored, place: &Place) -> Fate {
        let why = stored.unreadable.iter().find(|why| why.thread == thread || why.thread.is_empty());
        if let Some(why) = why {
            let unclear = || Fate::Wrong(format!("an error that does not say what is damaged: {why:?}"));
            return if is_clean(why, place) { Fate::Failed } else { unclear() };
        }
        let of = |stored: &Stored| -> Vec<Seen> {
            stored.seen.iter().filter(|seen| seen.thread == thread).cloned().collect()
        };
        let (before, now) = (of(&self.stored), of(stored));
        if before == now {
            return Fate::Right;
        }
        // What is there must be as it was, apart from tasks of which nothing is known any more.
        let is_known = |seen: &Seen| {
            let was = before.iter().find(|was| was.id == seen.id && was.path == seen.path);
            was.is_some_and(|was| {
                let same = Seen { done: was.done.clone(), ..seen.clone() };
                same == *was && seen.done.iter().all(|done| was.done.contains(done))
            })
        };
        match now.into_iter().find(|seen| !is_known(seen)) {
            Some(other) => Fate::Wrong(format!("a checkpoint that was never saved: {other:?}")),
            None => Fate::Shorter,
        }
    }
}

/// What was done to a file.
struct Damage {
    what: String,
    /// The byte that was hit, where it was one.
    at: Option<usize>,
    seed: u64,
}

/// What became of a thread.
enum Fate {
    /// It is read as before.
    Right,
    /// It is not read, and an error says why.
    Failed,
    /// Some of it is no longer found, because the damage hit what it is found by. No checksum of a row notices that, but
    /// the check of the whole file does.
    Shorter,
    /// It is read otherwise than before, or not read and nobody knows why.
    Wrong(String),
}

/// An error that says that something is damaged, or of which file it speaks.
fn is_clean(why: &Unreadable, place: &Place) -> bool {
    let names_file = why.message.contains(&tools::text(place.file()));
    why.code == "CheckpointCorrupt" || (names_file && matches!(&*why.code, "StoreUnavailable" | "CheckpointTooNew"))
}

/// A file of somebody else is refused and stays as it is; an empty one is a new database.
fn foreign(seed: u64, report: &mut Report) -> Result<(), String> {
    let question = Question { threads: vec!["t0".to_owned()], integrity: false, values: false };
    let text = "This is a letter, and not a database.\n".repeat(200);
    let folder = Folder::new("foreign")?;
    let place = Place::sqlite_in(folder.path());
    write(place.file(), text.as_bytes())?;
    let stored = check::read(&place, &question)?;
    let is_refused = stored.wild.is_none() && stored.unreadable.iter().any(|why| is_clean(why, &place));
    let is_same = std::fs::read(place.file()).is_ok_and(|now| now == text.as_bytes());
    if !is_refused || !is_same {
        report.find(seed, format!("a text was taken for a database, or changed: {stored:?}"));
    }
    let folder = Folder::new("empty")?;
    let place = Place::sqlite_in(folder.path());
    write(place.file(), b"")?;
    let stored = check::read(&place, &question)?;
    if stored.wild.is_some() || !stored.unreadable.is_empty() || !stored.seen.is_empty() {
        report.find(seed, format!("an empty file is not a new database: {stored:?}"));
    }
    report.count("foreign files", 2);
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
