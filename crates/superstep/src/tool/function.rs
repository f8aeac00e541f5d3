//! Functions as tools: typed arguments in, anything that can be told a model out.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use superstep_core::command::Output;
use superstep_core::message::Content;
use superstep_core::port::{BoxFuture, Invocation, SharedTool, Tool};
use superstep_core::state::State;
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use super::argument::{self, Arguments};
use super::inject::ToolCx;
use crate::output::{Command, NodeError};

/// Something a tool may return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return something that is `Serialize`, a `ToolOutput`, a `Command`, or a `Result` of these with any error"
)]
pub trait IntoToolOutput<Marker> {
    /// What the tool gives.
    ///
    /// # Errors
    /// When the tool returned an error, or something that is no JSON.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

/// Marks results that are data.
pub struct AsData;
/// Marks results that say themselves what the model is told.
pub struct AsOutput;
/// Marks commands.
pub struct AsCommand;
/// Marks results that may be errors.
pub struct Fallible<M>(PhantomData<M>);

impl<T: Serialize + 'static> IntoToolOutput<AsData> for T {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let mut given = Some(self);
        // Taken as it is: the results of tools are mostly texts, and may be long.
        let text = (&mut given as &mut dyn Any).downcast_mut::<Option<String>>().and_then(Option::take);
        if let Some(text) = text {
            return Ok(text.into());
        }
        let value = serde_json::to_value(given)?;
        // Nothing is not the same as null.
        if value.is_null() && size_of::<T>() == 0 {
            return Ok(ToolOutput::new("done"));
        }
        Ok(value.into())
    }
}

impl IntoToolOutput<AsOutput> for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolOutput<AsOutput> for Content {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::new(self))
    }
}

impl<S: State> IntoToolOutput<AsCommand> for Command<S> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let command: Output = self.named_output()?;
        let mut output = ToolOutput::default();
        output.command = Some(Box::new(command));
        Ok(output)
    }
}

impl<T: IntoToolOutput<M>, E: Into<ToolError>, M> IntoToolOutput<Fallible<M>> for Result<T, E> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        self.map_err(Into::into)?.into_tool_output()
    }
}

/// What a node's error means inside a tool: a graph that only stopped is passed on, the rest is told the model.
impl From<NodeError> for ToolError {
    fn from(error: NodeError) -> Self {
        if error.stopped.is_some() {
            return Self::passing(Box::new(error));
        }
        error.into_error().into()
    }
}

/// Runs a tool that blocks on a thread made for that.
///
/// # Errors
/// When it is called off.
#[doc(hidden)]
pub async fn run_blocking_tool<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    // A panic goes on here, where the node of the tools catches it as that of any other tool.
    let work = move || catch_unwind(AssertUnwindSafe(work));
    Ok(crate::executor::run_blocking(work).await?.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// A closure as a tool. The schema of its arguments is that of `T`, whatever `spec` says.
///
/// ```
/// use superstep::JsonSchema;
/// use superstep::prelude::*;
/// use superstep::tool::{ToolSpec, tool_fn};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Pair { a: i64, b: i64 }
///
/// let add = tool_fn(ToolSpec::new("add", "Adds two numbers.").read_only(), async |pair: Pair, _cx| pair.a + pair.b);
/// assert_eq!(add.spec().input_schema["required"], serde_json::json!(["a", "b"]));
/// ```
pub fn tool_fn<T, F, Fut, R, M>(spec: ToolSpec, work: F) -> SharedTool
where
    T: Arguments,
    F: Fn(T, ToolCx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput<M> + 'static,
    M: 'static,
{
    let schema = Arc::new(argument::schema_of::<T>());
    let spec = spec.with_input(schema.clone());
    let work = move |args: Map<String, Value>, cx: ToolCx| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let args = match argument::read::<T>(args, &schema) {
            Ok(args) => args,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let future = work(args, cx);
        Box::pin(async move { future.await.into_tool_output() })
    };
    Function { spec, work: Box::new(work) }.into()
}

type Work = Box<dyn Fn(Map<String, Value>, ToolCx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync>;

struct Function {
    spec: ToolSpec,
    work: Work,
}

impl Tool for Function {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, mut call: Invocation) -> Result<ToolOutput, ToolError> {
        let args = std::mem::take(&mut call.args);
        (self.work)(args, ToolCx::of(&call)).await
    }
}
