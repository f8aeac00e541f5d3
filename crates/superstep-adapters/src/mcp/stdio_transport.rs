//! A transport with one message per line over a pipe, to a child process or to a server in this process.
//!
//! The library's own transport silently skips lines that are not messages; this one records them, because they often
//! explain why no message arrives.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::Mutex;

use super::diagnostics::ServerDiagnostics;

/// Maximum size of a message in bytes. Without a limit, a server that never ends a line would fill the memory.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Time for a program to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A pipe with the child process at its other end, if any.
pub(super) struct StdioTransport<R, W> {
    read: BufReader<R>,
    /// Beginning of the next line: a read may be cancelled in the middle of a line.
    line: Vec<u8>,
    write: Arc<Mutex<Option<W>>>,
    diagnostics: Arc<ServerDiagnostics>,
    child: Option<Child>,
}

impl<R: AsyncRead + Unpin + Send, W> StdioTransport<R, W> {
    /// Creates a pipe to a server in this process.
    pub(super) fn new(read: R, write: W, diagnostics: Arc<ServerDiagnostics>) -> Self {
        let write = Arc::new(Mutex::new(Some(write)));
        Self { read: BufReader::new(read), line: Vec::new(), write, diagnostics, child: None }
    }

    /// Adds the child process at the other end, which ends with the pipe.
    pub(super) fn with_child(mut self, child: Child) -> Self {
        self.child = Some(child);
        self
    }

    /// Returns the diagnostics of the server.
    pub(super) fn diagnostics(&self) -> &Arc<ServerDiagnostics> {
        &self.diagnostics
    }

    /// Reads up to the end of the line; `None` at the end of the input or if the message is too long.
    async fn read_line(&mut self) -> Option<()> {
        loop {
            let buffer = self.read.fill_buf().await.ok().filter(|buffer| !buffer.is_empty())?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(buffer.len(), |end| end + 1);
            if self.line.len() + length > MAX_MESSAGE_BYTES {
                self.diagnostics.record_rejection("sent more than 16 MiB in one message");
                return None;
            }
            self.line.extend_from_slice(&buffer[..length]);
            self.read.consume(length);
            if end.is_some() {
                return Some(());
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            write.write_all(&line).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.read_line().await?;
            let line = std::mem::take(&mut self.line);
            let line = line.trim_ascii();
            match serde_json::from_slice(line) {
                Ok(message) => return Some(message),
                Err(_) if line.is_empty() => {}
                Err(_) => self.diagnostics.record_invalid_line(line),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A program that reads its input to the end exits by itself; another one is killed. A program that does not
        // read blocks a pending write, so the wait for the writer is limited.
        if let Ok(mut write) = tokio::time::timeout(EXIT_TIMEOUT, self.write.lock()).await {
            drop(write.take());
        }
        let Some(mut child) = self.child.take() else { return Ok(()) };
        match tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await {
            Ok(status) => self.diagnostics.record_exit(status?.to_string()),
            Err(_) => child.kill().await?,
        }
        self.diagnostics.wait_for_stderr().await;
        Ok(())
    }
}
