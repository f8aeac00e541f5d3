//! Where an event happened: what all events of a graph, a task or a call have in common.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use superstep_core::id::{CheckpointId, TaskId};
use superstep_core::model::ModelInfo;
use superstep_core::time::Time;

use super::EventForm;
use crate::stream::GraphRun;

/// Where an event happened.
pub(super) struct Place {
    pub(super) graph: Arc<GraphRun>,
    pub(super) form: EventForm,
    pub(super) task: Option<TaskPlace>,
    pub(super) model: Option<ModelInfo>,
    /// Everything it is inside of, the outermost first.
    pub(super) parents: Vec<String>,
    pub(super) tags: Vec<String>,
}

/// The task an event is of.
#[derive(Clone)]
pub(super) struct TaskPlace {
    pub(super) id: TaskId,
    pub(super) node: Arc<str>,
    pub(super) step: i64,
    pub(super) checkpoint: Option<CheckpointId>,
}

/// Where and when an event happened, and which one it is.
#[derive(Clone)]
pub struct EventMetadata {
    /// Its number: on the thread, of a run that keeps its events; in this stream otherwise.
    pub seq: u64,
    /// When, in microseconds since 1970.
    pub time: i64,
    pub(super) place: Arc<Place>,
}

impl EventMetadata {
    /// The node, of an event of one.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.place.task.as_ref().map(|task| &*task.node)
    }

    /// The superstep, of an event of a node.
    #[must_use]
    pub fn step(&self) -> Option<i64> {
        self.place.task.as_ref().map(|task| task.step)
    }

    /// Who answers, of an event of a model.
    #[must_use]
    pub fn model(&self) -> Option<&ModelInfo> {
        self.place.model.as_ref()
    }
}

impl Serialize for EventMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Place { graph, task, model, form, .. } = &*self.place;
        let (step, node, path, checkpoint) = match form {
            EventForm::Superstep => ("step", "node", "path", "checkpoint_id"),
            EventForm::LangChain => ("langgraph_step", "langgraph_node", "langgraph_checkpoint_ns", "checkpoint_id"),
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
