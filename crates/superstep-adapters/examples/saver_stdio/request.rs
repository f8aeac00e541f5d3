//! The requests, one JSON object per line. Values are opaque: a type and base64.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Request {
    Put(Put),
    PutWrites(PutWrites),
    Get(Get),
    List(List),
    DeleteThread { t: String },
    DeleteForRuns { runs: Vec<Value> },
    CopyThread { src: String, dst: String },
    Prune { threads: Vec<String>, strategy: Strategy },
}

/// An opaque value: its type and its bytes in base64.
pub(crate) type EncodedValue = (String, String);

/// Request to save a checkpoint.
#[derive(Deserialize)]
pub(crate) struct Put {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: String,
    pub(crate) parent: Option<String>,
    /// The checkpoint without the values of its channels.
    pub(crate) skel: EncodedValue,
    pub(crate) versions: BTreeMap<String, Value>,
    pub(crate) meta: Map<String, Value>,
    /// Changed channels: name, version, value.
    pub(crate) blobs: Vec<(String, Value, EncodedValue)>,
}

/// Request to save pending writes of a task.
#[derive(Deserialize)]
pub(crate) struct PutWrites {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: String,
    pub(crate) task: String,
    pub(crate) path: String,
    /// Channel, type, base64.
    pub(crate) writes: Vec<(String, String, String)>,
}

/// Request for one checkpoint.
#[derive(Deserialize)]
pub(crate) struct Get {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: Option<String>,
}

/// Request for several checkpoints.
#[derive(Deserialize)]
pub(crate) struct List {
    pub(crate) t: Option<String>,
    pub(crate) ns: Option<String>,
    pub(crate) cid: Option<String>,
    pub(crate) filter: Option<BTreeMap<String, Value>>,
    pub(crate) before: Option<String>,
    pub(crate) limit: Option<usize>,
}

/// Checkpoints that remain after pruning.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strategy {
    KeepLatest,
    Delete,
}

/// A checkpoint in a response.
#[derive(Serialize)]
pub(crate) struct TupleJson {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: String,
    pub(crate) parent: Option<String>,
    pub(crate) skel: EncodedValue,
    pub(crate) meta: Map<String, Value>,
    pub(crate) vals: BTreeMap<String, EncodedValue>,
    /// Task, channel, type, base64.
    pub(crate) writes: Vec<(String, String, String, String)>,
}
