//! Functions as tools: typed arguments, and any result that can be reported to a model.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use superstep_core::command::TaskOutput;
use superstep_core::message::Content;
use superstep_core::port::{BoxFuture, SharedTool, Tool, ToolInvocation};
use superstep_core::state::GraphState;
use superstep_core::tool::{ToolError, ToolOutput, ToolSpec};

use super::arguments::{self, ToolArgs};
use super::context::ToolContext;
use crate::graph::output::{Command, NodeError};

/// A return type of a tool.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return a type that is `Serialize`, a `ToolOutput`, a `Command`, or a `Result` of these with any error"
)]
pub trait IntoToolOutput<Marker> {
    /// Converts to the output of the tool.
    ///
    /// # Errors
    /// Returns an error if the tool failed, or if its result does not serialize to JSON.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

/// Marker of serializable results.
pub struct DataMarker;
/// Marker of results with explicit content for the model.
pub struct OutputMarker;
/// Marker of commands.
pub struct CommandMarker;
/// Marker of `Result` types.
pub struct ResultMarker<M>(PhantomData<M>);

impl<T: Serialize + 'static> IntoToolOutput<DataMarker> for T {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let mut output = Some(self);
        // Moved without a copy: most tool results are texts, and may be long.
        let text = (&mut output as &mut dyn Any).downcast_mut::<Option<String>>().and_then(Option::take);
        if let Some(text) = text {
            return Ok(text.into());
        }
        let value = serde_json::to_value(output)?;
        // A unit value is not null.
        if value.is_null() && size_of::<T>() == 0 {
            return Ok(ToolOutput::new("done"));
        }
        Ok(value.into())
    }
}

impl IntoToolOutput<OutputMarker> for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolOutput<OutputMarker> for Content {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::new(self))
    }
}

impl<S: GraphState> IntoToolOutput<CommandMarker> for Command<S> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        let command: TaskOutput = self.output_by_field_name()?;
        let mut output = ToolOutput::default();
        output.command = Some(Box::new(command));
        Ok(output)
    }
}

impl<T: IntoToolOutput<M>, E: Into<ToolError>, M> IntoToolOutput<ResultMarker<M>> for Result<T, E> {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        self.map_err(Into::into)?.into_tool_output()
    }
}

/// Converts an error of a node inside a tool: a stopped subgraph is passed on, all other errors are reported to the
/// model.
impl From<NodeError> for ToolError {
    fn from(error: NodeError) -> Self {
        if error.stopped.is_some() {
            return Self::passthrough(Box::new(error));
        }
        error.into_error().into()
    }
}

/// Runs a blocking tool on a thread of the blocking pool.
///
/// # Errors
/// Returns an error if the call is cancelled.
#[doc(hidden)]
pub async fn run_blocking_tool<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    // A panic is resumed here, where the tool node catches it like that of any other tool.
    let work = move || catch_unwind(AssertUnwindSafe(work));
    Ok(crate::engine::executor::run_blocking(work).await?.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Creates a tool from a closure. The schema of its arguments is that of `T`, regardless of `spec`.
///
/// ```
/// use superstep::JsonSchema;
/// use superstep::prelude::*;
/// use superstep::tools::{ToolSpec, tool_fn};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Pair { a: i64, b: i64 }
///
/// let add = tool_fn(ToolSpec::new("add", "Adds two numbers.").read_only(), async |pair: Pair, _cx| pair.a + pair.b);
/// assert_eq!(add.spec().input_schema["required"], serde_json::json!(["a", "b"]));
/// ```
pub fn tool_fn<T, F, Fut, R, M>(spec: ToolSpec, work: F) -> SharedTool
where
    T: ToolArgs,
    F: Fn(T, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput<M> + 'static,
    M: 'static,
{
    let schema = Arc::new(arguments::schema_of::<T>());
    let spec = spec.with_input_schema(schema.clone());
    let work = move |args: Map<String, Value>, cx: ToolContext| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let args = match arguments::read::<T>(args, &schema) {
            Ok(args) => args,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let future = work(args, cx);
        Box::pin(async move { future.await.into_tool_output() })
    };
    FunctionTool { spec, work: Box::new(work) }.into()
}

type ToolFn =
    Box<dyn Fn(Map<String, Value>, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync>;

struct FunctionTool {
    spec: ToolSpec,
    work: ToolFn,
}

impl Tool for FunctionTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, mut call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let args = std::mem::take(&mut call.args);
        (self.work)(args, ToolContext::from_invocation(&call)).await
    }
}
