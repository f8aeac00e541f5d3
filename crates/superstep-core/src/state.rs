//! What a Rust type needs to be the state of a graph. Implemented by `#[derive(State)]` and by
//! [`crate::record::Record`], never by hand.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::Problem;
use crate::field::AnyState;
use crate::message::Message;
use crate::schema::Schema;
use crate::update::Update;

#[doc(hidden)]
pub mod derive;

/// The state of a graph.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    label = "this type has no `#[derive(State)]`",
    note = "write `#[derive(State, Clone, Serialize, Deserialize)]` above `struct {Self}`"
)]
pub trait State: Clone + Send + Sync + 'static {
    /// A partial state: what a node returns.
    type Update: IntoDraft;

    /// The schema that belongs to the type, where it does not depend on run time.
    fn schema() -> Option<Arc<Schema>>;
}

/// The operations on a whole erased state.
pub trait StateOps: Send + Sync {
    /// The state of a new thread.
    fn initial(&self) -> Arc<AnyState>;
    /// A copy.
    fn copy(&self, state: &AnyState) -> Arc<AnyState>;
}

/// [`StateOps`] of a Rust type.
pub struct TypedState<S>(pub fn() -> S);

impl<S: Clone + Send + Sync + 'static> StateOps for TypedState<S> {
    fn initial(&self) -> Arc<AnyState> {
        Arc::new((self.0)())
    }

    fn copy(&self, state: &AnyState) -> Arc<AnyState> {
        let any: &dyn Any = state;
        Arc::new(any.downcast_ref::<S>().expect("a schema is only used on states of its own type").clone())
    }
}

/// An update before it was held against a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Draft {
    /// Writes to known fields.
    Typed(Update),
    /// Names and values from outside.
    Json(Map<String, Value>),
}

impl Default for Draft {
    fn default() -> Self {
        Self::Typed(Update::new())
    }
}

impl Draft {
    /// The update this is under a schema. Warnings are added to `notes`.
    ///
    /// # Errors
    /// Everything that is wrong with it, with JSON pointers.
    pub fn resolve(self, schema: &Schema, notes: &mut Vec<String>) -> Result<Update, Vec<Problem>> {
        match self {
            Self::Typed(update) => Ok(update),
            Self::Json(map) => schema.read_update(map, notes),
        }
    }
}

/// Something that is an update: a generated builder, or a JSON object for a dynamic state.
pub trait IntoDraft: Send + 'static {
    /// The update, before it is held against a schema.
    fn into_draft(self) -> Draft;
}

impl IntoDraft for Draft {
    fn into_draft(self) -> Draft {
        self
    }
}

impl IntoDraft for Update {
    fn into_draft(self) -> Draft {
        Draft::Typed(self)
    }
}

/// What the user says, as the input of a graph that keeps a conversation in `messages`.
impl IntoDraft for &'static str {
    fn into_draft(self) -> Draft {
        Message::user(self).into_draft()
    }
}

/// As a text that is borrowed.
impl IntoDraft for String {
    fn into_draft(self) -> Draft {
        Message::user(self).into_draft()
    }
}

/// What is said, as the input of a graph that keeps a conversation in `messages`.
impl IntoDraft for Message {
    fn into_draft(self) -> Draft {
        vec![self].into_draft()
    }
}

/// What is said, as the input of a graph that keeps a conversation in `messages`.
impl IntoDraft for Vec<Message> {
    fn into_draft(self) -> Draft {
        let said = serde_json::to_value(self).unwrap_or_default();
        Draft::Json(Map::from_iter([("messages".to_owned(), said)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// R-GRA-46, R-GRA-47: an object is an update by names, null is none, and anything else names no field.
    #[test]
    fn a_value_is_an_update_by_names() {
        let schema = Schema::from_json("state", &json!({ "count": {} })).unwrap();
        let resolve = |value: Value| value.into_draft().resolve(&schema, &mut Vec::new());
        assert_eq!(resolve(json!({ "count": 1 })).unwrap().writes().len(), 1);
        assert!(resolve(json!(null)).unwrap().is_empty() && resolve(json!({})).unwrap().is_empty());
        for value in [json!({ "cuont": 1 }), json!([1]), json!("count")] {
            assert_eq!(resolve(value).unwrap_err().len(), 1);
        }
        let typed = resolve(json!({ "count": 1 })).unwrap();
        assert_eq!(typed.clone().into_draft().resolve(&schema, &mut Vec::new()).unwrap(), typed);
    }
}
