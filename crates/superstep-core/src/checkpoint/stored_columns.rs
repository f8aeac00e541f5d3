//! A checkpoint split into the columns that a checkpointer stores: run information, header and schedule.
//!
//! Uses short keys, because every superstep stores one checkpoint. Part of the persisted form: see
//! [`FORMAT_VERSION`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(doc)]
use super::FORMAT_VERSION;
use super::{
    Checkpoint, CheckpointNamespace, CheckpointSource, StoredJoin, StoredSend, StoredTask, StoredTrigger, TriggerKind,
};
use crate::change::Change;
use crate::id::{CheckpointId, RunId, TaskId, ThreadId};

/// The properties that all checkpoints of one run of one graph share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the persisted form.
    #[serde(rename = "v")]
    pub format: u32,
    /// The run that created the checkpoints.
    #[serde(rename = "r")]
    pub run: RunId,
    /// Name of the graph.
    #[serde(rename = "g")]
    pub graph: Arc<str>,
    /// Version of the state schema.
    #[serde(rename = "s")]
    pub schema_version: u32,
    /// Task of the parent graph that runs this subgraph; `None` for the root graph.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub parent_task: Option<TaskId>,
    /// Metadata that the caller set for the run.
    #[serde(rename = "m", default, skip_serializing_if = "super::is_empty")]
    pub metadata: Arc<BTreeMap<String, Value>>,
}

impl RunInfo {
    /// Returns true if the checkpoint has these properties.
    #[must_use]
    pub fn matches(&self, checkpoint: &Checkpoint) -> bool {
        self.format == checkpoint.format
            && self.run == checkpoint.run
            && self.graph == checkpoint.graph
            && self.schema_version == checkpoint.schema_version
            && self.parent_task == checkpoint.parent_task
            && (Arc::ptr_eq(&self.metadata, &checkpoint.metadata) || self.metadata == checkpoint.metadata)
    }
}

impl From<&Checkpoint> for RunInfo {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            format: checkpoint.format,
            run: checkpoint.run,
            graph: checkpoint.graph.clone(),
            schema_version: checkpoint.schema_version,
            parent_task: checkpoint.parent_task,
            metadata: checkpoint.metadata.clone(),
        }
    }
}

/// The identity and the position of one checkpoint in its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointHeader {
    /// Id of the checkpoint.
    pub id: CheckpointId,
    /// The preceding checkpoint.
    pub parent: Option<CheckpointId>,
    /// Step number: 0 is the input; *n* follows the *n*-th superstep.
    pub step: i64,
    /// Cause of the checkpoint.
    pub source: CheckpointSource,
    /// Creation time, in microseconds since 1970.
    pub time: i64,
}

impl From<&Checkpoint> for CheckpointHeader {
    fn from(checkpoint: &Checkpoint) -> Self {
        let Checkpoint { id, parent, step, source, time, .. } = *checkpoint;
        Self { id, parent, step, source, time }
    }
}

/// The schedule of a checkpoint: the next tasks, join progress, deferred nodes and written fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredSchedule {
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    next_tasks: Vec<TaskColumns>,
    #[serde(rename = "j", default, skip_serializing_if = "Vec::is_empty")]
    joins: Vec<StoredJoin>,
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    deferred: Vec<Arc<str>>,
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    written: Vec<Arc<str>>,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    since_input: Option<Vec<(Arc<str>, Change)>>,
}

/// The node, the trigger, the node that routed there, the input of a send, and the checkpoint and step of
/// scheduling. Absent values at the end are left out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct TaskColumns(
    Arc<str>,
    TriggerKind,
    #[serde(default)] Option<Arc<str>>,
    #[serde(default)] Option<StoredSend>,
    #[serde(default)] Option<(CheckpointId, i64)>,
);

impl Serialize for TaskColumns {
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

impl From<&Checkpoint> for StoredSchedule {
    fn from(checkpoint: &Checkpoint) -> Self {
        let task = |task: &StoredTask| {
            TaskColumns(
                task.node.clone(),
                task.trigger.kind,
                task.trigger.from.clone(),
                task.send.clone(),
                task.scheduled_at,
            )
        };
        Self {
            next_tasks: checkpoint.next_tasks.iter().map(task).collect(),
            joins: checkpoint.joins.clone(),
            deferred: checkpoint.deferred.clone(),
            written: checkpoint.written_fields.clone(),
            since_input: checkpoint.changes_since_input.clone(),
        }
    }
}

impl Checkpoint {
    /// Assembles a checkpoint from its columns.
    #[must_use]
    pub fn from_columns(
        (thread, namespace): (ThreadId, CheckpointNamespace),
        header: CheckpointHeader,
        run_info: &RunInfo,
        schedule: StoredSchedule,
    ) -> Self {
        let stored_task = |TaskColumns(node, kind, from, send, since)| StoredTask {
            node,
            trigger: StoredTrigger { kind, from },
            send,
            scheduled_at: since,
        };
        Self {
            format: run_info.format,
            id: header.id,
            parent: header.parent,
            thread,
            namespace,
            step: header.step,
            source: header.source,
            run: run_info.run,
            time: header.time,
            graph: run_info.graph.clone(),
            schema_version: run_info.schema_version,
            next_tasks: schedule.next_tasks.into_iter().map(stored_task).collect(),
            joins: schedule.joins,
            deferred: schedule.deferred,
            written_fields: schedule.written,
            parent_task: run_info.parent_task,
            changes_since_input: schedule.since_input,
            metadata: run_info.metadata.clone(),
        }
    }
}

impl CheckpointSource {
    /// Returns the number that a checkpointer stores. A number is never reused.
    #[must_use]
    pub const fn to_u8(self) -> u8 {
        match self {
            Self::Input => 1,
            Self::Loop => 2,
            Self::Interrupt => 3,
            Self::Update => 4,
            Self::Fork => 5,
        }
    }

    /// Returns the source for a stored number.
    #[must_use]
    pub const fn from_u8(number: u8) -> Option<Self> {
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
    use crate::value::AnyValue;

    #[test]
    fn task_columns_are_compact_and_round_trip() {
        let send = StoredSend { index: 3, payload: AnyValue::json(json!([1])), timeout: None };
        let since = (CheckpointId::from_bits(7), 2);
        let rows = [
            (TaskColumns("a".into(), TriggerKind::Edge, None, None, None), json!(["a", "edge"])),
            (TaskColumns("a".into(), TriggerKind::Route, Some("b".into()), None, None), json!(["a", "route", "b"])),
            (
                TaskColumns("a".into(), TriggerKind::Send, None, Some(send.clone()), None),
                json!(["a", "send", null, { "index": 3, "payload": [1] }]),
            ),
            (
                TaskColumns("a".into(), TriggerKind::Goto, None, None, Some(since)),
                json!(["a", "goto", null, null, [since.0, 2]]),
            ),
            (
                TaskColumns("a".into(), TriggerKind::Send, Some("b".into()), Some(send), Some(since)),
                json!(["a", "send", "b", { "index": 3, "payload": [1] }, [since.0, 2]]),
            ),
        ];
        for (columns, form) in rows {
            assert_eq!(serde_json::to_value(&columns).unwrap(), form);
            assert_eq!(serde_json::from_value::<TaskColumns>(form).unwrap(), columns);
        }
    }
}
