//! A thread as one file of JSON Lines: what it is, its checkpoints with what each changed, and an end that says it is whole.
//!
//! Pure: takes and gives lines, opens nothing. Events that a store keeps are not in a file. A file that is damaged, cut off or of a newer version is refused with the
//! number of the line. The checksum notices damage; it is no proof of who wrote the file.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use super::thread_copy::Rules;
use super::{CopiedCheckpoint, FORMAT_VERSION, ThreadCopy};
use crate::error::{Code, Error, Result};
use crate::id::ThreadId;
use crate::port::ThreadStatus;

/// The version of the file. A number is never reused.
pub const FILE_VERSION: u32 = 1;

/// The longest line that is written or read, in bytes.
pub const LONGEST_LINE: usize = 256 << 20;

/// Values inside values, counted from the line: what the reader of JSON takes.
const DEEPEST: usize = 127;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    superstep: Kind,
    version: u32,
    thread: ThreadId,
    status: ThreadStatus,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Thread,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    end: End,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    checkpoints: u64,
    /// Of all bytes before this line.
    checksum: String,
}

/// Gives the lines of a file, each with its line break.
///
/// ```
/// use superstep_core::checkpoint::{ThreadReader, ThreadWriter};
/// use superstep_core::port::ThreadStatus;
///
/// let (mut writer, first) = ThreadWriter::new(&"mail-7".into(), ThreadStatus::Idle)?;
/// let last = writer.last()?;
/// let mut reader = ThreadReader::default();
/// reader.line(&first)?;
/// reader.line(&last)?;
/// assert_eq!(reader.finish()?.thread.as_str(), "mail-7");
/// # Ok::<(), superstep_core::error::Error>(())
/// ```
pub struct ThreadWriter {
    sum: Xxh3,
    checkpoints: u64,
}

impl ThreadWriter {
    /// Begins a file; gives its first line.
    ///
    /// # Errors
    /// Never in a correct build.
    pub fn new(thread: &ThreadId, status: ThreadStatus) -> Result<(Self, Vec<u8>)> {
        let status = if status == ThreadStatus::Busy { ThreadStatus::Idle } else { status };
        let first = First { superstep: Kind::Thread, version: FILE_VERSION, thread: thread.clone(), status };
        let mut writer = Self { sum: Xxh3::new(), checkpoints: 0 };
        let line = writer.write(&first)?;
        Ok((writer, line))
    }

    /// The line of the next checkpoint. Those of one graph are given in the order they were saved.
    ///
    /// # Errors
    /// When a value cannot be written as JSON, or is larger or deeper than a reader would take.
    pub fn checkpoint(&mut self, copied: &CopiedCheckpoint) -> Result<Vec<u8>> {
        let line = self.write(copied)?;
        let id = copied.checkpoint.id;
        if line.len() > LONGEST_LINE {
            let message = format!("checkpoint {id} has {} bytes; a line has at most {LONGEST_LINE}", line.len());
            return Err(Error::new(Code::TooLarge, message).help("the thread is as it was, the file is not whole"));
        }
        if json_depth(&line) > DEEPEST {
            let message = format!("checkpoint {id} has values more than {DEEPEST} levels deep with their line");
            return Err(Error::new(Code::TooLarge, message).help("the thread is as it was, the file is not whole"));
        }
        self.checkpoints += 1;
        Ok(line)
    }

    /// The last line.
    ///
    /// # Errors
    /// Never in a correct build.
    pub fn last(&mut self) -> Result<Vec<u8>> {
        let end = End { checkpoints: self.checkpoints, checksum: text(&self.sum) };
        self.write(&Last { end })
    }

    fn write(&mut self, line: &impl Serialize) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| {
            let message = format!("a value cannot be written as JSON: {error}");
            Error::new(Code::InputInvalid, message).help("the thread is as it was, the file is not whole")
        })?;
        bytes.push(b'\n');
        self.sum.update(&bytes);
        Ok(bytes)
    }
}

/// Puts a thread together from the lines of a file.
#[derive(Default)]
pub struct ThreadReader {
    sum: Xxh3,
    lines: u64,
    began: Option<(ThreadCopy, Rules)>,
    is_whole: bool,
}

