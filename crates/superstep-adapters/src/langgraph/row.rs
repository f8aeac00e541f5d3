//! What both savers of LangGraph keep, as it comes out of their tables, and how it is told where something is wrong.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep_core::error::{Code, Error};

use super::msgpack::Told;
use super::typed;

/// A value that is not read yet.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) encoding: String,
    pub(super) bytes: Vec<u8>,
}

impl Typed {
    pub(super) fn read(&self) -> Told<Value> {
        typed::read(&self.encoding, &self.bytes)
    }
}

/// A checkpoint of one graph. SQLite has all of it in one value; PostgreSQL has the values of channels apart.
#[derive(Debug)]
pub(super) struct CheckpointRow {
    /// The path of the graph.
    pub(super) namespace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) checkpoint: Body,
    pub(super) metadata: Value,
}

#[derive(Debug)]
pub(super) enum Body {
    Whole(Typed),
    /// The values that stand apart are found by channel and version.
    Parts(Value),
}

/// Something a task wrote.
#[derive(Debug, Clone)]
pub(super) struct WriteRow {
    pub(super) task: String,
    /// Where the task comes from; older tables do not say it.
    pub(super) path: String,
    pub(super) channel: String,
    pub(super) value: Typed,
}

/// Everything of one thread.
#[derive(Debug, Default)]
pub(super) struct ThreadRows {
    pub(super) thread: String,
    /// In the order they were made.
    pub(super) checkpoints: Vec<CheckpointRow>,
    /// By path of the graph and checkpoint, in the order in which they count.
    pub(super) writes: BTreeMap<(String, String), Vec<WriteRow>>,
    /// Values that stand apart, by path of the graph, channel and version.
    pub(super) blobs: BTreeMap<(String, String, String), Typed>,
}

impl ThreadRows {
    pub(super) fn writes_of(&self, namespace: &str, checkpoint: &str) -> &[WriteRow] {
        self.writes.get(&(namespace.to_owned(), checkpoint.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Reads a checkpoint with the values of its channels.
    pub(super) fn read(&self, row: &CheckpointRow) -> Result<Map<String, Value>, Error> {
        let at = At { thread: &self.thread, checkpoint: &row.id };
        let mut checkpoint = match &row.checkpoint {
            Body::Whole(typed) => typed.read().map_err(|how| at.unreadable(None, &how))?,
            Body::Parts(value) => value.clone(),
        };
        let versions = checkpoint.get("channel_versions").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut apart = Map::new();
        for (channel, version) in versions.into_iter().filter(|_| !self.blobs.is_empty()) {
            let version = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
            let Some(blob) = self.blobs.get(&(row.namespace.clone(), channel.clone(), version)) else { continue };
            if blob.encoding != "empty" {
                let value = blob.read().map_err(|how| at.unreadable(Some(&channel), &how))?;
                apart.insert(channel, value);
            }
        }
        let Some(map) = checkpoint.as_object_mut() else { return Err(at.unreadable(None, "it is no map")) };
        let values = map.entry("channel_values").or_insert_with(|| Map::new().into());
        let Some(values) = values.as_object_mut() else {
            return Err(at.unreadable(None, "the values of its channels are no map"));
        };
        values.append(&mut apart);
        Ok(std::mem::take(map))
    }
}

/// Where something is wrong.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) thread: &'a str,
    pub(super) checkpoint: &'a str,
}

impl At<'_> {
    /// The error of something that cannot be read.
    pub(super) fn unreadable(&self, channel: Option<&str>, how: &str) -> Error {
        let channel = channel.map_or_else(String::new, |channel| format!(", channel `{channel}`"));
        let message = format!("thread `{}` of LangGraph, checkpoint {}{channel}: {how}", self.thread, self.checkpoint);
        Error::new(Code::InputInvalid, message).help("nothing was imported; the other threads are not affected")
    }
}
