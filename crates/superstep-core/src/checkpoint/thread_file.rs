//! A thread as one JSON Lines file: a header, its checkpoints with their changes, and a trailer that marks the file
//! as complete.
//!
//! Pure: consumes and produces lines, opens no files. Journaled events are not in a file. A file that is corrupt,
//! truncated or of a newer version is rejected with the line number. The checksum detects corruption; it does not
//! prove the origin of the file.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use super::thread_export::ExportValidator;
use super::{ExportedCheckpoint, FORMAT_VERSION, ThreadExport};
use crate::error::{Error, ErrorCode, Result};
use crate::id::ThreadId;
use crate::port::ThreadStatus;

/// Version of the file format. A number is never reused.
pub const FILE_VERSION: u32 = 1;

/// Maximum length of a line that is written or read, in bytes.
pub const MAX_LINE_BYTES: usize = 256 << 20;

/// Maximum nesting depth of values in a line; the limit of the JSON parser.
const MAX_JSON_DEPTH: usize = 127;

/// First line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileHeader {
    superstep: FileKind,
    version: u32,
    thread: ThreadId,
    status: ThreadStatus,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileKind {
    Thread,
}

/// Last line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTrailer {
    end: TrailerBody,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrailerBody {
    checkpoints: u64,
    /// Checksum of all bytes before this line.
    checksum: String,
}

/// Produces the lines of a file, each with its line break.
///
/// ```
/// use superstep_core::checkpoint::{ThreadFileReader, ThreadFileWriter};
/// use superstep_core::port::ThreadStatus;
///
/// let (mut writer, first) = ThreadFileWriter::new(&"mail-7".into(), ThreadStatus::Idle)?;
/// let last = writer.finish()?;
/// let mut reader = ThreadFileReader::default();
/// reader.push_line(&first)?;
/// reader.push_line(&last)?;
/// assert_eq!(reader.finish()?.thread.as_str(), "mail-7");
/// # Ok::<(), superstep_core::error::Error>(())
/// ```
pub struct ThreadFileWriter {
    hasher: Xxh3,
    checkpoints: u64,
}

impl ThreadFileWriter {
    /// Starts a file; returns its first line.
    ///
    /// # Errors
    /// Does not fail in a correct build.
    pub fn new(thread: &ThreadId, status: ThreadStatus) -> Result<(Self, Vec<u8>)> {
        let status = if status == ThreadStatus::Busy { ThreadStatus::Idle } else { status };
        let header = FileHeader { superstep: FileKind::Thread, version: FILE_VERSION, thread: thread.clone(), status };
        let mut writer = Self { hasher: Xxh3::new(), checkpoints: 0 };
        let line = writer.write(&header)?;
        Ok((writer, line))
    }

    /// Returns the line of the next checkpoint. Checkpoints of one graph must be passed in commit order.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written as JSON, or exceeds the size or the depth that the reader
    /// accepts.
    pub fn checkpoint(&mut self, exported: &ExportedCheckpoint) -> Result<Vec<u8>> {
        let line = self.write(exported)?;
        let id = exported.checkpoint.id;
        if line.len() > MAX_LINE_BYTES {
            let message = format!("checkpoint {id} has {} bytes; the maximum per line is {MAX_LINE_BYTES}", line.len());
            return Err(
                Error::new(ErrorCode::TooLarge, message).with_help("the thread is unchanged; the file is incomplete")
            );
        }
        if json_depth(&line) > MAX_JSON_DEPTH {
            let message = format!("checkpoint {id} exceeds the maximum JSON depth of {MAX_JSON_DEPTH}");
            return Err(
                Error::new(ErrorCode::TooLarge, message).with_help("the thread is unchanged; the file is incomplete")
            );
        }
        self.checkpoints += 1;
        Ok(line)
    }

    /// Returns the last line.
    ///
    /// # Errors
    /// Does not fail in a correct build.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        let end = TrailerBody { checkpoints: self.checkpoints, checksum: checksum_text(&self.hasher) };
        self.write(&FileTrailer { end })
    }

    fn write(&mut self, line: &impl Serialize) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| {
            let message = format!("failed to serialize a value as JSON: {error}");
            Error::new(ErrorCode::InputInvalid, message).with_help("the thread is unchanged; the file is incomplete")
        })?;
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        Ok(bytes)
    }
}

/// Assembles a thread from the lines of a file.
#[derive(Default)]
pub struct ThreadFileReader {
    hasher: Xxh3,
    lines: u64,
    export: Option<(ThreadExport, ExportValidator)>,
    is_complete: bool,
}

