//! Scope of an event: data that all events of a graph, a task or a call share.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use superstep_core::id::{CheckpointId, TaskId};
use superstep_core::model::ModelInfo;
use superstep_core::time::Time;

use crate::events::event::GraphRun;
use crate::events::event_stream::EventFormat;

/// Scope of an event.
pub(crate) struct EventScope {
    pub(crate) graph: Arc<GraphRun>,
    pub(crate) format: EventFormat,
    pub(crate) task: Option<TaskScope>,
    pub(crate) model: Option<ModelInfo>,
    /// Ids of all enclosing graph runs and tasks, the outermost first.
    pub(crate) parents: Vec<String>,
    pub(crate) tags: Vec<String>,
}

/// The task of an event.
#[derive(Clone)]
pub(crate) struct TaskScope {
    pub(crate) id: TaskId,
    pub(crate) node: Arc<str>,
    pub(crate) step: i64,
    pub(crate) checkpoint: Option<CheckpointId>,
}

/// Scope, time and number of an event.
#[derive(Clone)]
pub struct EventMetadata {
    /// Number of the event: in the journal of the thread if events are journaled, otherwise in this stream.
    pub seq: u64,
    /// Time in microseconds since 1970.
    pub time: i64,
    pub(crate) scope: Arc<EventScope>,
}

impl EventMetadata {
    /// Returns the node, if the event belongs to one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.scope.task.as_ref().map(|task| &*task.node)
    }

    /// Returns the superstep, if the event belongs to a node.
    #[must_use]
    pub fn step(&self) -> Option<i64> {
        self.scope.task.as_ref().map(|task| task.step)
    }

    /// Returns the model, if the event belongs to a model call.
    #[must_use]
    pub fn model(&self) -> Option<&ModelInfo> {
        self.scope.model.as_ref()
    }
}

impl Serialize for EventMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EventScope { graph, task, model, format, .. } = &*self.scope;
        let (step, node, path, checkpoint) = match format {
            EventFormat::Superstep => ("step", "node", "path", "checkpoint_id"),
            EventFormat::LangChain => ("langgraph_step", "langgraph_node", "langgraph_checkpoint_ns", "checkpoint_id"),
        };
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in graph.metadata.iter() {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("thread_id", &graph.thread)?;
        map.serialize_entry(path, graph.namespace.as_str())?;
        if let Some(task) = task {
            map.serialize_entry(step, &task.step)?;
            map.serialize_entry(node, &*task.node)?;
            map.serialize_entry(checkpoint, &task.checkpoint)?;
        }
        if let Some(model) = model {
            map.serialize_entry("model", model)?;
        }
        map.serialize_entry("seq", &self.seq)?;
        let time = Time::from_unix_micros(self.time).map(|time| time.to_string()).unwrap_or_default();
        map.serialize_entry("ts", &time)?;
        map.end()
    }
}
