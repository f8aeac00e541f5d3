//! `cargo xtask record`: writes fixtures in the current stored formats, which all later versions must read.
//!
//! Starts the example `record_stores`, which defines the recorded threads, with a folder that must not exist.

use crate::process;
use crate::workspace::Workspace;

/// Help text of the command.
pub(crate) const HELP: &str =
    "Write test threads in the current stored formats to the new folder testing/fixtures/stores/VERSION, such as v4";

/// Arguments of Cargo before the folder.
const PROGRAM: [&str; 9] =
    ["run", "--quiet", "--package", "superstep-adapters", "--all-features", "--example", "record_stores", "--", ""];

/// Writes the fixtures of a version.
///
/// # Errors
/// Returns an error if the name is not a version, the folder exists, or the recording fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let folder = folder(arguments)?;
    let mut cargo_arguments = PROGRAM;
    cargo_arguments[PROGRAM.len() - 1] = &folder;
    process::run(&mut workspace.cargo(&cargo_arguments)).map_err(|error| format!("nothing was recorded: {error}"))
}

fn folder(arguments: &[String]) -> Result<String, String> {
    let is_version = |name: &str| name.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
    match arguments {
        [name] if is_version(name) => Ok(format!("testing/fixtures/stores/{name}")),
        _ => Err(format!("`{}` is not the name of a version; write one such as `v2`", arguments.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_are_recorded() {
        assert_eq!(folder(&["v12".to_owned()]).unwrap(), "testing/fixtures/stores/v12");
        for invalid in [&["12"][..], &["v"], &["v1", "v2"], &["../v1"], &[]] {
            let arguments: Vec<String> = invalid.iter().map(|word| (*word).to_owned()).collect();
            assert!(folder(&arguments).is_err(), "{invalid:?}");
        }
    }
}
