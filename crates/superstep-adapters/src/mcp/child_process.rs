//! An MCP server that runs as a child process: how it is started and which environment it gets.
//!
//! The process gets its arguments and the given variables. Of the environment of this process it gets only the
//! variables that most programs need, so that API keys are not passed on.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use superstep_core::error::{Error, ErrorCode, Result};
use tokio::process::Command;

use super::client::McpClient;
use super::connection::{Connection, DEFAULT_TIMEOUT};
use super::diagnostics::ServerDiagnostics;
use super::stdio_transport::StdioTransport;

/// Environment variables that every child process inherits.
const INHERITED_ENV: [&str; 12] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PATHEXT", "SHELL", "SYSTEMROOT", "TEMP", "TERM", "TMPDIR", "USER"];

/// Configuration of a server that is started as a child process; see [`McpClient::stdio`].
#[must_use]
#[derive(Clone)]
pub struct StdioServerCommand {
    command: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    working_dir: Option<PathBuf>,
    timeout: Duration,
}

/// Hides arguments and environment, which may contain secrets.
impl std::fmt::Debug for StdioServerCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StdioServerCommand")
            .field("command", &self.command)
            .field("folder", &self.working_dir)
            .finish_non_exhaustive()
    }
}

impl StdioServerCommand {
    pub(super) fn new(command: PathBuf, args: Vec<String>, env: Vec<(String, String)>) -> Self {
        Self { command, args, env, working_dir: None, timeout: DEFAULT_TIMEOUT }
    }

    /// Sets the working directory. Default: that of this process.
    pub fn working_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(folder.into());
        self
    }

    /// Sets the timeout of each request. Default: 60 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Starts the program. It is stopped when the client and all of its tools are dropped.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started or does not support the protocol.
    pub async fn connect(self) -> Result<McpClient> {
        let mut command = Command::new(&self.command);
        command.args(&self.args).env_clear().kill_on_drop(true);
        command.envs(INHERITED_ENV.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(self.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &self.working_dir {
            command.current_dir(folder);
        }
        let name = name(&self.command);
        let start_error = |reason: &dyn std::fmt::Display| {
            Error::new(ErrorCode::ToolFailed, format!("the MCP server `{name}` cannot be started: {reason}"))
        };
        let mut child = command.spawn().map_err(|error| start_error(&error).with_retryable(false))?;
        let (Some(input), Some(output), Some(stderr_pipe)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(start_error(&"its standard streams are not available"));
        };
        let pipe = StdioTransport::new(output, input, ServerDiagnostics::capture_stderr(stderr_pipe)).with_child(child);
        Connection::stdio(&name, self.timeout, pipe).await.map(McpClient::new)
    }
}

/// Returns the file name of the program.
fn name(command: &Path) -> String {
    command.file_name().unwrap_or(command.as_os_str()).to_string_lossy().into_owned()
}