impl ThreadReader {
    /// Takes the next line; its line break may be missing at the end of the file.
    ///
    /// # Errors
    /// When the line is not what belongs there: `CheckpointTooNew` when a newer version wrote it, else
    /// `CheckpointCorrupt`.
    pub fn line(&mut self, line: &[u8]) -> Result<()> {
        self.lines += 1;
        if self.is_whole {
            return Err(self.damaged("it comes after the end"));
        }
        if line.len() > LONGEST_LINE {
            return Err(self.damaged(&format!("it has more than {LONGEST_LINE} bytes")));
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| self.damaged(&error.to_string()))?;
        let is_end = value.get("end").is_some();
        match &self.began {
            None => self.first(value)?,
            Some(_) if is_end => self.last(value)?,
            Some(_) => self.checkpoint(value)?,
        }
        self.sum.update(line);
        Ok(())
    }

    /// The thread, once all lines were taken.
    ///
    /// # Errors
    /// When the file is cut off.
    pub fn finish(mut self) -> Result<ThreadCopy> {
        match self.began.take() {
            Some((copy, _)) if self.is_whole => Ok(copy),
            _ => {
                let message = format!("the file is cut off: there is no end after line {}", self.lines);
                Err(refused(Code::CheckpointCorrupt, message))
            }
        }
    }

    /// The error of a line that is not what was written.
    #[must_use]
    pub fn damaged(&self, how: &str) -> Error {
        refused(Code::CheckpointCorrupt, format!("line {} of the file is not what was written: {how}", self.lines))
    }

    fn first(&mut self, value: Value) -> Result<()> {
        if value.get("superstep").and_then(Value::as_str) != Some("thread") {
            return Err(self.damaged("this is not a file of a thread"));
        }
        self.check_version("a file of version", value.get("version"), FILE_VERSION)?;
        let first: First = self.read(value)?;
        if !first.thread.is_valid() {
            return Err(self.damaged(&format!("`{}` is not the id of a thread", first.thread)));
        }
        let rules = Rules::new(first.thread.clone());
        let (checkpoints, events) = (Vec::new(), Vec::new());
        let copy = ThreadCopy { thread: first.thread, status: first.status, checkpoints, events };
        self.began = Some((copy, rules));
        Ok(())
    }

    fn checkpoint(&mut self, value: Value) -> Result<()> {
        self.check_version("a checkpoint of format", value.pointer("/checkpoint/format"), FORMAT_VERSION)?;
        let copied: CopiedCheckpoint = self.read(value)?;
        let Some((copy, rules)) = &mut self.began else { return Ok(()) };
        match rules.take(&copied) {
            Ok(()) => copy.checkpoints.push(copied),
            Err(fault) => return Err(self.damaged(&fault.message)),
        }
        Ok(())
    }

    fn last(&mut self, value: Value) -> Result<()> {
        let Last { end } = self.read(value)?;
        let checkpoints = self.began.as_ref().map_or(0, |(copy, _)| copy.checkpoints.len() as u64);
        if end.checkpoints != checkpoints {
            let how = format!("the file has {checkpoints} checkpoints and says it had {}", end.checkpoints);
            return Err(self.damaged(&how));
        }
        if end.checksum != text(&self.sum) {
            return Err(self.damaged("the checksum of the lines before it is another"));
        }
        self.is_whole = true;
        Ok(())
    }

    fn check_version(&self, what: &str, found: Option<&Value>, known: u32) -> Result<()> {
        match found.and_then(Value::as_u64) {
            Some(version) if version <= u64::from(known) => Ok(()),
            Some(version) => {
                let message = format!("line {}: {what} {version}; this program knows {known}", self.lines);
                let error = Error::new(Code::CheckpointTooNew, message);
                Err(error.help("nothing was imported; import it with the version that wrote it, or a newer one"))
            }
            None => Err(self.damaged("it does not say its version")),
        }
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, value: Value) -> Result<T> {
        serde_path_to_error::deserialize(value).map_err(|error| self.damaged(&error.to_string()))
    }
}

fn refused(code: Code, message: String) -> Error {
    Error::new(code, message).help("nothing was imported; take another copy of the file, or export the thread again")
}

fn text(sum: &Xxh3) -> String {
    format!("{:032x}", sum.digest128())
}

/// How deep the values in a text of JSON are, read off its brackets.
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
