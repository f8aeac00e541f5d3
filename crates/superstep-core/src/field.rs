//! One field of a state: what it is called, how updates fold into it, and the erased operations on it.
//!
//! The engine never knows the type of a state. It reaches a field only through [`FieldOps`], which a
//! typed state gets from its derive and a dynamic one from its schema.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::change::Change;
use crate::datum::Datum;
use crate::fault::Fault;
use crate::types::{FieldType, Range};
use crate::update::How;

mod typed;

pub use typed::{Access, TypedField, UntrackedField};
pub(crate) use typed::{read, stamp_with};

/// A whole state whose type is known to its schema only.
pub type AnyState = dyn Any + Send + Sync;

/// Takes one fold back. Given the state the fold was made on.
pub type Undo = Box<dyn FnOnce(&mut AnyState) + Send>;

/// The operations on one field of an erased state.
pub trait FieldOps: Send + Sync {
    /// Folds an update into the field.
    ///
    /// # Errors
    /// When the reducer refuses the update; the field is then as it was.
    fn reduce(&self, state: &mut AnyState, input: Datum) -> Result<Change, Fault>;

    /// Replaces the value, whatever the reducer.
    ///
    /// # Errors
    /// When the value does not have the field's type.
    fn overwrite(&self, state: &mut AnyState, value: Datum) -> Result<Change, Fault>;

    /// Whether a value is of the Rust type that is folded or put here, so that it need not be read first.
    fn fits(&self, how: How, value: &Datum) -> bool;

    /// As [`FieldOps::reduce`], with what takes it back put at the end of `back` before anything is changed.
    ///
    /// # Errors
    /// As [`FieldOps::reduce`].
    fn reduce_with_undo(&self, state: &mut AnyState, input: Datum, back: &mut Vec<Undo>) -> Result<Change, Fault>;

    /// The piece of the field that a change speaks of, read after the fold.
    fn part(&self, state: &AnyState, change: &Change) -> Datum;

    /// Replays a stored change.
    ///
    /// # Errors
    /// When the piece does not fit the field.
    fn restore(&self, state: &mut AnyState, change: &Change, part: Datum) -> Result<(), Fault>;

    /// The value as JSON.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    fn to_json(&self, state: &AnyState) -> Result<Value, Fault>;

    /// Reads an update of this field from JSON, and checks its type.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn read_input(&self, value: Value) -> Result<Datum, Vec<Fault>>;

    /// Reads a whole value of this field from JSON, and checks its type.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn read_value(&self, value: Value) -> Result<Datum, Vec<Fault>>;

    /// Gives ids to what needs one in an update, such as messages; once, before the update is stored.
    fn stamp(&self, input: &mut Datum, fresh: &mut dyn FnMut() -> String);

    /// Everything that is wrong with the type of the value now. Rust types are never wrong.
    fn check_type(&self, _state: &AnyState) -> Vec<Fault> {
        Vec::new()
    }

    /// Puts the value of a new thread back.
    fn clear(&self, state: &mut AnyState);

    /// Hides the value from a node that must not see it.
    fn hide(&self, state: &mut AnyState) {
        self.clear(state);
    }

    /// True when there is no value: null, or `None`.
    fn is_absent(&self, state: &AnyState) -> bool;
}

/// What happens when two tasks of one superstep write a field that keeps one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conflict {
    /// An error that names field, nodes and values; equal values are accepted.
    #[default]
    Refuse,
    /// The last in the fixed order of tasks wins.
    LastWins,
}

/// How long a field lives and who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Not in input, output or the values stream; nodes must declare that they use it.
    pub private: bool,
    /// The first value written on a thread stays.
    pub set_once: bool,
    /// Readable in the run, never saved.
    pub untracked: bool,
    /// Visible for exactly one following superstep.
    pub ephemeral: bool,
    /// Must be given with the first input.
    pub required: bool,
}

/// One field of a schema.
#[derive(Clone)]
pub struct Field {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub kind: FieldType,
    /// The name of the reducer; `None` keeps the last value.
    pub reducer: Option<String>,
    /// The default, as JSON, where there is one.
    pub default: Option<Value>,
    /// Lifetime and visibility.
    pub flags: Flags,
    /// What happens when two tasks write it in one superstep.
    pub conflict: Conflict,
    /// Values it may have; empty for any.
    pub one_of: Vec<Value>,
    /// Bounds of its value or length.
    pub range: Option<Range>,
    /// JSON Schema of the value.
    pub json_schema: Value,
    /// Whether its reducer can refuse an update.
    pub fallible: bool,
    /// Whether the type of its value is looked at after each fold.
    pub checked: bool,
    /// The operations.
    pub ops: Arc<dyn FieldOps>,
}

impl Field {
    /// True when the value is checked after each fold.
    #[must_use]
    pub fn has_checks(&self) -> bool {
        !self.one_of.is_empty() || self.range.is_some()
    }

    /// Checks the value the field has now.
    ///
    /// # Errors
    /// When it is not one of the allowed values or out of bounds.
    pub fn check(&self, state: &AnyState) -> Result<(), Fault> {
        if !self.has_checks() || self.ops.is_absent(state) {
            return Ok(());
        }
        let value = self.ops.to_json(state)?;
        if !self.one_of.is_empty() && !self.one_of.contains(&value) {
            let allowed: Vec<String> = self.one_of.iter().map(ToString::to_string).collect();
            return Err(Fault::new(format!("{value} is not one of {}", allowed.join(", "))));
        }
        self.range.as_ref().map_or(Ok(()), |range| range.check(&value))
    }

    /// JSON Schema of the value, with the values and bounds it is held to.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        let mut schema = self.json_schema.clone();
        let Some(object) = schema.as_object_mut() else { return schema };
        if !self.one_of.is_empty() {
            object.insert("enum".to_owned(), Value::Array(self.one_of.clone()));
        }
        let (least, most) = match object.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => ("minimum", "maximum"),
            Some("string") => ("minLength", "maxLength"),
            Some("array") => ("minItems", "maxItems"),
            _ => return schema,
        };
        let range = self.range.unwrap_or_default();
        for (key, bound) in [(least, range.min), (most, range.max)] {
            if let Some(bound) = bound {
                object.insert(key.to_owned(), whole(bound));
            }
        }
        schema
    }

    /// The field as a row of `fields()`: name, type, reducer, default, flags, and what its value is held to.
    #[must_use]
    pub fn describe(&self) -> Value {
        let mut flags = Vec::new();
        let Flags { private, set_once, untracked, ephemeral, required } = self.flags;
        for (is_set, name) in [
            (private, "private"),
            (set_once, "set_once"),
            (untracked, "untracked"),
            (ephemeral, "ephemeral"),
            (required, "required"),
            (self.conflict == Conflict::LastWins, "last_wins"),
        ] {
            if is_set {
                flags.push(name);
            }
        }
        let mut row = serde_json::json!({
            "name": &*self.name,
            "type": self.kind,
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
                row[key] = whole(bound);
            }
        }
        row
    }
}

/// A bound as people write it: without a fraction where there is none.
fn whole(bound: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if bound.fract() == 0.0 && bound.abs() <= EXACT { Value::from(bound as i64) } else { Value::from(bound) }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.describe())
    }
}
