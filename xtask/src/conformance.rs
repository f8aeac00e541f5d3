//! `cargo xtask conformance`: our stores under LangGraph's own suite for savers, through the program `saver_stdio`.
//!
//! Needs Python and, once, the package registry. What is said between the two sides is in `conformance/README.md`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::python;
use crate::workspace::Workspace;

/// The line of `--help`.
pub(crate) const HELP: &str = "our stores under LangGraph's suite for savers [--store memory|sqlite|postgres]";

/// What the suite says at its end when nothing is wrong and nothing is missing.
const PERFECT: &str = "81 passed, 0 failed";

/// Where a PostgreSQL is, for the store that needs one.
const POSTGRES: &str = "SUPERSTEP_POSTGRES_URL";

/// The stores that need nothing but this machine.
const AT_HOME: [&str; 2] = ["memory", "sqlite"];

/// The program under test.
const PROGRAM: [&str; 7] =
    ["build", "--release", "--package", "superstep-adapters", "--all-features", "--example", "saver_stdio"];

/// Puts stores under the suite: one, or all that need nothing.
///
/// # Errors
/// At the first store that does not pass all of it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let stores = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => AT_HOME.to_vec(),
        ["--store", store] => vec![store],
        _ => return Err(format!("unknown arguments `{}`; known: --store NAME", arguments.join(" "))),
    };
    let stores = stores.into_iter().map(words).collect::<Result<Vec<_>, _>>()?;
    let interpreter = python::interpreter(workspace)?;
    match workspace.cargo(&PROGRAM).status() {
        Ok(status) if status.success() => {}
        built => return Err(format!("`cargo {}` ended with {built:?}", PROGRAM.join(" "))),
    }
    let program = workspace.target()?.join("release/examples/saver_stdio");
    stores.iter().try_for_each(|store| check(workspace, &interpreter, &program, store))
}

/// What the program is told so that it opens a store; `{fresh}` becomes a path where nothing is yet.
fn words(store: &str) -> Result<Vec<String>, String> {
    let place = match store {
        "memory" => return Ok(vec![store.to_owned()]),
        "sqlite" => "{fresh}".to_owned(),
        "postgres" => std::env::var(POSTGRES).map_err(|_| format!("say where a PostgreSQL is: {POSTGRES}"))?,
        _ => return Err(format!("unknown store `{store}`; known: memory, sqlite, postgres")),
    };
    Ok(vec![store.to_owned(), place])
}

fn check(workspace: &Workspace, interpreter: &Path, program: &Path, store: &[String]) -> Result<(), String> {
    let mut suite = Command::new(interpreter);
    suite.arg(workspace.root().join("conformance/run.py")).arg(program).args(store).stderr(Stdio::inherit());
    let output = suite.output().map_err(|error| format!("the suite does not start: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let counted = said.lines().last().unwrap_or("nothing was counted");
    if output.status.success() && counted == PERFECT {
        println!("    {}: {counted}", store[0]);
        return Ok(());
    }
    Err(format!("`{}` under LangGraph's suite, which should say `{PERFECT}`:\n{said}", store[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_store_is_refused_before_anything_is_built() {
        let workspace = Workspace::find().unwrap();
        let problem = run(&workspace, &["--store".to_owned(), "tape".to_owned()]).unwrap_err();
        assert_eq!(problem, "unknown store `tape`; known: memory, sqlite, postgres");
        assert!(run(&workspace, &["sqlite".to_owned()]).unwrap_err().starts_with("unknown arguments `sqlite`"));
    }
}
