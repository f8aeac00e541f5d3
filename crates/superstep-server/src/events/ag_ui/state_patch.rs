//! Tracks the state an AG-UI client has, and computes the patch to the next one.
//!
//! Events contain the output of nodes, not the resulting state. The state is read from the checkpoint that an event
//! names. Patches follow RFC 6902, for whole fields; for a list that has grown only the new elements are sent.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::HistoryQuery;
use superstep::core::id::ThreadId;

use crate::events::broadcast::PublishedEvent;
use crate::graphs::registry::{ServedGraph, output_values};

/// State that the client has.
pub(super) struct StateTracker {
    graph: Arc<dyn ServedGraph>,
    client_state: ClientState,
    /// State event of the last loaded checkpoint, to be sent next.
    next_patch: Option<Value>,
}

/// Known state of the client: a value, or a checkpoint whose state was not needed yet.
enum ClientState {
    State(Value),
    At(CheckpointRef),
}

struct CheckpointRef {
    thread: ThreadId,
    step: Option<i64>,
    checkpoint: String,
}

impl CheckpointRef {
    fn from_event(event: &Value) -> Self {
        let (data, thread) = (&event["data"], event["metadata"]["thread_id"].as_str().unwrap_or_default());
        let checkpoint = data["checkpoint_id"].as_str().unwrap_or_default().to_owned();
        Self { thread: thread.into(), step: data["step"].as_i64(), checkpoint }
    }
}

impl StateTracker {
    pub(super) fn new(graph: Arc<dyn ServedGraph>) -> Self {
        Self { graph, client_state: ClientState::State(Value::Null), next_patch: None }
    }

    /// Sets the state that was sent in full.
    pub(super) fn set_snapshot(&mut self, state: &Value) {
        self.client_state = ClientState::State(state.clone());
    }

    /// Loads the state of a checkpoint, unless the client has received its event before.
    pub(super) async fn load_checkpoint_state(&mut self, published: &PublishedEvent, is_received: bool) {
        let checkpoint_ref = CheckpointRef::from_event(published.event());
        if is_received {
            self.client_state = ClientState::At(checkpoint_ref);
            return;
        }
        // A checkpoint that was pruned meanwhile is covered by the patch of the next one.
        let Some(state) = self.read(&checkpoint_ref).await else { return };
        let before = match std::mem::replace(&mut self.client_state, ClientState::State(Value::Null)) {
            ClientState::State(before) => before,
            ClientState::At(checkpoint_ref) => self.read(&checkpoint_ref).await.unwrap_or_default(),
        };
        self.next_patch = diff(&before, &state);
        self.client_state = ClientState::State(state);
    }

    /// Takes the state event of the last loaded checkpoint.
    pub(super) fn take_patch(&mut self) -> Option<Value> {
        self.next_patch.take()
    }

    async fn read(&self, checkpoint_ref: &CheckpointRef) -> Option<Value> {
        let query = HistoryQuery { step: checkpoint_ref.step, ..HistoryQuery::default() };
        let states = self.graph.history(&checkpoint_ref.thread, &query).await.ok()?;
        let matching = states.into_iter().find(|state| state.checkpoint_id.to_string() == checkpoint_ref.checkpoint);
        matching.map(|state| output_values(state.values, &self.graph.output_schema()))
    }
}

/// Returns the event that updates a client from one state to another; `None` if they are equal.
fn diff(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(json!({ "type": "STATE_SNAPSHOT", "snapshot": after }));
    };
    let delta = patch(old, new);
    (!delta.is_empty()).then(|| json!({ "type": "STATE_DELTA", "delta": delta }))
}

fn patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<Value> {
    let removed = old.keys().filter(|name| !new.contains_key(*name));
    let mut operations: Vec<Value> = removed.map(|name| json!({ "op": "remove", "path": pointer(name) })).collect();
    for (name, value) in new {
        let path = pointer(name);
        match (old.get(name), value) {
            (Some(before), after) if before == after => {}
            (Some(Value::Array(before)), Value::Array(after)) if after.starts_with(before) => {
                let path = format!("{path}/-");
                let added = after[before.len()..].iter();
                operations.extend(added.map(|item| json!({ "op": "add", "path": path, "value": item })));
            }
            (Some(_), after) => operations.push(json!({ "op": "replace", "path": path, "value": after })),
            (None, after) => operations.push(json!({ "op": "add", "path": path, "value": after })),
        }
    }
    operations
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SRV-7a: a patch contains added, changed and removed values; a client without a state gets a snapshot.
    #[test]
    fn patches_contain_added_changed_and_removed_values() {
        let old = json!({ "same": 1, "changed": 1, "gone": 1, "grown": [1], "shrunk": [1, 2] });
        let new = json!({ "a/b~c": null, "changed": 2, "grown": [1, 2, 3], "same": 1, "shrunk": [1] });
        let expected = json!({ "type": "STATE_DELTA", "delta": [
            { "op": "remove", "path": "/gone" },
            { "op": "add", "path": "/a~1b~0c", "value": null },
            { "op": "replace", "path": "/changed", "value": 2 },
            { "op": "add", "path": "/grown/-", "value": 2 },
            { "op": "add", "path": "/grown/-", "value": 3 },
            { "op": "replace", "path": "/shrunk", "value": [1] },
        ] });
        assert_eq!(diff(&old, &new), Some(expected));
        assert_eq!(diff(&new, &new), None);
        assert_eq!(diff(&Value::Null, &new), Some(json!({ "type": "STATE_SNAPSHOT", "snapshot": new })));
    }
}
