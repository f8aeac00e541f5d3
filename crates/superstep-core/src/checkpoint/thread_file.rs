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
    sum: Xxh3,
    checkpoints: u64,
}

impl ThreadFileWriter {
    /// Starts a file; returns its first line.
    ///
    /// # Errors
    /// Does not fail in a correct build.
    pub fn new(thread: &ThreadId, status: ThreadStatus) -> Result<(Self, Vec<u8>)> {
        let status = if status == ThreadStatus::Busy { ThreadStatus::Idle } else { status };
        let first = FileHeader { superstep: FileKind::Thread, version: FILE_VERSION, thread: thread.clone(), status };
        let mut writer = Self { sum: Xxh3::new(), checkpoints: 0 };
        let line = writer.write(&first)?;
        Ok((writer, line))
    }

    /// Returns the line of the next checkpoint. Checkpoints of one graph must be passed in commit order.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written as JSON, or exceeds the size or the depth that the reader
    /// accepts.
    pub fn checkpoint(&mut self, copied: &ExportedCheckpoint) -> Result<Vec<u8>> {
        let line = self.write(copied)?;
        let id = copied.checkpoint.id;
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
        let end = TrailerBody { checkpoints: self.checkpoints, checksum: text(&self.sum) };
        self.write(&FileTrailer { end })
    }

    fn write(&mut self, line: &impl Serialize) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| {
            let message = format!("failed to serialize a value as JSON: {error}");
            Error::new(ErrorCode::InputInvalid, message).with_help("the thread is unchanged; the file is incomplete")
        })?;
        bytes.push(b'\n');
        self.sum.update(&bytes);
        Ok(bytes)
    }
}

/// Assembles a thread from the lines of a file.
#[derive(Default)]
pub struct ThreadFileReader {
    sum: Xxh3,
    lines: u64,
    export: Option<(ThreadExport, ExportValidator)>,
    is_whole: bool,
}

impl ThreadFileReader {
    /// Parses the next line; the line break may be missing at the end of the file.
    ///
    /// # Errors
    /// Returns an error if the line is not valid at this position: `CheckpointTooNew` if a newer version wrote it,
    /// else `CheckpointCorrupt`.
    pub fn push_line(&mut self, line: &[u8]) -> Result<()> {
        self.lines += 1;
        if self.is_whole {
            return Err(self.corrupt_line_error("unexpected line after the trailer"));
        }
        if line.len() > MAX_LINE_BYTES {
            return Err(self.corrupt_line_error(&format!("the line has more than {MAX_LINE_BYTES} bytes")));
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| self.corrupt_line_error(&error.to_string()))?;
        let is_end = value.get("end").is_some();
        match &self.export {
            None => self.first(value)?,
            Some(_) if is_end => self.last(value)?,
            Some(_) => self.checkpoint(value)?,
        }
        self.sum.update(line);
        Ok(())
    }

    /// Returns the thread after the last line.
    ///
    /// # Errors
    /// Returns an error if the file is truncated.
    pub fn finish(mut self) -> Result<ThreadExport> {
        match self.export.take() {
            Some((copy, _)) if self.is_whole => Ok(copy),
            _ => {
                let message = format!("the file is truncated: no trailer after line {}", self.lines);
                Err(file_error(ErrorCode::CheckpointCorrupt, message))
            }
        }
    }

    /// Builds the error for a corrupt line.
    #[must_use]
    pub fn corrupt_line_error(&self, how: &str) -> Error {
        file_error(ErrorCode::CheckpointCorrupt, format!("line {} of the file is corrupt: {how}", self.lines))
    }

    fn first(&mut self, value: Value) -> Result<()> {
        if value.get("superstep").and_then(Value::as_str) != Some("thread") {
            return Err(self.corrupt_line_error("not a thread file"));
        }
        self.check_version("file version", value.get("version"), FILE_VERSION)?;
        let first: FileHeader = self.read(value)?;
        if !first.thread.is_valid() {
            return Err(self.corrupt_line_error(&format!("`{}` is not a valid thread id", first.thread)));
        }
        let rules = ExportValidator::new(first.thread.clone());
        let (checkpoints, events) = (Vec::new(), Vec::new());
        let copy = ThreadExport { thread: first.thread, status: first.status, checkpoints, events };
        self.export = Some((copy, rules));
        Ok(())
    }

    fn checkpoint(&mut self, value: Value) -> Result<()> {
        self.check_version("checkpoint format", value.pointer("/checkpoint/format"), FORMAT_VERSION)?;
        let copied: ExportedCheckpoint = self.read(value)?;
        let Some((copy, rules)) = &mut self.export else { return Ok(()) };
        match rules.check(&copied) {
            Ok(()) => copy.checkpoints.push(copied),
            Err(error) => return Err(self.corrupt_line_error(&error.message)),
        }
        Ok(())
    }

    fn last(&mut self, value: Value) -> Result<()> {
        let FileTrailer { end } = self.read(value)?;
        let checkpoints = self.export.as_ref().map_or(0, |(copy, _)| copy.checkpoints.len() as u64);
        if end.checkpoints != checkpoints {
            let how =
                format!("the file contains {checkpoints} checkpoints, but its trailer counts {}", end.checkpoints);
            return Err(self.corrupt_line_error(&how));
        }
        if end.checksum != text(&self.sum) {
            return Err(self.corrupt_line_error("the checksum does not match"));
        }
        self.is_whole = true;
        Ok(())
    }

    fn check_version(&self, subject: &str, value: Option<&Value>, max_version: u32) -> Result<()> {
        match value.and_then(Value::as_u64) {
            Some(version) if version <= u64::from(max_version) => Ok(()),
            Some(version) => {
                let message = format!(
                    "line {}: {subject} {version} is newer than the supported version \
                     {max_version}",
                    self.lines
                );
                let error = Error::new(ErrorCode::CheckpointTooNew, message);
                Err(error.with_help(
                    "nothing was imported; import the file with the version that wrote it, or \
                     a newer one",
                ))
            }
            None => Err(self.corrupt_line_error("the version is missing")),
        }
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, value: Value) -> Result<T> {
        serde_path_to_error::deserialize(value).map_err(|error| self.corrupt_line_error(&error.to_string()))
    }
}

fn file_error(code: ErrorCode, message: String) -> Error {
    Error::new(code, message)
        .with_help("nothing was imported; use another copy of the file, or export the thread again")
}

fn text(sum: &Xxh3) -> String {
    format!("{:032x}", sum.digest128())
}

/// Returns the nesting depth of the values in a JSON text, counted by its brackets.
#[must_use]
pub fn json_depth(line: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests;
