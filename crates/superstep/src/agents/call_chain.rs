//! Chain of middleware around calls of models and tools: the request, and the rest of the chain.

use std::sync::Arc;

use super::middleware::DynMiddleware;
use super::state::AgentState;
use crate::core::port::BoxFuture;
use crate::models::{ChatRequest, ChatResponse, SharedModel};
use crate::tools::{SharedTool, Tool, ToolError, ToolInvocation, ToolOutput, ToolSpec};
use crate::{NodeError, TaskContext, View};

/// Middleware that wraps calls, the outermost first.
pub(super) type MiddlewareChain = Arc<[Arc<dyn DynMiddleware>]>;

/// Metadata key of a tool message whose result is the response of the agent.
pub(super) const RETURN_DIRECT: &str = "return_direct";

/// A model call before it is sent, as passed to a middleware.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The model that receives the request.
    pub model: SharedModel,
    /// Chat request to send.
    pub request: ChatRequest,
    /// The state of the agent.
    pub state: View<AgentState>,
    /// The context of the task that calls the model.
    pub task: TaskContext,
    /// Name of the tool that returns the structured response, if the model responds through a tool.
    pub response_tool: Option<String>,
}

/// The rest of the chain behind a middleware: the next middleware, and finally the model.
#[derive(Clone)]
pub struct NextModel {
    chain: MiddlewareChain,
    index: usize,
}

impl NextModel {
    pub(super) fn first(chain: &MiddlewareChain) -> Self {
        Self { chain: chain.clone(), index: 0 }
    }

    /// Runs the rest of the chain.
    ///
    /// # Errors
    /// Returns an error if the model or a middleware of the rest of the chain fails.
    pub fn run(self, request: ModelRequest) -> BoxFuture<'static, Result<ChatResponse, NodeError>> {
        let Self { chain, index } = self;
        Box::pin(async move {
            match chain.get(index).cloned() {
                Some(middleware) => middleware.wrap_model(request, Self { chain, index: index + 1 }).await,
                None => Ok(request.task.model(&request.model).request(request.request).await?),
            }
        })
    }
}

/// A tool call before it runs, as passed to a middleware.
#[non_exhaustive]
pub struct ToolCallRequest {
    /// The specification of the tool.
    pub spec: Arc<ToolSpec>,
    /// The call: its id, and its arguments, which are valid for the schema.
    pub call: ToolInvocation,
}

impl ToolCallRequest {
    /// Returns the name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.spec.name
    }

    /// Returns the context of the calling task, or `None` for a call outside a task.
    #[must_use]
    pub fn task(&self) -> Option<&TaskContext> {
        self.call.task_context.as_ref()?.downcast_ref()
    }
}

impl Clone for ToolCallRequest {
    fn clone(&self) -> Self {
        let ToolInvocation { id, args, progress, task_context } = &self.call;
        let mut call = ToolInvocation::new(id.clone(), args.clone());
        (call.progress, call.task_context) = (progress.clone(), task_context.clone());
        Self { spec: self.spec.clone(), call }
    }
}

/// The rest of the chain behind a middleware: the next middleware, and finally the tool.
#[derive(Clone)]
pub struct NextTool {
    chain: MiddlewareChain,
    index: usize,
    tool: SharedTool,
}

impl NextTool {
    /// Runs the rest of the chain.
    ///
    /// # Errors
    /// Returns an error if the tool or a middleware of the rest of the chain fails.
    pub fn run(self, request: ToolCallRequest) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let Self { chain, index, tool } = self;
        Box::pin(async move {
            match chain.get(index).cloned() {
                Some(middleware) => middleware.wrap_tool(request, Self { chain, index: index + 1, tool }).await,
                None => tool.call(request.call).await,
            }
        })
    }
}

/// Wraps a tool with the middleware of an agent, and marks results that are the response of the agent
/// (`return_direct`). With `is_approval_handled`, a middleware handles approvals, so the tool requires approval only
/// if a policy names it.
pub(super) fn wrap_tool(tool: SharedTool, chain: &MiddlewareChain, is_approval_handled: bool) -> SharedTool {
    let spec = tool.spec();
    if chain.is_empty() && !spec.return_direct && !(is_approval_handled && spec.annotations.destructive) {
        return tool;
    }
    WrappedTool { tool, chain: chain.clone(), is_approval_handled }.into()
}

struct WrappedTool {
    tool: SharedTool,
    chain: MiddlewareChain,
    is_approval_handled: bool,
}

impl Tool for WrappedTool {
    fn spec(&self) -> ToolSpec {
        let mut spec = (**self.tool.spec()).clone();
        // Only the tool node reads this annotation, to decide which calls require approval.
        spec.annotations.destructive &= !self.is_approval_handled;
        spec
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let next = NextTool { chain: self.chain.clone(), index: 0, tool: self.tool.clone() };
        let spec = self.tool.spec().clone();
        let is_direct = spec.return_direct;
        let mut output = next.run(ToolCallRequest { spec, call }).await?;
        if is_direct && !output.is_error {
            output.metadata.insert(RETURN_DIRECT.to_owned(), true.into());
        }
        Ok(output)
    }
}
