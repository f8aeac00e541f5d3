//! A full disk: the run fails with a clear error, reading still works, and the run continues when there is space
//! again.
//!
//! The disk is a small tmpfs in a private mount namespace, in which this program starts itself; a ballast file leaves
//! little space, which the run uses up.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildOutput, ChildProcess, command};
use crate::options::TestOptions;
use crate::process_kill::expected_digest;
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::report::Report;
use crate::side_effects;
use crate::temp_dir::TempDir;
use crate::tools;
use crate::verify::{self, StoredState};
use crate::worker::WorkerArgs;
use crate::workload::THREAD;

/// Number of rounds.
const ROUNDS: u64 = 8;
/// Size of the run: rounds and weight. Its log alone needs more than the remaining space.
const SIZE: (u64, u64) = (3, 150_000);
/// Minimum and maximum remaining space in KiB.
const SPACE_KIB: (u32, u32) = (40, 800);

/// Runs the test of full disks.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    let mut report = Report::new("full");
    tools::ensure_installed("unshare", "util-linux")?;
    if let Some(error) = tools::namespace_error() {
        let reason = format!("mounting a disk needs root or user namespaces, which are not available: {error}");
        report.skipped_because = Some(reason);
        return Ok(report);
    }
    let (folder, disk) = (TempDir::new("full")?, TempDir::new("disk")?);
    let program = std::env::current_exe().map_err(|error| format!("the path of this program is unknown: {error}"))?;
    let namespace_option = if tools::is_root() { "-m" } else { "-rm" };
    let mut unshare = Command::new("unshare");
    unshare.args([namespace_option, "--"]).arg(program).arg("full-inside");
    unshare.args([folder.path(), disk.path()]).args([options.seed.to_string(), options.kills.to_string()]);
    let output = unshare.output().map_err(|error| format!("`unshare` does not start: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the test in the mount namespace ended with {}: {stderr}", output.status));
    }
    let value = serde_json::from_slice(&output.stdout).map_err(|error| format!("the report of `full`: {error}"))?;
    report.merge_value(&value)?;
    report.require_count(options.seed, "full disks", 1);
    Ok(report)
}

/// Runs the test inside the mount namespace.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_in_namespace(folder: &str, disk: &str, options: &TestOptions) -> Result<Report, String> {
    let mut report = Report::new("full");
    let expected = expected_digest(SIZE)?;
    for number in 0..options.at_least(ROUNDS) {
        let seed = options.seed + number;
        let mut random = Random::for_stream(seed, 6);
        let disk = TmpfsMount::mount(disk, 1 << (2 + random.below(3)))?;
        let free_kib = SPACE_KIB.0 + random.below(SPACE_KIB.1 - SPACE_KIB.0);
        let effects = Path::new(folder).join(format!("effects {number}"));
        let violations = round(&disk, u64::from(free_kib), &effects, &expected, &mut report);
        let violations = violations.unwrap_or_else(|error| vec![error]);
        report.add_violations(
            seed,
            violations.into_iter().map(|violation| format!("with {free_kib} KiB of free space: {violation}")),
        );
    }
    Ok(report)
}

/// A small tmpfs, unmounted when dropped.
struct TmpfsMount {
    path: PathBuf,
    mebibytes: u64,
}

impl TmpfsMount {
    fn mount(path: &str, mebibytes: u64) -> Result<Self, String> {
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs", path]).status();
        match mounted {
            Ok(status) if status.success() => Ok(Self { path: path.into(), mebibytes }),
            other => Err(format!("the disk cannot be mounted: `mount` ended with {other:?}")),
        }
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }

    /// Fills the disk except for this much space.
    fn fill(&self, kibibytes: u64) -> Result<(), String> {
        let ballast = vec![1_u8; ((self.mebibytes << 10) - kibibytes) as usize * 1024];
        std::fs::write(self.ballast(), ballast).map_err(|error| format!("the ballast file cannot be written: {error}"))
    }

