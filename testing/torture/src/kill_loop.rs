//! One run that is disturbed until it ends, and its final checks, independent of the checkpointer and the kind of
//! fault.
//!
//! Everything that was acknowledged must be stored, no task reported as finished may start again, and the state must
//! equal that of an undisturbed run.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildOutput, ChildProcess, command};
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::reader::ReaderArgs;
use crate::report::Report;
use crate::side_effects;
use crate::verify;
use crate::worker::WorkerArgs;
use crate::workload::NODES;

/// Number of restarts after which a run is stuck.
const MAX_RESTARTS: u32 = 300;

/// A disturbed run.
pub(crate) struct FaultRun<'a> {
    pub(crate) location: CheckpointerLocation,
    pub(crate) thread: String,
    /// Side effect log.
    pub(crate) effects: PathBuf,
    /// Rounds and weight.
    pub(crate) size: (u64, u64),
    /// Seeded bug of the engine.
    pub(crate) seeded_bug: Option<&'a str>,
    /// Expected values, from an undisturbed run.
    pub(crate) expected: &'a str,
}

/// Result of a disturbed run.
#[derive(Default)]
pub(crate) struct FaultRunResult {
    pub(crate) reported: side_effects::ReportedEvents,
    pub(crate) kills: u64,
    /// Violations.
    pub(crate) violations: Vec<String>,
}

/// One process of a run.
struct ProcessResult {
    messages: Vec<ChildMessage>,
    was_killed: bool,
    violation: Option<String>,
}

impl FaultRun<'_> {
    /// Returns the arguments of a worker for one process.
    pub(crate) fn worker_args(&self, process: u32) -> WorkerArgs {
        WorkerArgs {
            threads: vec![self.thread.clone()],
            rounds: self.size.0,
            weight: self.size.1,
            effects: Some(self.effects.clone()),
            process,
            // A file lock ends with its process; a lease on a server has to expire first.
            retries_when_busy: !self.location.is_file(),
            journal_events: true,
            seeded_bug: self.seeded_bug.map(str::to_owned),
            ..WorkerArgs::default()
        }
    }

    /// Starts a worker.
    ///
    /// # Errors
    /// Returns an error if the worker does not start.
    pub(crate) fn start(&self, process: u32) -> Result<ChildProcess, String> {
        ChildProcess::start(&command("worker", &self.location, &self.worker_args(process))?)
    }

    /// Starts workers and kills most of them until the run has ended.
    ///
    /// # Errors
    /// Returns an error if a worker does not start.
    pub(crate) fn kill_until_finished(&self, random: &mut Random) -> Result<FaultRunResult, String> {
        let mut result = FaultRunResult::default();
        for process in 1..=MAX_RESTARTS {
            let ended = run_process(self.start(process)?, random)?;
            result.kills += u64::from(ended.was_killed);
            result.violations.extend(ended.violation);
            result.reported.extend(ended.messages.into_iter().map(|message| (process, message)));
            if !result.violations.is_empty() || matches!(result.reported.last(), Some((_, ChildMessage::Ended { .. })))
            {
                return Ok(result);
            }
        }
        result.violations.push(format!("the run did not end in {MAX_RESTARTS} processes"));
        Ok(result)
    }

    /// Compares messages with stored data; returns the violations, including earlier ones.
    ///
    /// # Errors
    /// Returns an error if the stored data cannot be read.
    pub(crate) fn verify(&self, result: FaultRunResult, report: &mut Report) -> Result<Vec<String>, String> {
        let FaultRunResult { reported, mut violations, .. } = result;
        let checkpoints =
            reported.iter().filter(|(_, message)| matches!(message, ChildMessage::Checkpoint { .. })).count();
        report.count("checkpoints acknowledged", checkpoints as u64);
        let args = ReaderArgs {
            threads: vec![self.thread.clone()],
            integrity: self.location.is_file(),
            ..ReaderArgs::default()
        };
        let stored = verify::read(&self.location, &args)?;
        violations.extend(stored.violations());
        let lost = stored.missing(&self.thread, reported.iter().map(|(_, message)| message));
        report.count("acknowledgements lost", lost.len() as u64);
        violations.extend(lost);
        let history = stored.history(&self.thread, "");
        violations.extend(verify::history_errors(&history).into_iter().filter(|_| self.seeded_bug.is_none()));
        if history.first().is_none_or(|newest| newest.digest != self.expected) {
            violations.push("the run ended with other values than an undisturbed run".to_owned());
        }
        let journal = stored.journals.get(&self.thread).cloned().unwrap_or_default();
        report.count("events kept", journal.events);
        let expected_ends = NODES.map(|node| (node.to_owned(), self.size.0)).into();
        if journal.ends != expected_ends {
            violations.push(format!("unexpected ended tasks in the event journal: {:?}", journal.ends));
        }
        let effects_report = side_effects::check(&side_effects::read(&self.effects)?, &reported);
        report.count("tasks in flight run again", effects_report.in_flight);
        report.count("finished tasks run again", effects_report.violations.len() as u64);
        violations.extend(effects_report.violations);
        Ok(violations)
    }
}

/// Runs one worker until it ends or is killed.
fn run_process(mut child: ChildProcess, random: &mut Random) -> Result<ProcessResult, String> {
    // About one in eight workers is not killed, so that some runs end, and most die early or halfway.
    let reports_before_kill = if random.one_in(8) { u32::MAX } else { random.below(40) };
    let delay = Duration::from_micros(u64::from(random.below(2_000)));
    let (mut messages, mut was_killed, mut reports) = (Vec::new(), false, 0);
    loop {
        match child.next_message() {
            Err(stuck) => return Ok(ProcessResult { messages, was_killed, violation: Some(stuck) }),
            Ok(ChildOutput::End) => break,
            Ok(ChildOutput::Message(message)) => {
                reports += u32::from(!matches!(message, ChildMessage::Started { .. }));
                messages.push(message);
            }
        }
        if reports >= reports_before_kill && !was_killed {
            busy_wait(delay);
            child.kill();
            was_killed = true;
        }
    }
    let exit = child.wait()?;
    let is_over = matches!(messages.last(), Some(ChildMessage::Ended { .. }));
    // A worker killed after its last message had ended nevertheless.
    let died = was_killed && !exit.status.success();
    let violation = match messages.last() {
        Some(ChildMessage::Failed { code, message }) => Some(format!("a worker failed: {code}: {message}")),
        _ if !died && !is_over => Some(format!("a worker that was not killed ended with {}", exit.describe())),
        _ => None,
    };
    Ok(ProcessResult { messages, was_killed: died, violation })
}

/// Busy-waits for less than the shortest sleep of the system.
pub(crate) fn busy_wait(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}
