//! Recorded results: persisted before they are used, so that the code that computed them does not run again.

use std::any::Any;

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_core::checkpoint::TaskEntry;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::redaction::RedactionCounts;
use superstep_core::value::AnyValue;

use super::{Ordinal, OrdinalKind, TaskContext, lock};
use crate::engine::redaction::redact_any_value;
use crate::graph::output::NodeError;

impl TaskContext {
    /// Runs `make` the first time, and returns the recorded result afterwards: after an interrupt, a retry or a crash
    /// of this task.
    ///
    /// The result is durable before it is returned. A crash between the side effect and the record repeats the side
    /// effect; send [`TaskContext::idempotency_key`] to the external system to cover that case. With
    /// [`crate::Durability::Exit`] the result is saved when the run ends, and an earlier crash loses it.
    ///
    /// # Errors
    /// Returns an error if `make` fails (nothing is recorded then), or if the result cannot be saved.
    pub async fn once<T, E, F>(&self, key: &str, make: F) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Clone + Any + Send + Sync,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>>,
    {
        self.once_with_scoped_key(&self.0.cell.scoped_key(key), make).await
    }

    /// Returns true if [`TaskContext::once`] has a result for this key.
    pub(crate) fn is_recorded(&self, key: &str) -> bool {
        let key = self.0.cell.scoped_key(key);
        lock(&self.0.cell.recorded).contains_key(&*key) || self.recorded(&key).is_some()
    }

    /// Runs [`TaskContext::once`] with a key that is already scoped to the task.
    async fn once_with_scoped_key<T, E, F>(&self, key: &str, make: F) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Clone + Any + Send + Sync,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>>,
    {
        let existing = lock(&self.0.cell.recorded).get(key).cloned();
        if let Some(recorded) = existing.or_else(|| self.recorded(key).cloned()) {
            return recorded.into_value().map_err(|error| {
                Error::new(
                    ErrorCode::CheckpointCorrupt,
                    format!("the recorded result `{key}` does not match this type: {error}"),
                )
                .with_help("use a different key for a different type")
                .into()
            });
        }
        let mut value = self.0.cell.with_step_ordinals(key, make).await.map_err(Into::into)?;
        let mut recorded = AnyValue::native(value.clone());
        let mut counts = RedactionCounts::default();
        // Without the redaction of a surrounding tool call: a tool may need a recorded value unchanged, such as a key
        // that it received.
        if let Some(redaction) = self.0.shared.redaction() {
            redact_any_value(&mut recorded, &mut counts, |value, counts| redaction.redact_typed_json(value, counts));
        }
        if !counts.is_empty() {
            self.0.shared.count_redacted(&counts);
            // Equal to the value that a later execution reads.
            value = recorded.clone().into_value()?;
        }
        self.record(TaskEntry::Recorded { key: key.to_owned(), value: recorded.clone() }).await?;
        lock(&self.0.cell.recorded).insert(key.to_owned(), recorded);
        self.heartbeat_if_idle_timeout();
        Ok(value)
    }

    /// Runs [`TaskContext::once`] with a key from the order of calls in the node: a durable step of a longer procedure.
    ///
    /// The order of calls must be the same on every execution of the node; values that influence the order must be
    /// recorded themselves.
    ///
    /// # Errors
    /// Same as [`TaskContext::once`].
    pub fn task<'a, T, E, F>(&'a self, name: &str, make: F) -> impl Future<Output = Result<T, NodeError>> + 'a
    where
        T: Serialize + DeserializeOwned + Clone + Any + Send + Sync,
        E: Into<NodeError> + 'a,
        F: Future<Output = Result<T, E>> + 'a,
    {
        // Numbered when the function is called, not when the future is polled, so that joined calls keep their order.
        let Ordinal { step, number } = self.0.cell.next_ordinal(OrdinalKind::Call);
        let key = format!("{step}task {number} {name}");
        async move { self.once_with_scoped_key(&key, make).await }
    }
}
