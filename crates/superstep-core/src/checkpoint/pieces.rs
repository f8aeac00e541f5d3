//! A checkpoint in the pieces in which a store keeps it: what a run has in common, and what lies ahead.
//!
//! Short keys, because every superstep stores one. A part of the persisted form: see [`FORMAT_VERSION`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(doc)]
use super::FORMAT_VERSION;
use super::{Checkpoint, Namespace, Source, StoredDue, StoredJoin, StoredSend, StoredWhy, WhyKind};
use crate::change::Change;
use crate::id::{CheckpointId, RunId, TaskId, ThreadId};

/// What the checkpoints of one run of one graph have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The version of the persisted form.
    #[serde(rename = "v")]
    pub format: u32,
    /// The run that made them.
    #[serde(rename = "r")]
    pub run: RunId,
    /// The name of the graph.
    #[serde(rename = "g")]
    pub graph: Arc<str>,
    /// The version of the state's shape.
    #[serde(rename = "s")]
    pub schema_version: u32,
    /// The task of the graph around, for a graph inside another.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub outer_task: Option<TaskId>,
    /// What the caller said about the run.
    #[serde(rename = "m", default, skip_serializing_if = "super::is_empty")]
    pub metadata: Arc<BTreeMap<String, Value>>,
}

impl Origin {
    /// Whether a checkpoint has this in common with others.
    #[must_use]
    pub fn is_of(&self, checkpoint: &Checkpoint) -> bool {
        self.format == checkpoint.format
            && self.run == checkpoint.run
            && self.graph == checkpoint.graph
            && self.schema_version == checkpoint.schema_version
            && self.outer_task == checkpoint.outer_task
            && (Arc::ptr_eq(&self.metadata, &checkpoint.metadata) || self.metadata == checkpoint.metadata)
    }
}

impl From<&Checkpoint> for Origin {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            format: checkpoint.format,
            run: checkpoint.run,
            graph: checkpoint.graph.clone(),
            schema_version: checkpoint.schema_version,
            outer_task: checkpoint.outer_task,
            metadata: checkpoint.metadata.clone(),
        }
    }
}

/// Where one checkpoint stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The id.
    pub id: CheckpointId,
    /// The checkpoint it follows.
    pub parent: Option<CheckpointId>,
    /// 0 is the input; *n* follows the *n*-th superstep.
    pub step: i64,
    /// What made it.
    pub source: Source,
    /// When, in microseconds since 1970.
    pub time: i64,
}

impl From<&Checkpoint> for Mark {
    fn from(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { id, parent, step, source, time, .. } = *checkpoint;
        Self { id, parent, step, source, time }
    }
}

/// What lies ahead of a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ahead {
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    due: Vec<Due>,
    #[serde(rename = "j", default, skip_serializing_if = "Vec::is_empty")]
    joins: Vec<StoredJoin>,
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    deferred: Vec<Arc<str>>,
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    written: Vec<Arc<str>>,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    since_input: Option<Vec<(Arc<str>, Change)>>,
}

/// The node, the kind of reason and the node that led there, what it is given, since when: what is missing at the end is
/// left out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Due(
    Arc<str>,
    WhyKind,
    #[serde(default)] Option<Arc<str>>,
    #[serde(default)] Option<StoredSend>,
    #[serde(default)] Option<(CheckpointId, i64)>,
);

impl Serialize for Due {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(node, kind, from, send, since) = self;
        match (from, send, since) {
            (None, None, None) => (node, kind).serialize(serializer),
            (from, None, None) => (node, kind, from).serialize(serializer),
            (from, send, None) => (node, kind, from, send).serialize(serializer),
            (from, send, since) => (node, kind, from, send, since).serialize(serializer),
        }
    }
}

impl From<&Checkpoint> for Ahead {
    fn from(checkpoint: &Checkpoint) -> Self {
        let due =
            |due: &StoredDue| Due(due.node.clone(), due.why.kind, due.why.from.clone(), due.send.clone(), due.since);
        Self {
            due: checkpoint.due.iter().map(due).collect(),
            joins: checkpoint.joins.clone(),
            deferred: checkpoint.deferred.clone(),
            written: checkpoint.written.clone(),
            since_input: checkpoint.since_input.clone(),
        }
    }
}

impl Checkpoint {
    /// Puts a checkpoint together again.
    #[must_use]
    pub fn from_pieces((thread, namespace): (ThreadId, Namespace), mark: Mark, origin: &Origin, ahead: Ahead) -> Self {
        let due = |Due(node, kind, from, send, since)| StoredDue { node, why: StoredWhy { kind, from }, send, since };
        Self {
            format: origin.format,
            id: mark.id,
            parent: mark.parent,
            thread,
            namespace,
            step: mark.step,
            source: mark.source,
            run: origin.run,
            time: mark.time,
            graph: origin.graph.clone(),
            schema_version: origin.schema_version,
            due: ahead.due.into_iter().map(due).collect(),
            joins: ahead.joins,
            deferred: ahead.deferred,
            written: ahead.written,
            outer_task: origin.outer_task,
            since_input: ahead.since_input,
            metadata: origin.metadata.clone(),
        }
    }
}

impl Source {
    /// The number a store keeps. A number is never reused.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Input => 1,
            Self::Loop => 2,
            Self::Interrupt => 3,
            Self::Update => 4,
            Self::Fork => 5,
        }
    }

    /// What a store's number stands for.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Input,
            2 => Self::Loop,
            3 => Self::Interrupt,
            4 => Self::Update,
            5 => Self::Fork,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::datum::Datum;

    #[test]
    fn what_is_due_is_short_and_comes_back() {
        let send = StoredSend { index: 3, payload: Datum::json(json!([1])), timeout: None };
        let since = (CheckpointId::from_bits(7), 2);
        let rows = [
            (Due("a".into(), WhyKind::Edge, None, None, None), json!(["a", "edge"])),
            (Due("a".into(), WhyKind::Route, Some("b".into()), None, None), json!(["a", "route", "b"])),
            (
                Due("a".into(), WhyKind::Send, None, Some(send.clone()), None),
                json!(["a", "send", null, { "index": 3, "payload": [1] }]),
            ),
            (Due("a".into(), WhyKind::Goto, None, None, Some(since)), json!(["a", "goto", null, null, [since.0, 2]])),
            (
                Due("a".into(), WhyKind::Send, Some("b".into()), Some(send), Some(since)),
                json!(["a", "send", "b", { "index": 3, "payload": [1] }, [since.0, 2]]),
            ),
        ];
        for (due, form) in rows {
            assert_eq!(serde_json::to_value(&due).unwrap(), form);
            assert_eq!(serde_json::from_value::<Due>(form).unwrap(), due);
        }
    }
}
