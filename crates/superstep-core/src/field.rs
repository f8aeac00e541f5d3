//! One field of a state: its name, its reducer, and the type-erased operations on it.
//!
//! The engine does not know the type of a state. It accesses a field only through [`FieldOps`]: a typed state
//! implements them through its derive, a dynamic state through its schema.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::change::Change;
use crate::types::{Bounds, FieldType};
use crate::update::WriteMode;
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

mod typed;

pub use typed::{FieldAccess, TypedField, UntrackedField};
pub(crate) use typed::{parse_json, update_native};

/// A full state whose type only its schema knows.
pub type AnyState = dyn Any + Send + Sync;

/// Undoes one write. Receives the state that the write was applied to.
pub type UndoFn = Box<dyn FnOnce(&mut AnyState) + Send>;

/// The operations on one field of an erased state.
pub trait FieldOps: Send + Sync {
    /// Reduces an update into the field.
    ///
    /// # Errors
    /// Returns an error if the reducer rejects the update; the field is then unchanged.
    fn reduce(&self, state: &mut AnyState, input: AnyValue) -> Result<Change, ValidationError>;

    /// Replaces the value without the reducer.
    ///
    /// # Errors
    /// Returns an error if the value does not have the field's type.
    fn overwrite(&self, state: &mut AnyState, value: AnyValue) -> Result<Change, ValidationError>;

    /// Returns true if a value has the Rust type that this write needs, so that the value need not be parsed first.
    fn is_native_type(&self, mode: WriteMode, value: &AnyValue) -> bool;

    /// Same as [`FieldOps::reduce`]; pushes the undo step onto `undo_steps` before anything is changed.
    ///
    /// # Errors
    /// Same as [`FieldOps::reduce`].
    fn reduce_with_undo(
        &self,
        state: &mut AnyState,
        input: AnyValue,
        undo_steps: &mut Vec<UndoFn>,
    ) -> Result<Change, ValidationError>;

    /// Returns the delta of the field for a change, read after the change.
    fn delta(&self, state: &AnyState, change: &Change) -> AnyValue;

    /// Replays a stored change.
    ///
    /// # Errors
    /// Returns an error if the delta does not fit the field.
    fn apply_delta(&self, state: &mut AnyState, change: &Change, delta: AnyValue) -> Result<(), ValidationError>;

    /// Returns the value as JSON.
    ///
    /// # Errors
    /// Returns an error if the value cannot be written as JSON.
    fn to_json(&self, state: &AnyState) -> Result<Value, ValidationError>;

    /// Parses an update of this field from JSON, and checks its type.
    ///
    /// # Errors
    /// Returns all validation errors.
    fn parse_update(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>>;

    /// Parses a full value of this field from JSON, and checks its type.
    ///
    /// # Errors
    /// Returns all validation errors.
    fn parse_value(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>>;

    /// Assigns ids where an update needs them, for example to messages; called once, before the update is stored.
    fn assign_ids(&self, input: &mut AnyValue, new_id: &mut dyn FnMut() -> String);

    /// Returns all type errors of the current value. Rust types never have any.
    fn check_type(&self, _state: &AnyState) -> Vec<ValidationError> {
        Vec::new()
    }

    /// Resets the value to that of a new thread.
    fn clear(&self, state: &mut AnyState);

    /// Hides the value from a node that must not see it.
    fn hide(&self, state: &mut AnyState) {
        self.clear(state);
    }

    /// Returns true if there is no value: null, or `None`.
    fn is_null(&self, state: &AnyState) -> bool;
}

/// The policy for two tasks of one superstep that write a field without a reducer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConflictPolicy {
    /// An error that names the field, the nodes and the values; equal values are accepted.
    #[default]
    Reject,
    /// The last write in the fixed order of tasks wins.
    LastWins,
}

/// The lifetime and the visibility of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldFlags {
    /// True if the field is not part of input, output or the values stream; nodes must declare that they use the
    /// field.
    pub private: bool,
    /// True if the first value written on a thread stays.
    pub set_once: bool,
    /// True if the field is readable in the run and never saved.
    pub untracked: bool,
    /// True if the value is visible for exactly one following superstep.
    pub ephemeral: bool,
    /// True if the first input must contain the field.
    pub required: bool,
}

