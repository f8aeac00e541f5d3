//! A Python of our own, for what is compared with LangGraph: made once, beside what Cargo builds.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::Workspace;

/// What is installed, by name. The versions the comparisons were made with.
const PACKAGES: [&str; 6] = [
    "langgraph==1.2.20",
    "langgraph-checkpoint-conformance==0.0.2",
    "langgraph-checkpoint-sqlite==3.1.2",
    "langgraph-checkpoint-postgres==3.2.0",
    "langchain-core==1.7.2",
    "psycopg[binary]==3.3.8",
];

/// The interpreter that has the packages.
///
/// # Errors
/// When there is no Python, or the packages cannot be had.
pub(crate) fn interpreter(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.target()?.join("python");
    let interpreter = folder.join("bin/python");
    if !interpreter.exists() {
        call(Path::new("python3"), &["-m".as_ref(), "venv".as_ref(), folder.as_path()])?;
    }
    // Asks the registry only for what is not there yet.
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"].into_iter().chain(PACKAGES);
    call(&interpreter, &install.map(Path::new).collect::<Vec<_>>())?;
    Ok(interpreter)
}

fn call(program: &Path, arguments: &[&Path]) -> Result<(), String> {
    let status = Command::new(program).args(arguments).status();
    match status.map_err(|error| format!("`{}` does not start: {error}", program.display()))? {
        status if status.success() => Ok(()),
        status => Err(format!("making a Python with {} ended with {status}", PACKAGES.join(" and "))),
    }
}
