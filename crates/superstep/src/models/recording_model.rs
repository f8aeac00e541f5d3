//! Recording of model responses to a file, so that tests can replay them.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo};
use superstep_core::port::{ChunkSender, Model, SharedModel};

use super::recording_format::{RecordedCall, complete_length, recording_error};

/// A model whose responses are recorded to a file, one line each, for [`ReplayModel`](super::ReplayModel).
///
/// Each line is appended with one write; several processes may record to the same file. Errors are not recorded. The
/// file contains requests and responses, but no key, address or header.
#[derive(Clone)]
pub struct RecordingModel {
    model: SharedModel,
    path: Arc<PathBuf>,
}

impl RecordingModel {
    /// Creates a recording model that appends to this file. Creates the file if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn open(model: impl Into<SharedModel>, path: impl Into<PathBuf>) -> Result<Self> {
        let recorder = Self { model: model.into(), path: Arc::new(path.into()) };
        recorder.append(b"")?;
        Ok(recorder)
    }

    fn record(&self, request: &ChatRequest, response: &ChatResponse) -> Result<()> {
        let info = self.model.info();
        let line = RecordedCall::new(info.clone(), request.canonical_json(&info), response);
        let mut bytes = serde_json::to_vec(&line)
            .map_err(|error| recording_error(&self.path, format!("failed to serialize the response: {error}")))?;
        bytes.push(b'\n');
        self.append(&bytes)
    }

    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.try_append(bytes).map_err(|error| recording_error(&self.path, format!("failed to write: {error}")))
    }

    fn try_append(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&*self.path)?;
        // Locked until the file is closed, so that no process mistakes the line of another for a partial one.
        file.lock()?;
        truncate_partial_line(&mut file)?;
        file.write_all(bytes)
    }
}

/// Removes a partial last line, left by a process that died; terminates a complete one without a line break.
fn truncate_partial_line(file: &mut File) -> std::io::Result<()> {
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    match complete_length(&bytes) {
        complete if complete < bytes.len() => file.set_len(complete as u64),
        _ => file.write_all(b"\n"),
    }
}

impl Model for RecordingModel {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let response = self.model.generate(request, out).await?;
        self.record(request, &response)?;
        Ok(response)
    }
}
