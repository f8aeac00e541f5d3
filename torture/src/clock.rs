//! Clocks that jump by hours and days, between the lives of a run and in the middle of them.
//!
//! libfaketime tells victims another time, by a file that is rewritten while they run. Only the time of day jumps, as on
//! a machine whose clock is set. What is newest, and what came before what, must not depend on it.

use std::path::Path;

use crate::check;
use crate::child::{Child, Heard, command};
use crate::effects;
use crate::folder::Folder;
use crate::kill::undisturbed;
use crate::random::Random;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::{Seen, Told};
use crate::tools;
use crate::victim::Order;
use crate::work::THREAD;

/// Where the clock stands, beside the true time.
const OFFSETS: [&str; 7] = ["+0", "+1h", "-1h", "+1d", "-1d", "+25h", "-25h"];
/// How many runs there are, and of what kind.
const RUNS: u64 = 5;
const SIZE: (u64, u64) = (3, 500);
/// A run that has not ended in so many lives is stuck.
const MOST_LIVES: u32 = 40;
/// A jump, in microseconds: half of the smallest.
const JUMP: i64 = 30 * 60 * 1_000_000;

/// Sets clocks.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    let library = tools::text(&tools::faketime()?);
    let mut report = Report::new("clock");
    let expected = undisturbed(SIZE)?;
    for number in 0..stage.times(RUNS) {
        let seed = stage.seed + number;
        let problems = round(seed, &library, &expected, &mut report).unwrap_or_else(|problem| vec![problem]);
        report.find_all(seed, problems);
    }
    report.must_have(stage.seed, "checkpoints after a jump ahead", 1);
    report.must_have(stage.seed, "checkpoints after a jump back", 1);
    Ok(report)
}

fn round(seed: u64, library: &str, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let mut random = Random::apart(seed, 8);
    let folder = Folder::new("clock")?;
    let place = Place::sqlite_in(folder.path());
    let dial = folder.join("dial");
    let environment = [
        ("LD_PRELOAD", library.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", tools::text(&dial)),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let mut order = Order { threads: vec![THREAD.to_owned()], laps: SIZE.0, weight: SIZE.1, ..Order::default() };
    order.effects = Some(folder.join("effects"));
    let mut heard: effects::Heard = Vec::new();
    while !matches!(heard.last(), Some((_, Told::Ended { .. }))) {
        order.life += 1;
        if order.life > MOST_LIVES {
            return Ok(vec![format!("the run did not end in {MOST_LIVES} lives: {:?}", heard.last())]);
        }
        report.count("lives", 1);
        set(&dial, &mut random, report)?;
        let mut child = Child::start_with(&command("victim", &place, &order)?, &environment)?;
        let last = random.below(60);
        let mut reports = 0;
        while let Heard::Told(told) = child.hear()? {
            heard.push((order.life, told));
            reports += 1;
            if random.one_in(8) {
                set(&dial, &mut random, report)?;
            }
            if reports == last {
                child.kill();
            }
        }
        child.end()?;
        if let Some((_, Told::Failed { code, message })) = heard.last() {
            return Ok(vec![format!("a victim failed: {code}: {message}")]);
        }
    }
    let stored = check::read_thread(&place)?;
    let mut problems = stored.problems();
    let line = stored.line(THREAD, "");
    problems.extend(check::broken_line(&line));
    problems.extend(stored.lost(THREAD, heard.iter().map(|(_, told)| told)));
    problems.extend(out_of_order(&line, &heard));
    if line.first().is_none_or(|newest| newest.digest != expected) {
        problems.push("the newest checkpoint is not the end of the run".to_owned());
    }
    for pair in line.windows(2) {
        report.count("checkpoints after a jump ahead", u64::from(pair[0].time - pair[1].time > JUMP));
        report.count("checkpoints after a jump back", u64::from(pair[1].time - pair[0].time > JUMP));
    }
    problems.extend(effects::judge(&effects::read(&folder.join("effects"))?, &heard).problems);
    Ok(problems)
}

/// Sets the clock, to whatever comes.
fn set(dial: &Path, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let offset = OFFSETS[random.below(OFFSETS.len() as u32) as usize];
    report.count("times the clock was set", 1);
    // Put in its place whole: a victim may read it at any moment.
    let fresh = dial.with_extension("fresh");
    let written = std::fs::write(&fresh, offset).and_then(|()| std::fs::rename(&fresh, dial));
    written.map_err(|error| format!("{}: {error}", dial.display()))
}

/// The history has what was told in the order in which it was told.
fn out_of_order(line: &[&Seen], heard: &effects::Heard) -> Option<String> {
    let told: Vec<&str> = heard.iter().filter_map(|(_, told)| outermost(told)).collect();
    let is_told = |seen: &&&Seen| told.contains(&&*seen.id);
    let stored: Vec<&str> = line.iter().rev().filter(is_told).map(|seen| &*seen.id).collect();
    (stored != told).then(|| format!("the history has another order than was told: {stored:?}, told {told:?}"))
}

fn outermost(told: &Told) -> Option<&str> {
    match told {
        Told::Checkpoint { path, id, .. } if path.is_empty() => Some(id),
        _ => None,
    }
}
