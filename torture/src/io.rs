//! The n-th operation on the files of the database fails: once, or from then on.
//!
//! strace answers in place of the system. Whatever the victim makes of it, it must end, with success or with an error
//! that says so, and must not have told anything that is not there when the disk is well again.

use crate::check;
use crate::child::{Child, command};
use crate::effects;
use crate::folder::Folder;
use crate::kill::undisturbed;
use crate::random::Random;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::Told;
use crate::tools;
use crate::victim::Order;
use crate::work::THREAD;

/// What fails, and how.
const FAULTS: [(&str, &str); 6] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("fsync,fdatasync", "EIO"),
    ("ftruncate", "EIO"),
    ("openat", "EIO"),
    ("pread64", "EIO"),
];
/// How many places of a run each fault is tried at, once and for ever.
const PLACES: u64 = 6;
/// The run: laps and weight.
const SIZE: (u64, u64) = (1, 20_000);

/// Lets operations fail.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    tools::need("strace", "strace")?;
    let mut report = Report::new("io");
    let expected = undisturbed(SIZE)?;
    let mut random = Random::apart(stage.seed, 4);
    for (calls, error) in FAULTS {
        let count = count(calls)?;
        for place in places(count, stage.times(PLACES), &mut random) {
            for suffix in ["", "+"] {
                let fault = format!("inject={calls}:error={error}:when={place}{suffix}");
                let problems = round(&fault, &expected, &mut report).unwrap_or_else(|problem| vec![problem]);
                report.find_all(stage.seed, problems.into_iter().map(|problem| format!("{fault}: {problem}")));
            }
        }
    }
    report.must_have(stage.seed, "runs that failed", 1);
    Ok(report)
}

/// The first few operations, the last, and others between.
fn places(count: u64, many: u64, random: &mut Random) -> Vec<u64> {
    let first = (1..=count).take(2);
    let drawn = (0..many.saturating_sub(3)).map(|_| 1 + u64::from(random.below(count.max(1) as u32)));
    let mut places: Vec<u64> = first.chain(drawn).chain([count.max(1)]).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Under strace, with what it is told besides; only the files of the database count.
fn under(place: &Place, tail: &[&str], words: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = ["strace", "-f"].map(str::to_owned).to_vec();
    let file = tools::text(place.file());
    for ending in ["", "-wal", "-shm", "-journal"] {
        all.extend(["-P".to_owned(), format!("{file}{ending}")]);
    }
    all.extend(tail.iter().map(|word| (*word).to_owned()));
    all.extend(words);
    all
}

/// How many such operations one thread of an undisturbed run makes at most: strace counts thread by thread.
fn count(calls: &str) -> Result<u64, String> {
    let folder = Folder::new("io")?;
    let place = Place::sqlite_in(folder.path());
    let log = folder.join("log");
    let (trace, path) = (format!("trace={calls}"), tools::text(&log));
    let words = under(&place, &["-e", &trace, "-o", &path], command("victim", &place, &order(&folder, 1))?);
    let end = Child::start(&words)?.end()?;
    if !end.status.success() {
        return Err(format!("a victim under strace ended with {}", end.spoken()));
    }
    let text = std::fs::read_to_string(&log).map_err(|error| format!("{path}: {error}"))?;
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    for line in text.lines().filter(|line| line.contains('(') && !line.contains("resumed>")) {
        *counts.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    Ok(counts.into_values().max().unwrap_or(0))
}

fn order(folder: &Folder, life: u32) -> Order {
    let effects = Some(folder.join("effects"));
    Order {
        threads: vec![THREAD.to_owned()],
        laps: SIZE.0,
        weight: SIZE.1,
        effects,
        life,
        keeps: true,
        ..Order::default()
    }
}

/// One run on a disk that fails, and one on the same disk when it is well again.
fn round(fault: &str, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let folder = Folder::new("io")?;
    let place = Place::sqlite_in(folder.path());
    let calls = fault.strip_prefix("inject=").and_then(|fault| fault.split(':').next()).unwrap_or_default();
    let tail = ["-e", &format!("trace={calls}"), "-e", fault, "-o", "/dev/null"];
    let words = under(&place, &tail, command("victim", &place, &order(&folder, 1))?);
    let first = match Child::start(&words)?.end() {
        Ok(end) => end,
        Err(stuck) => return Ok(vec![stuck]),
    };
    report.count("faults injected", 1);
    let mut problems = Vec::new();
    match first.told.last() {
        _ if first.is_wild() => problems.push(format!("the victim ended with {}", first.spoken())),
        Some(Told::Failed { code, message }) => {
            report.count("runs that failed", 1);
            problems.extend(unclean(code, message, &place));
        }
        Some(Told::Ended { .. }) => report.count("runs that went on", 1),
        _ => problems.push(format!("the victim said neither that it failed nor that it ended: {}", first.spoken())),
    }
    let mut heard: effects::Heard = first.told.into_iter().map(|told| (1, told)).collect();
    let stored = check::read_thread(&place)?;
    problems.extend(stored.problems());
    let lost = stored.lost(THREAD, heard.iter().map(|(_, told)| told));
    report.count("false acknowledgements", lost.len() as u64);
    problems.extend(lost);
    let second = Child::start(&command("victim", &place, &order(&folder, 2))?)?.end()?;
    if second.told.last() != Some(&Told::Ended { digest: expected.to_owned() }) {
        problems.push(format!(
            "the thread did not go on to the right end: {:?}; {}",
            second.told.last(),
            second.spoken()
        ));
    }
    heard.extend(second.told.into_iter().map(|told| (2, told)));
    let stored = check::read_thread(&place)?;
    problems.extend(stored.problems());
    problems.extend(stored.lost(THREAD, heard.iter().map(|(_, told)| told)));
    problems.extend(effects::judge(&effects::read(&folder.join("effects"))?, &heard).problems);
    Ok(problems)
}

/// An error of a store says that it is one, and names the file. SQLite takes a read that fails for a damaged file.
fn unclean(code: &str, message: &str, place: &Place) -> Option<String> {
    let is_store = matches!(code, "StoreUnavailable" | "CheckpointCorrupt");
    let is_clean = is_store && message.contains(&tools::text(place.file()));
    (!is_clean).then(|| format!("an error that does not say what failed: {code}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_operation_are_always_tried() {
        let mut random = Random::apart(1, 1);
        let places = places(40, 6, &mut random);
        assert!(places.starts_with(&[1, 2]) && places.ends_with(&[40]), "{places:?}");
        assert_eq!(super::places(0, 5, &mut random), [1]);
    }
}
