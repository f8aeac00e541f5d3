//! Conversion between LangGraph checkpoints and superstep checkpoints.
//!
//! The texts of a LangGraph checkpoint become metadata; a channel becomes a field that contains its version and its
//! value; a pending write becomes a recorded result of its task. Nothing here accesses a checkpointer.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use superstep_core::checkpoint::{
    Checkpoint, CheckpointNamespace, CheckpointSource, FORMAT_VERSION, PendingEntry, TaskEntry,
};
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId, hash_id};
use superstep_core::port::CheckpointTuple;
use superstep_core::value::AnyValue;

use crate::request::{EncodedValue, Put, PutWrites, TupleJson};

/// Prefix of LangGraph metadata, so that the checkpointer can filter by it and other metadata is not confused with
/// it.
const META: &str = "meta.";

/// Returns the thread id of a text: `:` and every byte that is not valid in an id become `:` and two hexadecimal
/// digits. The empty text becomes a single `:`.
pub(crate) fn thread(text: &str) -> ThreadId {
    if text.is_empty() {
        return ":".into();
    }
    let mut id = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' => id.push(char::from(byte)),
            _ => write!(id, ":{byte:02x}").expect("text takes whatever is written to it"),
        }
    }
    id.into()
}

/// Returns the text of a thread id; an id that was not created here is returned unchanged.
pub(crate) fn thread_text(id: &ThreadId) -> String {
    let mut pieces = id.as_str().split(':');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let Some((code, rest)) = piece.split_at_checked(2) else { continue };
        let Ok(byte) = u8::from_str_radix(code, 16) else { return id.to_string() };
        bytes.push(byte);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).unwrap_or_else(|_| id.to_string())
}

/// Returns the checkpoint id of a text: the text itself if it is a canonical UUID, a hash otherwise.
pub(crate) fn checkpoint_id(text: &str) -> CheckpointId {
    let uuid = text.parse().ok().filter(|id: &CheckpointId| id.to_string() == text);
    uuid.unwrap_or_else(|| CheckpointId::from_bits(hash_id(&[b"checkpoint", text.as_bytes()])))
}

/// Returns the run id of a LangGraph run id.
pub(crate) fn run(id: &Value) -> RunId {
    RunId::from_bits(hash_id(&[b"run", id.to_string().as_bytes()]))
}

/// Converts a filter on LangGraph metadata.
pub(crate) fn filter(metadata: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    metadata.into_iter().map(|(key, value)| (format!("{META}{key}"), value)).collect()
}

/// Converts a checkpoint. `parent` is the stored parent; the text of a missing parent is kept in the metadata.
pub(crate) fn checkpoint(put: &Put, thread: &ThreadId, parent: Option<CheckpointId>) -> Checkpoint {
    let meta = &put.meta;
    let source = meta.get("source").and_then(|source| serde_json::from_value(source.clone()).ok());
    let mut metadata = filter(meta.clone().into_iter().collect());
    metadata.insert("cid".to_owned(), json!(put.cid));
    metadata.insert("parent".to_owned(), json!(put.parent));
    metadata.insert("skel".to_owned(), json!(put.skel));
    metadata.insert("versions".to_owned(), json!(put.versions));
    Checkpoint {
        format: FORMAT_VERSION,
        id: checkpoint_id(&put.cid),
        parent,
        thread: thread.clone(),
        namespace: put.ns.as_str().into(),
        step: meta.get("step").and_then(Value::as_i64).unwrap_or_default(),
        source: source.unwrap_or(CheckpointSource::Loop),
        run: run(meta.get("run_id").unwrap_or(&Value::Null)),
        // The same request must create the same checkpoint, and the time is inside an opaque value.
        time: 0,
        graph: "foreign".into(),
        schema_version: 1,
        next_tasks: Vec::new(),
        joins: Vec::new(),
        deferred: Vec::new(),
        written_fields: Vec::new(),
        parent_task: None,
        changes_since_input: None,
        metadata: Arc::new(metadata),
    }
}

/// Returns the field of a channel. A version that the checkpoint itself does not use gets a separate field, for later
/// checkpoints that need it.
pub(crate) fn field(channel: &str, version: &Value, is_current: bool) -> Arc<str> {
    if is_current { format!("={channel}").into() } else { format!("{version}={channel}").into() }
}

/// Returns the value of a field: a version and its value. A version without a value is stored as well, so that it is
/// not looked up again.
pub(crate) fn part(version: &Value, value: Option<&EncodedValue>) -> AnyValue {
    json!([version, value]).into()
}

