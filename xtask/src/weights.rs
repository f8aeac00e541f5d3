//! `cargo xtask weights`: what `superstep-weights` and the command line with it must pass: lints and tests, with a model that
//! really talks.
//!
//! They are not members of the workspace, so that nobody builds their dependencies who does not want them. `cargo xtask test` runs
//! a short form: the library alone, and only when something it is built from has changed since the last run that passed.

use std::path::{Path, PathBuf};
use std::process::Output;

use sha2::{Digest, Sha256};

use crate::model;
use crate::process;
use crate::tally::{Tally, filtered_out};
use crate::workspace::{File, WEIGHTS, Workspace};

/// The line of `--help`.
pub(crate) const HELP: &str = "lints and tests of `superstep-weights` and the command line with it, with a model that really \
                               talks (`cargo xtask test`: the library only, and only when it changed since it last passed)";

/// Inputs of the build and the tests of the library, without the compiler; folders end with `/`.
const INPUTS: [&str; 6] = [
    "Cargo.toml",
    "crates/superstep-core/Cargo.toml",
    "crates/superstep-core/src/",
    "crates/superstep-weights/",
    "xtask/src/model.py",
    "xtask/src/model.rs",
];
/// Folder that is not part of the library.
const COMMAND_LINE: &str = "crates/superstep-weights/cli/";

/// Checks the library and the command line, whether or not they changed.
///
/// # Errors
/// Returns an error if a check fails or a test cannot run.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `weights` takes none", arguments.join(" ")));
    }
    let tally = check(workspace, &["--workspace"])?;
    match tally.parts.first() {
        None => Ok(()),
        Some(_) => Err(tally.summary()),
    }
}

/// Checks the library, unless it passed before with the same inputs.
///
/// # Errors
/// When a check fails, or cannot be run.
pub(crate) fn check_library(workspace: &Workspace) -> Result<Tally, String> {
    let mut tally = Tally::default();
    tally.skip(1, "command line with local weights", "only `cargo xtask weights` builds and tests it");
    let (now, path) = (digest(workspace)?, green(workspace)?);
    if std::fs::read_to_string(&path).is_ok_and(|green| green == now) {
        println!("    local weights: unchanged since the last green run");
        tally.skip(1, "local weights", "unchanged since the last green run; `cargo xtask weights` runs them anyway");
        return Ok(tally);
    }
    let library = check(workspace, &["-p", "superstep-weights"])?;
    // A run that left something out is no proof for the next one.
    if library.skipped == 0 {
        std::fs::write(&path, now).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    tally.add(library);
    Ok(tally)
}

/// Runs lints and tests of packages.
fn check(workspace: &Workspace, packages: &[&str]) -> Result<Tally, String> {
    let mut tally = Tally::passed();
    let file = model::ensure(workspace);
    let mut tests = [&["test", "--locked"], packages].concat();
    if file.is_err() {
        tests.extend(["--", "--skip", "real::"]);
    }
    let model = file.as_deref().unwrap_or(Path::new(""));
    let lints = [&["clippy", "--locked"], packages, &["--all-targets", "--", "-D", "warnings"]].concat();
    call(workspace, &lints, model)?;
    let tested = call(workspace, &tests, model)?;
    if let Err(problem) = &file {
        let left_out = filtered_out(&String::from_utf8_lossy(&tested.stdout));
        tally.skip(left_out.max(1), "model from weights", format!("there is no file for it: {problem}"));
    }
    Ok(tally)
}

fn call(workspace: &Workspace, words: &[&str], model: &Path) -> Result<Output, String> {
    let (command, rest) = words.split_first().ok_or("no command")?;
    let arguments = [&[*command, "--manifest-path", WEIGHTS], rest].concat();
    let mut cargo = workspace.cargo(&arguments);
    // Built by its own profile and its own lock file: in a folder of its own, both builds stay warm.
    cargo.env("CARGO_TARGET_DIR", folder(workspace)?).env("SUPERSTEP_WEIGHTS", model);
    let output = process::passed_through(&mut cargo)?;
    match output.status {
        status if status.success() => Ok(output),
        status => Err(format!("`cargo {}` ended with {status}", arguments.join(" "))),
    }
}

fn folder(workspace: &Workspace) -> Result<PathBuf, String> {
    Ok(workspace.target()?.join("weights"))
}

/// The file with the digest of the last run that passed with nothing left out.
fn green(workspace: &Workspace) -> Result<PathBuf, String> {
    Ok(folder(workspace)?.join("green"))
}

/// Returns a digest of everything the library is built from, the compiler included.
fn digest(workspace: &Workspace) -> Result<String, String> {
    let compiler = process::output(std::process::Command::new("rustc").arg("-vV").current_dir(workspace.root()))?;
    let files = workspace.files()?;
    Ok(digest_of(&files, &String::from_utf8_lossy(&compiler.stdout)))
}

fn digest_of(files: &[File], compiler: &str) -> String {
    let is_input = |path: &str| {
        let is_below =
            INPUTS.iter().any(|input| if input.ends_with('/') { path.starts_with(input) } else { path == *input });
        is_below && !path.starts_with(COMMAND_LINE)
    };
    let mut hasher = Sha256::new();
    hasher.update(compiler);
    for File { path, text } in files.iter().filter(|file| is_input(&file.path)) {
        // Lengths keep one file from passing for two.
        hasher.update(format!("{} {path} {}\n", path.len(), text.len()));
        hasher.update(text);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inputs_of_the_library_change_the_digest() {
        let files = |core: &str, other: &str| {
            let core = File::fake("crates/superstep-core/src/lib.rs", core);
            let others = ["crates/superstep-weights/cli/src/main.rs", "crates/superstep/src/lib.rs", "Cargo.lock"];
            [vec![core], others.map(|path| File::fake(path, other)).to_vec()].concat()
        };
        let before = digest_of(&files("a", "a"), "rustc 1.95.0");
        assert_eq!(before, digest_of(&files("a", "b"), "rustc 1.95.0"));
        assert_ne!(before, digest_of(&files("b", "a"), "rustc 1.95.0"));
        assert_ne!(before, digest_of(&files("a", "a"), "rustc 1.96.0"));
    }

    #[test]
    fn every_input_exists() {
        let files = Workspace::find().unwrap().files().unwrap();
        for input in INPUTS {
            assert!(files.iter().any(|file| file.path.starts_with(input)), "{input}");
        }
    }
}
