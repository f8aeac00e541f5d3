//! The rows of each kind and their checksums.

use superstep_core::change::Change;
use superstep_core::checkpoint::{
    CheckpointHeader, CheckpointNamespace, PendingEntry, RunInfo, StoredSchedule, TaskEntry, json_depth,
};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, TaskId, ThreadId};
use superstep_core::value::AnyValue;

use super::checksum::ChecksumBuilder;
use super::encoding::{ValueEncoding, decode};
use super::value_index::{ValueIndex, ValueLocation};
use super::varint::{VarintReader, put};

/// Maximum nesting that the JSON parser accepts.
const MAX_JSON_DEPTH: usize = 127;

/// A checkpoint row.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointRow {
    /// Number in the history; the first is 1.
    pub(crate) number: u64,
    pub(crate) header: CheckpointHeader,
    /// Number of the checkpoint that stored the shared run info.
    pub(crate) origin: u64,
    pub(crate) schedule: Vec<u8>,
    pub(crate) value_index: Vec<u8>,
    /// Short values in full.
    pub(crate) values: Vec<u8>,
}

impl CheckpointRow {
    pub(crate) fn sum(&self) -> u32 {
        let CheckpointHeader { id, parent, step, source, time } = &self.header;
        ChecksumBuilder::new()
            .number(self.number)
            .id(id.bits())
            .id(parent.map_or(0, CheckpointId::bits))
            .number(step.cast_unsigned())
            .number(u64::from(source.to_u8()))
            .number(time.cast_unsigned())
            .number(self.origin)
            .bytes(&self.schedule)
            .bytes(&self.value_index)
            .bytes(&self.values)
            .finish()
    }

    pub(crate) fn stored_schedule(&self) -> Result<StoredSchedule> {
        from_stored(&self.schedule, self.header.id)
    }

    pub(crate) fn heads(&self) -> Result<ValueIndex> {
        let heads = ValueIndex::from_bytes(&self.value_index, self.number);
        heads.ok_or_else(|| corrupt_row_error(self.header.id, "the value index is invalid"))
    }
}

/// Information that all checkpoints of a run share.
#[derive(Debug, Clone)]
pub(crate) struct RunInfoRow {
    /// Number of the first checkpoint of the run.
    pub(crate) number: u64,
    pub(crate) body: Vec<u8>,
}

impl RunInfoRow {
    pub(crate) fn new(number: u64, origin: &RunInfo, encoding: ValueEncoding) -> Result<Self> {
        Ok(Self { number, body: encoding.encode(to_json(origin)?) })
    }

    pub(crate) fn sum(&self) -> u32 {
        ChecksumBuilder::new().number(self.number).bytes(&self.body).finish()
    }

    pub(crate) fn read(body: &[u8], id: CheckpointId) -> Result<RunInfo> {
        from_stored(body, id)
    }
}

/// Returns the checksum of a history: thread, namespace and field names as stored.
pub(crate) fn history_checksum(thread: &ThreadId, namespace: &CheckpointNamespace, names: &str) -> u32 {
    let (thread, path) = (thread.as_str().as_bytes(), namespace.as_str().as_bytes());
    ChecksumBuilder::new().bytes(thread).bytes(path).bytes(names.as_bytes()).finish()
}

/// Returns the error of a corrupt history.
pub(crate) fn corrupt_history_error(namespace: &CheckpointNamespace, reason: &str) -> Error {
    let path = namespace.as_str();
    let message = format!("the history of the graph at `{path}` is corrupt: {reason}");
    Error::new(ErrorCode::CheckpointCorrupt, message)
        .with_help("other threads are not affected; restore the file from a backup")
}

/// A change of a field, or a full value that is too long for the checkpoint row.
#[derive(Debug, Clone)]
pub(crate) struct PartRow {
    /// Number among the parts of the history; the first is 1.
    pub(crate) number: u64,
    pub(crate) field: u32,
    /// Value that the change builds on; `None` for a full value.
    pub(crate) before: Option<ValueLocation>,
    pub(crate) change: Change,
    /// JSON of the value or the change, possibly compressed.
    pub(crate) body: Vec<u8>,
}

impl PartRow {
    /// Returns the text form of the change: short for the two most frequent kinds, JSON for the others.
    pub(crate) fn change_text(&self) -> Result<String> {
        change_text(&self.change)
    }

    pub(crate) fn sum(&self, change: &str) -> u32 {
        let before = ValueLocation::to_number(self.before);
        ChecksumBuilder::new()
            .number(self.number)
            .number(u64::from(self.field))
            .number(before.cast_unsigned())
            .bytes(change.as_bytes())
            .bytes(&self.body)
            .finish()
    }
}

pub(super) fn change_text(change: &Change) -> Result<String> {
    Ok(match change {
        Change::Set => String::new(),
        Change::Appended { from } => format!("+{from}"),
        change => String::from_utf8_lossy(&to_json(change)?).into_owned(),
    })
}

/// Parses the text form of a change; `None` if it is invalid.
pub(crate) fn read_change(text: &str) -> Option<Change> {
    Some(match text.as_bytes().first() {
        None => Change::Set,
        Some(b'+') => Change::Appended { from: text[1..].parse().ok()? },
        Some(_) => serde_json::from_str(text).ok()?,
    })
}

/// Short values of a pruned checkpoint that other checkpoints still need.
#[derive(Debug, Clone)]
pub(crate) struct RetainedValuesRow {
    /// Number of the pruned checkpoint.
    pub(crate) number: u64,
    pub(crate) values: Vec<u8>,
}