/// Returns the value of a channel version in a stored checkpoint; `Some(None)` if the version has no value.
pub(crate) fn blob(loaded: &CheckpointTuple, channel: &str, version: &Value) -> Result<Option<Option<EncodedValue>>> {
    let names = [field(channel, version, true), field(channel, version, false)];
    let logs = loaded.fields.iter().filter(|(name, _)| names.contains(name));
    for (_, part) in logs.filter_map(|(_, log)| log.last()) {
        let (stored_version, value): (Value, Option<EncodedValue>) = read(loaded, part)?;
        if stored_version == *version {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Returns the index of a write among those of its task.
fn index(channel: &str, position: usize) -> i64 {
    match channel {
        "__error__" => -1,
        "__scheduled__" => -2,
        "__interrupt__" => -3,
        "__resume__" => -4,
        _ => position as i64,
    }
}

/// Converts pending writes: of several with the same index the first one is kept, except for negative indexes.
pub(crate) fn pending(put: PutWrites, loaded: &CheckpointTuple) -> Vec<PendingEntry> {
    let (checkpoint, node) = (loaded.checkpoint.id, Arc::<str>::from(put.path));
    let task = TaskId::from_bits(hash_id(&[b"task", put.task.as_bytes()]));
    let is_saved = |index: i64| {
        let mut entries = loaded.pending.iter().filter(|pending| pending.task == task);
        entries.any(|pending| matches!(&pending.entry, TaskEntry::Recorded { key, .. } if *key == index.to_string()))
    };
    let mut writes = Vec::new();
    for (position, (channel, kind, data)) in put.writes.into_iter().enumerate() {
        let index = index(&channel, position);
        if index < 0 || !is_saved(index) {
            let value = json!([put.task, index, channel, kind, data]).into();
            let entry = TaskEntry::Recorded { key: index.to_string(), value };
            writes.push(PendingEntry { checkpoint, task, node: node.clone(), entry });
        }
    }
    writes
}

/// Converts a stored checkpoint to a LangGraph checkpoint tuple.
pub(crate) fn tuple(loaded: &CheckpointTuple) -> Result<TupleJson> {
    let checkpoint = &loaded.checkpoint;
    let versions: BTreeMap<String, Value> = metadata(checkpoint, "versions")?;
    let mut vals = BTreeMap::new();
    for (channel, version) in versions {
        if let Some(Some(value)) = blob(loaded, &channel, &version)? {
            vals.insert(channel, value);
        }
    }
    Ok(TupleJson {
        t: thread_text(&checkpoint.thread),
        ns: CheckpointNamespace::as_str(&checkpoint.namespace).to_owned(),
        cid: metadata(checkpoint, "cid")?,
        parent: metadata(checkpoint, "parent")?,
        skel: metadata(checkpoint, "skel")?,
        meta: meta(checkpoint),
        vals,
        writes: writes(loaded)?,
    })
}

/// Returns the LangGraph id of a checkpoint.
pub(crate) fn text(loaded: &CheckpointTuple) -> &str {
    loaded.checkpoint.metadata.get("cid").and_then(Value::as_str).unwrap_or_default()
}

fn meta(checkpoint: &Checkpoint) -> Map<String, Value> {
    let foreign = checkpoint.metadata.iter().filter_map(|(key, value)| Some((key.strip_prefix(META)?, value)));
    foreign.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

fn metadata<T: DeserializeOwned>(checkpoint: &Checkpoint, key: &str) -> Result<T> {
    let value = checkpoint.metadata.get(key).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| foreign_checkpoint_error(checkpoint))
}

fn read<T: DeserializeOwned>(loaded: &CheckpointTuple, value: &AnyValue) -> Result<T> {
    let value = value.to_json().map_err(|_| foreign_checkpoint_error(&loaded.checkpoint))?;
    serde_json::from_value(value).map_err(|_| foreign_checkpoint_error(&loaded.checkpoint))
}

fn foreign_checkpoint_error(checkpoint: &Checkpoint) -> Error {
    Error::internal(format!("checkpoint {} was not saved by this program", checkpoint.id))
}

fn writes(loaded: &CheckpointTuple) -> Result<Vec<(String, String, String, String)>> {
    type Write = (String, i64, String, String, String);
    let mut writes = Vec::new();
    for pending in &loaded.pending {
        if let TaskEntry::Recorded { value, .. } = &pending.entry {
            writes.push((pending.node.clone(), read::<Write>(loaded, value)?));
        }
    }
    writes.sort();
    Ok(writes.into_iter().map(|(_, (task, _, channel, kind, data))| (task, channel, kind, data)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_round_trips_as_thread_id() {
        for text in ["", "a", "a:b", "user 7/größe", ":", "::", "3a", ":3a"] {
            assert!(thread(text).is_valid(), "{text}");
            assert_eq!(thread_text(&thread(text)), text);
        }
    }

    #[test]
    fn other_spellings_of_an_id_are_other_checkpoints() {
        let text = "1ef4f797-8335-6428-8001-8a1503f9b875";
        assert_eq!(checkpoint_id(text).to_string(), text);
        assert_ne!(checkpoint_id(&text.to_uppercase()), checkpoint_id(text));
        assert_ne!(checkpoint_id("one"), checkpoint_id("two"));
    }
}