    fn remove_ballast(&self) -> Result<(), String> {
        std::fs::remove_file(self.ballast()).map_err(|error| format!("the ballast file cannot be removed: {error}"))
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        // The mount disappears with the namespace in any case.
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

/// Runs once on a disk that becomes full and is freed.
fn round(
    disk: &TmpfsMount,
    free_kib: u64,
    effects: &Path,
    expected: &str,
    report: &mut Report,
) -> Result<Vec<String>, String> {
    disk.fill(free_kib)?;
    let location = CheckpointerLocation::sqlite_in(&disk.path);
    let mut args =
        WorkerArgs { threads: vec![THREAD.to_owned()], rounds: SIZE.0, weight: SIZE.1, ..WorkerArgs::default() };
    (args.effects, args.process, args.waits_after_failure) = (Some(effects.to_owned()), 1, true);
    let mut child = ChildProcess::start(&command("worker", &location, &args)?)?;
    let (mut violations, mut messages) = (Vec::new(), Vec::new());
    // Until the run has failed and has reported what it can still read.
    while let ChildOutput::Message(message) = child.next_message()? {
        let is_read =
            matches!(message, ChildMessage::Read { .. } | ChildMessage::Unreadable { .. } | ChildMessage::Ended { .. });
        messages.push(message);
        if is_read {
            break;
        }
    }
    let failure = messages.iter().position(|message| matches!(message, ChildMessage::Failed { .. }));
    let Some(failure) = failure else { return Ok(vec!["the run was not stopped by a full disk".to_owned()]) };
    report.count("full disks", 1);
    let (acknowledged, read) = messages.split_at(failure);
    let acknowledged: Vec<ChildMessage> = acknowledged.to_vec();
    if acknowledged.contains(&ChildMessage::Opened) {
        violations.extend(unexpected_error(&read[0]));
        report.count("readings while full", 1);
        let stored = StoredState::from_messages(read[1..].to_vec());
        violations.extend(stored.violations().into_iter().map(|violation| format!("while full: {violation}")));
        violations.extend(stored.missing(THREAD, &acknowledged).into_iter().map(|lost| format!("while full: {lost}")));
    }
    disk.remove_ballast()?;
    // A worker that could not open the checkpointer has ended; any other continues after this line.
    let continues = acknowledged.contains(&ChildMessage::Opened) && child.write_line("there is space").is_ok();
    report.count("runs that went on in the same process", u64::from(continues));
    let first = child.wait()?;
    // Everything after the failure counts as another process: unsaved tasks start again.
    let first_messages = acknowledged.into_iter().map(|message| (1, message));
    let mut reported: side_effects::ReportedEvents =
        first_messages.chain(first.messages.into_iter().map(|message| (2, message))).collect();
    if !continues {
        args.process = 2;
        let second = ChildProcess::start(&command("worker", &location, &args)?)?.wait()?;
        reported.extend(second.messages.into_iter().map(|message| (2, message)));
    }
    if !matches!(reported.last(), Some((_, ChildMessage::Ended { digest })) if digest == expected) {
        violations.push(format!("the run did not continue to the expected end: {:?}", reported.last()));
    }
    let stored = verify::read_thread(&location)?;
    violations.extend(stored.violations());
    let lost = stored.missing(THREAD, reported.iter().map(|(_, message)| message));
    report.count("acknowledgements lost", lost.len() as u64);
    violations.extend(lost);
    violations.extend(side_effects::check(&side_effects::read(effects)?, &reported).violations);
    Ok(violations)
}

/// Checks that the error reports a full disk and that the commit was not saved.
fn unexpected_error(failure: &ChildMessage) -> Option<String> {
    let ChildMessage::Failed { code, message } = failure else { return None };
    let is_clear = code == "StoreUnavailable" && message.contains("full") && message.contains("not saved");
    (!is_clear).then(|| format!("an error that does not say that the disk is full: {code}: {message}"))
}