/// One field of a schema.
#[derive(Clone)]
pub struct Field {
    /// Name of the field.
    pub name: Arc<str>,
    /// Type of the field.
    pub field_type: FieldType,
    /// Name of the reducer; `None` replaces the value with the last write.
    pub reducer: Option<String>,
    /// Default value, as JSON, if there is one.
    pub default: Option<Value>,
    /// Lifetime and visibility.
    pub flags: FieldFlags,
    /// Policy for two tasks that write the field in one superstep.
    pub conflict: ConflictPolicy,
    /// Allowed values; empty for any.
    pub one_of: Vec<Value>,
    /// Bounds of the value or of its length.
    pub range: Option<Bounds>,
    /// JSON Schema of the value.
    pub json_schema: Value,
    /// True if the reducer can reject an update.
    pub is_fallible: bool,
    /// True if the type of the value is checked after each write.
    pub is_type_checked: bool,
    /// Operations on the field.
    pub ops: Arc<dyn FieldOps>,
}

impl Field {
    /// Returns true if the value is checked after each write.
    #[must_use]
    pub fn has_checks(&self) -> bool {
        !self.one_of.is_empty() || self.range.is_some()
    }

    /// Checks the current value of the field.
    ///
    /// # Errors
    /// Returns an error if the value is not one of the allowed values or out of bounds.
    pub fn check(&self, state: &AnyState) -> Result<(), ValidationError> {
        if !self.has_checks() || self.ops.is_null(state) {
            return Ok(());
        }
        let value = self.ops.to_json(state)?;
        if !self.one_of.is_empty() && !self.one_of.contains(&value) {
            let allowed: Vec<String> = self.one_of.iter().map(ToString::to_string).collect();
            return Err(ValidationError::new(format!("{value} is not one of {}", allowed.join(", "))));
        }
        self.range.as_ref().map_or(Ok(()), |range| range.check(&value))
    }

    /// Returns the JSON Schema of the value, including the allowed values and bounds.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        let mut schema = self.json_schema.clone();
        let Some(object) = schema.as_object_mut() else { return schema };
        if !self.one_of.is_empty() {
            object.insert("enum".to_owned(), Value::Array(self.one_of.clone()));
        }
        let (min, max) = match object.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => ("minimum", "maximum"),
            Some("string") => ("minLength", "maxLength"),
            Some("array") => ("minItems", "maxItems"),
            _ => return schema,
        };
        let range = self.range.unwrap_or_default();
        for (key, bound) in [(min, range.min), (max, range.max)] {
            if let Some(bound) = bound {
                object.insert(key.to_owned(), integer_or_float(bound));
            }
        }
        schema
    }

    /// Returns the field as a row of `fields()`: name, type, reducer, default, flags, allowed values and bounds.
    #[must_use]
    pub fn describe(&self) -> Value {
        let mut flags = Vec::new();
        let FieldFlags { private, set_once, untracked, ephemeral, required } = self.flags;
        for (is_set, name) in [
            (private, "private"),
            (set_once, "set_once"),
            (untracked, "untracked"),
            (ephemeral, "ephemeral"),
            (required, "required"),
            (self.conflict == ConflictPolicy::LastWins, "last_wins"),
        ] {
            if is_set {
                flags.push(name);
            }
        }
        let mut row = serde_json::json!({
            "name": &*self.name,
            "type": self.field_type,
            "reducer": self.reducer,
            "default": self.default,
            "flags": flags,
        });
        if !self.one_of.is_empty() {
            row["one_of"] = Value::Array(self.one_of.clone());
        }
        for (key, bound) in
            [("min", self.range.and_then(|range| range.min)), ("max", self.range.and_then(|range| range.max))]
        {
            if let Some(bound) = bound {
                row[key] = integer_or_float(bound);
            }
        }
        row
    }
}

/// Converts a bound to a JSON number, to an integer if the bound has no fraction.
fn integer_or_float(bound: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if bound.fract() == 0.0 && bound.abs() <= EXACT { Value::from(bound as i64) } else { Value::from(bound) }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.describe())
    }
}
