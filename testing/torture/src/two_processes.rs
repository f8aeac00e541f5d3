//! Two processes on one file and one thread, and a lease holder that is suspended and resumed.
//!
//! Runs of both processes must not interleave: the entries of each are contiguous, and none is lost. A suspended
//! lease holder either still has its lease when it is resumed, and continues, or is rejected.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::checkpointer::CheckpointerLocation;
use crate::child_process::{ChildOutput, ChildProcess, command};
use crate::contender::{ContenderArgs, LOG_NODES, log_entry};
use crate::options::TestOptions;
use crate::process_kill::expected_digest;
use crate::protocol::ChildMessage;
use crate::random::Random;
use crate::reader::ReaderArgs;
use crate::report::Report;
use crate::side_effects;
use crate::temp_dir::TempDir;
use crate::verify;
use crate::worker::WorkerArgs;
use crate::workload::THREAD;

/// Number of runs of each process.
const RUNS: u32 = 60;
/// Number of suspended processes.
const SUSPENSIONS: u64 = 10;
/// Size of the run of a suspended process: rounds and weight.
const SIZE: (u64, u64) = (2, 2_000);

/// Runs the test of two processes.
///
/// # Errors
/// Returns an error if the test cannot be run.
pub(crate) fn run_test(options: &TestOptions) -> Result<Report, String> {
    let mut report = Report::new("two");
    for number in 0..options.at_least(2) {
        let violations = test_shared_thread(number % 2 == 1, &mut report).unwrap_or_else(|error| vec![error]);
        report.add_violations(options.seed, violations);
    }
    let expected = expected_digest(SIZE)?;
    let (suspensions, mut seed) = (options.at_least(SUSPENSIONS), options.seed);
    // The moment of suspension is random: further rounds are run if no takeover happened.
    while seed - options.seed < suspensions
        || (report.get("threads taken over") < 2 && seed - options.seed < 5 * suspensions)
    {
        let violations = test_suspended_holder(seed, &expected, &mut report).unwrap_or_else(|error| vec![error]);
        report.add_violations(seed, violations);
        seed += 1;
    }
    report.require_count(options.seed, "threads taken over", 1);
    report.require_count(options.seed, "owners refused when they woke up", 1);
    report.require_count(options.seed, "owners that went on when they woke up", 1);
    Ok(report)
}

/// Both processes run on one thread concurrently.
fn test_shared_thread(retries_when_busy: bool, report: &mut Report) -> Result<Vec<String>, String> {
    let folder = TempDir::new("two")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    let names = ["a", "b"];
    let args = |name: &str| ContenderArgs { name: name.to_owned(), runs: RUNS, retries_when_busy };
    let children = names.map(|name| ChildProcess::start(&command("contender", &location, &args(name))?));
    let mut violations = Vec::new();
    for child in children {
        let exit = child?.wait()?;
        match exit.messages.last() {
            Some(ChildMessage::Busy { times }) => report.count("times the thread was busy", *times),
            last => violations.push(format!("one of the two processes failed: {last:?}; {}", exit.describe())),
        }
        report.count("runs side by side", u64::from(RUNS));
    }
    let args = ReaderArgs { threads: vec![THREAD.to_owned()], integrity: true, values: true };
    let stored = verify::read(&location, &args)?;
    violations.extend(stored.violations());
    violations.extend(verify::history_errors(&stored.history(THREAD, "")));
    let values = stored.values.get(THREAD).cloned().unwrap_or_default();
    violations.extend(interleaving_errors(&values, &names));
    Ok(violations)
}

