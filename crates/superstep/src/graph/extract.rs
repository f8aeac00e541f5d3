//! Extractors: node arguments taken from the task, by type.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use superstep_core::error::{Error, ErrorCode};

use crate::engine::context::{Interrupts, NodeFailure, TaskContext};
use crate::graph::output::NodeError;
use crate::store::SharedStore;

/// A type that a node can take as an argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a node over `{S}`",
    note = "arguments are extractors: `View<{S}>`, `RunContext<{C}>`, `ContextPart<T>`, `SendPayload<T>`, `Interrupts`, `StreamWriter`, `TaskInfo`, `SharedStore`, `TaskContext`"
)]
pub trait FromTask<S, C>: Sized {
    /// Extracts the value from the task.
    ///
    /// # Errors
    /// Returns an error if the task does not have the value.
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError>;
}

/// The state at the start of the superstep: shared, immutable, may be held across await points.
pub struct View<S>(Arc<S>);

impl<S> View<S> {
    pub(crate) fn new(state: Arc<S>) -> Self {
        Self(state)
    }

    /// Returns the shared state.
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
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        Ok(Self(cx.view().clone().downcast().map_err(|_| Error::internal("a node received a state of another type"))?))
    }
}

/// The run context: clients, keys, settings. Passed to the run, never saved.
pub struct RunContext<C>(Arc<C>);

impl<C> Deref for RunContext<C> {
    type Target = C;
    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C> Clone for RunContext<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S, C: Send + Sync + 'static> FromTask<S, C> for RunContext<C> {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        let context = cx.0.shared.context.clone().downcast();
        Ok(Self(context.map_err(|_| Error::internal("a node received a context of another type"))?))
    }
}

/// A part of the run context.
pub struct ContextPart<T>(pub T);

impl<T> Deref for ContextPart<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A type that can be extracted from a run context `C`.
pub trait FromContext<C>: Sized {
    /// Extracts the value.
    fn from_context(context: &C) -> Self;
}

impl<S, C: Send + Sync + 'static, T: FromContext<C>> FromTask<S, C> for ContextPart<T> {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        let context = <RunContext<C> as FromTask<S, C>>::from_task(cx)?;
        Ok(Self(T::from_context(&context)))
    }
}

/// The payload of a task that was started with a [`crate::SendTo`].
pub struct SendPayload<T>(pub T);

impl<T> Deref for SendPayload<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<S, C, T: DeserializeOwned + Clone + Any + Send + Sync> FromTask<S, C> for SendPayload<T> {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        let Some(payload) = cx.0.task.payload().cloned() else {
            let text = "the node takes the payload of a `SendTo`, but an edge scheduled it";
            return Err(Error::new(ErrorCode::InvalidRoute, text)
                .with_help("schedule it with `SendTo::new(node, payload)`")
                .into());
        };
        payload.into_value().map(Self).map_err(|error| {
            Error::new(
                ErrorCode::TypeMismatch,
                format!("the payload of the `SendTo` does not match `{}`: {error}", std::any::type_name::<T>()),
            )
            .into()
        })
    }
}

impl<S, C, T> FromTask<S, C> for Option<SendPayload<T>>
where
    SendPayload<T>: FromTask<S, C>,
{
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        if cx.0.task.payload().is_none() { Ok(None) } else { SendPayload::<T>::from_task(cx).map(Some) }
    }
}

/// Sends values to the subscribers of the run.
#[derive(Clone)]
pub struct StreamWriter(pub(crate) TaskContext);

impl StreamWriter {
    /// Sends a value. Waits while the subscriber is behind, and does nothing if there is no subscriber.
    ///
    /// # Errors
    /// Returns an error if the value does not serialize to JSON.
    pub async fn send(&self, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.0.emit(value).await
    }

    /// Sends a value with an event name. See [`StreamWriter::send`].
    ///
    /// # Errors
    /// Returns an error if the value does not serialize to JSON.
    pub async fn send_named(&self, name: &str, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.0.emit_as(Some(name), value).await
    }
}

/// Information about the task: thread, run, superstep, attempt, limits.
#[derive(Clone)]
pub struct TaskInfo(TaskContext);

impl Deref for TaskInfo {
    type Target = TaskContext;
    fn deref(&self) -> &TaskContext {
        &self.0
    }
}

impl<S, C> FromTask<S, C> for TaskContext {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        Ok(cx.clone())
    }
}

impl<S, C> FromTask<S, C> for TaskInfo {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        Ok(Self(cx.clone()))
    }
}

impl<S, C> FromTask<S, C> for StreamWriter {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        Ok(Self(cx.clone()))
    }
}

impl<S, C> FromTask<S, C> for Interrupts {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        Ok(Self(cx.clone()))
    }
}

impl<S, C> FromTask<S, C> for NodeFailure {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        cx.0.failure.clone().ok_or_else(|| NodeError::new("`NodeFailure` is only available in error handlers"))
    }
}

impl<S, C> FromTask<S, C> for SharedStore {
    fn from_task(cx: &TaskContext) -> Result<Self, NodeError> {
        Ok(cx.store()?.clone())
    }
}
