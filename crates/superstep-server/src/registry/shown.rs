//! A state of a thread as callers see it: JSON and ids, whatever the state is in Rust.

use serde::Serialize;
use serde_json::{Map, Value};
use superstep::core::checkpoint::Question;
use superstep::core::id::{CheckpointId, InterruptId, RunId, TaskId};
use superstep::core::time::Time;
use superstep::{Snapshot, State, TaskState};

use crate::ledger::RunFailure;
use crate::problem::Problem;

/// A saved state of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shown {
    /// Every field that is saved.
    pub values: Value,
    /// The nodes that are due.
    pub next: Vec<String>,
    /// The checkpoint.
    pub checkpoint_id: CheckpointId,
    /// The checkpoint it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<CheckpointId>,
    /// The run that made it.
    pub run_id: RunId,
    /// The superstep.
    pub step: i64,
    /// When it was made.
    pub created_at: String,
    /// What the run said about itself.
    pub metadata: Map<String, Value>,
    /// What is known of the tasks that are due.
    pub tasks: Vec<ShownTask>,
}

/// What is known of a task that is due.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShownTask {
    /// The task.
    pub id: TaskId,
    /// Its node.
    pub name: String,
    /// Whether it has finished.
    pub is_done: bool,
    /// Why it failed the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure>,
    /// The questions it asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<ShownQuestion>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShownQuestion {
    /// What an answer names.
    pub id: InterruptId,
    /// What the question is called.
    pub name: String,
    /// A sentence for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the person is shown.
    pub value: Value,
    /// What an answer must look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl Shown {
    /// Every question that waits for an answer.
    pub fn questions(&self) -> impl Iterator<Item = &ShownQuestion> {
        self.tasks.iter().flat_map(|task| &task.questions)
    }

    pub(super) fn new<S: State>(snapshot: &Snapshot<S>, values: Value) -> Self {
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
            tasks: snapshot.tasks.iter().map(ShownTask::from).collect(),
        }
    }
}

impl From<&TaskState> for ShownTask {
    fn from(task: &TaskState) -> Self {
        let error = task.error.as_ref().map(RunFailure::from);
        let questions = task.questions.iter().map(ShownQuestion::from).collect();
        Self { id: task.id, name: task.node.clone(), is_done: task.is_done, error, questions }
    }
}

impl From<&Question> for ShownQuestion {
    fn from(question: &Question) -> Self {
        let Question { id, name, text, value, schema, .. } = question.clone();
        Self { id, name, text, value, schema }
    }
}

/// What a saved state looks like as JSON.
pub(super) fn shown<S: State>(schema: &superstep::Schema, snapshot: &Snapshot<S>) -> Result<Shown, Problem> {
    let values = schema.to_json(&*snapshot.state)?;
    Ok(Shown::new(snapshot, values))
}

/// Values of a state without what is nobody's business outside of the graph, by the schema of its output.
pub(crate) fn outward(mut values: Value, schema: &Value) -> Value {
    if let Some(values) = values.as_object_mut() {
        values.retain(|name, _| schema["properties"].get(name).is_some());
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-SRV-7, R-GRA-49: fields that are private, or not of the output, stay inside.
    #[test]
    fn private_fields_stay_inside() {
        let schema = json!({ "properties": { "answer": {} } });
        assert_eq!(outward(json!({ "answer": 1, "secret": 2 }), &schema), json!({ "answer": 1 }));
    }
}
