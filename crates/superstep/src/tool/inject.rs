//! What a tool takes from its run and not from the model: state, context, store, a person, and more, by type.

use std::any::type_name;
use std::ops::Deref;
use std::sync::Arc;

use superstep_core::error::{Code, Error};
use superstep_core::port::{Invocation, Progress};
use superstep_core::tool::ToolError;

use crate::context::{Ask, Cx};
use crate::extract::{Ctx, FromTask, Info, View, Writer};
use crate::output::NodeError;
use crate::store::SharedStore;

/// One call of a tool, as the tool sees it besides its arguments.
#[derive(Clone)]
pub struct ToolCx {
    id: Arc<str>,
    progress: Progress,
    cx: Option<Cx>,
}

impl ToolCx {
    pub(super) fn of(call: &Invocation) -> Self {
        let cx = call.host.as_ref().and_then(|host| host.downcast_ref::<Cx>()).cloned();
        Self { id: call.id.as_str().into(), progress: call.progress.clone(), cx }
    }

    /// Something of the run, by type: `cx.get::<View<Chat>>()?`.
    ///
    /// # Errors
    /// When the run does not have it. That is no failure of the tool: the run fails, and the model hears nothing of it.
    pub fn get<T: FromCall>(&self) -> Result<T, ToolError> {
        T::from_call(self).map_err(|error| ToolError {
            passes: Some(Box::new(error)),
            ..ToolError::new("the tool cannot be run here")
        })
    }

    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The task of the node that runs the tool.
    fn task(&self) -> Result<&Cx, NodeError> {
        self.cx.as_ref().ok_or_else(|| {
            let error = Error::new(Code::ConfigInvalid, "the tool takes something of a run, and none is around it");
            error.help("run it in a `ToolNode`").into()
        })
    }
}

/// Something a tool takes from its run. A model cannot give it and never hears of it.
#[diagnostic::on_unimplemented(
    message = "a tool cannot take `{Self}` from its run",
    note = "a tool takes `Cx`, `View<State>`, `Ctx<Context>`, `SharedStore`, `Ask`, `Writer`, `Info`, `CallId`, `Progress` and `ToolCx` from its run",
    note = "everything else is an argument that the model gives"
)]
pub trait FromCall: Sized {
    /// Takes it.
    ///
    /// # Errors
    /// When the run does not have it.
    fn from_call(cx: &ToolCx) -> Result<Self, NodeError>;
}

/// The id of the call that a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallId(Arc<str>);

impl Deref for CallId {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl FromCall for CallId {
    fn from_call(cx: &ToolCx) -> Result<Self, NodeError> {
        Ok(Self(cx.id.clone()))
    }
}

impl FromCall for Progress {
    fn from_call(cx: &ToolCx) -> Result<Self, NodeError> {
        Ok(cx.progress.clone())
    }
}

impl FromCall for ToolCx {
    fn from_call(cx: &ToolCx) -> Result<Self, NodeError> {
        Ok(cx.clone())
    }
}

macro_rules! taken_as_by_nodes {
    ($($name:ty),*) => {$(
        impl FromCall for $name {
            fn from_call(cx: &ToolCx) -> Result<Self, NodeError> {
                FromTask::<(), ()>::from_task(cx.task()?)
            }
        }
    )*};
}
taken_as_by_nodes!(Cx, Info, Writer, Ask, SharedStore);

impl<S: Send + Sync + 'static> FromCall for View<S> {
    fn from_call(cx: &ToolCx) -> Result<Self, NodeError> {
        let state = cx.task()?.view().clone().downcast();
        state.map(Self::new).map_err(|_| another("state", type_name::<S>(), Code::InvalidGraph))
    }
}

impl<C: Send + Sync + 'static> FromCall for Ctx<C> {
    fn from_call(cx: &ToolCx) -> Result<Self, NodeError> {
        let context = <Self as FromTask<(), C>>::from_task(cx.task()?);
        context.map_err(|_| another("context", type_name::<C>(), Code::MissingContext))
    }
}

fn another(what: &str, wanted: &str, code: Code) -> NodeError {
    Error::new(code, format!("a tool takes the {what} `{wanted}`, and the graph has another"))
        .help("use the tool in a graph of that type")
        .into()
}
