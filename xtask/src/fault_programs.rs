//! Builds of the programs of `testing/sim/` and `testing/torture/`.
//!
//! `cargo xtask test` runs short forms, so it uses debug builds, which share the dependencies of the tests: a release
//! build would take longer than both programs. The commands `sim` and `torture` use release builds.

use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// Profile of the programs.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    Debug,
    Release,
}

/// Builds only the two programs after a run of the tests: the integration tests `it`, which are built already, make
/// Cargo resolve the features of all dependencies as it does for the tests.
const DEBUG_BUILD: [&str; 9] =
    ["build", "--workspace", "--all-features", "--bin", "superstep-sim", "--bin", "superstep-torture", "--test", "it"];
/// One call builds both programs, which resolves their features together, so that they share one build of the engine.
/// `cargo xtask count` shares their dependencies but not the engine: the feature `seeded-bugs` would change the
/// instructions that it counts.
const RELEASE_BUILD: [&str; 7] = ["build", "--release", "-p", "superstep-sim", "-p", "superstep-torture", "--bins"];

/// Builds both programs and returns a command that starts one of them at the root of the workspace.
///
/// # Errors
/// Returns an error if a program does not build.
pub(crate) fn command(
    workspace: &Workspace,
    profile: Profile,
    name: &str,
    arguments: &[&str],
) -> Result<Command, String> {
    let (build, folder) = match profile {
        Profile::Debug => (&DEBUG_BUILD[..], "debug"),
        Profile::Release => (&RELEASE_BUILD[..], "release"),
    };
    process::run(&mut workspace.cargo(build))?;
    let mut command = Command::new(workspace.target()?.join(folder).join(name));
    command.current_dir(workspace.root()).args(arguments);
    Ok(command)
}
