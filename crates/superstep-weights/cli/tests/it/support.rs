//! Test fixture: a temporary folder for one test, and the binary in it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-weights-cli-{}-{name}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    pub(crate) fn files(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }

    /// Runs the binary in the folder to its end; `weights` is the file that the environment names.
    pub(crate) fn run(&self, weights: Option<PathBuf>, args: &[&str]) -> ProcessOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        match weights {
            Some(file) => command.env("SUPERSTEP_WEIGHTS", file),
            None => command.env_remove("SUPERSTEP_WEIGHTS"),
        };
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        ProcessOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Output and exit code of a process.
pub(crate) struct ProcessOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}
