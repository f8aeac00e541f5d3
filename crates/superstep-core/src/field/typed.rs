//! Operations on a field of a Rust struct: the implementation of [`FieldOps`] that `#[derive(GraphState)]` uses.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AnyState, FieldOps, UndoFn};
use crate::change::Change;
use crate::reducer::{FieldValue, Reducer, UndoValue};
use crate::update::WriteMode;
use crate::validation_error::ValidationError;
use crate::value::{AnyValue, Unserialized};

/// Accessors of a field of type `T` in a struct `S`.
pub struct FieldAccess<S, T> {
    /// Borrows the field.
    pub get: fn(&S) -> &T,
    /// Borrows the field mutably.
    pub get_mut: fn(&mut S) -> &mut T,
    /// Returns the value of a new thread.
    pub initial: fn() -> T,
}

impl<S, T> Clone for FieldAccess<S, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, T> Copy for FieldAccess<S, T> {}

impl<S: 'static, T> FieldAccess<S, T> {
    fn value<'a>(&self, state: &'a AnyState) -> &'a T {
        (self.get)(state.downcast_ref().expect("a schema is only used with states of its own type"))
    }

    fn value_mut<'a>(&self, state: &'a mut AnyState) -> &'a mut T {
        (self.get_mut)(state.downcast_mut().expect("a schema is only used with states of its own type"))
    }
}

/// A saved field with the reducer `R`.
pub struct TypedField<S, T, R> {
    access: FieldAccess<S, T>,
    is_absent: fn(&T) -> bool,
    reducer: PhantomData<fn() -> R>,
}

impl<S, T, R> TypedField<S, T, R> {
    /// Creates the operations on the field behind `access`.
    #[must_use]
    pub fn new(access: FieldAccess<S, T>, is_absent: fn(&T) -> bool) -> Self {
        Self { access, is_absent, reducer: PhantomData }
    }
}

/// Deserializes JSON into a type; an error has a pointer to the failing value.
pub(crate) fn parse_json<T: DeserializeOwned>(value: Value) -> Result<T, Vec<ValidationError>> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let pointer: String = error
            .path()
            .iter()
            .filter_map(|segment| match segment {
                serde_path_to_error::Segment::Seq { index } => Some(format!("/{index}")),
                serde_path_to_error::Segment::Map { key } => {
                    Some(format!("/{}", key.replace('~', "~0").replace('/', "~1")))
                }
                _ => None,
            })
            .collect();
        vec![ValidationError::new(error.into_inner().to_string()).with_pointer(pointer)]
    })
}

