//! Writes down what a model answers, so that tests can replay it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use superstep_core::error::Result;
use superstep_core::model::{Answer, ModelInfo, Request};
use superstep_core::port::{Model, Pieces, SharedModel};

use super::recording::{Line, trouble, whole_length};

/// A model whose answers are written to a file, one line each, for [`Replay`](super::Replay).
///
/// A line is written as a whole, at the end of the file; several processes may record into one file. Failures are not
/// recorded. The file has what was said, and nothing of how the model was reached: no key, no address, no header.
#[derive(Clone)]
pub struct Recorder {
    model: SharedModel,
    path: Arc<PathBuf>,
}

impl Recorder {
    /// Records the answers of a model at the end of this file, which is made where there is none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn open(model: impl Into<SharedModel>, path: impl Into<PathBuf>) -> Result<Self> {
        let recorder = Self { model: model.into(), path: Arc::new(path.into()) };
        recorder.append(b"")?;
        Ok(recorder)
    }

    fn keep(&self, request: &Request, answer: &Answer) -> Result<()> {
        let asked = self.model.info();
        let line = Line::new(asked.clone(), request.canonical(&asked), answer);
        let mut bytes = serde_json::to_vec(&line)
            .map_err(|error| trouble(&self.path, format!("the answer cannot be written: {error}")))?;
        bytes.push(b'\n');
        self.append(&bytes)
    }

    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.try_append(bytes).map_err(|error| trouble(&self.path, format!("cannot be written: {error}")))
    }

    fn try_append(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&*self.path)?;
        // Held until the file is closed, so that nobody takes the line of another process for a half one.
        file.lock()?;
        mend(&mut file)?;
        file.write_all(bytes)
    }
}

/// Takes a half last line away, which a process that died has left; ends a whole one that lacks its end.
fn mend(file: &mut File) -> std::io::Result<()> {
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
    match whole_length(&bytes) {
        whole if whole < bytes.len() => file.set_len(whole as u64),
        _ => file.write_all(b"\n"),
    }
}

impl Model for Recorder {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let answer = self.model.answer(request, out).await?;
        self.keep(request, &answer)?;
        Ok(answer)
    }
}
