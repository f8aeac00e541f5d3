//! Questions to a person: asked inside a node, answered whenever, by stable id.
//!
//! A question without an answer never returns: the node is dropped, the run ends as interrupted, and with
//! the answer the node runs again from its start. Questions are matched by their order in the node.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_core::checkpoint::Question;
use superstep_core::machine::question_id_in;

use super::{Cx, Kind, Place, lock};
use crate::output::NodeError;

/// Asks a person.
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Mail { text: String, sent: bool }
/// async fn approve(mail: View<Mail>, ask: Ask) -> Result<MailUpdate, NodeError> {
///     let yes: bool = ask.person("send this mail?", &mail.text).await?;
///     Ok(Mail::update().sent(yes))
/// }
/// ```
#[derive(Clone)]
pub struct Ask(pub(crate) Cx);

impl Ask {
    /// Asks, and waits for the answer however long it takes.
    ///
    /// The JSON Schema of `A` goes with the question, and answers are held against it before they count.
    ///
    /// # Errors
    /// When the question cannot be written as JSON.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question only if the node goes on to end without it.
    pub async fn person<A: DeserializeOwned + JsonSchema>(
        &self,
        name: &str,
        show: impl Serialize,
    ) -> Result<A, NodeError> {
        let schema = serde_json::to_value(schemars::schema_for!(A))?;
        // The schema of a plain value accepts everything: saying so helps nobody.
        let schema = Some(schema).filter(|schema| {
            schema.as_object().is_none_or(|object| object.keys().any(|key| !key.starts_with('$') && key != "title"))
        });
        let answer = self.question(name, serde_json::to_value(show)?, schema, None).await;
        Ok(serde_json::from_value(answer)?)
    }

    /// Asks with a sentence for the person and a JSON Schema of your own.
    ///
    /// # Errors
    /// When the question cannot be written as JSON.
    pub async fn with(
        &self,
        name: &str,
        show: impl Serialize,
        text: &str,
        schema: Option<Value>,
    ) -> Result<Value, NodeError> {
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        Ok(self.question(name, serde_json::to_value(show)?, schema, text).await)
    }

    async fn question(&self, name: &str, value: Value, schema: Option<Value>, text: Option<String>) -> Value {
        let cx = &self.0;
        let Place { step, number } = cx.0.cell.number(Kind::Question);
        let id = question_id_in(cx.task_id(), &step, number);
        if let Some(answer) = cx.answers().and_then(|answers| answers.get(&id)) {
            return answer.clone();
        }
        let (node, namespace) = (cx.node().into(), cx.namespace().clone());
        lock(&cx.0.cell.asked).push(Question { id, node, namespace, name: name.to_owned(), value, schema, text });
        // Never ready: the executor sees the question and lets the node go.
        std::future::pending().await
    }

    /// Passes on questions of a graph that runs inside this node.
    pub(crate) async fn pass_on<T>(&self, questions: Vec<Question>) -> T {
        lock(&self.0.0.cell.asked).extend(questions);
        std::future::pending().await
    }
}
