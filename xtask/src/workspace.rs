//! Access to the workspace: its folder, its text files, and its Cargo metadata.
//!
//! Only reads. The rules in `tidy` and `spec` are functions of the returned data.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process;

/// Manifest of `superstep-weights`, which is not a workspace member because of its dependencies.
pub(crate) const WEIGHTS: &str = "crates/superstep-weights/Cargo.toml";

/// The workspace on disk.
pub(crate) struct Workspace {
    root: PathBuf,
}

/// A text file: its path from the root with `/` between folders, and its content.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// Creates a file for a test.
    #[cfg(test)]
    pub(crate) fn fake(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// Returns true if the file is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

impl Workspace {
    /// Finds the workspace from which Cargo runs this program.
    ///
    /// # Errors
    /// Returns an error if the folder above `xtask` is not a workspace, because it was moved or removed.
    pub(crate) fn find() -> Result<Self, String> {
        // Cargo sets the variable at run time too, so a copied build folder still finds the tree it is run in.
        let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        let root = Path::new(&manifest).parent().ok_or_else(|| format!("`{manifest}` has no parent folder"))?;
        if root.join("Cargo.toml").is_file() {
            Ok(Self { root: root.to_owned() })
        } else {
            Err(format!("no workspace at `{}`", root.display()))
        }
    }

    /// Returns the root folder.
    pub(crate) fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// Returns a Cargo command that runs in the root folder, with the Cargo that started this program.
    ///
    /// The command does not inherit the variables that describe the package `xtask`: the build script of `ring` reads
    /// them, so `ring` and all crates that use it would be built again after each change between `cargo xtask` and
    /// `cargo`, and in each new clone.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_package_variable(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// Returns all text files, sorted by path, except those in build folders, `.git` and `node_modules`.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be listed.
    pub(crate) fn files(&self) -> Result<Vec<File>, String> {
        let mut files = Vec::new();
        self.collect(&self.root, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn collect(&self, folder: &Path, files: &mut Vec<File>) -> Result<(), String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("`{}`: {error}", folder.display()))?.path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                if !is_excluded(&path) {
                    self.collect(&path, files)?;
                }
            } else if let Ok(text) = fs::read_to_string(&path) {
                files.push(File { path: self.relative(&path), text });
            }
        }
        Ok(())
    }

    fn relative(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }

    /// Returns the output of `cargo metadata`, with dependencies.
    ///
    /// # Errors
    /// Returns an error if Cargo fails or its output is not JSON.
    pub(crate) fn metadata(&self) -> Result<Value, String> {
        self.metadata_of("Cargo.toml")
    }

    /// Returns the output of `cargo metadata` for the workspace of a manifest.
    ///
    /// # Errors
    /// Returns an error if Cargo fails or its output is not JSON.
    pub(crate) fn metadata_of(&self, manifest: &str) -> Result<Value, String> {
        let arguments = ["metadata", "--format-version", "1", "--all-features", "--manifest-path", manifest];
        let output = self.cargo_output(&arguments)?;
        serde_json::from_str(&output).map_err(|error| format!("`cargo metadata`: {error}"))
    }

    /// Returns the build folder.
    ///
    /// # Errors
    /// Returns an error if Cargo fails.
    pub(crate) fn target(&self) -> Result<PathBuf, String> {
        let output = self.cargo_output(&["metadata", "--format-version", "1", "--no-deps"])?;
        let metadata: Value = serde_json::from_str(&output).map_err(|error| format!("`cargo metadata`: {error}"))?;
        metadata["target_directory"].as_str().map(PathBuf::from).ok_or_else(|| "Cargo names no build folder".to_owned())
    }

    /// Returns the crates that `cargo tree` lists for these arguments, as `name version`.
    ///
    /// # Errors
    /// Returns an error if Cargo fails.
    pub(crate) fn tree(&self, arguments: &[&str]) -> Result<BTreeSet<String>, String> {
        let output = self.cargo_output(&[&["tree", "--prefix", "none", "--format", "{p}"], arguments].concat())?;
        Ok(tree_lines(&output))
    }

    fn cargo_output(&self, arguments: &[&str]) -> Result<String, String> {
        let command = format!("`cargo {}`", arguments.join(" "));
        let output = process::output(&mut self.cargo(arguments))?;
        if !output.status.success() {
            return Err(format!("{command} failed:\n{}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).map_err(|error| format!("{command}: {error}"))
    }
}

/// Returns true for the environment variables with which Cargo describes the package of the program that it runs.
fn is_package_variable(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the `name version` pairs of a `cargo tree` output, without paths and marks of repetitions.
fn tree_lines(output: &str) -> BTreeSet<String> {
    let pair = |line: &str| {
        let mut fields = line.split_whitespace();
        Some(format!("{} {}", fields.next()?, fields.next()?.trim_start_matches('v')))
    };
    output.lines().filter_map(pair).collect()
}

fn is_excluded(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    // Cargo puts this tag in every build folder.
    name == ".git" || name == "target" || name == "node_modules" || folder.join("CACHEDIR.TAG").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_output_becomes_names_with_versions() {
        let output = "superstep-core v0.1.0 (/some/where)\nserde v1.0.228\n\nserde v1.0.228 (*)\n";
        assert_eq!(tree_lines(output), BTreeSet::from(["serde 1.0.228".to_owned(), "superstep-core 0.1.0".to_owned()]));
    }

    /// Cargo sets the variables of `xtask` for this test too.
    #[test]
    fn cargo_commands_do_not_inherit_the_package_variables() {
        let command = Workspace::find().unwrap().cargo(&["version"]);
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert!(
            ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"].iter().all(|name| removed.contains(&std::ffi::OsStr::new(name)))
        );
        assert!(!is_package_variable("CARGO_TARGET_DIR"));
    }

    #[test]
    fn the_workspace_finds_its_own_files() {
        let files = Workspace::find().unwrap().files().unwrap();
        assert!(files.iter().any(|file| file.path == "xtask/src/workspace.rs" && file.is_rust()));
        assert!(files.iter().all(|file| !file.path.starts_with("target/") && !file.path.starts_with(".git/")));
    }
}
