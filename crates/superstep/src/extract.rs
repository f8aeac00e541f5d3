//! What a node may take as arguments: parts of its task, by type.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use superstep_core::error::{Code, Error};

use crate::context::{Ask, Cx, Failure};
use crate::output::NodeError;
use crate::store::SharedStore;

/// Something a node can take as an argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a node over `{S}`",
    note = "arguments are extractors: `View<{S}>`, `Ctx<{C}>`, `Part<T>`, `Sent<T>`, `Ask`, `Writer`, `Info`, `SharedStore`, `Cx`"
)]
pub trait FromTask<S, C>: Sized {
    /// Takes it from the task.
    ///
    /// # Errors
    /// When the task does not have it.
    fn from_task(cx: &Cx) -> Result<Self, NodeError>;
}

/// The state as of the start of the superstep: shared, unchanging, free to hold across awaits.
pub struct View<S>(Arc<S>);

impl<S> View<S> {
    pub(crate) fn new(state: Arc<S>) -> Self {
        Self(state)
    }

    /// The state itself, shared.
    #[must_use]
    pub fn into_arc(self) -> Arc<S> {
        self.0
    }
}

impl<S> Deref for View<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Clone for View<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: fmt::Debug> fmt::Debug for View<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Send + Sync + 'static, C> FromTask<S, C> for View<S> {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        Ok(Self(cx.view().clone().downcast().map_err(|_| Error::internal("a node was given a state of another type"))?))
    }
}

/// The run's context: clients, keys, settings. Given with the run, never saved.
pub struct Ctx<C>(Arc<C>);

impl<C> Deref for Ctx<C> {
    type Target = C;
    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C> Clone for Ctx<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S, C: Send + Sync + 'static> FromTask<S, C> for Ctx<C> {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        let context = cx.0.shared.context.clone().downcast();
        Ok(Self(context.map_err(|_| Error::internal("a node was given a context of another type"))?))
    }
}

/// A part of the run's context.
pub struct Part<T>(pub T);

impl<T> Deref for Part<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A part that can be taken from a context `C`.
pub trait FromContext<C>: Sized {
    /// Takes it.
    fn from_context(context: &C) -> Self;
}

impl<S, C: Send + Sync + 'static, T: FromContext<C>> FromTask<S, C> for Part<T> {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        let context = <Ctx<C> as FromTask<S, C>>::from_task(cx)?;
        Ok(Self(T::from_context(&context)))
    }
}

/// The input of a task that was started with a [`crate::Send`].
pub struct Sent<T>(pub T);

impl<T> Deref for Sent<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<S, C, T: DeserializeOwned + Clone + Any + Send + Sync> FromTask<S, C> for Sent<T> {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        let Some(payload) = cx.0.task.payload().cloned() else {
            let text = "it takes the payload of a `Send`, and was reached by an edge";
            return Err(Error::new(Code::InvalidRoute, text).help("send to it: `Send::new(node, payload)`").into());
        };
        payload.take().map(Self).map_err(|fault| {
            Error::new(
                Code::TypeMismatch,
                format!("the payload sent to it is not a `{}`: {fault}", std::any::type_name::<T>()),
            )
            .into()
        })
    }
}

impl<S, C, T> FromTask<S, C> for Option<Sent<T>>
where
    Sent<T>: FromTask<S, C>,
{
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        if cx.0.task.payload().is_none() { Ok(None) } else { Sent::<T>::from_task(cx).map(Some) }
    }
}

/// Sends values to whoever watches the run.
#[derive(Clone)]
pub struct Writer(pub(crate) Cx);

impl Writer {
    /// Sends a value; waits while the reader is behind, and does nothing when there is none.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub async fn send(&self, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.0.emit(value).await
    }

    /// As [`Writer::send`], under a name: the name of the event for those who read events.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub async fn event(&self, name: &str, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.0.emit_as(Some(name), value).await
    }
}

/// What is known of the task: thread, run, step, attempt, limits.
#[derive(Clone)]
pub struct Info(Cx);

impl Deref for Info {
    type Target = Cx;
    fn deref(&self) -> &Cx {
        &self.0
    }
}

impl<S, C> FromTask<S, C> for Cx {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        Ok(cx.clone())
    }
}

impl<S, C> FromTask<S, C> for Info {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        Ok(Self(cx.clone()))
    }
}

impl<S, C> FromTask<S, C> for Writer {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        Ok(Self(cx.clone()))
    }
}

impl<S, C> FromTask<S, C> for Ask {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        Ok(Self(cx.clone()))
    }
}

impl<S, C> FromTask<S, C> for Failure {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        cx.0.failure.clone().ok_or_else(|| NodeError::new("only an error handler can take a `Failure`"))
    }
}

impl<S, C> FromTask<S, C> for SharedStore {
    fn from_task(cx: &Cx) -> Result<Self, NodeError> {
        Ok(cx.store()?.clone())
    }
}
