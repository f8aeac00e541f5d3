//! `cargo xtask torture`: the proofs of `torture/`, built with optimisation, and what they did for the ledger.
//!
//! What is killed, cut off and damaged, and what must hold then, is the program's business; here it is started.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::ledger::{self, Commit};
use crate::workspace::Workspace;

/// The line of `--help`.
pub(crate) const HELP: &str = "kill processes, cut the power, break disks and clocks under a real store \
                               [--kills N] [--only NAME] [--seed S] [--json] [--record]";

/// What Cargo is told before the program's own arguments.
const PROGRAM: [&str; 6] = ["run", "--quiet", "--release", "--package", "superstep-torture", "--"];

/// Performs the proofs.
///
/// # Errors
/// When something was found, or the ledger cannot be written.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let given: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--record").collect();
    if given.len() == arguments.len() {
        return start(workspace, &given);
    }
    let commit = Commit::current(workspace)?;
    let reports = reports(workspace, &given)?;
    ledger::add(workspace, reports.iter().map(|report| entry(report, &commit)).collect())
}

/// Performs the proofs at the length of every test run.
///
/// # Errors
/// When something was found.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    start(workspace, &[])
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let status = workspace.cargo(&[&PROGRAM, arguments].concat()).status();
    match status.map_err(|error| format!("the proofs do not start: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("the proofs found something, or could not be performed: {status}")),
    }
}

/// The reports of proofs that found nothing.
fn reports(workspace: &Workspace, arguments: &[&str]) -> Result<Vec<Value>, String> {
    let mut command = workspace.cargo(&[&PROGRAM, arguments, &["--json"]].concat());
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("the proofs: {error}"))?;
    if !output.status.success() {
        return Err(format!("the proofs found something, or could not be performed: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the reports of the proofs: {error}"))
}

/// What the ledger says of one proof.
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
    fn an_entry_has_what_was_done_and_of_which_commit() {
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
