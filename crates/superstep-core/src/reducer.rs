//! The named folds over Rust types: how an update becomes part of a field.
//!
//! A reducer is pure: the same value and the same update give the same result and the same [`Change`].
//! It decides the type of its update, so that appending one item needs no list. The folds over plain
//! JSON, with the same names, are in [`crate::json_reducer`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::change::Change;
use crate::datum::{Datum, Payload};
use crate::fault::Fault;

mod custom;
mod deep_merge;
mod items;
mod list;
mod map;
mod messages;
mod number;
mod write;

pub use custom::{ByValue, InPlace, ReduceFn, Reduced, fold_whole};
pub use deep_merge::DeepMerge;
pub use items::Items;
pub use list::{Append, Capped, KeepLast, KeyOf, MergeBy, SetUnion};
pub use map::{Edit, MapEdits, Merge};
pub use messages::AddMessages;
pub use number::{Add, Addable, Max, Min};
pub use write::IntoWrite;

/// What a field of a state must be able to do: be copied, saved and read back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a state",
    label = "this type cannot be copied, saved and read back",
    note = "derive `Clone`, `Serialize` and `Deserialize` on it, or mark the field `#[state(untracked)]`"
)]
pub trait FieldValue: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}
// Without this the compiler names the one missing trait and not what to do about it.
#[diagnostic::do_not_recommend]
impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> FieldValue for T {}

/// What takes one fold of a `T` back.
pub enum Saved<T> {
    /// The value as it was.
    Value(T),
    /// A way back that is cheaper than a copy.
    Undo(Box<dyn FnOnce(&mut T) + Send>),
}

/// A fold of updates into a field of type `T`.
///
/// Write your own with `#[reduce(with = my_fold)]`; implement this trait when the fold should report
/// an exact [`Change`], so that stores keep only what changed.
#[diagnostic::on_unimplemented(
    message = "reducer `{Self}` does not work on a field of type `{T}`",
    label = "this reducer does not fold into a `{T}`",
    note = "`append`, `keep_last`, `capped`, `merge_by` work on `Vec`, `set_union` on `Vec` and `BTreeSet`, `add` on numbers, `String` and `Vec`",
    note = "`merge` works on `BTreeMap`, `deep_merge` on `Value` and `BTreeMap<String, Value>`, `messages` on `Messages`, `max` and `min` on what can be compared",
    note = "for other types write `#[reduce(with = my_fold)]`"
)]
pub trait Reducer<T: FieldValue>: Send + Sync + 'static {
    /// What an update of the field is.
    type Input: Payload + FieldValue;

    /// Whether [`Reducer::reduce`] can fail.
    const FALLIBLE: bool = true;

    /// Whether [`Reducer::stamp`] does anything.
    const STAMPS: bool = false;

    /// The name, as schemas show it.
    fn name() -> String;

    /// Folds an update into the value.
    ///
    /// # Errors
    /// When the update is refused; the value is then as it was.
    fn reduce(current: &mut T, input: Self::Input) -> Result<Change, Fault>;

    /// The piece of the value that a change speaks of, read after the fold.
    fn part(value: &T, _change: &Change) -> Datum {
        Datum::live(value.clone())
    }

    /// Replays a stored change.
    ///
    /// # Errors
    /// When the piece does not fit.
    fn restore(value: &mut T, change: &Change, part: Datum) -> Result<(), Fault> {
        restore_whole(value, change, part)
    }

    /// What takes the next fold back.
    fn save(value: &T) -> Saved<T> {
        Saved::Value(value.clone())
    }

    /// As [`Reducer::reduce`], with what takes it back put into `back` before anything is changed. Worth writing where
    /// the old value can be moved there instead of copied.
    ///
    /// # Errors
    /// As [`Reducer::reduce`].
    fn reduce_with_undo(current: &mut T, input: Self::Input, back: &mut Option<Saved<T>>) -> Result<Change, Fault> {
        *back = Some(Self::save(current));
        Self::reduce(current, input)
    }

    /// Reads an update from JSON.
    ///
    /// # Errors
    /// Everything that is wrong with it, with JSON pointers below the field.
    fn read(value: Value) -> Result<Self::Input, Vec<Fault>> {
        crate::field::read(value)
    }

    /// Gives ids to what needs one in an update.
    fn stamp(_input: &mut Self::Input, _fresh: &mut dyn FnMut() -> String) {}
}

/// Replays a change of a value that is always stored whole. One that was not, by another program or by a reducer the field
/// had before, is replayed on the value as JSON.
pub(crate) fn restore_whole<T: FieldValue>(value: &mut T, change: &Change, part: Datum) -> Result<(), Fault> {
    match change {
        Change::Unchanged => Ok(()),
        Change::Set => {
            *value = part.take()?;
            Ok(())
        }
        other => {
            let mut json = serde_json::to_value(&*value)?;
            crate::json_reducer::restore(&mut json, other, &part.to_json()?)?;
            *value = serde_json::from_value(json)?;
            Ok(())
        }
    }
}

/// No reducer: the field keeps the last value.
pub struct Replace;

impl<T: FieldValue> Reducer<T> for Replace {
    type Input = T;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "replace".to_owned()
    }

    fn reduce(current: &mut T, input: T) -> Result<Change, Fault> {
        *current = input;
        Ok(Change::Set)
    }

    fn reduce_with_undo(current: &mut T, input: T, back: &mut Option<Saved<T>>) -> Result<Change, Fault> {
        *back = Some(Saved::Value(std::mem::replace(current, input)));
        Ok(Change::Set)
    }
}
