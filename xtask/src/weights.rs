//! `cargo xtask weights`: what `superstep-weights` and the command line with it must pass: lints and tests, with a model that
//! really talks.
//!
//! They are no members of the workspace, so that nobody builds their dependencies who does not want them; what the other steps do
//! for the members is done for them here.

use std::path::Path;

use crate::model;
use crate::workspace::{WEIGHTS, Workspace};

/// The line of `--help`.
pub(crate) const HELP: &str =
    "lints and tests of `superstep-weights` and the command line with it, with a model that really talks";

/// Checks the packages.
///
/// # Errors
/// When a check fails, or something could not be tested.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `weights` takes none", arguments.join(" ")));
    }
    match &check(workspace)?[..] {
        [] => Ok(()),
        notes => Err(notes.join("; ")),
    }
}

/// Checks the packages; gives what could not be tested.
///
/// # Errors
/// When a check fails, or cannot be run.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    let (mut notes, mut words) = (Vec::new(), vec!["test", "--locked", "--workspace"]);
    let file = model::ensure(workspace);
    if let Err(problem) = &file {
        words.extend(["--", "--skip", "real::"]);
        notes.push(format!("THE MODEL FROM WEIGHTS WAS NOT TESTED, there is no file for it: {problem}"));
    }
    let file = file.unwrap_or_default();
    call(workspace, &["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"], &file)?;
    call(workspace, &words, &file)?;
    Ok(notes)
}

fn call(workspace: &Workspace, words: &[&str], file: &Path) -> Result<(), String> {
    let (command, rest) = words.split_first().ok_or("no command")?;
    let arguments = [&[*command, "--manifest-path", WEIGHTS], rest].concat();
    let spoken = format!("`cargo {}`", arguments.join(" "));
    let mut cargo = workspace.cargo(&arguments);
    // Built by its own profile and its own lock file: in a folder of its own, both builds stay warm.
    cargo.env("CARGO_TARGET_DIR", workspace.target()?.join("weights")).env("SUPERSTEP_WEIGHTS", file);
    let status = cargo.status().map_err(|error| format!("{spoken} could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{spoken} ended with {status}")) }
}
