//! Two processes on one file and one thread, and an owner that is stopped and wakes up again.
//!
//! Runs of both must not mix: each leaves its entries side by side, and none is lost. An owner that was stopped either
//! still owns the thread when it wakes up, and goes on, or does not, and is refused.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::check;
use crate::child::{Child, Heard, command};
use crate::effects;
use crate::folder::Folder;
use crate::kill::undisturbed;
use crate::mover::{Errand, TRACKS, track};
use crate::random::Random;
use crate::reader::Question;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::Told;
use crate::victim::Order;
use crate::work::THREAD;

/// How many runs each of the two makes.
const RUNS: u32 = 60;
/// How many owners are stopped, and the run they are stopped in.
const PAUSES: u64 = 10;
const SIZE: (u64, u64) = (2, 2_000);

/// Lets two processes work on one thread.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    let mut report = Report::new("two");
    for number in 0..stage.times(2) {
        let problems = share(number % 2 == 1, &mut report).unwrap_or_else(|problem| vec![problem]);
        report.find_all(stage.seed, problems);
    }
    let expected = undisturbed(SIZE)?;
    let (pauses, mut seed) = (stage.times(PAUSES), stage.seed);
    // Where an owner is when it is stopped is chance: some more, when nobody took over.
    while seed - stage.seed < pauses || (report.of("threads taken over") < 2 && seed - stage.seed < 5 * pauses) {
        let problems = pause(seed, &expected, &mut report).unwrap_or_else(|problem| vec![problem]);
        report.find_all(seed, problems);
        seed += 1;
    }
    report.must_have(stage.seed, "threads taken over", 1);
    report.must_have(stage.seed, "owners refused when they woke up", 1);
    report.must_have(stage.seed, "owners that went on when they woke up", 1);
    Ok(report)
}

/// Both move one thread at the same time.
fn share(asks_again: bool, report: &mut Report) -> Result<Vec<String>, String> {
    let folder = Folder::new("two")?;
    let place = Place::sqlite_in(folder.path());
    let names = ["a", "b"];
    let errand = |name: &str| Errand { name: name.to_owned(), runs: RUNS, asks_again };
    let children = names.map(|name| Child::start(&command("mover", &place, &errand(name))?));
    let mut problems = Vec::new();
    for child in children {
        let end = child?.end()?;
        match end.told.last() {
            Some(Told::Busy { times }) => report.count("times the thread was busy", *times),
            last => problems.push(format!("one of two failed: {last:?}; {}", end.spoken())),
        }
        report.count("runs side by side", u64::from(RUNS));
    }
    let question = Question { threads: vec![THREAD.to_owned()], integrity: true, values: true };
    let stored = check::read(&place, &question)?;
    problems.extend(stored.problems());
    problems.extend(check::broken_line(&stored.line(THREAD, "")));
    let values = stored.values.get(THREAD).cloned().unwrap_or_default();
    problems.extend(mixed(&values, &names));
    Ok(problems)
}

