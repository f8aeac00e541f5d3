//! `cargo xtask conformance`: our stores under LangGraph's own suite for savers, through the program `saver_stdio`.
//!
//! Needs Python, PostgreSQL and, once, the package registry. What is said between the two sides is in `testing/conformance/README.md`.

use std::path::Path;
use std::process::Command;

use superstep_cluster::TempPostgresServer;

use crate::workspace::Workspace;
use crate::{process, python, servers};

/// The line of `--help`.
pub(crate) const HELP: &str = "our stores under LangGraph's suite for savers [--store memory|sqlite|postgres]";

/// Last line of the suite when every test passed and none is missing.
const PERFECT: &str = "81 passed, 0 failed";

/// Environment variable with the URL of a PostgreSQL to use instead of a temporary cluster.
const POSTGRES: &str = "SUPERSTEP_POSTGRES_URL";

/// Names of all stores.
const STORES: [&str; 3] = ["memory", "sqlite", "postgres"];

/// The program under test, built as the tests build it: with these features of all packages it is there already.
const PROGRAM: [&str; 5] = ["build", "--workspace", "--all-features", "--example", "saver_stdio"];

/// Puts stores under the suite: one, or all.
///
/// # Errors
/// At the first store that does not pass all of it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let stores = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => STORES.to_vec(),
        ["--store", store] if STORES.contains(&store) => vec![store],
        ["--store", store] => return Err(format!("unknown store `{store}`; known: {}", STORES.join(", "))),
        _ => return Err(format!("unknown arguments `{}`; known: --store NAME", arguments.join(" "))),
    };
    let interpreter = python::interpreter(workspace)?;
    process::run(&mut workspace.cargo(&PROGRAM))?;
    let program = workspace.target()?.join("debug/examples/saver_stdio");
    stores.into_iter().try_for_each(|store| {
        // A server of our own lasts as long as this.
        let server = Server::of(store)?;
        check(workspace, &interpreter, &program, &server.words(store))
    })
}

/// The server behind a store.
enum Server {
    /// It needs none.
    None,
    /// One that somebody named.
    Named(String),
    Own(TempPostgresServer),
}

impl Server {
    fn of(store: &str) -> Result<Self, String> {
        match std::env::var(POSTGRES) {
            _ if store != "postgres" => Ok(Self::None),
            Ok(url) => Ok(Self::Named(url)),
            Err(_) => {
                servers::ensure()?;
                TempPostgresServer::start().map(Self::Own)
            }
        }
    }

    /// Returns the arguments with which the program opens a store; `{fresh}` is replaced by an unused path.
    fn words(&self, store: &str) -> Vec<String> {
        let location = match self {
            Self::None => (store == "sqlite").then(|| "{fresh}".to_owned()),
            Self::Named(url) => Some(url.clone()),
            Self::Own(cluster) => Some(cluster.url()),
        };
        std::iter::once(store.to_owned()).chain(location).collect()
    }
}

fn check(workspace: &Workspace, interpreter: &Path, program: &Path, store: &[String]) -> Result<(), String> {
    let mut suite = Command::new(interpreter);
    suite.arg(workspace.root().join("testing/conformance/run.py")).arg(program).args(store);
    let output = process::stdout(&mut suite)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let counted = text.lines().last().unwrap_or("nothing was counted");
    if output.status.success() && counted == PERFECT {
        println!("    {}: {counted}", store[0]);
        return Ok(());
    }
    Err(format!("`{}` under LangGraph's suite, which should say `{PERFECT}`:\n{text}", store[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_store_is_rejected_before_anything_is_built() {
        let workspace = Workspace::find().unwrap();
        let problem = run(&workspace, &["--store".to_owned(), "tape".to_owned()]).unwrap_err();
        assert_eq!(problem, "unknown store `tape`; known: memory, sqlite, postgres");
        assert!(run(&workspace, &["sqlite".to_owned()]).unwrap_err().starts_with("unknown arguments `sqlite`"));
    }
}
