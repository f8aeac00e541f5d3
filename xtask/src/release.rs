//! Release builds of the programs of `testing/sim/` and `testing/torture/`.
//!
//! One Cargo call builds both, which resolves their features together, so that they share one build of the engine.
//! `cargo xtask count` shares their dependencies but not the engine: the feature `seeded-bugs` would change the
//! instructions that it counts.

use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

const BUILD: [&str; 7] = ["build", "--release", "-p", "superstep-sim", "-p", "superstep-torture", "--bins"];

/// Builds both programs and returns a command that starts one of them at the root of the workspace.
///
/// # Errors
/// Returns an error if a program does not build.
pub(crate) fn program(workspace: &Workspace, name: &str, arguments: &[&str]) -> Result<Command, String> {
    process::run(&mut workspace.cargo(&BUILD))?;
    let mut command = Command::new(workspace.target()?.join("release").join(name));
    command.current_dir(workspace.root()).args(arguments);
    Ok(command)
}
