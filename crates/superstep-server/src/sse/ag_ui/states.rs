//! What a reader of AG-UI knows of the state, and what it must be told to know the next one.
//!
//! Events say what nodes returned, not what became of the state: that is read from the checkpoint that an event names.
//! Patches are of RFC 6902, for whole fields; of a list that has grown only what is new is told.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::HistoryQuery;
use superstep::core::id::ThreadId;

use crate::hub::Told;
use crate::registry::{Served, outward};

/// The state as a reader knows it.
pub(super) struct States {
    served: Arc<dyn Served>,
    known: Known,
    /// What the checkpoint adds that is told next.
    next: Option<Value>,
}

/// What a reader knows: a state, or that of a checkpoint that nobody had to look at yet.
enum Known {
    State(Value),
    At(Place),
}

struct Place {
    thread: ThreadId,
    step: Option<i64>,
    checkpoint: String,
}

impl Place {
    fn of(event: &Value) -> Self {
        let (data, thread) = (&event["data"], event["metadata"]["thread_id"].as_str().unwrap_or_default());
        let checkpoint = data["checkpoint_id"].as_str().unwrap_or_default().to_owned();
        Self { thread: thread.into(), step: data["step"].as_i64(), checkpoint }
    }
}

impl States {
    pub(super) fn new(served: Arc<dyn Served>) -> Self {
        Self { served, known: Known::State(Value::Null), next: None }
    }

    /// A state was told whole.
    pub(super) fn told(&mut self, state: &Value) {
        self.known = Known::State(state.clone());
    }

    /// Looks up the state of a checkpoint; not for a reader that has heard of it already.
    pub(super) async fn look(&mut self, told: &Told, is_heard: bool) {
        let place = Place::of(told.event());
        if is_heard {
            self.known = Known::At(place);
            return;
        }
        // One that is pruned by now is told with the next.
        let Some(state) = self.read(&place).await else { return };
        let before = match std::mem::replace(&mut self.known, Known::State(Value::Null)) {
            Known::State(before) => before,
            Known::At(place) => self.read(&place).await.unwrap_or_default(),
        };
        self.next = news(&before, &state);
        self.known = Known::State(state);
    }

    /// What is to be told of the checkpoint that was looked up last.
    pub(super) fn take(&mut self) -> Option<Value> {
        self.next.take()
    }

    async fn read(&self, place: &Place) -> Option<Value> {
        let query = HistoryQuery { step: place.step, ..HistoryQuery::default() };
        let states = self.served.history(&place.thread, &query).await.ok()?;
        let found = states.into_iter().find(|state| state.checkpoint_id.to_string() == place.checkpoint);
        found.map(|state| outward(state.values, &self.served.output_schema()))
    }
}

/// What whoever knows one state must be told to know another; nothing when they are the same.
fn news(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(json!({ "type": "STATE_SNAPSHOT", "snapshot": after }));
    };
    let delta = patch(old, new);
    (!delta.is_empty()).then(|| json!({ "type": "STATE_DELTA", "delta": delta }))
}

fn patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<Value> {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let mut operations: Vec<Value> = gone.map(|name| json!({ "op": "remove", "path": pointer(name) })).collect();
    for (name, value) in new {
        let path = pointer(name);
        match (old.get(name), value) {
            (Some(before), after) if before == after => {}
            (Some(Value::Array(before)), Value::Array(after)) if after.starts_with(before) => {
                let path = format!("{path}/-");
                let more = after[before.len()..].iter();
                operations.extend(more.map(|item| json!({ "op": "add", "path": path, "value": item })));
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

    /// R-SRV-7: a patch names what is new, changed and gone; who knows nothing is told everything.
    #[test]
    fn a_patch_says_what_is_new_changed_and_gone() {
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
        assert_eq!(news(&old, &new), Some(expected));
        assert_eq!(news(&new, &new), None);
        assert_eq!(news(&Value::Null, &new), Some(json!({ "type": "STATE_SNAPSHOT", "snapshot": new })));
    }
}
