//! Results that are recorded before they are used, so that what made them is not repeated.

use std::any::Any;

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_core::checkpoint::Entry;
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error};
use superstep_core::redact::Counts;

use super::{Cx, Kind, Place, lock};
use crate::output::NodeError;
use crate::redacting::redact_datum;

impl Cx {
    /// Runs `make` the first time and returns the recorded result afterwards: after an interrupt, a retry or
    /// a crash of this task.
    ///
    /// The result is durable before it is returned. Only a crash between the effect and its record repeats
    /// the effect; give [`Cx::idempotency_key`] to the far side to cover that too. With [`crate::Durability::Exit`] the
    /// result is saved when the run ends, and a crash before that loses it.
    ///
    /// # Errors
    /// What `make` failed with (nothing is recorded then), or that the record could not be written.
    pub async fn once<T, E, F>(&self, key: &str, make: F) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Clone + Any + Send + Sync,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>>,
    {
        self.once_at(&self.0.cell.scoped(key), make).await
    }

    /// Whether [`Cx::once`] has a result for this key.
    pub(crate) fn has_record(&self, key: &str) -> bool {
        let key = self.0.cell.scoped(key);
        lock(&self.0.cell.made).contains_key(&*key) || self.recorded(&key).is_some()
    }

    /// As [`Cx::once`], with a key that is the task's own already.
    async fn once_at<T, E, F>(&self, key: &str, make: F) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Clone + Any + Send + Sync,
        E: Into<NodeError>,
        F: Future<Output = Result<T, E>>,
    {
        let made = lock(&self.0.cell.made).get(key).cloned();
        if let Some(recorded) = made.or_else(|| self.recorded(key).cloned()) {
            return recorded.take().map_err(|fault| {
                Error::new(Code::CheckpointCorrupt, format!("the record `{key}` cannot be read as this type: {fault}"))
                    .help("use another key for another type")
                    .into()
            });
        }
        let mut value = self.0.cell.apart(key, make).await.map_err(Into::into)?;
        let mut datum = Datum::live(value.clone());
        let mut taken = Counts::default();
        // Not with that of the tool around: a tool may need what it keeps as it is, such as a key it was given.
        if let Some(redaction) = self.0.shared.redaction() {
            redact_datum(&mut datum, &mut taken, |value, counts| redaction.typed_value(value, counts));
        }
        if !taken.is_empty() {
            self.0.shared.count_redacted(&taken);
            // The same as when it is read again.
            value = datum.clone().take()?;
        }
        self.record(Entry::Once { key: key.to_owned(), value: datum.clone() }).await?;
        lock(&self.0.cell.made).insert(key.to_owned(), datum);
        self.heartbeat_if_watched();
        Ok(value)
    }

    /// As [`Cx::once`], keyed by the order of calls in the node: a durable step of a longer procedure.
    ///
    /// The order of calls must be the same on every run of the node; what decides it must itself be recorded.
    ///
    /// # Errors
    /// As [`Cx::once`].
    pub fn task<'a, T, E, F>(&'a self, name: &str, make: F) -> impl Future<Output = Result<T, NodeError>> + 'a
    where
        T: Serialize + DeserializeOwned + Clone + Any + Send + Sync,
        E: Into<NodeError> + 'a,
        F: Future<Output = Result<T, E>> + 'a,
    {
        // Numbered when it is called, not when it is polled: joined calls keep their order.
        let Place { step, number } = self.0.cell.number(Kind::Call);
        let key = format!("{step}task {number} {name}");
        async move { self.once_at(&key, make).await }
    }
}
