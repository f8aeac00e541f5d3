//! State of a thread as JSON, for any state type.

use serde::Serialize;
use serde_json::{Map, Value};
use superstep::core::checkpoint::Interrupt;
use superstep::core::id::{CheckpointId, InterruptId, RunId, TaskId};
use superstep::core::time::Time;
use superstep::{GraphState, StateSnapshot, TaskSnapshot};

use crate::api::problem::Problem;
use crate::runs::repository::RunError;

/// Saved state of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ThreadState {
    /// All persisted fields.
    pub values: Value,
    /// Nodes of the next tasks.
    pub next: Vec<String>,
    /// Id of the checkpoint.
    pub checkpoint_id: CheckpointId,
    /// Parent of the checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<CheckpointId>,
    /// Run that created the checkpoint.
    pub run_id: RunId,
    /// Number of the superstep.
    pub step: i64,
    /// Time of the checkpoint.
    pub created_at: String,
    /// Metadata of the run.
    pub metadata: Map<String, Value>,
    /// Status of the next tasks.
    pub tasks: Vec<ThreadTask>,
}

/// Status of a scheduled task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ThreadTask {
    /// Id of the task.
    pub id: TaskId,
    /// Node of the task.
    pub name: String,
    /// True if the task has finished.
    #[serde(rename = "is_done")]
    pub is_finished: bool,
    /// Error of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Open interrupts of the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "questions")]
    pub interrupts: Vec<ThreadInterrupt>,
}

/// An open interrupt, which waits for a resume value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ThreadInterrupt {
    /// Id of the interrupt, by which its resume value is passed.
    pub id: InterruptId,
    /// Name of the interrupt.
    pub name: String,
    /// Text for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Value for the user to review.
    pub value: Value,
    /// JSON Schema of the resume value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl ThreadState {
    /// Iterates over the open interrupts of all tasks.
    pub fn interrupts(&self) -> impl Iterator<Item = &ThreadInterrupt> {
        self.tasks.iter().flat_map(|task| &task.interrupts)
    }

    pub(crate) fn new<S: GraphState>(snapshot: &StateSnapshot<S>, values: Value) -> Self {
        let checkpoint = &snapshot.checkpoint;
        let created_at = Time::from_unix_micros(checkpoint.time).map(|time| time.to_string()).unwrap_or_default();
        Self {
            values,
            next: snapshot.next.clone(),
            checkpoint_id: checkpoint.id,
            parent_id: checkpoint.parent,
            run_id: checkpoint.run,
            step: checkpoint.step,
            created_at,
            metadata: checkpoint.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            tasks: snapshot.tasks.iter().map(ThreadTask::from).collect(),
        }
    }
}

impl From<&TaskSnapshot> for ThreadTask {
    fn from(task: &TaskSnapshot) -> Self {
        let error = task.error.as_ref().map(RunError::from);
        let interrupts = task.interrupts.iter().map(ThreadInterrupt::from).collect();
        Self { id: task.id, name: task.node.clone(), is_finished: task.is_finished, error, interrupts }
    }
}

impl From<&Interrupt> for ThreadInterrupt {
    fn from(interrupt: &Interrupt) -> Self {
        let Interrupt { id, name, prompt: text, value, resume_schema: schema, .. } = interrupt.clone();
        Self { id, name, text, value, schema }
    }
}

/// Converts a snapshot to JSON.
pub(crate) fn thread_state<S: GraphState>(
    schema: &superstep::Schema,
    snapshot: &StateSnapshot<S>,
) -> Result<ThreadState, Problem> {
    let values = schema.to_json(&*snapshot.state)?;
    Ok(ThreadState::new(snapshot, values))
}

/// Removes the values that are not part of the output schema, such as private fields.
pub(crate) fn output_values(mut values: Value, schema: &Value) -> Value {
    if let Some(values) = values.as_object_mut() {
        values.retain(|name, _| schema["properties"].get(name).is_some());
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-GRA-51: private fields, and fields outside the output schema, are not returned.
    #[test]
    fn private_fields_are_not_returned() {
        let schema = json!({ "properties": { "answer": {} } });
        assert_eq!(output_values(json!({ "answer": 1, "secret": 2 }), &schema), json!({ "answer": 1 }));
    }
}
