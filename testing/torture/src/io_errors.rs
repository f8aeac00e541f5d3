//! Failing file operations: the n-th operation on the database files fails once, or from then on.
//!
//! strace injects the errors. The worker must end with success or with a clear error, and must not have acknowledged
//! anything that is missing when the disk works again.

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildProcess, command};
use crate::options::TestOptions;
use crate::process_kill::expected_digest;
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::report::Report;
use crate::side_effects;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify;
use crate::worker::WorkerArgs;
use crate::workload::THREAD;

/// Failing system calls and their errors.
const FAULTS: [(&str, &str); 6] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("fsync,fdatasync", "EIO"),
    ("ftruncate", "EIO"),
    ("openat", "EIO"),
    ("pread64", "EIO"),
];
/// Number of positions in a run at which each fault is injected, once and permanently.
const POSITIONS: u64 = 6;
/// Size of the run: rounds and weight.
const SIZE: (u64, u64) = (1, 20_000);

/// Runs the test of I/O errors.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    tools::ensure_installed("strace", "strace")?;
    let mut report = Report::new("io");
    let expected = expected_digest(SIZE)?;
    let mut random = Random::for_stream(options.seed, 4);
    for (calls, error) in FAULTS {
        let count = count_calls(calls)?;
        for position in positions(count, options.times(POSITIONS), &mut random) {
            for suffix in ["", "+"] {
                let fault = format!("inject={calls}:error={error}:when={position}{suffix}");
                let violations = round(&fault, &expected, &mut report).unwrap_or_else(|error| vec![error]);
                report.add_violations(
                    options.seed,
                    violations.into_iter().map(|violation| format!("{fault}: {violation}")),
                );
            }
        }
    }
    report.require_count(options.seed, "runs that failed", 1);
    Ok(report)
}

/// Returns the first operations, the last one, and random others.
fn positions(count: u64, limit: u64, random: &mut Random) -> Vec<u64> {
    let first = (1..=count).take(2);
    let sampled = (0..limit.saturating_sub(3)).map(|_| 1 + u64::from(random.below(count.max(1) as u32)));
    let mut numbers: Vec<u64> = first.chain(sampled).chain([count.max(1)]).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Returns a command under strace with these options, restricted to the database files.
fn strace_command(location: &CheckpointerLocation, strace_args: &[&str], command_line: Vec<String>) -> Vec<String> {
    let mut strace_command_line: Vec<String> = ["strace", "-f"].map(str::to_owned).to_vec();
    let file = tools::path_text(location.file());
    for ending in ["", "-wal", "-shm", "-journal"] {
        strace_command_line.extend(["-P".to_owned(), format!("{file}{ending}")]);
    }
    strace_command_line.extend(strace_args.iter().map(|arg| (*arg).to_owned()));
    strace_command_line.extend(command_line);
    strace_command_line
}

/// Returns the maximum number of such operations in one OS thread of an undisturbed run: strace counts per thread.
fn count_calls(calls: &str) -> Result<u64, String> {
    let folder = TempDir::new("io")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    let log = folder.join("log");
    let (trace, path) = (format!("trace={calls}"), tools::path_text(&log));
    let command_line = strace_command(
        &location,
        &["-e", &trace, "-o", &path],
        command("worker", &location, &worker_args(&folder, 1))?,
    );
    let exit = ChildProcess::start(&command_line)?.wait()?;
    if !exit.status.success() {
        return Err(format!("a worker under strace ended with {}", exit.describe()));
    }
    let text = std::fs::read_to_string(&log).map_err(|error| format!("{path}: {error}"))?;
    let mut counts = std::collections::BTreeMap::<&str, u64>::new();
    for line in text.lines().filter(|line| line.contains('(') && !line.contains("resumed>")) {
        *counts.entry(line.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    Ok(counts.into_values().max().unwrap_or(0))
}

fn worker_args(folder: &TempDir, process: u32) -> WorkerArgs {
    let effects = Some(folder.join("effects"));
    WorkerArgs {
        threads: vec![THREAD.to_owned()],
        rounds: SIZE.0,
        weight: SIZE.1,
        effects,
        process,
        journal_events: true,
        ..WorkerArgs::default()
    }
}

/// Runs once on a failing disk, and once on the same disk without faults.
fn round(fault: &str, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let folder = TempDir::new("io")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    let calls = fault.strip_prefix("inject=").and_then(|fault| fault.split(':').next()).unwrap_or_default();
    let strace_args = ["-e", &format!("trace={calls}"), "-e", fault, "-o", "/dev/null"];
    let command_line = strace_command(&location, &strace_args, command("worker", &location, &worker_args(&folder, 1))?);
    let first = match ChildProcess::start(&command_line)?.wait() {
        Ok(exit) => exit,
        Err(stuck) => return Ok(vec![stuck]),
    };
    report.count("faults injected", 1);
    let mut violations = Vec::new();
    match first.messages.last() {
        _ if first.is_crash() => violations.push(format!("the worker ended with {}", first.describe())),
        Some(ChildMessage::Failed { code, message }) => {
            report.count("runs that failed", 1);
            violations.extend(unclear_error(code, message, &location));
        }
        Some(ChildMessage::Ended { .. }) => report.count("runs that went on", 1),
        _ => violations.push(format!("the worker reported neither an error nor its end: {}", first.describe())),
    }
    let mut reported: side_effects::ReportedEvents = first.messages.into_iter().map(|message| (1, message)).collect();
    let stored = verify::read_thread(&location)?;
    violations.extend(stored.violations());
    let lost = stored.missing(THREAD, reported.iter().map(|(_, message)| message));
    report.count("false acknowledgements", lost.len() as u64);
    violations.extend(lost);
    let second = ChildProcess::start(&command("worker", &location, &worker_args(&folder, 2))?)?.wait()?;
    if second.messages.last() != Some(&ChildMessage::Ended { digest: expected.to_owned() }) {
        violations.push(format!(
            "the thread did not continue to the expected end: {:?}; {}",
            second.messages.last(),
            second.describe()
        ));
    }
    reported.extend(second.messages.into_iter().map(|message| (2, message)));
    let stored = verify::read_thread(&location)?;
    violations.extend(stored.violations());
    violations.extend(stored.missing(THREAD, reported.iter().map(|(_, message)| message)));
    violations.extend(side_effects::check(&side_effects::read(&folder.join("effects"))?, &reported).violations);
    Ok(violations)
}

/// Checks that an error is a store error and names the file. SQLite reports a failed read as a corrupt file.
fn unclear_error(code: &str, message: &str, location: &CheckpointerLocation) -> Option<String> {
    let is_store = matches!(code, "StoreUnavailable" | "CheckpointCorrupt");
    let is_clear = is_store && message.contains(&tools::path_text(location.file()));
    (!is_clear).then(|| format!("an error that does not name the failed file: {code}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_operation_are_always_tried() {
        let mut random = Random::for_stream(1, 1);
        let sample = positions(40, 6, &mut random);
        assert!(sample.starts_with(&[1, 2]) && sample.ends_with(&[40]), "{sample:?}");
        assert_eq!(positions(0, 5, &mut random), [1]);
    }
}
