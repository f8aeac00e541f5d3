//! Interrupts: raised inside a node, resumed at any later time, identified by a stable id.
//!
//! An interrupt without a resume value never returns: the node future is dropped and the run ends as interrupted.
//! When the run is resumed, the node runs again from its start. Interrupts are matched to resume values by their
//! order in the node.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_core::checkpoint::Interrupt;
use superstep_core::machine::interrupt_id_in_step;

use super::{Ordinal, OrdinalKind, TaskContext, lock};
use crate::graph::output::NodeError;

/// The interrupt API of a task.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Mail { text: String, sent: bool }
/// async fn approve(mail: View<Mail>, interrupts: Interrupts) -> Result<MailUpdate, NodeError> {
///     let yes: bool = interrupts.raise("send this mail?", &mail.text).await?;
///     Ok(Mail::update().sent(yes))
/// }
/// ```
#[derive(Clone)]
pub struct Interrupts(pub(crate) TaskContext);

impl Interrupts {
    /// Raises an interrupt and returns its resume value.
    ///
    /// The interrupt carries the JSON Schema of `A`. A resume value that is not valid for the schema is rejected.
    ///
    /// # Errors
    /// Returns an error if the payload does not serialize to JSON.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the interrupt only if the node then completes without it.
    pub async fn raise<A: DeserializeOwned + JsonSchema>(
        &self,
        name: &str,
        value: impl Serialize,
    ) -> Result<A, NodeError> {
        let schema = serde_json::to_value(schemars::schema_for!(A))?;
        // The schema of an untyped value accepts everything, so it is omitted.
        let schema = Some(schema).filter(|schema| {
            schema.as_object().is_none_or(|object| object.keys().any(|key| !key.starts_with('$') && key != "title"))
        });
        let resume_value = self.raise_value(name, serde_json::to_value(value)?, schema, None).await;
        Ok(serde_json::from_value(resume_value)?)
    }

    /// Raises an interrupt with a prompt for the reader and a custom JSON Schema.
    ///
    /// # Errors
    /// Returns an error if the payload does not serialize to JSON.
    pub async fn raise_with_schema(
        &self,
        name: &str,
        value: impl Serialize,
        prompt: &str,
        schema: Option<Value>,
    ) -> Result<Value, NodeError> {
        let prompt = Some(prompt.to_owned()).filter(|prompt| !prompt.is_empty());
        Ok(self.raise_value(name, serde_json::to_value(value)?, schema, prompt).await)
    }

    async fn raise_value(&self, name: &str, value: Value, schema: Option<Value>, text: Option<String>) -> Value {
        let cx = &self.0;
        let Ordinal { step, number } = cx.0.cell.next_ordinal(OrdinalKind::Interrupt);
        let id = interrupt_id_in_step(cx.task_id(), &step, number);
        if let Some(resume_value) = cx.resume_values().and_then(|resume_values| resume_values.get(&id)) {
            return resume_value.clone();
        }
        let (node, namespace) = (cx.node().into(), cx.namespace().clone());
        lock(&cx.0.cell.interrupts).push(Interrupt {
            id,
            node,
            namespace,
            name: name.to_owned(),
            value,
            resume_schema: schema,
            prompt: text,
        });
        // Never ready: the executor detects the interrupt and drops the node future.
        std::future::pending().await
    }

    /// Forwards the interrupts of a graph that runs inside this node.
    pub(crate) async fn forward<T>(&self, interrupts: Vec<Interrupt>) -> T {
        lock(&self.0.0.cell.interrupts).extend(interrupts);
        std::future::pending().await
    }
}
