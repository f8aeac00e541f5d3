//! Power loss at every moment at which something was acknowledged: the disk content at that moment must contain all
//! of it.
//!
//! A worker runs under strace; its writes and syncs are replayed into disk images: with all unsynced data lost, with
//! all of it, and with random parts of it. Each image is opened with the real checkpointer. Power loss is also
//! simulated between two acknowledgements, in the middle of writes. To test the test, needed syncs are ignored, and
//! the checkpointer runs without syncs: data loss must then be detected.

mod simulated_disk;
mod strace;

use std::path::Path;

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildProcess, command};
use crate::options::TestOptions;
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::report::Report;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify;
use crate::worker::WorkerArgs;
use crate::workload::THREAD;

use simulated_disk::{DiskImage, IgnoredSyncs, SimulatedDisk, UnsyncedPolicy};
use strace::TraceStep;

/// Number of images with random parts of the unsynced data per moment.
const RANDOM_IMAGES: usize = 2;
/// Sizes of the replayed runs: rounds, weight, and the fraction of tested moments (one in this number).
const RUN_SIZES: [(u64, u64, u32); 2] = [(3, 2_000, 1), (4, 200_000, 6)];
/// One in this number of moments between two acknowledgements is tested.
const BETWEEN_INTERVAL: u32 = 12;
/// Number of needed syncs that are ignored, one at a time.
const IGNORED_SYNC_SAMPLES: usize = 12;

/// Runs the power loss test.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    tools::ensure_installed("strace", "strace")?;
    let mut report = Report::new("power");
    let mut seed = options.seed;
    while report.get("moments") < options.times(100) {
        for size in RUN_SIZES {
            let steps = record(size, CheckpointerLocation::sqlite_in)?;
            replay(&steps, size.2, seed, &mut report)?;
            if size.2 == 1 {
                test_ignored_syncs(&steps, seed, &mut report)?;
            }
        }
        seed += 1;
    }
    test_no_sync(options.seed, &mut report)?;
    // An acknowledgement may follow a later sync than the one it needs; ignoring that sync loses nothing.
    let (ignored, detected) = (report.get("ignored syncs"), report.get("ignored syncs found out"));
    if ignored == 0 || detected * 4 < ignored * 3 {
        report.add_violation(options.seed, format!("only {detected} of {ignored} ignored syncs were detected"));
    }
    report.require_count(options.seed, "writes of the database itself", 1);
    Ok(report)
}

/// Runs a worker under strace and returns its trace.
fn record(
    (rounds, weight, _): (u64, u64, u32),
    location: fn(&Path) -> CheckpointerLocation,
) -> Result<Vec<TraceStep>, String> {
    let (folder, logs) = (TempDir::new("power")?, TempDir::new("trace")?);
    let log = logs.join("log");
    let worker_args = WorkerArgs { threads: vec![THREAD.to_owned()], rounds, weight, ..WorkerArgs::default() };
    let strace_args = ["strace", "-f", "-xx", "-s", strace::MAX_STRING_BYTES, "-e", strace::CALLS, "-o"];
    let mut command_line: Vec<String> = strace_args.map(str::to_owned).to_vec();
    command_line.push(tools::path_text(&log));
    command_line.extend(command("worker", &location(folder.path()), &worker_args)?);
    let exit = ChildProcess::start(&command_line)?.wait()?;
    if !exit.status.success() {
        return Err(format!("a worker under strace ended with {}", exit.describe()));
    }
    let text = std::fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    strace::parse(&text, &tools::path_text(folder.path()))
}

/// Simulates power loss at moments of a run.
fn replay(steps: &[TraceStep], one_in: u32, seed: u64, report: &mut Report) -> Result<(), String> {
    let mut random = Random::for_stream(seed, 2);
    let (mut disk, mut acknowledged) = (SimulatedDisk::new(IgnoredSyncs::None), Vec::new());
    for (index, step) in steps.iter().enumerate() {
        disk.apply_step(step);
        count_write(step, report);
        let is_end = index + 1 == steps.len();
        let interval = match step {
            TraceStep::Message(message) => {
                acknowledged.push(message.clone());
                one_in
            }
            _ => one_in * BETWEEN_INTERVAL,
        };
        if !random.one_in(interval) && !is_end {
            continue;
        }
        report.count("moments", u64::from(matches!(step, TraceStep::Message(_))));
        report.count("moments between", u64::from(!matches!(step, TraceStep::Message(_))));
        report.count("moments with unsynced writes", u64::from(disk.is_dirty()));
        let mut images = vec![disk.image(UnsyncedPolicy::Lost)];
        if disk.is_dirty() {
            images.push(disk.image(UnsyncedPolicy::Retained));
            images.extend((0..RANDOM_IMAGES).map(|_| disk.image(UnsyncedPolicy::Some(&mut random))));
        }
        for image in images {
            report.count("images opened", 1);
            let (violations, lost) = open(&image, &acknowledged)?;
            report.count("acknowledgements lost", lost.len() as u64);
            let lost = violations.into_iter().chain(lost);
            report.add_violations(
                seed,
                lost.map(|lost| format!("power loss after {} messages: {lost}", acknowledged.len())),
            );
        }
    }
    Ok(())
}

