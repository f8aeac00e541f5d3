//! The traits of a Rust type that is the state of a graph. Implemented by `#[derive(GraphState)]` and by
//! [`crate::dynamic_state::DynamicState`], never by hand.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::Diagnostic;
use crate::field::AnyState;
use crate::message::Message;
use crate::schema::Schema;
use crate::update::Update;

#[doc(hidden)]
pub mod derive;

/// The state of a graph.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    label = "this type does not derive `GraphState`",
    note = "add `#[derive(GraphState, Clone, Serialize, Deserialize)]` to `struct {Self}`"
)]
pub trait GraphState: Clone + Send + Sync + 'static {
    /// Partial state, as returned by a node.
    type Update: IntoUpdate;

    /// Returns the schema of the type, unless it is declared at run time.
    fn schema() -> Option<Arc<Schema>>;
}

/// The operations on a full type-erased state.
pub trait StateOps: Send + Sync {
    /// Returns the state of a new thread.
    fn initial(&self) -> Arc<AnyState>;
    /// Returns a copy.
    fn copy(&self, state: &AnyState) -> Arc<AnyState>;
}

/// The [`StateOps`] of a Rust type.
pub struct TypedState<S>(pub fn() -> S);

impl<S: Clone + Send + Sync + 'static> StateOps for TypedState<S> {
    fn initial(&self) -> Arc<AnyState> {
        Arc::new((self.0)())
    }

    fn copy(&self, state: &AnyState) -> Arc<AnyState> {
        let any: &dyn Any = state;
        Arc::new(any.downcast_ref::<S>().expect("a schema is only used with states of its own type").clone())
    }
}

/// An update before its validation against a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum UncheckedUpdate {
    /// Writes to known fields.
    Typed(Update),
    /// External names and values.
    Json(Map<String, Value>),
}

impl Default for UncheckedUpdate {
    fn default() -> Self {
        Self::Typed(Update::new())
    }
}

impl UncheckedUpdate {
    /// Validates the update against a schema. Adds warnings to `warnings`.
    ///
    /// # Errors
    /// Returns all validation errors, with JSON pointers.
    pub fn validate(self, schema: &Schema, warnings: &mut Vec<String>) -> Result<Update, Vec<Diagnostic>> {
        match self {
            Self::Typed(update) => Ok(update),
            Self::Json(map) => schema.update_from_json(map, warnings),
        }
    }
}

/// A value that converts to an update: a generated builder, or a JSON object for a dynamic state.
pub trait IntoUpdate: Send + 'static {
    /// Converts the value to an update that is not validated yet.
    fn into_update(self) -> UncheckedUpdate;
}

impl IntoUpdate for UncheckedUpdate {
    fn into_update(self) -> UncheckedUpdate {
        self
    }
}

impl IntoUpdate for Update {
    fn into_update(self) -> UncheckedUpdate {
        UncheckedUpdate::Typed(self)
    }
}

/// A user message, as the input of a graph with its conversation in `messages`.
impl IntoUpdate for &'static str {
    fn into_update(self) -> UncheckedUpdate {
        Message::user(self).into_update()
    }
}

/// A user message, like a borrowed text.
impl IntoUpdate for String {
    fn into_update(self) -> UncheckedUpdate {
        Message::user(self).into_update()
    }
}

/// A message, as the input of a graph with its conversation in `messages`.
impl IntoUpdate for Message {
    fn into_update(self) -> UncheckedUpdate {
        vec![self].into_update()
    }
}

/// Messages, as the input of a graph with its conversation in `messages`.
impl IntoUpdate for Vec<Message> {
    fn into_update(self) -> UncheckedUpdate {
        let messages = serde_json::to_value(self).unwrap_or_default();
        UncheckedUpdate::Json(Map::from_iter([("messages".to_owned(), messages)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// R-GRA-46, R-GRA-47: an object is an update by names, null is an empty update, and any other value names no
    /// field.
    #[test]
    fn a_value_is_an_update_by_names() {
        let schema = Schema::from_json("state", &json!({ "count": {} })).unwrap();
        let resolve = |value: Value| value.into_update().validate(&schema, &mut Vec::new());
        assert_eq!(resolve(json!({ "count": 1 })).unwrap().writes().len(), 1);
        assert!(resolve(json!(null)).unwrap().is_empty() && resolve(json!({})).unwrap().is_empty());
        for value in [json!({ "cuont": 1 }), json!([1]), json!("count")] {
            assert_eq!(resolve(value).unwrap_err().len(), 1);
        }
        let typed = resolve(json!({ "count": 1 })).unwrap();
        assert_eq!(typed.clone().into_update().validate(&schema, &mut Vec::new()).unwrap(), typed);
    }
}
