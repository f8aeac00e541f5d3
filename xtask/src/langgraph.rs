//! `cargo xtask langgraph`: tests the import of threads that LangGraph writes.
//!
//! Python runs the graphs of `testing/fixtures/langgraph/make.py` with LangGraph's SQLite and PostgreSQL checkpointers.
//! The tests that otherwise read the committed files in that folder then read the new ones. Needs Python, PostgreSQL
//! and, for the first run, the package registry.

use std::fs;
use std::path::Path;
use std::process::Command;

use superstep_cluster::{TempPostgresServer, postgres};

use crate::workspace::Workspace;
use crate::{process, python, servers, test};

/// Help text of the command.
pub(crate) const HELP: &str =
    "Import and resume threads that LangGraph writes [--save: write testing/fixtures/langgraph instead]";

/// Cargo arguments of the tests that read LangGraph's threads.
const TESTS: [&str; 6] = [
    "nextest",
    "run",
    "--workspace",
    "--all-features",
    "-E",
    "package(superstep-adapters) & kind(test) & test(langgraph)",
];

/// Writes threads with LangGraph, and runs the import tests on them or saves them as fixtures.
///
/// # Errors
/// Returns an error if an argument is unknown, the threads cannot be written, or a test fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let saves = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--save"] => true,
        _ => return Err(format!("unknown arguments `{}`; known: --save", arguments.join(" "))),
    };
    let fixtures = workspace.root().join("testing/fixtures/langgraph");
    let folder = if saves { fixtures.clone() } else { workspace.target()?.join("langgraph") };
    let interpreter = python::interpreter(workspace)?;
    servers::ensure()?;
    // Stopped when the variable is dropped.
    let server = TempPostgresServer::start()?;
    process::run(Command::new(interpreter).arg(fixtures.join("make.py")).arg(&folder).arg(server.url()))?;
    if saves {
        return save(&folder, &server.url());
    }
    test::ensure_nextest(workspace)?;
    let mut tests = workspace.cargo(&TESTS);
    tests.env("SUPERSTEP_LANGGRAPH", &folder).env("SUPERSTEP_LANGGRAPH_POSTGRES", server.url());
    process::run(&mut tests)
}

/// Writes the tables of the server as SQL statements to `threads.sql`.
fn save(folder: &Path, url: &str) -> Result<(), String> {
    let dump_arguments = ["--no-owner", "--no-privileges", "--inserts", "--no-comments"];
    let dump = process::stdout(postgres("pg_dump")?.args(dump_arguments).arg(url))?;
    if !dump.status.success() {
        return Err(format!("`pg_dump` ended with {}", dump.status));
    }
    let dump = String::from_utf8_lossy(&dump.stdout);
    // Comments and settings of `pg_dump` contain no data, and other versions of PostgreSQL may reject them.
    let is_retained = |line: &&str| !line.starts_with("--") && !line.starts_with('\\') && !line.starts_with("SET ");
    let is_call = |line: &&str| !line.starts_with("SELECT pg_catalog.set_config");
    let lines: Vec<&str> = dump.lines().filter(is_retained).filter(is_call).filter(|line| !line.is_empty()).collect();
    let path = folder.join("threads.sql");
    fs::write(&path, lines.join("\n") + "\n").map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_arguments_are_rejected_before_anything_runs() {
        let problem = run(&Workspace::find().unwrap(), &["--fast".to_owned()]).unwrap_err();
        assert_eq!(problem, "unknown arguments `--fast`; known: --save");
    }
}
