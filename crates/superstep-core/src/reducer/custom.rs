//! Plain functions as reducers: `fn(&mut T, I)` or `fn(T, I) -> T`, with or without an error.

use std::fmt::Display;

use crate::change::Change;
use crate::validation_error::ValidationError;

/// The return type of a function that reduces in place: nothing, a [`Change`], or a `Result` of these.
pub trait IntoChange {
    /// True if the function can fail.
    const FALLIBLE: bool;
    /// Converts the result into the change, or into the error.
    ///
    /// # Errors
    /// Returns an error if the function returned one.
    fn into_change(self) -> Result<Change, ValidationError>;
}

impl IntoChange for () {
    const FALLIBLE: bool = false;
    fn into_change(self) -> Result<Change, ValidationError> {
        Ok(Change::Set)
    }
}

impl IntoChange for Change {
    const FALLIBLE: bool = false;
    fn into_change(self) -> Result<Change, ValidationError> {
        Ok(self)
    }
}

impl<R: IntoChange, E: Display> IntoChange for Result<R, E> {
    const FALLIBLE: bool = true;
    fn into_change(self) -> Result<Change, ValidationError> {
        self.map_err(|error| ValidationError::new(error.to_string()))?.into_change()
    }
}

/// Marker for functions that reduce in place.
pub struct InPlace<R>(std::marker::PhantomData<R>);
/// Marker for functions that take the value and return a new one.
pub struct ByValue;

/// Reduces with a function, for a value that is stored in full: an error leaves the value unchanged.
///
/// # Errors
/// Returns an error if the function rejects the update.
pub fn reduce_full_value<T: Clone, I, M, F: ReduceFn<T, I, M>>(
    reduce: &F,
    current: &mut T,
    input: I,
) -> Result<Change, ValidationError> {
    let before = F::FALLIBLE.then(|| current.clone());
    match reduce.reduce(current, input) {
        Ok(Change::Unchanged) => Ok(Change::Unchanged),
        // A custom function may report an append or a merge that cannot be replayed from a delta.
        Ok(_) => Ok(Change::Set),
        Err(error) => {
            if let Some(before) = before {
                *current = before;
            }
            Err(error)
        }
    }
}

/// A function of two arguments that reduces.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reducer",
    note = "a reducer is a `fn(&mut T, Input)`, a `fn(&mut T, Input) -> Result<(), E>` or a `fn(T, Input) -> T`"
)]
pub trait ReduceFn<T, I, Marker>: Send + Sync + 'static {
    /// True if the function can reject an update after it began to change the value.
    const FALLIBLE: bool;

    /// Reduces the input into the value.
    ///
    /// # Errors
    /// Returns an error if the function rejects the update.
    fn reduce(&self, current: &mut T, input: I) -> Result<Change, ValidationError>;
}

impl<T, I, R: IntoChange, F: Fn(&mut T, I) -> R + Send + Sync + 'static> ReduceFn<T, I, InPlace<R>> for F {
    const FALLIBLE: bool = R::FALLIBLE;

    fn reduce(&self, current: &mut T, input: I) -> Result<Change, ValidationError> {
        self(current, input).into_change()
    }
}

impl<T: Clone, I, F: Fn(T, I) -> T + Send + Sync + 'static> ReduceFn<T, I, ByValue> for F {
    const FALLIBLE: bool = false;

    fn reduce(&self, current: &mut T, input: I) -> Result<Change, ValidationError> {
        *current = self(current.clone(), input);
        Ok(Change::Set)
    }
}
