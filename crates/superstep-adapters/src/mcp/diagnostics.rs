//! Diagnostics of a server for error texts: the end of its standard error, invalid output, and its exit status.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// Maximum number of retained bytes of standard error.
const STDERR_TAIL_BYTES: usize = 2048;
/// Maximum number of retained bytes of an invalid line.
const INVALID_LINE_BYTES: usize = 120;
/// Time to read the remaining standard error of a program that has exited.
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Diagnostics of one server, and the task that belongs to it.
#[derive(Default)]
pub(super) struct ServerDiagnostics {
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    invalid_line: Mutex<Option<String>>,
    exit_status: Mutex<Option<String>>,
    /// Task that reads standard error, or the server itself if it runs in this process.
    task: Mutex<Option<JoinHandle<()>>>,
}

impl ServerDiagnostics {
    /// Creates the diagnostics of a server that runs as a task of this process and is aborted with them.
    pub(super) fn for_task(server: JoinHandle<()>) -> Arc<Self> {
        let diagnostics = Self::default();
        *lock(&diagnostics.task) = Some(server);
        Arc::new(diagnostics)
    }

    /// Creates the diagnostics of a program and reads its standard error.
    pub(super) fn capture_stderr(mut stderr: impl AsyncRead + Unpin + Send + 'static) -> Arc<Self> {
        let diagnostics = Self::default();
        let output = Arc::clone(&diagnostics.stderr_tail);
        let task = tokio::spawn(async move {
            let mut chunk = [0; 1024];
            while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
                let mut output = lock(&output);
                output.extend(&chunk[..length]);
                let surplus = output.len().saturating_sub(STDERR_TAIL_BYTES);
                output.drain(..surplus);
            }
        });
        *lock(&diagnostics.task) = Some(task);
        Arc::new(diagnostics)
    }

    /// Records a line that is not a message. Only the first one is recorded: later ones are often a consequence.
    pub(super) fn record_invalid_line(&self, line: &[u8]) {
        let text = sanitize_terminal_text(&String::from_utf8_lossy(&line[..line.len().min(INVALID_LINE_BYTES)]));
        lock(&self.invalid_line).get_or_insert(format!("wrote `{text}` instead of a message"));
    }

    /// Records the reason why the server is no longer read.
    pub(super) fn record_rejection(&self, reason: &str) {
        lock(&self.invalid_line).replace(reason.to_owned());
    }

    /// Records the exit status of the server.
    pub(super) fn record_exit(&self, reason: String) {
        lock(&self.exit_status).get_or_insert(reason);
    }

    /// Waits briefly for the last output of a server that has ended.
    pub(super) async fn wait_for_stderr(&self) {
        let task = lock(&self.task).take();
        if let Some(mut task) = task
            && tokio::time::timeout(STDERR_DRAIN_TIMEOUT, &mut task).await.is_err()
        {
            task.abort();
        }
    }

    /// Returns the diagnostics as the end of an error text; empty if there are none.
    pub(super) fn message_suffix(&self) -> String {
        let mut suffix = String::new();
        if let Some(exit_status) = &*lock(&self.exit_status) {
            suffix += &format!("; it ended with {exit_status}");
        }
        if let Some(invalid_line_text) = &*lock(&self.invalid_line) {
            suffix += &format!("; it {invalid_line_text}");
        }
        let output: Vec<u8> = lock(&self.stderr_tail).iter().copied().collect();
        let output = sanitize_terminal_text(String::from_utf8_lossy(&output).trim());
        if !output.is_empty() {
            suffix += &format!("; standard error: {output}");
        }
        suffix
    }
}

impl Drop for ServerDiagnostics {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

/// Replaces control characters except line feeds, and characters that change the text direction, so that the text
/// cannot manipulate a terminal.
pub(super) fn sanitize_terminal_text(text: &str) -> String {
    let is_unsafe = |letter: char| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|letter| if is_unsafe(letter) { '\u{fffd}' } else { letter }).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-82: text of a server in an error cannot control a terminal.
    #[test]
    fn control_characters_are_removed() {
        assert_eq!(sanitize_terminal_text("a\u{1b}[31mb\u{202e}c\n"), "a\u{fffd}[31mb\u{fffd}c\n");
    }
}
