//! Plain functions as reducers: `fn(&mut T, I)` or `fn(T, I) -> T`, with or without an error.

use std::fmt::Display;

use crate::change::Change;
use crate::fault::Fault;

/// What a function that folds in place may return: nothing, a [`Change`], or a `Result` of these.
pub trait Reduced {
    /// Whether it can be a refusal.
    const FALLIBLE: bool;
    /// The change, or why the update was refused.
    ///
    /// # Errors
    /// When the function returned an error.
    fn into_change(self) -> Result<Change, Fault>;
}

impl Reduced for () {
    const FALLIBLE: bool = false;
    fn into_change(self) -> Result<Change, Fault> {
        Ok(Change::Set)
    }
}

impl Reduced for Change {
    const FALLIBLE: bool = false;
    fn into_change(self) -> Result<Change, Fault> {
        Ok(self)
    }
}

impl<R: Reduced, E: Display> Reduced for Result<R, E> {
    const FALLIBLE: bool = true;
    fn into_change(self) -> Result<Change, Fault> {
        self.map_err(|error| Fault::new(error.to_string()))?.into_change()
    }
}

/// Marks functions that fold in place.
pub struct InPlace<R>(std::marker::PhantomData<R>);
/// Marks functions that take the value and give a new one.
pub struct ByValue;

/// Folds with a function, for a value that is stored whole: a refusal leaves it as it was.
///
/// # Errors
/// When the function refuses the update.
pub fn fold_whole<T: Clone, I, M, F: ReduceFn<T, I, M>>(fold: &F, current: &mut T, input: I) -> Result<Change, Fault> {
    let before = F::FALLIBLE.then(|| current.clone());
    match fold.fold(current, input) {
        Ok(Change::Unchanged) => Ok(Change::Unchanged),
        // What a function of the user calls an append or a merge cannot be replayed from a part.
        Ok(_) => Ok(Change::Set),
        Err(fault) => {
            if let Some(before) = before {
                *current = before;
            }
            Err(fault)
        }
    }
}

/// A function of two arguments that folds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reducer",
    note = "a reducer is a `fn(&mut T, Input)`, a `fn(&mut T, Input) -> Result<(), E>` or a `fn(T, Input) -> T`"
)]
pub trait ReduceFn<T, I, Marker>: Send + Sync + 'static {
    /// Whether the function can refuse an update after it began to change the value.
    const FALLIBLE: bool;

    /// Folds.
    ///
    /// # Errors
    /// When the function refuses the update.
    fn fold(&self, current: &mut T, input: I) -> Result<Change, Fault>;
}

impl<T, I, R: Reduced, F: Fn(&mut T, I) -> R + Send + Sync + 'static> ReduceFn<T, I, InPlace<R>> for F {
    const FALLIBLE: bool = R::FALLIBLE;

    fn fold(&self, current: &mut T, input: I) -> Result<Change, Fault> {
        self(current, input).into_change()
    }
}

impl<T: Clone, I, F: Fn(T, I) -> T + Send + Sync + 'static> ReduceFn<T, I, ByValue> for F {
    const FALLIBLE: bool = false;

    fn fold(&self, current: &mut T, input: I) -> Result<Change, Fault> {
        *current = self(current.clone(), input);
        Ok(Change::Set)
    }
}
