//! `cargo xtask sim`: builds and runs the deterministic simulation of `testing/sim/`.
//!
//! The program defines the simulation and the report. This file starts it, and adds its report to the run log on
//! request.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fault_programs::{self, Profile};
use crate::process::{self, minutes};
use crate::run_log::{self, Commit};
use crate::workspace::Workspace;

/// Help text of the command.
pub(crate) const HELP: &str = "Simulate crashes, takeovers and failing checkpointers \
                               [--schedules N: default 200000, in `cargo xtask test` 20000] [--seed S] [--threads T] \
                               [--seeded-bug NAME|none] [--json] [--record], or repeat one schedule: \
                               --seed S --schedule K [--seeded-bug NAME] [--trace]";

const PROGRAM: &str = "superstep-sim";
/// Number of schedules in `cargo xtask test`. With fewer, the simulation does not require that every invariant was
/// checked. The search for seeded bugs has its own limit (`SEEDED_BUG_LIMIT` in `testing/sim/src/main.rs`).
const CI_SCHEDULES: &str = "20000";
/// Time limit of `cargo xtask sim`, which may run millions of schedules.
const MANUAL_TIME_LIMIT: Duration = minutes(24 * 60);

/// Runs the simulation; with `--record`, adds an entry to the run log.
///
/// # Errors
/// Returns an error if an invariant was violated, a seeded bug was not found, or the run log cannot be written.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    process::with_time_limit(MANUAL_TIME_LIMIT, || perform(workspace, arguments))
}

fn perform(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let forwarded: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--record").collect();
    if forwarded.len() == arguments.len() {
        return start(workspace, Profile::Release, &forwarded);
    }
    let commit = Commit::current(workspace)?;
    let report = report(workspace, &forwarded)?;
    println!("{report}");
    run_log::add(workspace, vec![entry(&report, &commit)])
}

/// Runs the short form for `cargo xtask test`.
///
/// # Errors
/// Returns an error if an invariant was violated or a seeded bug was not found.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    start(workspace, Profile::Debug, &["--schedules", CI_SCHEDULES])
}

fn start(workspace: &Workspace, profile: Profile, arguments: &[&str]) -> Result<(), String> {
    let mut command = fault_programs::command(workspace, profile, PROGRAM, arguments)?;
    process::run(&mut command).map_err(|error| format!("the simulation failed: {error}"))
}

/// Runs the simulation and returns its report, if it succeeded.
fn report(workspace: &Workspace, arguments: &[&str]) -> Result<Value, String> {
    let mut command =
        fault_programs::command(workspace, Profile::Release, PROGRAM, &[arguments, &["--json"]].concat())?;
    let output = process::stdout(&mut command)?;
    if !output.status.success() {
        return Err(format!("the simulation failed: {}", output.status));
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
        let report = json!({
            "seed": 1,
            "schedules": 10,
            "violations": 0,
            "seeded_bugs": { "a": 3, "b": null },
            "seconds": 0.5,
        });
        let entry = entry(&report, &Commit { hash: "abc".to_owned(), date: "2026-01-01".to_owned() });
        assert_eq!(
            (&entry["tool"], &entry["seeded_bugs"], &entry["commit"]),
            (&json!("sim"), &json!(1), &json!("abc"))
        );
    }
}