/// Returns the entries of runs that are interleaved, lost or duplicated.
fn interleaving_errors(values: &Value, names: &[&str]) -> Vec<String> {
    let log: Vec<&str> = values["log"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut expected_labels: BTreeSet<String> =
        names.iter().flat_map(|name| (0..RUNS).map(move |number| format!("{name} {number}"))).collect();
    let mut violations = Vec::new();
    for entries in log.chunks(LOG_NODES.len()) {
        let label = entries[0].rsplit_once(' ').map_or(entries[0], |(label, _)| label);
        let is_complete =
            entries.iter().copied().eq(LOG_NODES.map(|node| log_entry(label, node)).iter().map(String::as_str));
        if !is_complete || !expected_labels.remove(label) {
            violations.push(format!("the entries of two runs are interleaved or duplicated: {entries:?}"));
        }
    }
    violations.extend(expected_labels.into_iter().map(|label| format!("run `{label}` ended without entries")));
    let (count, expected) = (values["count"].as_u64(), names.len() as u64 * u64::from(RUNS) * 2);
    if count != Some(expected) {
        violations.push(format!("the count is {count:?}, and {expected} tasks ran"));
    }
    violations
}

/// Suspends a lease holder, starts a second process, and resumes the first one.
fn test_suspended_holder(seed: u64, expected: &str, report: &mut Report) -> Result<Vec<String>, String> {
    let mut random = Random::for_stream(seed, 7);
    let folder = TempDir::new("pause")?;
    let location = CheckpointerLocation::sqlite_in(folder.path());
    // Alternates between a second process that waits and one that takes over threads of suspended holders.
    let has_short_lease = seed.is_multiple_of(2);
    let other_location = if has_short_lease {
        CheckpointerLocation::SqliteShortLease(location.file().to_owned())
    } else {
        location.clone()
    };
    let mut args =
        WorkerArgs { threads: vec![THREAD.to_owned()], rounds: SIZE.0, weight: SIZE.1, ..WorkerArgs::default() };
    (args.effects, args.process) = (Some(folder.join("effects")), 1);
    let mut holder = ChildProcess::start(&command("worker", &location, &args)?)?;
    let mut holder_messages = Vec::new();
    for _ in 0..8 + random.below(40) {
        if let ChildOutput::Message(message) = holder.next_message()? {
            holder_messages.push(message);
        }
    }
    std::thread::sleep(Duration::from_micros(u64::from(random.below(4_000))));
    holder.signal(Signal::STOP);
    report.count("owners stopped", 1);
    args.process = 2;
    let mut other = ChildProcess::start(&command("worker", &other_location, &args)?)?;
    let mut other_messages = Vec::new();
    if has_short_lease {
        // Until it has ended or failed.
        while let ChildOutput::Message(message) = other.next_message()? {
            other_messages.push(message);
        }
    } else {
        std::thread::sleep(Duration::from_millis(u64::from(random.below(300))));
    }
    holder.signal(Signal::CONT);
    let (holder, other) = (holder.wait()?, other.wait()?);
    holder_messages.extend(holder.messages);
    other_messages.extend(other.messages);
    let mut violations = check_results(&holder_messages, &other_messages, expected, report);
    let reported: side_effects::ReportedEvents = holder_messages
        .into_iter()
        .map(|message| (1, message))
        .chain(other_messages.into_iter().map(|message| (2, message)))
        .collect();
    let stored = verify::read_thread(&location)?;
    violations.extend(stored.violations());
    violations.extend(verify::history_errors(&stored.history(THREAD, "")));
    violations.extend(stored.missing(THREAD, reported.iter().map(|(_, message)| message)));
    violations.extend(side_effects::check(&side_effects::read(&folder.join("effects"))?, &reported).violations);
    Ok(violations)
}

/// Checks the result of both: at least one finished, and a failed one was rejected.
fn check_results(
    holder_messages: &[ChildMessage],
    other_messages: &[ChildMessage],
    expected: &str,
    report: &mut Report,
) -> Vec<String> {
    let has_ended = |messages: &[ChildMessage]| {
        let Some(ChildMessage::Ended { digest }) = messages.last() else { return false };
        digest == expected
    };
    let took_over = other_messages.iter().any(|message| matches!(message, ChildMessage::Done { .. }));
    report.count("threads taken over", u64::from(took_over));
    let mut violations = Vec::new();
    match holder_messages.last() {
        Some(ChildMessage::Ended { .. }) if has_ended(holder_messages) => {
            report.count("owners that went on when they woke up", 1)
        }
        Some(ChildMessage::Failed { code, .. }) if took_over && code == "ThreadBusy" => {
            report.count("owners refused when they woke up", 1);
        }
        last => violations.push(format!("a suspended lease holder ended with {last:?}")),
    }
    match other_messages.last() {
        Some(ChildMessage::Ended { .. }) if has_ended(other_messages) => {}
        // The holder was suspended during a write, and holds the lock on the file until it is resumed.
        Some(ChildMessage::Failed { code, message })
            if code == "StoreUnavailable" && message.contains("nothing was saved") =>
        {
            report.count("owners stopped while writing", 1);
        }
        last => violations.push(format!("the second process ended with {last:?}")),
    }
    if !has_ended(holder_messages) && !has_ended(other_messages) {
        violations.push("the run did not end".to_owned());
    }
    violations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mixed_runs_are_a_violation() {
        let log = |names: &[&str]| -> Vec<String> {
            let runs = names.iter().flat_map(|name| (0..RUNS).map(move |number| format!("{name} {number}")));
            runs.flat_map(|label| LOG_NODES.map(|node| log_entry(&label, node))).collect()
        };
        let good = json!({ "log": log(&["a", "b"]), "count": 4 * RUNS });
        assert_eq!(interleaving_errors(&good, &["a", "b"]), Vec::<String>::new());
        let mut swapped = log(&["a", "b"]);
        swapped.swap(2, 3);
        assert_eq!(interleaving_errors(&json!({ "log": swapped, "count": 4 * RUNS }), &["a", "b"]).len(), 4);
        assert_eq!(
            interleaving_errors(&json!({ "log": log(&["a"]), "count": 4 * RUNS }), &["a", "b"]).len(),
            RUNS as usize
        );
        assert_eq!(interleaving_errors(&json!({ "log": log(&["a", "b"]), "count": 1 }), &["a", "b"]).len(), 1);
    }
}
