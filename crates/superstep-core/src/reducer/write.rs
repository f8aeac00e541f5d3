//! The values that a setter of an update accepts: the input of the reducer, a value that converts to it, or an
//! [`Overwrite`] of the full value.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Add, AddMessages, Append, Capped, DeepMerge, FieldValue, KeepLast, MapUpdate, Max, Merge, MergeBy, MergeKey, Min,
    OneOrMany, Reducer, Replace, SetUnion,
};
use crate::message::{MessageUpdates, Messages};
use crate::update::{Overwrite, WriteMode};
use crate::value::AnyValue;

// The implementations are not listed in the error: the note says in one line what a list of them says in twenty.

/// A value that can be written to a field of type `T` with reducer `R`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to a field of type `{T}`",
    label = "this field does not accept a `{Self}`",
    note = "use a value of the type of the field, one item or many for a list, or `Overwrite(value)` to \
         replace the value"
)]
pub trait IntoWrite<T, R> {
    /// Converts the value into a write.
    fn into_write(self) -> (WriteMode, AnyValue);
}

#[diagnostic::do_not_recommend]
impl<T: FieldValue, R: Reducer<T>> IntoWrite<T, R> for Overwrite<T> {
    fn into_write(self) -> (WriteMode, AnyValue) {
        (WriteMode::Overwrite, AnyValue::native(self.0))
    }
}

fn input<I: FieldValue>(value: I) -> (WriteMode, AnyValue) {
    (WriteMode::Reduce, AnyValue::native(value))
}

impl<T: FieldValue> IntoWrite<T, Replace> for T {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: FieldValue> IntoWrite<Option<T>, Replace> for T {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(Some(self))
    }
}

#[diagnostic::do_not_recommend]
impl IntoWrite<String, Replace> for &str {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self.to_owned())
    }
}

#[diagnostic::do_not_recommend]
impl IntoWrite<Option<String>, Replace> for &str {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(Some(self.to_owned()))
    }
}

#[diagnostic::do_not_recommend]
impl IntoWrite<String, Add> for String {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self)
    }
}

#[diagnostic::do_not_recommend]
impl IntoWrite<String, Add> for &str {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self.to_owned())
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl IntoWrite<$number, Add> for $number {
            fn into_write(self) -> (WriteMode, AnyValue) { input(self) }
        }
        #[diagnostic::do_not_recommend]
        impl IntoWrite<Option<$number>, Add> for $number {
            fn into_write(self) -> (WriteMode, AnyValue) { input(self) }
        }
    )*};
}
numbers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

#[diagnostic::do_not_recommend]
impl<T: FieldValue + PartialOrd> IntoWrite<T, Max> for T {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: FieldValue + PartialOrd> IntoWrite<T, Min> for T {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self)
    }
}

macro_rules! lists {
    ($([$($generics:tt)*] $reducer:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<E: FieldValue, $($generics)*> IntoWrite<Vec<E>, $reducer> for E {
            fn into_write(self) -> (WriteMode, AnyValue) { input(OneOrMany(vec![self])) }
        }
        #[diagnostic::do_not_recommend]
        impl<E: FieldValue, $($generics)*> IntoWrite<Vec<E>, $reducer> for Vec<E> {
            fn into_write(self) -> (WriteMode, AnyValue) { input(OneOrMany(self)) }
        }
        #[diagnostic::do_not_recommend]
        impl<E: FieldValue, const COUNT: usize, $($generics)*> IntoWrite<Vec<E>, $reducer> for [E; COUNT] {
            fn into_write(self) -> (WriteMode, AnyValue) { input(OneOrMany(Vec::from(self))) }
        }
        #[diagnostic::do_not_recommend]
        impl<E: FieldValue, $($generics)*> IntoWrite<Vec<E>, $reducer> for Option<E> {
            fn into_write(self) -> (WriteMode, AnyValue) { input(OneOrMany(Vec::from_iter(self))) }
        }
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> IntoWrite<Vec<String>, $reducer> for &str {
            fn into_write(self) -> (WriteMode, AnyValue) { input(OneOrMany(vec![self.to_owned()])) }
        }
    )*};
}
lists! {
    [] Append;
    [] Add;
    [const N: usize] KeepLast<N>;
    [const N: usize] Capped<N>;
    [] SetUnion;
}

#[diagnostic::do_not_recommend]
impl<E: FieldValue, K: MergeKey<E>> IntoWrite<Vec<E>, MergeBy<K>> for E {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(OneOrMany(vec![self]))
    }
}

#[diagnostic::do_not_recommend]
impl<E: FieldValue, K: MergeKey<E>> IntoWrite<Vec<E>, MergeBy<K>> for Vec<E> {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(OneOrMany(self))
    }
}

#[diagnostic::do_not_recommend]
impl<E: FieldValue + Ord> IntoWrite<std::collections::BTreeSet<E>, SetUnion> for E {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(OneOrMany(vec![self]))
    }
}

#[diagnostic::do_not_recommend]
impl<E: FieldValue + Ord> IntoWrite<std::collections::BTreeSet<E>, SetUnion> for Vec<E> {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(OneOrMany(self))
    }
}

#[diagnostic::do_not_recommend]
impl<K: FieldValue + Ord, V: FieldValue, I: Into<MapUpdate<K, V>>> IntoWrite<BTreeMap<K, V>, Merge> for I
where
    MapUpdate<K, V>: FieldValue,
{
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl<I: Into<MapUpdate<String, Value>>> IntoWrite<BTreeMap<String, Value>, DeepMerge> for I {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl IntoWrite<Value, DeepMerge> for Value {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self)
    }
}

#[diagnostic::do_not_recommend]
impl<I: Into<MessageUpdates>> IntoWrite<Messages, AddMessages> for I {
    fn into_write(self) -> (WriteMode, AnyValue) {
        input(self.into())
    }
}
