//! `kill -9` on a process that works on a real database, again and again until its run has ended.
//!
//! A victim is killed after a random number of things it told, and a little later. The next one goes on, and may be
//! killed too. In the end everything that was ever told must be stored, nothing told finished may have begun again, and
//! the state must be that of a run that nobody disturbed.

use std::path::Path;
use std::time::{Duration, Instant};

use superstep::Memory;

use crate::check;
use crate::child::{Child, Heard, command};
use crate::effects::{self, Effects};
use crate::folder::Folder;
use crate::random::Random;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::{Told, digest};
use crate::victim::Order;
use crate::work::{THREAD, graph, input};

/// A run that has not ended after so many kills is stuck.
const MOST_LIVES: u32 = 300;
/// How often a victim's graph goes round, and how much it carries.
const SIZE: (u64, u64) = (3, 2_000);
/// A planted bug must be found within so many runs.
const PLANTED_RUNS: u64 = 30;

/// Kills until enough were killed.
///
/// # Errors
/// When the proof cannot be performed.
pub(crate) fn prove(stage: &Stage) -> Result<Report, String> {
    let mut report = Report::new("kill");
    let expected = undisturbed(SIZE)?;
    let mut seed = stage.seed;
    while report.of("kills") < stage.kills {
        let problems = round(seed, None, &expected, &mut report);
        report.find_all(seed, problems.unwrap_or_else(|problem| vec![problem]));
        seed += 1;
    }
    report.must_have(seed, "checkpoints acknowledged", 1);
    plant(stage, &expected, &mut report)?;
    Ok(report)
}

/// The test of the test: an engine that tells before it saves must be found out.
fn plant(stage: &Stage, expected: &str, report: &mut Report) -> Result<(), String> {
    for bug in ["event-before-commit", "ack-before-commit"] {
        let mut unread = Report::new("planted");
        let mut found = false;
        for seed in stage.seed..stage.seed + PLANTED_RUNS {
            found = found || !round(seed, Some(bug), expected, &mut unread)?.is_empty();
        }
        report.count("planted bugs found", u64::from(found));
        if !found {
            report.find(stage.seed, format!("the planted bug `{bug}` was not found in {PLANTED_RUNS} runs"));
        }
    }
    Ok(())
}

/// One run, with as many lives as it takes. What must not have happened.
fn round(seed: u64, planted: Option<&str>, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let folder = Folder::new("kill")?;
    let place = Place::sqlite_in(folder.path());
    let mut random = Random::apart(seed, 1);
    let mut order = Order {
        threads: vec![THREAD.to_owned()],
        laps: SIZE.0,
        weight: SIZE.1,
        effects: Some(folder.join("effects")),
        planted: planted.map(str::to_owned),
        ..Order::default()
    };
    let mut heard: effects::Heard = Vec::new();
    let mut problems = Vec::new();
    for life in 1..=MOST_LIVES {
        order.life = life;
        let life_end = live(&place, &order, &mut random)?;
        report.count("kills", u64::from(life_end.was_killed));
        problems.extend(life_end.problem);
        heard.extend(life_end.told.into_iter().map(|told| (life, told)));
        if !problems.is_empty() || matches!(heard.last(), Some((_, Told::Ended { .. }))) {
            break;
        }
        if life == MOST_LIVES {
            problems.push(format!("the run did not end in {MOST_LIVES} lives"));
        }
    }
    let checkpoints = heard.iter().filter(|(_, told)| matches!(told, Told::Checkpoint { .. })).count();
    report.count("checkpoints acknowledged", checkpoints as u64);
    let stored = check::read_thread(&place)?;
    problems.extend(stored.problems());
    let lost = stored.lost(THREAD, heard.iter().map(|(_, told)| told));
    report.count("acknowledgements lost", lost.len() as u64);
    problems.extend(lost);
    problems.extend(check::broken_line(&stored.line(THREAD, "")).into_iter().filter(|_| planted.is_none()));
    if stored.line(THREAD, "").first().is_none_or(|newest| newest.digest != expected) {
        problems.push("the run ended with other values than one that nobody disturbed".to_owned());
    }
    report.count("lock files left behind", lock_files(folder.path())?);
    let verdict = effects::judge(&effects::read(&folder.join("effects"))?, &heard);
    report.count("tasks in flight run again", verdict.in_flight);
    report.count("finished tasks run again", verdict.problems.len() as u64);
    problems.extend(verdict.problems);
    Ok(problems)
}

/// Files beside the database by which processes say that they are alive, left by some that no longer are.
fn lock_files(folder: &Path) -> Result<u64, String> {
    let files = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.contains("-holder-")).count() as u64)
}

struct LifeEnd {
    told: Vec<Told>,
    was_killed: bool,
    problem: Option<String>,
}

/// One life: until it ends by itself, or is ended.
fn live(place: &Place, order: &Order, random: &mut Random) -> Result<LifeEnd, String> {
    // About every eighth life is left alone, so that some runs end, and most die early or halfway.
    let after = if random.one_in(8) { u32::MAX } else { random.below(40) };
    let then = Duration::from_micros(u64::from(random.below(2_000)));
    let mut child = Child::start(&command("victim", place, order)?)?;
    let (mut told, mut was_killed, mut reports) = (Vec::new(), false, 0);
    loop {
        match child.hear() {
            Err(stuck) => return Ok(LifeEnd { told, was_killed, problem: Some(stuck) }),
            Ok(Heard::End) => break,
            Ok(Heard::Told(one)) => {
                reports += u32::from(!matches!(one, Told::Born { .. }));
                told.push(one);
            }
        }
        if reports >= after && !was_killed {
            let begun = Instant::now();
            while begun.elapsed() < then {
                std::hint::spin_loop();
            }
            child.kill();
            was_killed = true;
        }
    }
    let end = child.end()?;
    let is_over = matches!(told.last(), Some(Told::Ended { .. }));
    // Struck after its last word, it had ended all the same.
    let died = was_killed && !end.status.success();
    let problem = match told.last() {
        Some(Told::Failed { code, message }) => Some(format!("a victim failed: {code}: {message}")),
        _ if !died && !is_over => Some(format!("a victim ended by itself with {}", end.spoken())),
        _ => None,
    };
    Ok(LifeEnd { told, was_killed: died, problem })
}

/// The values of a run that nobody disturbed, on a store in memory.
///
/// # Errors
/// When even that does not go well.
pub(crate) fn undisturbed((laps, weight): (u64, u64)) -> Result<String, String> {
    let run = graph().map(|flow| flow.run(input(laps, weight)).thread(THREAD).checkpointer(Memory::new()));
    let run = run.map_err(|error| error.to_string())?.context(Effects::none()).recursion_limit(10_000);
    run.wait().map(|outcome| digest(&*outcome.state)).map_err(|error| error.to_string())
}
