//! `cargo xtask weights`: lints and tests of `superstep-weights` and of its command line, with a real model.
//!
//! Both are outside of the workspace, so that a build of the workspace does not include their dependencies.
//! `cargo xtask test` runs a short form: only the library, and only if its inputs changed since it last passed.

use std::path::{Path, PathBuf};
use std::process::Output;

use sha2::{Digest, Sha256};

use crate::model;
use crate::process;
use crate::tally::{Tally, filtered_out};
use crate::workspace::{File, WEIGHTS, Workspace};

/// Help text of the command.
pub(crate) const HELP: &str = "Lint and test `superstep-weights` and its command line with a real model";

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

/// Checks the library and the command line, even if they did not change.
///
/// # Errors
/// Returns an error if there are arguments, a check fails, or a test was skipped.
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
/// Returns an error if a check fails or cannot be run.
pub(crate) fn check_library(workspace: &Workspace) -> Result<Tally, String> {
    let mut tally = Tally::default();
    tally.skip(1, "command line with local weights", "only `cargo xtask weights` builds and tests it");
    let (digest, path) = (digest(workspace)?, passed_digest_path(workspace)?);
    if std::fs::read_to_string(&path).is_ok_and(|passed| passed == digest) {
        println!("    local weights: unchanged since they last passed");
        tally.skip(1, "local weights", "unchanged since they last passed; `cargo xtask weights` tests them anyway");
        return Ok(tally);
    }
    let library = check(workspace, &["-p", "superstep-weights"])?;
    // A run with skipped tests does not count as passed.
    if library.skipped == 0 {
        std::fs::write(&path, digest).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    tally.add(library);
    Ok(tally)
}

/// Runs lints and tests of packages. Without the model, skips the tests that need it.
fn check(workspace: &Workspace, packages: &[&str]) -> Result<Tally, String> {
    let mut tally = Tally::passed();
    let file = model::ensure(workspace);
    let mut tests = [&["test", "--locked"], packages].concat();
    if file.is_err() {
        tests.extend(["--", "--skip", "real::"]);
    }
    let model = file.as_deref().unwrap_or(Path::new(""));
    let lints = [&["clippy", "--locked"], packages, &["--all-targets", "--", "-D", "warnings"]].concat();
    run_cargo(workspace, &lints, model)?;
    let tested = run_cargo(workspace, &tests, model)?;
    if let Err(problem) = &file {
        let left_out = filtered_out(&String::from_utf8_lossy(&tested.stdout));
        tally.skip(left_out.max(1), "tests with a real model", format!("the model cannot be downloaded: {problem}"));
    }
    Ok(tally)
}

fn run_cargo(workspace: &Workspace, arguments: &[&str], model: &Path) -> Result<Output, String> {
    let (command, options) = arguments.split_first().ok_or("no command")?;
    let arguments = [&[*command, "--manifest-path", WEIGHTS], options].concat();
    let mut cargo = workspace.cargo(&arguments);
    // A separate build folder, because another lock file and profile would invalidate the artifacts of the workspace.
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

/// Returns the path of the file with the digest of the last passed run without skipped tests.
fn passed_digest_path(workspace: &Workspace) -> Result<PathBuf, String> {
    Ok(folder(workspace)?.join("passed-digest"))
}

/// Returns a digest of the inputs of the library, including the compiler version.
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
        // Lengths separate the files unambiguously.
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
