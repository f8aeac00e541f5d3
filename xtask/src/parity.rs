//! `cargo xtask parity`: runs the cases of `testing/parity/` on the newest `langgraph` package and on this engine, and
//! compares the results.
//!
//! Needs Python and the package registry. The other comparisons pin their LangGraph version; this one detects changes
//! of LangGraph.

use std::path::Path;
use std::process::Command;

use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{process, python};

/// Help text of the command.
pub(crate) const HELP: &str =
    "Run the cases of testing/parity on the newest LangGraph and on this engine, and compare the results";

/// Cargo arguments that build our side, with the features of `cargo xtask test` to share its build.
const PROGRAM: [&str; 5] = ["build", "--workspace", "--all-features", "--example", "parity"];

/// Python program that prints the installed version of LangGraph.
const VERSION: &str = "import importlib.metadata as m; print(m.version('langgraph'))";

/// Runs both sides and compares them.
///
/// # Errors
/// Returns an error if there are arguments, and the errors of [`check`].
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `parity` takes none", arguments.join(" ")));
    }
    check(workspace).map(drop)
}

/// Runs both sides and compares them. Without the registry, compares with the installed version, which may not be the
/// newest, and counts that as skipped.
///
/// # Errors
/// Returns an error if the two sides differ or one of them does not run.
pub(crate) fn check(workspace: &Workspace) -> Result<Tally, String> {
    let mut tally = Tally::passed();
    let folder = workspace.target()?.join("parity");
    let python = python::in_folder(&folder.join("python"))?;
    let upgrade = python::upgrade(&python, "langgraph");
    let version = process::stdout(Command::new(&python).args(["-c", VERSION]))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    match upgrade {
        Err(problem) if version.is_empty() => return Err(problem),
        Err(problem) => tally.skip(1, "the newest LangGraph", format!("compared with {version} instead: {problem}")),
        Ok(()) => {}
    }
    println!("    langgraph {version}");
    process::run(&mut workspace.cargo(&PROGRAM))?;
    let program = workspace.target()?.join("debug/examples/parity");
    compare(workspace, &python, &program, &folder)?;
    Ok(tally)
}

fn compare(workspace: &Workspace, python: &Path, program: &Path, folder: &Path) -> Result<(), String> {
    let mut script = Command::new("sh");
    script.arg(workspace.root().join("testing/parity/run.sh")).current_dir(workspace.root());
    script.env("PYTHON", python).env("OURS", program).env("PARITY_DIR", folder);
    process::run(&mut script).map_err(|error| format!("the two sides differ, or one did not run: {error}"))
}