/// Whether the entries of runs were mixed, lost or doubled.
fn mixed(values: &Value, names: &[&str]) -> Vec<String> {
    let log: Vec<&str> = values["log"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut left: BTreeSet<String> =
        names.iter().flat_map(|name| (0..RUNS).map(move |number| format!("{name} {number}"))).collect();
    let mut problems = Vec::new();
    for entries in log.chunks(TRACKS.len()) {
        let label = entries[0].rsplit_once(' ').map_or(entries[0], |(label, _)| label);
        let is_whole = entries.iter().copied().eq(TRACKS.map(|node| track(label, node)).iter().map(String::as_str));
        if !is_whole || !left.remove(label) {
            problems.push(format!("the entries of two runs are mixed, or there twice: {entries:?}"));
        }
    }
    problems.extend(left.into_iter().map(|label| format!("run `{label}` ended and left nothing")));
    let (count, expected) = (values["count"].as_u64(), names.len() as u64 * u64::from(RUNS) * 2);
    if count != Some(expected) {
        problems.push(format!("the count is {count:?}, and {expected} tasks ran"));
    }
    problems
}

/// An owner is stopped, another wants the thread, the owner wakes up.
fn pause(seed: u64, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let mut random = Random::apart(seed, 7);
    let folder = Folder::new("pause")?;
    let place = Place::sqlite_in(folder.path());
    // In turn: one who waits, and one who takes threads of owners that stand still.
    let is_hasty = seed.is_multiple_of(2);
    let rival = if is_hasty { Place::SqliteHasty(place.file().to_owned()) } else { place.clone() };
    let mut order = Order { threads: vec![THREAD.to_owned()], laps: SIZE.0, weight: SIZE.1, ..Order::default() };
    (order.effects, order.life) = (Some(folder.join("effects")), 1);
    let mut owner = Child::start(&command("victim", &place, &order)?)?;
    let mut by_owner = Vec::new();
    for _ in 0..8 + random.below(40) {
        if let Heard::Told(told) = owner.hear()? {
            by_owner.push(told);
        }
    }
    std::thread::sleep(Duration::from_micros(u64::from(random.below(4_000))));
    owner.signal(Signal::STOP);
    report.count("owners stopped", 1);
    order.life = 2;
    let mut other = Child::start(&command("victim", &rival, &order)?)?;
    let mut by_other = Vec::new();
    if is_hasty {
        // Until it has come to the end, or cannot.
        while let Heard::Told(told) = other.hear()? {
            by_other.push(told);
        }
    } else {
        std::thread::sleep(Duration::from_millis(u64::from(random.below(300))));
    }
    owner.signal(Signal::CONT);
    let (owner, other) = (owner.end()?, other.end()?);
    by_owner.extend(owner.told);
    by_other.extend(other.told);
    let mut problems = verdict(&by_owner, &by_other, expected, report);
    let told: effects::Heard =
        by_owner.into_iter().map(|told| (1, told)).chain(by_other.into_iter().map(|told| (2, told))).collect();
    let stored = check::read_thread(&place)?;
    problems.extend(stored.problems());
    problems.extend(check::broken_line(&stored.line(THREAD, "")));
    problems.extend(stored.lost(THREAD, told.iter().map(|(_, told)| told)));
    problems.extend(effects::judge(&effects::read(&folder.join("effects"))?, &told).problems);
    Ok(problems)
}

/// What became of the two: at least one came to the end, and whoever failed was refused.
fn verdict(by_owner: &[Told], by_other: &[Told], expected: &str, report: &mut Report) -> Vec<String> {
    let is_ended = |told: &[Told]| matches!(told.last(), Some(Told::Ended { digest }) if digest == expected);
    let took_over = by_other.iter().any(|told| matches!(told, Told::Done { .. }));
    report.count("threads taken over", u64::from(took_over));
    let mut problems = Vec::new();
    match by_owner.last() {
        Some(Told::Ended { .. }) if is_ended(by_owner) => report.count("owners that went on when they woke up", 1),
        Some(Told::Failed { code, .. }) if took_over && code == "ThreadBusy" => {
            report.count("owners refused when they woke up", 1);
        }
        last => problems.push(format!("an owner that was stopped ended with {last:?}")),
    }
    match by_other.last() {
        Some(Told::Ended { .. }) if is_ended(by_other) => {}
        // The owner was stopped while it was writing, and the file belongs to it until it wakes up.
        Some(Told::Failed { code, message })
            if code == "StoreUnavailable" && message.contains("nothing of this was saved") =>
        {
            report.count("owners stopped while writing", 1);
        }
        last => problems.push(format!("the other one ended with {last:?}")),
    }
    if !is_ended(by_owner) && !is_ended(by_other) {
        problems.push("the run did not come to its end".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn runs_that_were_mixed_are_found() {
        let log = |names: &[&str]| -> Vec<String> {
            let runs = names.iter().flat_map(|name| (0..RUNS).map(move |number| format!("{name} {number}")));
            runs.flat_map(|label| TRACKS.map(|node| track(&label, node))).collect()
        };
        let good = json!({ "log": log(&["a", "b"]), "count": 4 * RUNS });
        assert_eq!(mixed(&good, &["a", "b"]), Vec::<String>::new());
        let mut swapped = log(&["a", "b"]);
        swapped.swap(2, 3);
        assert_eq!(mixed(&json!({ "log": swapped, "count": 4 * RUNS }), &["a", "b"]).len(), 4);
        assert_eq!(mixed(&json!({ "log": log(&["a"]), "count": 4 * RUNS }), &["a", "b"]).len(), RUNS as usize);
        assert_eq!(mixed(&json!({ "log": log(&["a", "b"]), "count": 1 }), &["a", "b"]).len(), 1);
    }
}
