//! Operations on a field of a Rust struct. What `#[derive(State)]` puts behind [`FieldOps`].

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AnyState, FieldOps, Undo};
use crate::change::Change;
use crate::datum::{Datum, Opaque};
use crate::fault::Fault;
use crate::reducer::{FieldValue, Reducer, Saved};
use crate::update::How;

/// The way to a field of type `T` in a struct `S`.
pub struct Access<S, T> {
    /// Borrows the field.
    pub get: fn(&S) -> &T,
    /// Borrows the field to change it.
    pub get_mut: fn(&mut S) -> &mut T,
    /// The value of a new thread.
    pub initial: fn() -> T,
}

impl<S, T> Clone for Access<S, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, T> Copy for Access<S, T> {}

impl<S: 'static, T> Access<S, T> {
    fn of<'a>(&self, state: &'a AnyState) -> &'a T {
        (self.get)(state.downcast_ref().expect("a schema is only used on states of its own type"))
    }

    fn of_mut<'a>(&self, state: &'a mut AnyState) -> &'a mut T {
        (self.get_mut)(state.downcast_mut().expect("a schema is only used on states of its own type"))
    }
}

/// A field that is saved, folded by `R`.
pub struct TypedField<S, T, R> {
    access: Access<S, T>,
    is_absent: fn(&T) -> bool,
    reducer: PhantomData<fn() -> R>,
}

impl<S, T, R> TypedField<S, T, R> {
    /// Operations on the field behind `access`.
    #[must_use]
    pub fn new(access: Access<S, T>, is_absent: fn(&T) -> bool) -> Self {
        Self { access, is_absent, reducer: PhantomData }
    }
}

/// Reads JSON into a type, with a pointer to where it fails.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Vec<Fault>> {
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
        vec![Fault::new(error.into_inner().to_string()).at(pointer)]
    })
}

impl<S: 'static, T: FieldValue, R: Reducer<T>> FieldOps for TypedField<S, T, R> {
    fn reduce(&self, state: &mut AnyState, input: Datum) -> Result<Change, Fault> {
        R::reduce(self.access.of_mut(state), input.take()?)
    }

    fn overwrite(&self, state: &mut AnyState, value: Datum) -> Result<Change, Fault> {
        *self.access.of_mut(state) = value.take()?;
        Ok(Change::Set)
    }

    fn fits(&self, how: How, value: &Datum) -> bool {
        match how {
            How::Reduce => value.get::<R::Input>().is_some(),
            How::Overwrite => value.get::<T>().is_some(),
        }
    }

    fn reduce_with_undo(&self, state: &mut AnyState, input: Datum, back: &mut Vec<Undo>) -> Result<Change, Fault> {
        let (access, input) = (self.access, input.take()?);
        let mut saved = None;
        // A reducer is a user's code, and may panic: what takes it back must not be lost then.
        let reduced = catch_unwind(AssertUnwindSafe(|| R::reduce_with_undo(access.of_mut(state), input, &mut saved)));
        back.extend(saved.map(|saved| -> Undo {
            match saved {
                Saved::Value(value) => Box::new(move |state| *access.of_mut(state) = value),
                Saved::Undo(undo) => Box::new(move |state| undo(access.of_mut(state))),
            }
        }));
        reduced.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn part(&self, state: &AnyState, change: &Change) -> Datum {
        match change {
            Change::Set => Datum::live(self.access.of(state).clone()),
            change => R::part(self.access.of(state), change),
        }
    }

    fn restore(&self, state: &mut AnyState, change: &Change, part: Datum) -> Result<(), Fault> {
        match change {
            Change::Set => *self.access.of_mut(state) = part.take()?,
            change => R::restore(self.access.of_mut(state), change, part)?,
        }
        Ok(())
    }

    fn to_json(&self, state: &AnyState) -> Result<Value, Fault> {
        Ok(serde_json::to_value(self.access.of(state))?)
    }

    fn read_input(&self, value: Value) -> Result<Datum, Vec<Fault>> {
        R::read(value).map(Datum::live)
    }

    fn read_value(&self, value: Value) -> Result<Datum, Vec<Fault>> {
        read::<T>(value).map(Datum::live)
    }

    fn stamp(&self, input: &mut Datum, fresh: &mut dyn FnMut() -> String) {
        if R::STAMPS {
            stamp_with(input, |input: &mut R::Input| R::stamp(input, fresh));
        }
    }

    fn clear(&self, state: &mut AnyState) {
        *self.access.of_mut(state) = (self.access.initial)();
    }

    fn is_absent(&self, state: &AnyState) -> bool {
        (self.is_absent)(self.access.of(state))
    }
}

/// Changes a live value in place, or a copy of it when somebody else holds it too.
pub(crate) fn stamp_with<I: FieldValue>(datum: &mut Datum, stamp: impl FnOnce(&mut I)) {
    let Datum::Live(payload) = datum else { return };
    if let Some(payload) = Arc::get_mut(payload) {
        if let Some(value) = (payload as &mut dyn Any).downcast_mut::<I>() {
            stamp(value);
        }
        return;
    }
    let Some(mut copy) = datum.get::<I>().cloned() else { return };
    stamp(&mut copy);
    *datum = Datum::live(copy);
}

/// A field that is never saved: any type that can be copied.
pub struct UntrackedField<S, T> {
    access: Access<S, T>,
}

impl<S, T> UntrackedField<S, T> {
    /// Operations on the field behind `access`.
    #[must_use]
    pub fn new(access: Access<S, T>) -> Self {
        Self { access }
    }
}

impl<S: 'static, T: Clone + Send + Sync + 'static> FieldOps for UntrackedField<S, T> {
    fn reduce(&self, state: &mut AnyState, input: Datum) -> Result<Change, Fault> {
        self.overwrite(state, input)
    }

    fn overwrite(&self, state: &mut AnyState, value: Datum) -> Result<Change, Fault> {
        let Opaque(value) = value.get::<Opaque<T>>().ok_or_else(|| {
            Fault::new("an untracked field cannot be written from plain data")
                .help("write it from a node, as a Rust value")
        })?;
        *self.access.of_mut(state) = value.clone();
        Ok(Change::Set)
    }

    fn fits(&self, _how: How, value: &Datum) -> bool {
        value.get::<Opaque<T>>().is_some()
    }

    fn reduce_with_undo(&self, state: &mut AnyState, input: Datum, back: &mut Vec<Undo>) -> Result<Change, Fault> {
        let (access, value) = (self.access, self.access.of(state).clone());
        back.push(Box::new(move |state| *access.of_mut(state) = value));
        self.reduce(state, input)
    }

    fn part(&self, state: &AnyState, _change: &Change) -> Datum {
        Datum::live(Opaque(self.access.of(state).clone()))
    }

    fn restore(&self, state: &mut AnyState, _change: &Change, part: Datum) -> Result<(), Fault> {
        self.overwrite(state, part).map(drop)
    }

    fn to_json(&self, _state: &AnyState) -> Result<Value, Fault> {
        Ok(Value::Null)
    }

    fn read_input(&self, _value: Value) -> Result<Datum, Vec<Fault>> {
        Err(vec![Fault::new("an untracked field cannot be read from plain data")])
    }

    fn read_value(&self, value: Value) -> Result<Datum, Vec<Fault>> {
        self.read_input(value)
    }

    fn stamp(&self, _input: &mut Datum, _fresh: &mut dyn FnMut() -> String) {}

    fn clear(&self, state: &mut AnyState) {
        *self.access.of_mut(state) = (self.access.initial)();
    }

    fn is_absent(&self, _state: &AnyState) -> bool {
        false
    }
}
