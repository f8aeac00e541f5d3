//! Messages as lines over a pipe: to a program that was started, or to a server in this program.
//!
//! The library's own would skip what is no message without a word; here it is noted, because it is mostly the reason why
//! nothing else comes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::Mutex;

use super::notes::Notes;

/// The longest message. Without a limit, a server that never ends its line would fill the memory.
const LONGEST: usize = 16 * 1024 * 1024;
/// How long a program may take to end once nobody speaks to it.
const FAREWELL: Duration = Duration::from_secs(2);

/// A pipe and, where there is one, the program at its other end.
pub(super) struct Pipe<R, W> {
    read: BufReader<R>,
    /// What there is of the next line: reading may be given up in the middle of one.
    line: Vec<u8>,
    write: Arc<Mutex<Option<W>>>,
    notes: Arc<Notes>,
    child: Option<Child>,
}

impl<R: AsyncRead + Unpin + Send, W> Pipe<R, W> {
    /// A pipe to a server in this program.
    pub(super) fn new(read: R, write: W, notes: Arc<Notes>) -> Self {
        let write = Arc::new(Mutex::new(Some(write)));
        Self { read: BufReader::new(read), line: Vec::new(), write, notes, child: None }
    }

    /// The program at the other end. It ends with the pipe.
    pub(super) fn with_child(mut self, child: Child) -> Self {
        self.child = Some(child);
        self
    }

    /// What is known of the server.
    pub(super) fn notes(&self) -> &Arc<Notes> {
        &self.notes
    }

    /// Makes the line whole; `None` when there is no more, or too much.
    async fn read_line(&mut self) -> Option<()> {
        loop {
            let there = self.read.fill_buf().await.ok().filter(|there| !there.is_empty())?;
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |end| end + 1);
            if self.line.len() + taken > LONGEST {
                self.notes.refused("sent more than 16 MiB in one message");
                return None;
            }
            self.line.extend_from_slice(&there[..taken]);
            self.read.consume(taken);
            if end.is_some() {
                return Some(());
            }
        }
    }
}

impl<R, W> Transport<RoleClient> for Pipe<R, W>
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
                Err(_) => self.notes.nonsense(line),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        // A program that reads to the end of its input ends by itself; one that does not is killed.
        // One that does not read holds up whoever writes to it, and is not waited for.
        if let Ok(mut write) = tokio::time::timeout(FAREWELL, self.write.lock()).await {
            drop(write.take());
        }
        let Some(mut child) = self.child.take() else { return Ok(()) };
        match tokio::time::timeout(FAREWELL, child.wait()).await {
            Ok(ended) => self.notes.ended(ended?.to_string()),
            Err(_) => child.kill().await?,
        }
        self.notes.settle().await;
        Ok(())
    }
}
