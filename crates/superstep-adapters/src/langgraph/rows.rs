//! Rows that both LangGraph checkpointers store, and the error of a row that cannot be read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep_core::error::{Error, ErrorCode};

use super::decode;
use super::msgpack::DecodeResult;

/// A value that is not decoded yet.
#[derive(Debug, Clone)]
pub(super) struct EncodedValue {
    pub(super) encoding: String,
    pub(super) bytes: Vec<u8>,
}

impl EncodedValue {
    pub(super) fn read(&self) -> DecodeResult<Value> {
        decode::read(&self.encoding, &self.bytes)
    }
}

/// A checkpoint row. SQLite stores the checkpoint as one value; PostgreSQL stores channel values in a table of their
/// own.
#[derive(Debug)]
pub(super) struct SourceCheckpointRow {
    /// LangGraph's `checkpoint_ns`.
    pub(super) namespace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) checkpoint: CheckpointBody,
    pub(super) metadata: Value,
}

#[derive(Debug)]
pub(super) enum CheckpointBody {
    Full(EncodedValue),
    /// Checkpoint without channel values, which another table has by channel and version.
    Parts(Value),
}

/// A pending write of a task.
#[derive(Debug, Clone)]
pub(super) struct SourceWriteRow {
    pub(super) task: String,
    /// Path of the task; empty in older tables.
    pub(super) path: String,
    pub(super) channel: String,
    pub(super) value: EncodedValue,
}

/// All rows of one thread.
#[derive(Debug, Default)]
pub(super) struct ThreadRows {
    pub(super) thread: String,
    /// Checkpoint rows in order of creation.
    pub(super) checkpoints: Vec<SourceCheckpointRow>,
    /// Pending writes by namespace and checkpoint, in the order in which they are applied.
    pub(super) writes: BTreeMap<(String, String), Vec<SourceWriteRow>>,
    /// Values of the other table by namespace, channel and version.
    pub(super) blobs: BTreeMap<(String, String, String), EncodedValue>,
}

impl ThreadRows {
    pub(super) fn writes_of(&self, namespace: &str, checkpoint: &str) -> &[SourceWriteRow] {
        self.writes.get(&(namespace.to_owned(), checkpoint.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Decodes a checkpoint with the values of its channels.
    pub(super) fn read(&self, row: &SourceCheckpointRow) -> Result<Map<String, Value>, Error> {
        let context = RowContext { thread: &self.thread, checkpoint: &row.id };
        let mut checkpoint = match &row.checkpoint {
            CheckpointBody::Full(value) => value.read().map_err(|reason| context.unreadable(None, &reason))?,
            CheckpointBody::Parts(value) => value.clone(),
        };
        let versions = checkpoint.get("channel_versions").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut blob_values = Map::new();
        for (channel, version) in versions.into_iter().filter(|_| !self.blobs.is_empty()) {
            let version = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
            let Some(blob) = self.blobs.get(&(row.namespace.clone(), channel.clone(), version)) else { continue };
            if blob.encoding != "empty" {
                let value = blob.read().map_err(|reason| context.unreadable(Some(&channel), &reason))?;
                blob_values.insert(channel, value);
            }
        }
        let Some(map) = checkpoint.as_object_mut() else {
            return Err(context.unreadable(None, "the checkpoint is not a map"));
        };
        let values = map.entry("channel_values").or_insert_with(|| Map::new().into());
        let Some(values) = values.as_object_mut() else {
            return Err(context.unreadable(None, "the channel values are not a map"));
        };
        values.append(&mut blob_values);
        Ok(std::mem::take(map))
    }
}

/// Thread and checkpoint of a row, for errors.
#[derive(Clone, Copy)]
pub(super) struct RowContext<'a> {
    pub(super) thread: &'a str,
    pub(super) checkpoint: &'a str,
}

impl RowContext<'_> {
    /// Returns the error of a value that cannot be read.
    pub(super) fn unreadable(&self, channel: Option<&str>, reason: &str) -> Error {
        let channel = channel.map_or_else(String::new, |channel| format!(", channel `{channel}`"));
        let message = format!("LangGraph thread `{}`, checkpoint {}{channel}: {reason}", self.thread, self.checkpoint);
        Error::new(ErrorCode::InputInvalid, message)
            .with_help("nothing was imported; the other threads are not affected")
    }
}
