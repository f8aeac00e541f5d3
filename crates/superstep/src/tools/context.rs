//! Values that a tool takes from its run and not from the model: state, context, store, interrupts and more, by type.

use std::any::type_name;
use std::ops::Deref;
use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode};
use superstep_core::port::{ToolInvocation, ToolProgress};
use superstep_core::tool::ToolError;

use crate::engine::context::{Interrupts, TaskContext};
use crate::graph::extract::{FromTask, RunContext, StreamWriter, TaskInfo, View};
use crate::graph::output::NodeError;
use crate::store::SharedStore;

/// Context of a tool call, in addition to its arguments.
#[derive(Clone)]
pub struct ToolContext {
    id: Arc<str>,
    progress: ToolProgress,
    cx: Option<TaskContext>,
}

impl ToolContext {
    pub(super) fn from_invocation(call: &ToolInvocation) -> Self {
        let cx = call.task_context.as_ref().and_then(|context| context.downcast_ref::<TaskContext>()).cloned();
        Self { id: call.id.as_str().into(), progress: call.progress.clone(), cx }
    }

    /// Extracts a value of the run by type: `cx.get::<View<Chat>>()?`.
    ///
    /// # Errors
    /// Returns an error if the run does not have the value. This is not a failure of the tool: the run fails, and the
    /// model receives no message.
    pub fn get<T: FromToolCall>(&self) -> Result<T, ToolError> {
        T::from_call(self).map_err(|error| ToolError {
            passthrough: Some(Box::new(error)),
            ..ToolError::new("the tool cannot run in this graph")
        })
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the context of the task that runs the tool.
    fn task(&self) -> Result<&TaskContext, NodeError> {
        self.cx.as_ref().ok_or_else(|| {
            let error = Error::new(ErrorCode::ConfigInvalid, "the tool requires a run context");
            error.with_help("run it in a `ToolNode`").into()
        })
    }
}

/// A type that a tool can take from its run. The model cannot supply the value and does not see it.
#[diagnostic::on_unimplemented(
    message = "a tool cannot take `{Self}` from its run",
    note = "a tool takes `TaskContext`, `View<State>`, `RunContext<Context>`, `SharedStore`, `Interrupts`, `StreamWriter`, `TaskInfo`, `ToolCallId`, `ToolProgress` and `ToolContext` from its run",
    note = "all other arguments are provided by the model"
)]
pub trait FromToolCall: Sized {
    /// Extracts the value.
    ///
    /// # Errors
    /// Returns an error if the run does not have the value.
    fn from_call(cx: &ToolContext) -> Result<Self, NodeError>;
}

/// Id of the tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallId(Arc<str>);

impl Deref for ToolCallId {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl FromToolCall for ToolCallId {
    fn from_call(cx: &ToolContext) -> Result<Self, NodeError> {
        Ok(Self(cx.id.clone()))
    }
}

impl FromToolCall for ToolProgress {
    fn from_call(cx: &ToolContext) -> Result<Self, NodeError> {
        Ok(cx.progress.clone())
    }
}

impl FromToolCall for ToolContext {
    fn from_call(cx: &ToolContext) -> Result<Self, NodeError> {
        Ok(cx.clone())
    }
}

macro_rules! from_task_context {
    ($($name:ty),*) => {$(
        impl FromToolCall for $name {
            fn from_call(cx: &ToolContext) -> Result<Self, NodeError> {
                FromTask::<(), ()>::from_task(cx.task()?)
            }
        }
    )*};
}
from_task_context!(TaskContext, TaskInfo, StreamWriter, Interrupts, SharedStore);

impl<S: Send + Sync + 'static> FromToolCall for View<S> {
    fn from_call(cx: &ToolContext) -> Result<Self, NodeError> {
        let state = cx.task()?.view().clone().downcast();
        state.map(Self::new).map_err(|_| type_mismatch("state", type_name::<S>(), ErrorCode::InvalidGraph))
    }
}

impl<C: Send + Sync + 'static> FromToolCall for RunContext<C> {
    fn from_call(cx: &ToolContext) -> Result<Self, NodeError> {
        let context = <Self as FromTask<(), C>>::from_task(cx.task()?);
        context.map_err(|_| type_mismatch("context", type_name::<C>(), ErrorCode::MissingContext))
    }
}

fn type_mismatch(kind: &str, expected: &str, code: ErrorCode) -> NodeError {
    Error::new(code, format!("the tool requires the {kind} `{expected}`, but the graph has a different one"))
        .with_help("use the tool in a graph with that type")
        .into()
}
