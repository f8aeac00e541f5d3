//! Child processes: started, read line by line, killed by their own process id.
//!
//! Everything that a child wrote before it died is read, and a child without output for too long is stuck.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use crate::checkpointer::CheckpointerLocation;
use crate::protocol::ChildMessage;

/// Time without output after which a child is stuck.
pub(crate) const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// A child process.
pub(crate) struct ChildProcess {
    process: Process,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    /// Process that writes the messages; it differs from the started one if that is a tool such as strace.
    pid: Option<u32>,
}

/// Result of a child process.
#[derive(Debug)]
pub(crate) struct ChildExit {
    pub(crate) messages: Vec<ChildMessage>,
    pub(crate) status: ExitStatus,
    /// Content of standard error.
    pub(crate) errors: String,
}

/// Output of a child process.
pub(crate) enum ChildOutput {
    Message(ChildMessage),
    /// End of the output.
    End,
}

/// Returns the command that starts this program as a child process.
///
/// # Errors
/// Returns an error if the path of this program is unknown.
pub(crate) fn command(
    role: &str,
    location: &CheckpointerLocation,
    args: &impl Serialize,
) -> Result<Vec<String>, String> {
    let program = std::env::current_exe().map_err(|error| format!("the path of this program is unknown: {error}"))?;
    let args = serde_json::to_string(args).map_err(|error| error.to_string())?;
    let [kind, path] = location.args();
    Ok(vec![program.display().to_string(), role.to_owned(), kind, path, args])
}

impl ChildProcess {
    /// Starts a command.
    ///
    /// # Errors
    /// Returns an error if the command does not start.
    pub(crate) fn start(command_line: &[String]) -> Result<Self, String> {
        Self::start_with(command_line, &[])
    }

    /// Starts a command with additional environment variables.
    ///
    /// # Errors
    /// Returns an error if the command does not start.
    pub(crate) fn start_with(command_line: &[String], environment: &[(&str, String)]) -> Result<Self, String> {
        let (program, args) = command_line.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command.args(args).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("`{program}` does not start: {error}"))?;
        let (sender, lines) = channel();
        let (output, errors) = (process.stdout.take(), process.stderr.take());
        std::thread::spawn(move || output.map(|output| forward_lines(output, &sender)));
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            // Unreadable standard error is ignored, because it is only displayed.
            let _ = errors.map(|mut errors| errors.read_to_string(&mut text));
            text
        });
        Ok(Self { process, lines, errors: Some(errors), pid: None })
    }

    /// Returns the next message of the child.
    ///
    /// # Errors
    /// Returns an error if there is no output for too long, or if a line is not a message.
    pub(crate) fn next_message(&mut self) -> Result<ChildOutput, String> {
        match self.lines.recv_timeout(SILENCE_TIMEOUT) {
            Err(RecvTimeoutError::Disconnected) => Ok(ChildOutput::End),
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                Err(format!("a child was stuck for {SILENCE_TIMEOUT:?}"))
            }
            Ok(line) => {
                let message: ChildMessage =
                    serde_json::from_str(&line).map_err(|_| format!("a child printed `{line}`"))?;
                if let ChildMessage::Started { pid } = &message {
                    self.pid = Some(*pid);
                }
                Ok(ChildOutput::Message(message))
            }
        }
    }

    /// Writes a line to the child.
    ///
    /// # Errors
    /// Returns an error if the child does not accept input.
    pub(crate) fn write_line(&mut self, line: &str) -> Result<(), String> {
        let input = self.process.stdin.as_mut().ok_or("the child has no standard input")?;
        input.write_all(format!("{line}\n").as_bytes()).map_err(|error| format!("the child accepts no input: {error}"))
    }

    /// Kills the child like a crash.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        // Under a tool the child has another process id; the tool normally ends with it.
        let _ = self.process.kill();
    }

    /// Sends a signal; has no effect on a child that has ended.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.pid.unwrap_or(self.process.id());
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Reads the remaining messages until the child ends.
    ///
    /// # Errors
    /// Returns the errors of [`ChildProcess::next_message`], and an error if the process cannot be awaited.
    pub(crate) fn wait(mut self) -> Result<ChildExit, String> {
        // Without input, a child that waits for a line gives up.
        drop(self.process.stdin.take());
        let mut messages = Vec::new();
        while let ChildOutput::Message(message) = self.next_message()? {
            messages.push(message);
        }
        let started = Instant::now();
        let status = loop {
            // A child that has closed its output may still be running; a stopped or hanging one is stuck.
            if let Some(status) = self.process.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if started.elapsed() > SILENCE_TIMEOUT {
                self.kill();
                return Err("a child did not end".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        Ok(ChildExit { messages, status, errors })
    }
}

/// Kills a child that is still running, even if it is stopped.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.kill();
            let _ = self.process.wait();
        }
    }
}

fn forward_lines(output: impl Read, sender: &Sender<String>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = String::new();
        // A line without a line feed was truncated by the death of the child, so it was not acknowledged.
        let Ok(_) = output.read_line(&mut line) else { return };
        let Some(line) = line.strip_suffix('\n') else { return };
        if sender.send(line.to_owned()).is_err() {
            return;
        }
    }
}

impl ChildExit {
    /// Returns true if the child panicked, was killed by a signal, or failed in another way that no fault justifies.
    pub(crate) fn is_crash(&self) -> bool {
        !matches!(self.status.code(), Some(0 | 1))
    }

    /// Describes how the child ended.
    pub(crate) fn describe(&self) -> String {
        let errors = self.errors.trim();
        let reversed: Vec<&str> = errors.lines().rev().take(6).collect();
        let last_lines: Vec<&str> = reversed.into_iter().rev().collect();
        format!("{}; standard error: {}", self.status, last_lines.join(" / "))
    }
}
