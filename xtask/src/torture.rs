//! `cargo xtask torture`: builds and runs the fault tests of `testing/torture/`.
//!
//! The program defines the faults and the checks. This file starts it and adds its reports to the run log on request.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fault_programs::{self, Profile};
use crate::process::{self, minutes};
use crate::run_log::{self, Commit};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// Help text of the command.
pub(crate) const HELP: &str = "Test real databases with kills, power loss, disk errors, corruption and clock jumps \
                               [--kills N: default 100, in `cargo xtask test` 20] [--only NAME] [--seed S] [--json] \
                               [--record]";

const PROGRAM: &str = "superstep-torture";
/// Number of kills in `cargo xtask test`, which scales the other tests too, except those that depend on chance.
const CI_KILLS: &str = "20";
/// Time limit of `cargo xtask torture`, which may run thousands of kills.
const MANUAL_TIME_LIMIT: Duration = minutes(24 * 60);

/// Runs the fault tests; with `--record`, adds their entries to the run log.
///
/// # Errors
/// Returns an error if a test found a violation or could not be run, or the run log cannot be written.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    process::with_time_limit(MANUAL_TIME_LIMIT, || perform(workspace, arguments))
}

fn perform(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let forwarded: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--record").collect();
    if forwarded.len() == arguments.len() {
        return start(workspace, &forwarded);
    }
    let commit = Commit::current(workspace)?;
    let reports = reports(workspace, &forwarded)?;
    run_log::add(workspace, reports.iter().map(|report| entry(report, &commit)).collect())
}

/// Runs the short form for `cargo xtask test`.
///
/// # Errors
/// Returns an error if a test found a violation or could not be run.
pub(crate) fn check(workspace: &Workspace) -> Result<Tally, String> {
    let mut command = fault_programs::command(workspace, Profile::Debug, PROGRAM, &["--kills", CI_KILLS])?;
    let output = process::passed_through(&mut command)?;
    if !output.status.success() {
        return Err(format!("the fault tests failed: {}", output.status));
    }
    let mut tally = Tally::passed();
    for (test, reason) in skipped_tests(&String::from_utf8_lossy(&output.stdout)) {
        tally.skip(1, &format!("torture `{test}`"), reason);
    }
    Ok(tally)
}

/// Returns the tests that the program skipped, with the reasons.
fn skipped_tests(printed: &str) -> Vec<(String, String)> {
    let tests = printed.lines().filter_map(|line| line.split_once(" SKIPPED: "));
    tests.map(|(test, reason)| (test.trim().to_owned(), reason.to_owned())).collect()
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let mut command = fault_programs::command(workspace, Profile::Release, PROGRAM, arguments)?;
    process::run(&mut command).map_err(|error| format!("the fault tests failed: {error}"))
}

/// Runs the tests and returns their reports, if all succeeded.
fn reports(workspace: &Workspace, arguments: &[&str]) -> Result<Vec<Value>, String> {
    let mut command =
        fault_programs::command(workspace, Profile::Release, PROGRAM, &[arguments, &["--json"]].concat())?;
    let output = process::stdout(&mut command)?;
    if !output.status.success() {
        return Err(format!("the fault tests failed: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the reports of the fault tests: {error}"))
}

/// Returns the run log entry of one test.
fn entry(report: &Value, commit: &Commit) -> Value {
    json!({
        "tool": "torture",
        "proof": report["proof"],
        "commit": commit.hash,
        "seed": report["seed"],
        "counts": report["counts"],
        "violations": report["violations"],
        "seconds": report["seconds"],
        "date": commit.date,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_are_found() {
        let printed = "kill     20 kills; 0 violations; 1.0 s\nfull     SKIPPED: no namespaces: a, b\n";
        assert_eq!(skipped_tests(printed), [("full".to_owned(), "no namespaces: a, b".to_owned())]);
    }

    #[test]
    fn an_entry_has_the_counts_and_the_commit() {
        let report = json!({ "proof": "kill", "seed": 1, "counts": { "kills": 100 }, "violations": 0, "seconds": 5.0 });
        let commit = Commit { hash: "abc".to_owned(), date: "2026-01-01".to_owned() };
        let entry = entry(&report, &commit);
        assert_eq!(
            (&entry["tool"], &entry["proof"], &entry["commit"]),
            (&json!("torture"), &json!("kill"), &json!("abc"))
        );
        assert_eq!((&entry["counts"]["kills"], &entry["violations"]), (&json!(100), &json!(0)));
    }
}
