//! What may be asked, as it stands on a line. Values are opaque: a type and base64.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One request.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Ask {
    Put(Put),
    PutWrites(PutWrites),
    Get(Get),
    List(List),
    DeleteThread { t: String },
    DeleteForRuns { runs: Vec<Value> },
    CopyThread { src: String, dst: String },
    Prune { threads: Vec<String>, strategy: Strategy },
}

/// A value nobody looks into: its type and its bytes in base64.
pub(crate) type Opaque = (String, String);

/// Saves a checkpoint.
#[derive(Deserialize)]
pub(crate) struct Put {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: String,
    pub(crate) parent: Option<String>,
    /// The checkpoint without the values of its channels.
    pub(crate) skel: Opaque,
    pub(crate) versions: BTreeMap<String, Value>,
    pub(crate) meta: Map<String, Value>,
    /// Channels that changed: name, version, value.
    pub(crate) blobs: Vec<(String, Value, Opaque)>,
}

/// Saves writes of a task of a checkpoint.
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

/// Asks for one checkpoint.
#[derive(Deserialize)]
pub(crate) struct Get {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: Option<String>,
}

/// Asks for many.
#[derive(Deserialize)]
pub(crate) struct List {
    pub(crate) t: Option<String>,
    pub(crate) ns: Option<String>,
    pub(crate) cid: Option<String>,
    pub(crate) filter: Option<BTreeMap<String, Value>>,
    pub(crate) before: Option<String>,
    pub(crate) limit: Option<usize>,
}

/// What pruning leaves.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strategy {
    KeepLatest,
    Delete,
}

/// A checkpoint as it is given back.
#[derive(Serialize)]
pub(crate) struct Tuple {
    pub(crate) t: String,
    pub(crate) ns: String,
    pub(crate) cid: String,
    pub(crate) parent: Option<String>,
    pub(crate) skel: Opaque,
    pub(crate) meta: Map<String, Value>,
    pub(crate) vals: BTreeMap<String, Opaque>,
    /// Task, channel, type, base64.
    pub(crate) writes: Vec<(String, String, String, String)>,
}
