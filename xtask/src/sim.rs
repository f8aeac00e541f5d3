//! `cargo xtask sim`: the simulation of `sim/`, built with optimisation, and the ledger of what it has done.
//!
//! What is simulated and what it found is the program's business; here it is started, and its report written down
//! when that is asked for.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::workspace::Workspace;

/// The line of `--help`.
pub(crate) const HELP: &str = "simulate crashes, takeovers and failing stores \
                               [--schedules N] [--seed S] [--threads T] [--planted NAME|none] [--json] [--record], \
                               or one schedule again: --seed S --schedule K [--trace]";

/// Where what was done is written down, from the root.
const LEDGER: &str = "reliability/ledger.json";

/// What Cargo is told before the simulation's own arguments.
const PROGRAM: [&str; 6] = ["run", "--quiet", "--release", "--package", "superstep-sim", "--"];

/// Runs the simulation.
///
/// # Errors
/// When it found something, or the ledger cannot be written.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let given: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--record").collect();
    if given.len() == arguments.len() {
        return start(workspace, &given);
    }
    if !git(workspace, &["status", "--porcelain"])?.is_empty() {
        return Err("the ledger speaks of commits: commit what you have, then record".to_owned());
    }
    let (commit, date) = (git(workspace, &["rev-parse", "HEAD"])?, git(workspace, &["show", "-s", "--format=%cI"])?);
    let report = report(workspace, &given)?;
    println!("{report}");
    let entry = entry(&report, commit, date);
    let path = workspace.root().join(LEDGER);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{LEDGER}: {error}"))?;
    std::fs::write(&path, added(&text, entry)?).map_err(|error| format!("{LEDGER}: {error}"))?;
    println!("written down in {LEDGER}");
    Ok(())
}

/// Runs so many schedules, with what the simulation says on the way.
pub(crate) fn check(workspace: &Workspace, schedules: &str) -> Result<(), String> {
    start(workspace, &["--schedules", schedules])
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Result<(), String> {
    let status = workspace.cargo(&[&PROGRAM, arguments].concat()).status();
    match status.map_err(|error| format!("the simulation does not start: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("the simulation found something, or did not run: {status}")),
    }
}

/// The report of a run that found nothing.
fn report(workspace: &Workspace, arguments: &[&str]) -> Result<Value, String> {
    let mut command = workspace.cargo(&[&PROGRAM, arguments, &["--json"]].concat());
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("the simulation: {error}"))?;
    if !output.status.success() {
        return Err(format!("the simulation found something, or did not run: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the report of the simulation: {error}"))
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Result<String, String> {
    let spoken = format!("`git {}`", arguments.join(" "));
    let output = std::process::Command::new("git").current_dir(workspace.root()).args(arguments).output();
    let output = output.map_err(|error| format!("{spoken}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{spoken} ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What the ledger says of one run.
fn entry(report: &Value, commit: String, date: String) -> Value {
    let found = report["planted"].as_object().into_iter().flatten().filter(|(_, at)| !at.is_null()).count();
    json!({
        "tool": "sim",
        "commit": commit,
        "seed": report["seed"],
        "schedules": report["schedules"],
        "violations": report["violations"],
        "planted": found,
        "seconds": report["seconds"],
        "date": date,
    })
}

/// The ledger with one more entry; what is there stays as it is.
fn added(ledger: &str, entry: Value) -> Result<String, String> {
    let mut entries: Vec<Value> = serde_json::from_str(ledger).map_err(|error| format!("{LEDGER}: {error}"))?;
    entries.push(entry);
    let lines: Vec<String> = entries.iter().map(|entry| format!("  {entry}")).collect();
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_only_grows() {
        let report =
            json!({ "seed": 1, "schedules": 10, "violations": 0, "planted": { "a": 3, "b": null }, "seconds": 0.5 });
        let one = added("[]\n", entry(&report, "abc".into(), "2026-01-01".into())).unwrap();
        let two = added(&one, json!({ "tool": "other" })).unwrap();
        let entries: Vec<Value> = serde_json::from_str(&two).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(
            (&entries[0]["tool"], &entries[0]["planted"], &entries[0]["commit"]),
            (&json!("sim"), &json!(1), &json!("abc"))
        );
        assert!(two.starts_with(one.trim_end_matches("\n]\n")));
        assert!(added("nonsense", json!({})).unwrap_err().starts_with("reliability/ledger.json"));
    }
}
