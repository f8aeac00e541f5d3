//! A server that is a program: how it is started, and what it gets from us.
//!
//! It gets its arguments and the variables it is told, and of our own environment only what any program needs: a key of
//! ours is none of its business.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use tokio::process::Command;

use super::client::Client;
use super::connection::{Connection, PATIENCE};
use super::notes::Notes;
use super::pipe::Pipe;

/// What every program gets of our environment.
const INHERITED: [&str; 12] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PATHEXT", "SHELL", "SYSTEMROOT", "TEMP", "TERM", "TMPDIR", "USER"];

/// A program that is to be started as a server; see [`Client::spawn`].
#[must_use]
#[derive(Clone)]
pub struct Program {
    command: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    folder: Option<PathBuf>,
    timeout: Duration,
}

/// Without its arguments and its environment, in which there may be keys.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("command", &self.command).field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Program {
    pub(super) fn new(command: PathBuf, args: Vec<String>, env: Vec<(String, String)>) -> Self {
        Self { command, args, env, folder: None, timeout: PATIENCE }
    }

    /// Sets the folder it works in, in place of ours.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets how long it may take to answer, each time; 60 seconds unless told.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Starts it. It ends when the client and its tools are let go.
    ///
    /// # Errors
    /// When it cannot be started, or does not answer in the protocol.
    pub async fn connect(self) -> Result<Client> {
        let mut command = Command::new(&self.command);
        command.args(&self.args).env_clear().kill_on_drop(true);
        command.envs(INHERITED.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(self.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let name = name(&self.command);
        let unstarted = |why: &dyn std::fmt::Display| {
            Error::new(Code::ToolFailed, format!("the MCP server `{name}` cannot be started: {why}"))
        };
        let mut child = command.spawn().map_err(|error| unstarted(&error).retryable(false))?;
        let (Some(input), Some(output), Some(besides)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(unstarted(&"it has no pipes"));
        };
        let pipe = Pipe::new(output, input, Notes::listening(besides)).with_child(child);
        Connection::once(&name, self.timeout, pipe).await.map(Client::new)
    }
}

/// What the program is called, without where it is.
fn name(command: &Path) -> String {
    command.file_name().unwrap_or(command.as_os_str()).to_string_lossy().into_owned()
}
