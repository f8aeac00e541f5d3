//! Clocks that jump by hours and days, between the restarts of a run and during them.
//!
//! libfaketime changes the time of workers through a file that is rewritten while they run. Only the wall clock
//! jumps, as on a machine whose clock is set. The order of checkpoints must not depend on it.

use std::path::Path;

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildOutput, ChildProcess, command};
use crate::options::TestOptions;
use crate::process_kill::expected_digest;
use crate::protocol::{CheckpointSummary, ChildMessage};
use crate::random::Random;
use crate::report::Report;
use crate::side_effects;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify;
use crate::worker::WorkerArgs;
use crate::workload::THREAD;

/// Offsets of the clock to the true time.
const OFFSETS: [&str; 7] = ["+0", "+1h", "-1h", "+1d", "-1d", "+25h", "-25h"];
/// Number of runs.
const RUNS: u64 = 5;
/// Size of a run: rounds and weight.
const SIZE: (u64, u64) = (3, 500);
/// Number of restarts after which a run is stuck.
const MAX_RESTARTS: u32 = 40;
/// Minimum difference in microseconds that counts as a jump: half of the smallest offset.
const MIN_JUMP_MICROS: i64 = 30 * 60 * 1_000_000;

/// Runs the clock test.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    let library = tools::path_text(&tools::faketime()?);
    let mut report = Report::new("clock");
    let expected = expected_digest(SIZE)?;
    for number in 0..options.at_least(RUNS) {
        let seed = options.seed + number;
        let violations = round(seed, &library, &expected, &mut report).unwrap_or_else(|error| vec![error]);
        report.add_violations(seed, violations);
    }
    report.require_count(options.seed, "checkpoints after a jump ahead", 1);
    report.require_count(options.seed, "checkpoints after a jump back", 1);
    Ok(report)
}

fn round(seed: u64, library: &str, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let mut random = Random::for_stream(seed, 8);
    let folder = TempDir::new("clock")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    let offset_file = folder.join("offset");
    let environment = [
        ("LD_PRELOAD", library.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", tools::path_text(&offset_file)),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let mut args =
        WorkerArgs { threads: vec![THREAD.to_owned()], rounds: SIZE.0, weight: SIZE.1, ..WorkerArgs::default() };
    args.effects = Some(folder.join("effects"));
    let mut reported: side_effects::ReportedEvents = Vec::new();
    while !matches!(reported.last(), Some((_, ChildMessage::Ended { .. }))) {
        args.process += 1;
        if args.process > MAX_RESTARTS {
            return Ok(vec![format!("the run did not end in {MAX_RESTARTS} processes: {:?}", reported.last())]);
        }
        report.count("lives", 1);
        set_clock(&offset_file, &mut random, report)?;
        let mut child = ChildProcess::start_with(&command("worker", &location, &args)?, &environment)?;
        let kill_after = random.below(60);
        let mut reports = 0;
        while let ChildOutput::Message(message) = child.next_message()? {
            reported.push((args.process, message));
            reports += 1;
            if random.one_in(8) {
                set_clock(&offset_file, &mut random, report)?;
            }
            if reports == kill_after {
                child.kill();
            }
        }
        child.wait()?;
        if let Some((_, ChildMessage::Failed { code, message })) = reported.last() {
            return Ok(vec![format!("a worker failed: {code}: {message}")]);
        }
    }
    let stored = verify::read_thread(&location)?;
    let mut violations = stored.violations();
    let history = stored.history(THREAD, "");
    violations.extend(verify::history_errors(&history));
    violations.extend(stored.missing(THREAD, reported.iter().map(|(_, message)| message)));
    violations.extend(out_of_order(&history, &reported));
    if history.first().is_none_or(|newest| newest.digest != expected) {
        violations.push("the newest checkpoint is not the end of the run".to_owned());
    }
    for pair in history.windows(2) {
        report.count("checkpoints after a jump ahead", u64::from(pair[0].time - pair[1].time > MIN_JUMP_MICROS));
        report.count("checkpoints after a jump back", u64::from(pair[1].time - pair[0].time > MIN_JUMP_MICROS));
    }
    violations.extend(side_effects::check(&side_effects::read(&folder.join("effects"))?, &reported).violations);
    Ok(violations)
}

/// Sets the clock to a random offset.
fn set_clock(offset_file: &Path, random: &mut Random, report: &mut Report) -> Result<(), String> {
    let offset = OFFSETS[random.below(OFFSETS.len() as u32) as usize];
    report.count("times the clock was set", 1);
    // Renamed into place, because a worker may read the file at any moment.
    let temporary = offset_file.with_extension("new");
    let written = std::fs::write(&temporary, offset).and_then(|()| std::fs::rename(&temporary, offset_file));
    written.map_err(|error| format!("{}: {error}", offset_file.display()))
}

/// Checks that the history has the acknowledged checkpoints in the order of their acknowledgement.
fn out_of_order(history: &[&CheckpointSummary], reported: &side_effects::ReportedEvents) -> Option<String> {
    let acknowledged: Vec<&str> =
        reported.iter().filter_map(|(_, acknowledged)| root_checkpoint_id(acknowledged)).collect();
    let is_acknowledged = |checkpoint: &&&CheckpointSummary| acknowledged.contains(&&*checkpoint.id);
    let stored: Vec<&str> = history.iter().rev().filter(is_acknowledged).map(|checkpoint| &*checkpoint.id).collect();
    (stored != acknowledged)
        .then(|| format!("the history has another order: {stored:?}, acknowledged {acknowledged:?}"))
}

fn root_checkpoint_id(message: &ChildMessage) -> Option<&str> {
    match message {
        ChildMessage::Checkpoint { path, id, .. } if path.is_empty() => Some(id),
        _ => None,
    }
}
