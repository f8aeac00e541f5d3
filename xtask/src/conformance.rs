//! `cargo xtask conformance`: runs LangGraph's checkpointer conformance suite against the checkpointers of this
//! workspace, through the program `saver_stdio`.
//!
//! Needs Python, PostgreSQL and, for the first run, the package registry. `testing/conformance/README.md` describes the
//! protocol between the suite and the program.

use std::path::Path;
use std::process::Command;

use superstep_cluster::TempPostgresServer;

use crate::workspace::Workspace;
use crate::{process, python, servers};

/// Help text of the command.
pub(crate) const HELP: &str =
    "Run LangGraph's conformance suite against our checkpointers [--store memory|sqlite|postgres: only this one]";

/// Last output line of the suite if all tests ran and passed.
const EXPECTED_SUMMARY: &str = "81 passed, 0 failed";

/// Environment variable with the URL of a PostgreSQL server to use instead of a temporary one.
const POSTGRES: &str = "SUPERSTEP_POSTGRES_URL";

/// Names of all checkpointers.
const CHECKPOINTERS: [&str; 3] = ["memory", "sqlite", "postgres"];

/// Cargo arguments that build the program under test, with the features of `cargo xtask test` to share its build.
const PROGRAM: [&str; 5] = ["build", "--workspace", "--all-features", "--example", "saver_stdio"];

/// Runs the suite against one checkpointer or all of them.
///
/// # Errors
/// Returns an error if an argument is unknown, a requirement is missing, or a checkpointer does not pass every test.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let checkpointers = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => CHECKPOINTERS.to_vec(),
        ["--store", name] if CHECKPOINTERS.contains(&name) => vec![name],
        ["--store", name] => return Err(format!("unknown checkpointer `{name}`; known: {}", CHECKPOINTERS.join(", "))),
        _ => return Err(format!("unknown arguments `{}`; known: --store NAME", arguments.join(" "))),
    };
    let interpreter = python::interpreter(workspace)?;
    process::run(&mut workspace.cargo(&PROGRAM))?;
    let program = workspace.target()?.join("debug/examples/saver_stdio");
    checkpointers.into_iter().try_for_each(|name| {
        // Dropping the variable stops a temporary server.
        let server = Server::for_checkpointer(name)?;
        check(workspace, &interpreter, &program, &server.arguments(name))
    })
}

/// Database server of a checkpointer.
enum Server {
    /// No server: the checkpointer is not `postgres`.
    None,
    /// The server at this URL, from [`POSTGRES`].
    External(String),
    /// A temporary server.
    Temporary(TempPostgresServer),
}

impl Server {
    fn for_checkpointer(name: &str) -> Result<Self, String> {
        match std::env::var(POSTGRES) {
            _ if name != "postgres" => Ok(Self::None),
            Ok(url) => Ok(Self::External(url)),
            Err(_) => {
                servers::ensure()?;
                TempPostgresServer::start().map(Self::Temporary)
            }
        }
    }

    /// Returns the arguments with which the program opens a checkpointer; `run.py` replaces `{fresh}` by a new path.
    fn arguments(&self, name: &str) -> Vec<String> {
        let location = match self {
            Self::None => (name == "sqlite").then(|| "{fresh}".to_owned()),
            Self::External(url) => Some(url.clone()),
            Self::Temporary(cluster) => Some(cluster.url()),
        };
        std::iter::once(name.to_owned()).chain(location).collect()
    }
}

fn check(workspace: &Workspace, interpreter: &Path, program: &Path, checkpointer: &[String]) -> Result<(), String> {
    let mut suite = Command::new(interpreter);
    suite.arg(workspace.root().join("testing/conformance/run.py")).arg(program).args(checkpointer);
    let output = process::stdout(&mut suite)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let summary = text.lines().last().unwrap_or("no output");
    if output.status.success() && summary == EXPECTED_SUMMARY {
        println!("    {}: {summary}", checkpointer[0]);
        return Ok(());
    }
    Err(format!("`{}` does not pass LangGraph's suite, expected `{EXPECTED_SUMMARY}`:\n{text}", checkpointer[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_checkpointer_is_rejected_before_anything_is_built() {
        let workspace = Workspace::find().unwrap();
        let problem = run(&workspace, &["--store".to_owned(), "tape".to_owned()]).unwrap_err();
        assert_eq!(problem, "unknown checkpointer `tape`; known: memory, sqlite, postgres");
        assert!(run(&workspace, &["sqlite".to_owned()]).unwrap_err().starts_with("unknown arguments `sqlite`"));
    }
}
