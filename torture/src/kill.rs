//! `kill -9` on a process that works on a real database, again and again until its run has ended.
//!
//! A victim is killed after a random number of things it told, and a little later. The next one goes on, and may be
//! killed too. What must hold in the end is in `trial`.

use std::path::Path;

use superstep::Memory;

use crate::effects::Effects;
use crate::folder::Folder;
use crate::random::Random;
use crate::report::Report;
use crate::stage::Stage;
use crate::store::Place;
use crate::told::digest;
use crate::trial::Trial;
use crate::work::{THREAD, graph, input};

/// How often a victim's graph goes round, and how much it carries.
const SIZE: (u64, u64) = (3, 2_000);
/// Of so many runs one is on a folder of files.
const FILES: u64 = 4;
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
    let on_files = planted.is_none() && seed % FILES == FILES - 1;
    let trial = Trial {
        place: if on_files { Place::Files(folder.join("keys")) } else { Place::sqlite_in(folder.path()) },
        thread: THREAD.to_owned(),
        effects: folder.join("effects"),
        size: SIZE,
        planted,
        expected,
    };
    let course = trial.kill_until_over(&mut Random::apart(seed, 1))?;
    report.count("kills", course.kills);
    report.count("of these on a folder of files", if on_files { course.kills } else { 0 });
    let mut problems = trial.judge(course, report)?;
    // Whoever looked has opened the store after the last death, and so has swept.
    let left = lock_files(folder.path())?;
    report.count("lock files left behind", left);
    if left > 0 {
        problems.push(format!("{left} lock files of processes that died are still there"));
    }
    Ok(problems)
}

/// Files beside the database by which processes say that they are alive, left by some that no longer are.
fn lock_files(folder: &Path) -> Result<u64, String> {
    let files = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.contains("-holder-")).count() as u64)
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
