//! Reducers that add, and reducers that keep the larger or the smaller value.

use serde_json::Value;

use super::list::{apply_list_delta, list_delta};
use super::{FieldValue, OneOrMany, Reducer, UndoValue, restore_full_value};
use crate::change::Change;
use crate::validation_error::ValidationError;
use crate::value::{AnyValue, ErasedValue};

/// Adds: numbers are summed without wrapping, texts are joined, lists are concatenated.
pub struct Add;

/// A type that [`Add`] can reduce.
#[diagnostic::on_unimplemented(
    message = "the reducer `add` does not support `{Self}`",
    note = "`#[reduce(add)]` works on numbers, `String` and `Vec`; for other types use `#[reduce(with = \
         my_reducer)]`"
)]
pub trait Addable: FieldValue {
    /// Type of the added value.
    type Input: ErasedValue + FieldValue;
    /// True if adding can fail.
    const FALLIBLE: bool;
    /// Adds in place.
    ///
    /// # Errors
    /// Returns an error if the sum does not fit the type.
    fn add(&mut self, input: Self::Input) -> Result<Change, ValidationError>;
    /// Returns the delta for a change.
    fn delta(&self, change: &Change) -> AnyValue;
    /// Replays a change.
    ///
    /// # Errors
    /// Returns an error if the delta does not fit.
    fn apply_delta(&mut self, change: &Change, delta: AnyValue) -> Result<(), ValidationError>;
    /// Parses the added value from JSON.
    ///
    /// # Errors
    /// Returns all validation errors, with JSON pointers below the field.
    fn parse_update(value: Value) -> Result<Self::Input, Vec<ValidationError>> {
        crate::field::parse_json(value)
    }
    /// Returns the data that undoes the next addition.
    fn undo_value(&self) -> UndoValue<Self> {
        UndoValue::Value(self.clone())
    }
}

macro_rules! full_value {
    () => {
        fn delta(&self, _change: &Change) -> AnyValue {
            AnyValue::native(self.clone())
        }
        fn apply_delta(&mut self, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
            restore_full_value(self, change, delta)
        }
    };
}

macro_rules! integers_add {
    ($($number:ty),*) => {$(
        impl Addable for $number {
            type Input = $number;
            const FALLIBLE: bool = true;
            full_value!();
            fn add(&mut self, input: $number) -> Result<Change, ValidationError> {
                let sum = self.checked_add(input).ok_or_else(|| {
                    ValidationError::new(format!("overflow: {self} + {input} exceeds {}", stringify!($number)))
                        .with_help("use a wider integer or a float")
                })?;
                *self = sum;
                Ok(if input == 0 { Change::Unchanged } else { Change::Set })
            }
        }
    )*};
}
integers_add!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

macro_rules! floats_add {
    ($($number:ty),*) => {$(
        impl Addable for $number {
            type Input = $number;
            const FALLIBLE: bool = false;
            full_value!();
            fn add(&mut self, input: $number) -> Result<Change, ValidationError> {
                *self += input;
                Ok(Change::Set)
            }
        }
    )*};
}
floats_add!(f32, f64);

impl Addable for String {
    type Input = String;
    const FALLIBLE: bool = false;
    full_value!();
    fn add(&mut self, input: String) -> Result<Change, ValidationError> {
        self.push_str(&input);
        Ok(if input.is_empty() { Change::Unchanged } else { Change::Set })
    }
}

impl<E: FieldValue> Addable for Vec<E> {
    type Input = OneOrMany<E>;
    const FALLIBLE: bool = false;
    fn add(&mut self, input: OneOrMany<E>) -> Result<Change, ValidationError> {
        super::Append::reduce(self, input)
    }
    fn delta(&self, change: &Change) -> AnyValue {
        list_delta(self, change)
    }
    fn apply_delta(&mut self, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        apply_list_delta(self, change, delta)
    }
    fn parse_update(value: Value) -> Result<OneOrMany<E>, Vec<ValidationError>> {
        OneOrMany::parse(value)
    }
    fn undo_value(&self) -> UndoValue<Self> {
        <super::Append as Reducer<Self>>::undo_value(self)
    }
}

impl<A: Addable<Input = A>> Addable for Option<A> {
    type Input = A;
    const FALLIBLE: bool = A::FALLIBLE;
    full_value!();
    fn add(&mut self, input: A) -> Result<Change, ValidationError> {
        match self {
            Some(current) => current.add(input),
            None => {
                *self = Some(input);
                Ok(Change::Set)
            }
        }
    }
}

impl<T: Addable> Reducer<T> for Add {
    type Input = T::Input;
    const FALLIBLE: bool = T::FALLIBLE;

    fn name() -> String {
        "add".to_owned()
    }
    fn reduce(current: &mut T, input: T::Input) -> Result<Change, ValidationError> {
        current.add(input)
    }
    fn delta(value: &T, change: &Change) -> AnyValue {
        value.delta(change)
    }
    fn apply_delta(value: &mut T, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        value.apply_delta(change, delta)
    }
    fn parse_update(value: Value) -> Result<T::Input, Vec<ValidationError>> {
        T::parse_update(value)
    }
    fn undo_value(value: &T) -> UndoValue<T> {
        value.undo_value()
    }
}

macro_rules! keeps_one {
    ($(#[$doc:meta])* $reducer:ident, $name:literal, $better:tt) => {
        $(#[$doc])*
        pub struct $reducer;

        impl<T: FieldValue + PartialOrd> Reducer<T> for $reducer {
            type Input = T;
            const FALLIBLE: bool = false;

            fn name() -> String { $name.to_owned() }
            fn reduce(current: &mut T, input: T) -> Result<Change, ValidationError> {
                // A value that cannot be compared, such as NaN, does not replace the current one.
                if input $better *current {
                    *current = input;
                    return Ok(Change::Set);
                }
                Ok(Change::Unchanged)
            }
        }
    };
}
keeps_one! {
    /// Keeps the larger value. Of an `Option`, `None` is the smallest.
    Max, "max", >
}
keeps_one! {
    /// Keeps the smaller value.
    Min, "min", <
}