impl ThreadFileReader {
    /// Parses the next line; the line break may be missing at the end of the file.
    ///
    /// # Errors
    /// Returns an error if the line is not valid at this position: `CheckpointTooNew` if a newer version wrote it,
    /// else `CheckpointCorrupt`.
    pub fn push_line(&mut self, line: &[u8]) -> Result<()> {
        self.lines += 1;
        if self.is_complete {
            return Err(self.corrupt_line_error("unexpected line after the trailer"));
        }
        if line.len() > MAX_LINE_BYTES {
            return Err(self.corrupt_line_error(&format!("the line has more than {MAX_LINE_BYTES} bytes")));
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| self.corrupt_line_error(&error.to_string()))?;
        let is_end = value.get("end").is_some();
        match &self.export {
            None => self.read_header(value)?,
            Some(_) if is_end => self.read_trailer(value)?,
            Some(_) => self.read_checkpoint(value)?,
        }
        self.hasher.update(line);
        Ok(())
    }

    /// Returns the thread after the last line.
    ///
    /// # Errors
    /// Returns an error if the file is truncated.
    pub fn finish(mut self) -> Result<ThreadExport> {
        match self.export.take() {
            Some((export, _)) if self.is_complete => Ok(export),
            _ => {
                let message = format!("the file is truncated: no trailer after line {}", self.lines);
                Err(file_error(ErrorCode::CheckpointCorrupt, message))
            }
        }
    }

    /// Builds the error for a corrupt line.
    #[must_use]
    pub fn corrupt_line_error(&self, reason: &str) -> Error {
        file_error(ErrorCode::CheckpointCorrupt, format!("line {} of the file is corrupt: {reason}", self.lines))
    }

    fn read_header(&mut self, value: Value) -> Result<()> {
        if value.get("superstep").and_then(Value::as_str) != Some("thread") {
            return Err(self.corrupt_line_error("not a thread file"));
        }
        self.check_version("file version", value.get("version"), FILE_VERSION)?;
        let header: FileHeader = self.parse(value)?;
        if !header.thread.is_valid() {
            return Err(self.corrupt_line_error(&format!("`{}` is not a valid thread id", header.thread)));
        }
        let validator = ExportValidator::new(header.thread.clone());
        let (checkpoints, events) = (Vec::new(), Vec::new());
        let export = ThreadExport { thread: header.thread, status: header.status, checkpoints, events };
        self.export = Some((export, validator));
        Ok(())
    }

    fn read_checkpoint(&mut self, value: Value) -> Result<()> {
        self.check_version("checkpoint format", value.pointer("/checkpoint/format"), FORMAT_VERSION)?;
        let exported: ExportedCheckpoint = self.parse(value)?;
        let Some((export, validator)) = &mut self.export else { return Ok(()) };
        match validator.check(&exported) {
            Ok(()) => export.checkpoints.push(exported),
            Err(error) => return Err(self.corrupt_line_error(&error.message)),
        }
        Ok(())
    }

    fn read_trailer(&mut self, value: Value) -> Result<()> {
        let FileTrailer { end } = self.parse(value)?;
        let checkpoints = self.export.as_ref().map_or(0, |(export, _)| export.checkpoints.len() as u64);
        if end.checkpoints != checkpoints {
            let reason =
                format!("the file contains {checkpoints} checkpoints, but its trailer counts {}", end.checkpoints);
            return Err(self.corrupt_line_error(&reason));
        }
        if end.checksum != checksum_text(&self.hasher) {
            return Err(self.corrupt_line_error("the checksum does not match"));
        }
        self.is_complete = true;
        Ok(())
    }

    fn check_version(&self, subject: &str, value: Option<&Value>, max_version: u32) -> Result<()> {
        match value.and_then(Value::as_u64) {
            Some(version) if version <= u64::from(max_version) => Ok(()),
            Some(version) => {
                let message = format!(
                    "line {}: {subject} {version} is newer than the supported version {max_version}",
                    self.lines
                );
                let error = Error::new(ErrorCode::CheckpointTooNew, message);
                Err(error
                    .with_help("nothing was imported; import the file with the version that wrote it, or a newer one"))
            }
            None => Err(self.corrupt_line_error("the version is missing")),
        }
    }

    fn parse<T: for<'de> Deserialize<'de>>(&self, value: Value) -> Result<T> {
        serde_path_to_error::deserialize(value).map_err(|error| self.corrupt_line_error(&error.to_string()))
    }
}

fn file_error(code: ErrorCode, message: String) -> Error {
    Error::new(code, message)
        .with_help("nothing was imported; use another copy of the file, or export the thread again")
}

fn checksum_text(hasher: &Xxh3) -> String {
    format!("{:032x}", hasher.digest128())
}

/// Returns the nesting depth of the values in a JSON text, counted by its brackets.
#[must_use]
pub fn json_depth(line: &[u8]) -> usize {
    let (mut depth, mut max_depth, mut in_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                max_depth = max_depth.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    max_depth
}

#[cfg(test)]
mod tests;
