//! What stands around calls of models and tools: the call on its way in, and whoever is next.

use std::sync::Arc;

use super::middleware::Erased;
use super::state::AgentState;
use crate::core::port::BoxFuture;
use crate::model::{Answer, Request, SharedModel};
use crate::tool::{Invocation, SharedTool, Tool, ToolError, ToolOutput, ToolSpec};
use crate::{Cx, NodeError, View};

/// Those that wrap, the outermost first.
pub(super) type Around = Arc<[Arc<dyn Erased>]>;

/// What a tool message says of a result that is the answer of the agent.
pub(super) const RETURN_DIRECT: &str = "return_direct";

/// A call of the model that is about to be made.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// Who is asked.
    pub model: SharedModel,
    /// What it is asked.
    pub request: Request,
    /// The state of the agent.
    pub state: View<AgentState>,
    /// The task that asks.
    pub cx: Cx,
    /// The tool by which the model gives its answer, where it does so by one.
    pub answer_tool: Option<String>,
}

/// Who is asked after a middleware: the next one, and in the end the model.
#[derive(Clone)]
pub struct NextModel {
    around: Around,
    at: usize,
}

impl NextModel {
    pub(super) fn first(around: &Around) -> Self {
        Self { around: around.clone(), at: 0 }
    }

    /// Asks.
    ///
    /// # Errors
    /// When the model fails, or one that stands around it.
    pub fn run(self, request: ModelRequest) -> BoxFuture<'static, Result<Answer, NodeError>> {
        let Self { around, at } = self;
        Box::pin(async move {
            match around.get(at).cloned() {
                Some(middleware) => middleware.wrap_model(request, Self { around, at: at + 1 }).await,
                None => Ok(request.cx.model(&request.model).request(request.request).await?),
            }
        })
    }
}

/// A call of a tool that is about to be made.
#[non_exhaustive]
pub struct ToolRequest {
    /// What is told of the tool.
    pub spec: Arc<ToolSpec>,
    /// The call: its id and its arguments, which fit the schema.
    pub call: Invocation,
}

impl ToolRequest {
    /// The name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.spec.name
    }

    /// The task that calls, where there is one around the call.
    #[must_use]
    pub fn cx(&self) -> Option<&Cx> {
        self.call.host.as_ref()?.downcast_ref()
    }
}

impl Clone for ToolRequest {
    fn clone(&self) -> Self {
        let Invocation { id, args, progress, host } = &self.call;
        let mut call = Invocation::new(id.clone(), args.clone());
        (call.progress, call.host) = (progress.clone(), host.clone());
        Self { spec: self.spec.clone(), call }
    }
}

/// What is called after a middleware: the next one, and in the end the tool.
#[derive(Clone)]
pub struct NextTool {
    around: Around,
    at: usize,
    tool: SharedTool,
}

impl NextTool {
    /// Calls.
    ///
    /// # Errors
    /// When the tool fails, or one that stands around it.
    pub fn run(self, request: ToolRequest) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let Self { around, at, tool } = self;
        Box::pin(async move {
            match around.get(at).cloned() {
                Some(middleware) => middleware.wrap_tool(request, Self { around, at: at + 1, tool }).await,
                None => tool.call(request.call).await,
            }
        })
    }
}

/// The tool as an agent calls it: with its middlewares around it, and with a mark on results that are the answer. Of one
/// that `is_judged` before, nobody is asked again unless a policy names it.
pub(super) fn surrounded(tool: SharedTool, around: &Around, is_judged: bool) -> SharedTool {
    let spec = tool.spec();
    if around.is_empty() && !spec.return_direct && !(is_judged && spec.annotations.destructive) {
        return tool;
    }
    Surrounded { tool, around: around.clone(), is_judged }.into()
}

struct Surrounded {
    tool: SharedTool,
    around: Around,
    is_judged: bool,
}

impl Tool for Surrounded {
    fn spec(&self) -> ToolSpec {
        let mut spec = (**self.tool.spec()).clone();
        // Only the node of the tools reads this, to find out whom to ask about.
        spec.annotations.destructive &= !self.is_judged;
        spec
    }

    async fn call(&self, call: Invocation) -> Result<ToolOutput, ToolError> {
        let next = NextTool { around: self.around.clone(), at: 0, tool: self.tool.clone() };
        let spec = self.tool.spec().clone();
        let is_direct = spec.return_direct;
        let mut output = next.run(ToolRequest { spec, call }).await?;
        if is_direct && !output.is_error {
            output.metadata.insert(RETURN_DIRECT.to_owned(), true.into());
        }
        Ok(output)
    }
}
