//! `cargo xtask sim`: the simulation of `testing/sim/`, built with optimisation, and the ledger of what it has done.
//!
//! What is simulated and what it found is the program's business; here it is started, and its report written down
//! when that is asked for.

use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{self, minutes};
use crate::release;
use crate::run_log::{self, Commit};
use crate::workspace::Workspace;

/// The line of `--help`.
pub(crate) const HELP: &str = "simulate crashes, takeovers and failing stores \
                               [--schedules N: 200000, and 20000 in `cargo xtask test`] [--seed S] [--threads T] [--seeded-bug NAME|none] [--json] [--record], \
                               or one schedule again: --seed S --schedule K [--trace]";

const PROGRAM: &str = "superstep-sim";
/// As many schedules as a test run has; with fewer the simulation does not ask whether every rule was put to the test. The search
/// for seeded bugs has a bound of its own (`PLANTED_LIMIT` in `testing/sim/src/main.rs`) and finds all of them at any number.
const SHORT: &str = "20000";
/// The time limit of a run by hand, which may have millions of schedules.
const BY_HAND: Duration = minutes(24 * 60);

/// Runs the simulation.
///
/// # Errors
/// When it found something, or the ledger cannot be written.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    process::within(BY_HAND, || perform(workspace, arguments))
}

fn perform(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let forwarded: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--record").collect();
    if forwarded.len() == arguments.len() {
        return start(workspace, &forwarded);
    }
    let commit = Commit::current(workspace)?;
    let report = report(workspace, &forwarded)?;
    println!("{report}");
    run_log::add(workspace, vec![entry(&report, &commit)])
}

/// Runs the short form, which is part of every test run.
///
/// # Errors
/// When it found something.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    start(workspace, &["--schedules", SHORT])
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let mut command = release::program(workspace, PROGRAM, arguments)?;
    process::run(&mut command).map_err(|problem| format!("the simulation found something, or did not run: {problem}"))
}

/// The report of a run that found nothing.
fn report(workspace: &Workspace, arguments: &[&str]) -> Result<Value, String> {
    let mut command = release::program(workspace, PROGRAM, &[arguments, &["--json"]].concat())?;
    let output = process::stdout(&mut command)?;
    if !output.status.success() {
        return Err(format!("the simulation found something, or did not run: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the report of the simulation: {error}"))
}

/// Returns the run log entry of one run.
fn entry(report: &Value, commit: &Commit) -> Value {
    let found_bugs = report["seeded_bugs"].as_object().into_iter().flatten().filter(|(_, at)| !at.is_null()).count();
    json!({
        "tool": "sim",
        "commit": commit.hash,
        "seed": report["seed"],
        "schedules": report["schedules"],
        "violations": report["violations"],
        "seeded_bugs": found_bugs,
        "seconds": report["seconds"],
        "date": commit.date,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_counts_the_seeded_bugs_that_were_found() {
        let report = json!({ "seed": 1, "schedules": 10, "violations": 0, "seeded_bugs": { "a": 3, "b": null }, "seconds": 0.5 });
        let entry = entry(&report, &Commit { hash: "abc".to_owned(), date: "2026-01-01".to_owned() });
        assert_eq!(
            (&entry["tool"], &entry["seeded_bugs"], &entry["commit"]),
            (&json!("sim"), &json!(1), &json!("abc"))
        );
    }
}
