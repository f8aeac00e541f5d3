//! `cargo xtask parity`: the cases of `parity/` on the real `langgraph` package and on this engine, compared.
//!
//! Needs Python and the package registry, so it is not part of `cargo xtask test`.

use std::process::Command;

use crate::python;
use crate::workspace::Workspace;

/// The line `--help` prints.
pub(crate) const HELP: &str = "run the cases of parity/ on LangGraph and here, and compare";

/// Runs both sides and compares them.
pub(crate) fn run(workspace: &Workspace, _arguments: &[String]) -> Result<(), String> {
    let script = workspace.root().join("parity/run.sh");
    let python = python::interpreter(workspace)?;
    let status = Command::new("sh").arg(&script).env("PYTHON", python).current_dir(workspace.root()).status();
    match status.map_err(|error| format!("`{}` does not start: {error}", script.display()))? {
        status if status.success() => Ok(()),
        status => Err(format!("the two sides differ, or one did not run: {status}")),
    }
}
