//! `cargo xtask parity`: the cases of `testing/parity/` on the newest `langgraph` package and on this engine, compared.
//!
//! Needs Python and the package registry. The other comparisons pin the version they were recorded with; this one shows when
//! LangGraph has changed.

use std::path::Path;
use std::process::Command;

use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{process, python};

/// The line `--help` prints.
pub(crate) const HELP: &str =
    "run the cases of testing/parity/ on the newest LangGraph of the registry and here, and compare";

/// Our side, built as the tests build it: with these features of all packages it is there already.
const PROGRAM: [&str; 5] = ["build", "--workspace", "--all-features", "--example", "parity"];

/// Prints the version under comparison.
const VERSION: &str = "import importlib.metadata as m; print(m.version('langgraph'))";

/// Runs both sides and compares them.
///
/// # Errors
/// When the two sides differ, or one of them does not run.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `parity` takes none", arguments.join(" ")));
    }
    check(workspace).map(drop)
}

/// Runs both sides and compares them. Without the registry the version that is installed already is compared, which is counted as
/// skipped: nobody knows whether it is the newest.
///
/// # Errors
/// As [`run`].
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
    process::run(&mut script).map_err(|problem| format!("the two sides differ, or one did not run: {problem}"))
}