/// Counts writes to the database file: a run that never checkpoints the write-ahead log would test only half.
fn count_write(step: &TraceStep, report: &mut Report) {
    if let TraceStep::Write { file, .. } = step {
        let is_database = !file.ends_with("-wal") && !file.ends_with("-journal");
        report.count("writes of the database itself", u64::from(is_database));
    }
}

/// Ignores needed syncs: each time data loss must be detected.
fn test_ignored_syncs(steps: &[TraceStep], seed: u64, report: &mut Report) -> Result<(), String> {
    let needed = needed_syncs(steps);
    let mut random = Random::for_stream(seed, 3);
    for _ in 0..IGNORED_SYNC_SAMPLES.min(needed.len()) {
        let (number, index) = needed[random.below(needed.len() as u32) as usize];
        let is_detected = loses_data(&steps[..=index], IgnoredSyncs::One(number))?;
        report.count("ignored syncs", 1);
        report.count("ignored syncs found out", u64::from(is_detected));
    }
    let last = needed.last().map_or(0, |(_, index)| *index);
    if !loses_data(&steps[..=last], IgnoredSyncs::WithSuffix("-wal"))? {
        report.add_violation(seed, "no loss was detected although all syncs of the log were ignored");
    }
    Ok(())
}

/// Tests a checkpointer without syncs: acknowledged data may be lost, but the file stays consistent.
fn test_no_sync(seed: u64, report: &mut Report) -> Result<(), String> {
    let steps =
        record(RUN_SIZES[0], |folder| CheckpointerLocation::SqliteNormal(folder.join(CheckpointerLocation::FILE)))?;
    let (mut disk, mut acknowledged) = (SimulatedDisk::new(IgnoredSyncs::None), Vec::new());
    for step in &steps {
        disk.apply_step(step);
        let TraceStep::Message(message) = step else { continue };
        acknowledged.push(message.clone());
        let (violations, lost) = open(&disk.image(UnsyncedPolicy::Lost), &acknowledged)?;
        report.count("moments without waiting", 1);
        report.count("of which with losses", u64::from(!lost.is_empty()));
        report.add_violations(seed, violations.into_iter().map(|violation| format!("without syncs: {violation}")));
    }
    let (moments, losses) = (report.get("moments without waiting"), report.get("of which with losses"));
    if losses * 2 < moments {
        report.add_violation(seed, format!("losses were detected at only {losses} of {moments} moments without syncs"));
    }
    Ok(())
}

/// Returns the syncs of the write-ahead log that were needed for an acknowledgement, with the index of that
/// acknowledgement.
fn needed_syncs(steps: &[TraceStep]) -> Vec<(usize, usize)> {
    let (mut needed, mut number, mut last, mut is_written) = (Vec::new(), 0, None, false);
    for (index, step) in steps.iter().enumerate() {
        match step {
            TraceStep::Write { file, .. } => is_written = is_written || file.ends_with("-wal"),
            TraceStep::SyncEnds { .. } => {
                last = is_written.then_some(number);
                (number, is_written) = (number + 1, false);
            }
            TraceStep::Message(
                ChildMessage::Checkpoint { .. } | ChildMessage::Values { .. } | ChildMessage::Done { .. },
            ) => {
                needed.extend(last.take().map(|sync| (sync, index)));
            }
            _ => {}
        }
    }
    needed
}

/// Returns true if data is lost by a power loss after these steps, on a disk that ignores syncs.
fn loses_data(steps: &[TraceStep], ignored: IgnoredSyncs) -> Result<bool, String> {
    let mut disk = SimulatedDisk::new(ignored);
    steps.iter().for_each(|step| disk.apply_step(step));
    let reported = steps
        .iter()
        .filter_map(|step| if let TraceStep::Message(message) = step { Some(message.clone()) } else { None });
    let (violations, lost) = open(&disk.image(UnsyncedPolicy::Lost), &reported.collect::<Vec<_>>())?;
    Ok(!violations.is_empty() || !lost.is_empty())
}

/// Opens an image with the real checkpointer; returns its violations and the acknowledged data that is missing.
fn open(image: &DiskImage, reported: &[ChildMessage]) -> Result<(Vec<String>, Vec<String>), String> {
    let folder = TempDir::new("image")?;
    for (name, bytes) in image {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let stored = verify::read_thread(&CheckpointerLocation::sqlite_in(folder.path()))?;
    Ok((stored.violations(), stored.missing(THREAD, reported)))
}
