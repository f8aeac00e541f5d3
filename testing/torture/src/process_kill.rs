//! `kill -9` of a process that works on a real database, repeated until its run has ended.
//!
//! A worker is killed after a random number of messages and a short delay. The next one continues, and may be killed
//! too. The final checks are in `kill_loop`.

use std::path::Path;

use superstep::MemoryCheckpointer;

use crate::checkpointer::CheckpointerLocation;
use crate::kill_loop::FaultRun;
use crate::options::TestOptions;
use crate::protocol::digest;
use crate::random::Random;
use crate::report::Report;
use crate::side_effects::SideEffectLog;
use crate::temp_dir::TempDir;
use crate::workload::{THREAD, graph, input};

/// Rounds and weight of the run.
const SIZE: (u64, u64) = (3, 2_000);
/// One in this number of runs uses a folder of files.
const FILES_INTERVAL: u64 = 4;
/// Number of runs within which a seeded bug must be found.
const SEEDED_BUG_RUNS: u64 = 30;

/// Runs until there were enough kills.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    let mut report = Report::new("kill");
    let expected = expected_digest(SIZE)?;
    let mut seed = options.seed;
    while report.get("kills") < options.kills {
        let violations = round(seed, None, &expected, &mut report);
        report.add_violations(seed, violations.unwrap_or_else(|error| vec![error]));
        seed += 1;
    }
    report.require_count(seed, "checkpoints acknowledged", 1);
    find_seeded_bugs(options, &expected, &mut report)?;
    Ok(report)
}

/// Tests the test: an engine that acknowledges before it saves must be detected.
fn find_seeded_bugs(options: &TestOptions, expected: &str, report: &mut Report) -> Result<(), String> {
    for bug in ["event-before-commit", "ack-before-commit"] {
        let mut discarded_report = Report::new("seeded_bugs");
        let mut is_found = false;
        for seed in options.seed..options.seed + SEEDED_BUG_RUNS {
            is_found = is_found || !round(seed, Some(bug), expected, &mut discarded_report)?.is_empty();
        }
        report.count("seeded bugs found", u64::from(is_found));
        if !is_found {
            report
                .add_violation(options.seed, format!("the seeded bug `{bug}` was not found in {SEEDED_BUG_RUNS} runs"));
        }
    }
    Ok(())
}

/// Runs once, with as many processes as necessary, and returns the violations.
fn round(seed: u64, seeded_bug: Option<&str>, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let folder = TempDir::new("kill")?;
    let on_files = seeded_bug.is_none() && seed % FILES_INTERVAL == FILES_INTERVAL - 1;
    let fault_run = FaultRun {
        location: if on_files {
            CheckpointerLocation::Files(folder.join("keys"))
        } else {
            CheckpointerLocation::sqlite_in(folder.path())
        },
        thread: THREAD.to_owned(),
        effects: folder.join("effects"),
        size: SIZE,
        seeded_bug,
        expected,
    };
    let result = fault_run.kill_until_finished(&mut Random::for_stream(seed, 1))?;
    report.count("kills", result.kills);
    report.count("of these on a folder of files", if on_files { result.kills } else { 0 });
    let mut violations = fault_run.verify(result, report)?;
    // The reader has opened the checkpointer after the last kill, which removes lock files of dead processes.
    let remaining = count_lock_files(folder.path())?;
    report.count("lock files left behind", remaining);
    if remaining > 0 {
        violations.push(format!("{remaining} lock files of dead processes remain"));
    }
    Ok(violations)
}

/// Returns the number of lock files that dead processes left next to the database.
fn count_lock_files(folder: &Path) -> Result<u64, String> {
    let files = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.contains("-holder-")).count() as u64)
}

/// Returns the values of an undisturbed run in memory.
///
/// # Errors
/// Returns an error if the run fails.
pub(crate) fn expected_digest((rounds, weight): (u64, u64)) -> Result<String, String> {
    let run =
        graph().map(|graph| graph.invoke(input(rounds, weight)).thread(THREAD).checkpointer(MemoryCheckpointer::new()));
    let run = run.map_err(|error| error.to_string())?.context(SideEffectLog::none()).recursion_limit(10_000);
    run.wait_blocking().map(|outcome| digest(&*outcome.state)).map_err(|error| error.to_string())
}