impl<S: 'static, T: FieldValue, R: Reducer<T>> FieldOps for TypedField<S, T, R> {
    fn reduce(&self, state: &mut AnyState, input: AnyValue) -> Result<Change, ValidationError> {
        R::reduce(self.access.value_mut(state), input.into_value()?)
    }

    fn overwrite(&self, state: &mut AnyState, value: AnyValue) -> Result<Change, ValidationError> {
        *self.access.value_mut(state) = value.into_value()?;
        Ok(Change::Set)
    }

    fn is_native_type(&self, mode: WriteMode, value: &AnyValue) -> bool {
        match mode {
            WriteMode::Reduce => value.get::<R::Input>().is_some(),
            WriteMode::Overwrite => value.get::<T>().is_some(),
        }
    }

    fn reduce_with_undo(
        &self,
        state: &mut AnyState,
        input: AnyValue,
        undo_steps: &mut Vec<UndoFn>,
    ) -> Result<Change, ValidationError> {
        let (access, input) = (self.access, input.into_value()?);
        let mut saved = None;
        // A reducer is user code and may panic: the undo step must not be lost then.
        let reduced =
            catch_unwind(AssertUnwindSafe(|| R::reduce_with_undo(access.value_mut(state), input, &mut saved)));
        undo_steps.extend(saved.map(|saved| -> UndoFn {
            match saved {
                UndoValue::Value(value) => Box::new(move |state| *access.value_mut(state) = value),
                UndoValue::Undo(undo) => Box::new(move |state| undo(access.value_mut(state))),
            }
        }));
        reduced.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn delta(&self, state: &AnyState, change: &Change) -> AnyValue {
        match change {
            Change::Set => AnyValue::native(self.access.value(state).clone()),
            change => R::delta(self.access.value(state), change),
        }
    }

    fn apply_delta(&self, state: &mut AnyState, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        match change {
            Change::Set => *self.access.value_mut(state) = delta.into_value()?,
            change => R::apply_delta(self.access.value_mut(state), change, delta)?,
        }
        Ok(())
    }

    fn to_json(&self, state: &AnyState) -> Result<Value, ValidationError> {
        Ok(serde_json::to_value(self.access.value(state))?)
    }

    fn parse_update(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>> {
        R::parse_update(value).map(AnyValue::native)
    }

    fn parse_value(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>> {
        parse_json::<T>(value).map(AnyValue::native)
    }

    fn assign_ids(&self, input: &mut AnyValue, new_id: &mut dyn FnMut() -> String) {
        if R::ASSIGNS_IDS {
            update_native(input, |input: &mut R::Input| R::assign_ids(input, new_id));
        }
    }

    fn clear(&self, state: &mut AnyState) {
        *self.access.value_mut(state) = (self.access.initial)();
    }

    fn is_null(&self, state: &AnyState) -> bool {
        (self.is_absent)(self.access.value(state))
    }
}

/// Changes a native value in place, or replaces a shared one by a changed copy.
pub(crate) fn update_native<I: FieldValue>(value: &mut AnyValue, update: impl FnOnce(&mut I)) {
    let AnyValue::Native(payload) = value else { return };
    if let Some(payload) = Arc::get_mut(payload) {
        if let Some(native) = (payload as &mut dyn Any).downcast_mut::<I>() {
            update(native);
        }
        return;
    }
    let Some(mut copy) = value.get::<I>().cloned() else { return };
    update(&mut copy);
    *value = AnyValue::native(copy);
}

/// A field that is never saved: any type that implements `Clone`.
pub struct UntrackedField<S, T> {
    access: FieldAccess<S, T>,
}

impl<S, T> UntrackedField<S, T> {
    /// Creates the operations on the field behind `access`.
    #[must_use]
    pub fn new(access: FieldAccess<S, T>) -> Self {
        Self { access }
    }
}

impl<S: 'static, T: Clone + Send + Sync + 'static> FieldOps for UntrackedField<S, T> {
    fn reduce(&self, state: &mut AnyState, input: AnyValue) -> Result<Change, ValidationError> {
        self.overwrite(state, input)
    }

    fn overwrite(&self, state: &mut AnyState, value: AnyValue) -> Result<Change, ValidationError> {
        let Unserialized(value) = value.get::<Unserialized<T>>().ok_or_else(|| {
            ValidationError::new("an untracked field cannot be written from JSON")
                .with_help("write it from a node as a Rust value")
        })?;
        *self.access.value_mut(state) = value.clone();
        Ok(Change::Set)
    }

    fn is_native_type(&self, _mode: WriteMode, value: &AnyValue) -> bool {
        value.get::<Unserialized<T>>().is_some()
    }

    fn reduce_with_undo(
        &self,
        state: &mut AnyState,
        input: AnyValue,
        undo_steps: &mut Vec<UndoFn>,
    ) -> Result<Change, ValidationError> {
        let (access, value) = (self.access, self.access.value(state).clone());
        undo_steps.push(Box::new(move |state| *access.value_mut(state) = value));
        self.reduce(state, input)
    }

    fn delta(&self, state: &AnyState, _change: &Change) -> AnyValue {
        AnyValue::native(Unserialized(self.access.value(state).clone()))
    }

    fn apply_delta(&self, state: &mut AnyState, _change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        self.overwrite(state, delta).map(drop)
    }

    fn to_json(&self, _state: &AnyState) -> Result<Value, ValidationError> {
        Ok(Value::Null)
    }

    fn parse_update(&self, _value: Value) -> Result<AnyValue, Vec<ValidationError>> {
        Err(vec![ValidationError::new("an untracked field cannot be read as JSON")])
    }

    fn parse_value(&self, value: Value) -> Result<AnyValue, Vec<ValidationError>> {
        self.parse_update(value)
    }

    fn assign_ids(&self, _input: &mut AnyValue, _new_id: &mut dyn FnMut() -> String) {}

    fn clear(&self, state: &mut AnyState) {
        *self.access.value_mut(state) = (self.access.initial)();
    }

    fn is_null(&self, _state: &AnyState) -> bool {
        false
    }
}
