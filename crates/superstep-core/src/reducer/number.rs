//! Folds that add, and folds that keep the larger or the smaller value.

use serde_json::Value;

use super::list::{list_part, list_restore};
use super::{FieldValue, Items, Reducer, Saved, restore_whole};
use crate::change::Change;
use crate::datum::{Datum, Payload};
use crate::fault::Fault;

/// Adds: numbers are summed and never wrap, texts are joined, lists are concatenated.
pub struct Add;

/// A type that [`Add`] folds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added to",
    note = "`#[reduce(add)]` works on numbers, `String` and `Vec`; for other types write `#[reduce(with = my_fold)]`"
)]
pub trait Addable: FieldValue {
    /// What is added.
    type Input: Payload + FieldValue;
    /// Whether adding can fail.
    const FALLIBLE: bool;
    /// Adds in place.
    ///
    /// # Errors
    /// When the sum does not fit the type.
    fn add(&mut self, input: Self::Input) -> Result<Change, Fault>;
    /// The piece a change speaks of.
    fn part(&self, change: &Change) -> Datum;
    /// Replays a change.
    ///
    /// # Errors
    /// When the piece does not fit.
    fn restore(&mut self, change: &Change, part: Datum) -> Result<(), Fault>;
    /// Reads what is added from JSON.
    ///
    /// # Errors
    /// Everything that is wrong with it, with JSON pointers below the field.
    fn read(value: Value) -> Result<Self::Input, Vec<Fault>> {
        crate::field::read(value)
    }
    /// What takes the next addition back.
    fn save(&self) -> Saved<Self> {
        Saved::Value(self.clone())
    }
}

macro_rules! whole {
    () => {
        fn part(&self, _change: &Change) -> Datum {
            Datum::live(self.clone())
        }
        fn restore(&mut self, change: &Change, part: Datum) -> Result<(), Fault> {
            restore_whole(self, change, part)
        }
    };
}

macro_rules! whole_numbers_add {
    ($($number:ty),*) => {$(
        impl Addable for $number {
            type Input = $number;
            const FALLIBLE: bool = true;
            whole!();
            fn add(&mut self, input: $number) -> Result<Change, Fault> {
                let sum = self.checked_add(input).ok_or_else(|| {
                    Fault::new(format!("{self} + {input} does not fit {}", stringify!($number)))
                        .help("use a wider integer or a float")
                })?;
                *self = sum;
                Ok(if input == 0 { Change::Unchanged } else { Change::Set })
            }
        }
    )*};
}
whole_numbers_add!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

macro_rules! floats_add {
    ($($number:ty),*) => {$(
        impl Addable for $number {
            type Input = $number;
            const FALLIBLE: bool = false;
            whole!();
            fn add(&mut self, input: $number) -> Result<Change, Fault> {
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
    whole!();
    fn add(&mut self, input: String) -> Result<Change, Fault> {
        self.push_str(&input);
        Ok(if input.is_empty() { Change::Unchanged } else { Change::Set })
    }
}

impl<E: FieldValue> Addable for Vec<E> {
    type Input = Items<E>;
    const FALLIBLE: bool = false;
    fn add(&mut self, input: Items<E>) -> Result<Change, Fault> {
        super::Append::reduce(self, input)
    }
    fn part(&self, change: &Change) -> Datum {
        list_part(self, change)
    }
    fn restore(&mut self, change: &Change, part: Datum) -> Result<(), Fault> {
        list_restore(self, change, part)
    }
    fn read(value: Value) -> Result<Items<E>, Vec<Fault>> {
        Items::read(value)
    }
    fn save(&self) -> Saved<Self> {
        <super::Append as Reducer<Self>>::save(self)
    }
}

impl<A: Addable<Input = A>> Addable for Option<A> {
    type Input = A;
    const FALLIBLE: bool = A::FALLIBLE;
    whole!();
    fn add(&mut self, input: A) -> Result<Change, Fault> {
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
    fn reduce(current: &mut T, input: T::Input) -> Result<Change, Fault> {
        current.add(input)
    }
    fn part(value: &T, change: &Change) -> Datum {
        value.part(change)
    }
    fn restore(value: &mut T, change: &Change, part: Datum) -> Result<(), Fault> {
        value.restore(change, part)
    }
    fn read(value: Value) -> Result<T::Input, Vec<Fault>> {
        T::read(value)
    }
    fn save(value: &T) -> Saved<T> {
        value.save()
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
            fn reduce(current: &mut T, input: T) -> Result<Change, Fault> {
                // A value that cannot be compared, such as NaN, is not better.
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