impl RetainedValuesRow {
    pub(crate) fn sum(&self) -> u32 {
        ChecksumBuilder::new().number(self.number).bytes(&self.values).finish()
    }
}

/// A pending entry of a task.
#[derive(Debug, Clone)]
pub(crate) struct PendingRow {
    /// Number of the checkpoint.
    pub(crate) checkpoint: u64,
    pub(crate) task: TaskId,
    pub(crate) slot: String,
    pub(crate) body: Vec<u8>,
}

impl PendingRow {
    pub(crate) fn new(checkpoint: u64, pending: &PendingEntry, encoding: ValueEncoding) -> Result<Self> {
        let body = encoding.encode(to_json(&(&pending.node, &pending.entry))?);
        Ok(Self { checkpoint, task: pending.task, slot: pending.entry.slot(), body })
    }

    pub(crate) fn sum(&self) -> u32 {
        ChecksumBuilder::new()
            .number(self.checkpoint)
            .id(self.task.bits())
            .bytes(self.slot.as_bytes())
            .bytes(&self.body)
            .finish()
    }

    pub(crate) fn read(&self, checkpoint: CheckpointId) -> Result<PendingEntry> {
        let (node, entry): (_, TaskEntry) = from_stored(&self.body, checkpoint)?;
        Ok(PendingEntry { checkpoint, task: self.task, node, entry })
    }
}

/// Returns the error of a corrupt row.
pub(crate) fn corrupt_row_error(id: CheckpointId, reason: &str) -> Error {
    Error::new(ErrorCode::CheckpointCorrupt, format!("checkpoint {id} is corrupt: {reason}"))
        .with_help("other checkpoints of the thread are not affected; open an earlier one")
}

/// Decodes a body of a checkpoint.
fn from_stored<T: serde::de::DeserializeOwned>(stored: &[u8], id: CheckpointId) -> Result<T> {
    let plain = decode(stored).map_err(|error| with_checkpoint(error, id))?;
    serde_json::from_slice(&plain).map_err(|error| corrupt_row_error(id, &error.to_string()))
}

/// Adds the checkpoint to an error of decoding.
pub(super) fn with_checkpoint(error: Error, id: CheckpointId) -> Error {
    match error.code() {
        ErrorCode::CheckpointCorrupt => corrupt_row_error(id, error.message()),
        code => Error::new(code, format!("checkpoint {id}: {}", error.message())),
    }
}

/// Appends a value to the short values of a row.
pub(super) fn put_value(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put(out, u64::from(field));
    put(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Finds a value among the short values of a row.
pub(crate) fn value_of(values: &[u8], field: u32) -> Option<&[u8]> {
    let mut bytes = VarintReader(values);
    while !bytes.is_empty() {
        let stored_field = bytes.number()?;
        let length = bytes.number()?;
        let value = bytes.piece(length)?;
        if stored_field == u64::from(field) {
            return Some(value);
        }
    }
    None
}

/// Serializes a value as JSON that can be parsed again.
pub(super) fn any_value_to_json(value: &AnyValue, field: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    value.write_json(&mut out).map_err(|error| {
        Error::new(ErrorCode::TypeMismatch, format!("failed to serialize field `{field}`: {}", error.message))
            .with_help("a state must be serializable as JSON: maps need string keys")
    })?;
    check_depth(&out).map_err(|error| Error::new(error.code(), format!("field `{field}`: {}", error.message())))?;
    Ok(out)
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let out = serde_json::to_vec(value).map_err(|error| {
        Error::new(ErrorCode::TypeMismatch, format!("failed to serialize a value: {error}"))
            .with_help("a value must be serializable as JSON: maps need string keys")
    })?;
    check_depth(&out)?;
    Ok(out)
}

/// Rejects values that nest deeper than the parser accepts, so that they fail when written and not when read.
pub(super) fn check_depth(json: &[u8]) -> Result<()> {
    if json.len() <= 2 * MAX_JSON_DEPTH {
        return Ok(());
    }
    let deepest = json_depth(json);
    if deepest <= MAX_JSON_DEPTH {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TooLarge, format!("the JSON depth {deepest} exceeds the maximum of {MAX_JSON_DEPTH}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_of_every_kind_round_trip() {
        let merged = Change::Merged { set: vec!["+1".to_owned()], removed: vec![] };
        for change in [Change::Set, Change::Appended { from: 12 }, merged] {
            assert_eq!(read_change(&change_text(&change).unwrap()), Some(change));
        }
        for text in ["+", "+x", "@3", "nonsense"] {
            assert_eq!(read_change(text), None, "{text}");
        }
    }

    #[test]
    fn values_nested_too_deeply_are_rejected_on_write() {
        let nested = |depth: usize| (0..depth).fold(json!("[[[[{{{{\\\""), |inner, _| json!([inner, "padding"]));
        for depth in [1, 100, 127] {
            let json = any_value_to_json(&AnyValue::json(nested(depth)), "field").unwrap();
            assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok(), "{depth}");
        }
        let error = any_value_to_json(&AnyValue::json(nested(128)), "field").unwrap_err();
        assert_eq!(
            (error.code(), error.message().starts_with("field `field`: the JSON depth 128 ")),
            (ErrorCode::TooLarge, true)
        );
    }

    #[test]
    fn values_are_found_by_their_field() {
        let mut values = Vec::new();
        put_value(&mut values, 1, b"true");
        put_value(&mut values, 300, b"\"x\"");
        assert_eq!((value_of(&values, 300), value_of(&values, 2)), (Some(&b"\"x\""[..]), None));
        assert_eq!(value_of(&values[..5], 1), None);
    }
}
