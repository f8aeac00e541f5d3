//! The named reducers over Rust types: how an update is merged into a field.
//!
//! A reducer is pure: the same value and the same update give the same result and the same [`Change`]. It decides
//! the type of its update, so that appending one item needs no list. The reducers over plain JSON, with the same
//! names, are in [`crate::json_reducer`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::change::Change;
use crate::validation_error::ValidationError;
use crate::value::{AnyValue, ErasedValue};

mod custom;
mod deep_merge;
mod items;
mod list;
mod map;
mod messages;
mod number;
mod write;

pub use custom::{ByValue, InPlace, IntoChange, ReduceFn, reduce_full_value};
pub use deep_merge::DeepMerge;
pub use items::OneOrMany;
pub use list::{Append, Capped, KeepLast, MergeBy, MergeKey, SetUnion};
pub use map::{MapEntryUpdate, MapUpdate, Merge};
pub use messages::AddMessages;
pub use number::{Add, Addable, Max, Min};
pub use write::IntoWrite;

/// Requirements on the value of a field: it can be cloned, serialized and deserialized.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a state",
    label = "values of this type cannot be cloned, saved and restored",
    note = "derive `Clone`, `Serialize` and `Deserialize` on it, or mark the field `#[state(untracked)]`"
)]
pub trait FieldValue: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}
// Without the attribute the compiler names the one missing trait and not the fix.
#[diagnostic::do_not_recommend]
impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> FieldValue for T {}

/// The data that undoes one reduction of a `T`.
pub enum UndoValue<T> {
    /// The previous value.
    Value(T),
    /// An undo function that is cheaper than a clone.
    Undo(Box<dyn FnOnce(&mut T) + Send>),
}

/// A reducer of updates into a field of type `T`.
///
/// Write a custom reducer with `#[reduce(with = my_reducer)]`; implement this trait if the reducer should report an
/// exact [`Change`], so that checkpointers store only what changed.
#[diagnostic::on_unimplemented(
    message = "reducer `{Self}` does not work on a field of type `{T}`",
    label = "this reducer does not apply to `{T}`",
    note = "`append`, `keep_last`, `capped`, `merge_by` work on `Vec`, `set_union` on `Vec` and `BTreeSet`, `add` on numbers, `String` and `Vec`",
    note = "`merge` works on `BTreeMap`, `deep_merge` on `Value` and `BTreeMap<String, Value>`, `messages` on \
         `Messages`, `max` and `min` on ordered types",
    note = "for other types use `#[reduce(with = my_reducer)]`"
)]
pub trait Reducer<T: FieldValue>: Send + Sync + 'static {
    /// Type of an update of the field.
    type Input: ErasedValue + FieldValue;

    /// True if [`Reducer::reduce`] can fail.
    const FALLIBLE: bool = true;

    /// True if [`Reducer::assign_ids`] has an effect.
    const ASSIGNS_IDS: bool = false;

    /// Returns the name, as shown in schemas.
    fn name() -> String;

    /// Reduces an update into the value.
    ///
    /// # Errors
    /// Returns an error if the update is rejected; the value is then unchanged.
    fn reduce(current: &mut T, input: Self::Input) -> Result<Change, ValidationError>;

    /// Returns the delta of the value for a change, read after the change.
    fn delta(value: &T, _change: &Change) -> AnyValue {
        AnyValue::native(value.clone())
    }

    /// Replays a stored change.
    ///
    /// # Errors
    /// Returns an error if the delta does not fit.
    fn apply_delta(value: &mut T, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        restore_full_value(value, change, delta)
    }

    /// Returns the data that undoes the next reduction.
    fn undo_value(value: &T) -> UndoValue<T> {
        UndoValue::Value(value.clone())
    }

    /// Same as [`Reducer::reduce`]; stores the undo data in `undo` before anything is changed. Worth implementing
    /// if the old value can be moved there instead of cloned.
    ///
    /// # Errors
    /// Same as [`Reducer::reduce`].
    fn reduce_with_undo(
        current: &mut T,
        input: Self::Input,
        undo: &mut Option<UndoValue<T>>,
    ) -> Result<Change, ValidationError> {
        *undo = Some(Self::undo_value(current));
        Self::reduce(current, input)
    }

    /// Parses an update from JSON.
    ///
    /// # Errors
    /// Returns all validation errors, with JSON pointers below the field.
    fn parse_update(value: Value) -> Result<Self::Input, Vec<ValidationError>> {
        crate::field::parse_json(value)
    }

    /// Assigns ids where an update needs them.
    fn assign_ids(_input: &mut Self::Input, _new_id: &mut dyn FnMut() -> String) {}
}

/// Replays a change of a value that is always stored in full. A change with a delta, from another program or from a
/// former reducer of the field, is replayed on the value as JSON.
pub(crate) fn restore_full_value<T: FieldValue>(
    value: &mut T,
    change: &Change,
    delta: AnyValue,
) -> Result<(), ValidationError> {
    match change {
        Change::Unchanged => Ok(()),
        Change::Set => {
            *value = delta.into_value()?;
            Ok(())
        }
        other => {
            let mut json = serde_json::to_value(&*value)?;
            crate::json_reducer::apply_delta(&mut json, other, &delta.to_json()?)?;
            *value = serde_json::from_value(json)?;
            Ok(())
        }
    }
}

/// Replaces the value: the field keeps the last one.
pub struct Replace;

impl<T: FieldValue> Reducer<T> for Replace {
    type Input = T;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "replace".to_owned()
    }

    fn reduce(current: &mut T, input: T) -> Result<Change, ValidationError> {
        *current = input;
        Ok(Change::Set)
    }

    fn reduce_with_undo(current: &mut T, input: T, undo: &mut Option<UndoValue<T>>) -> Result<Change, ValidationError> {
        *undo = Some(UndoValue::Value(std::mem::replace(current, input)));
        Ok(Change::Set)
    }
}
