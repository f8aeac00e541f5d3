//! The middleware trait, its object-safe form, and the modules of the prebuilt middleware.

mod clear_tool_uses;
mod cost_limit;
mod decision;
mod human_in_the_loop;
mod model_call_limit;
mod model_fallback;
mod summarization;
mod tool_call_limit;
mod tool_retry;
mod tool_selector;

pub use clear_tool_uses::ClearToolUses;
pub use cost_limit::CostLimit;
pub use decision::{Decision, EditedAction};
pub use human_in_the_loop::HumanInTheLoop;
pub use model_call_limit::ModelCallLimit;
pub use model_fallback::{ModelFallback, ModelRetry};
pub use summarization::Summarization;
pub use tool_call_limit::ToolCallLimit;
pub use tool_retry::ToolRetry;
pub use tool_selector::ToolSelector;

use std::any::type_name;

use super::call_chain::{ModelRequest, NextModel, NextTool, ToolCallRequest};
use super::hooks::{HookContext, HookUpdate, Hooks};
use crate::NodeError;
use crate::core::port::BoxFuture;
use crate::models::ChatResponse;
use crate::tools::{ToolError, ToolOutput};

/// Hooks around the loop of an agent. Implementations are written with `async fn`; the agent boxes them once.
///
/// Each hook that [`hooks`](Self::hooks) names is a node `<name>.<hook>` of the graph: it runs once in a superstep of
/// its own, is checkpointed and may interrupt. `before_*` hooks run in the order in which the middleware was added,
/// `after_*` hooks in reverse order. The middleware that was added first is the outermost wrapper.
///
/// ```
/// use superstep::agents::{HookUpdate, HookContext, Hooks, Middleware, react_agent};
/// use superstep::models::ScriptedModel;
/// use superstep::prelude::*;
/// use superstep::tools::ToolSet;
///
/// /// Tells the model that the user is in a hurry.
/// struct Hurry;
///
/// impl Middleware for Hurry {
///     fn hooks(&self) -> Hooks { Hooks::none().before_agent() }
///
///     async fn before_agent(&self, _hook: HookContext) -> Result<HookUpdate, NodeError> {
///         Ok(HookUpdate::none().messages(Message::system("Be short.")))
///     }
/// }
///
/// let agent = react_agent(ScriptedModel::new(["Noon."]), ToolSet::default()).middleware(Hurry).compile()?;
/// let done = agent.invoke("How late is it?").wait_blocking()?;
/// assert_eq!(done.state.messages.get(1).unwrap().text(), "Be short.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub trait Middleware: Send + Sync + 'static {
    /// Returns the name, which is part of the node names and the key of the middleware state. Default: the name of
    /// the type. Names are unique within an agent.
    fn name(&self) -> &str {
        let name = type_name::<Self>();
        let path = name.split('<').next().unwrap_or(name);
        path.rsplit("::").next().unwrap_or(path)
    }

    /// Returns the hooks that the agent calls. Hooks that are not listed are never called.
    fn hooks(&self) -> Hooks;

    /// Runs once, at the start of a run.
    fn before_agent(&self, _hook: HookContext) -> impl Future<Output = Result<HookUpdate, NodeError>> + Send {
        async { Ok(HookUpdate::none()) }
    }

    /// Runs before each model call.
    fn before_model(&self, _hook: HookContext) -> impl Future<Output = Result<HookUpdate, NodeError>> + Send {
        async { Ok(HookUpdate::none()) }
    }

    /// Runs after each model call, before the tools run.
    fn after_model(&self, _hook: HookContext) -> impl Future<Output = Result<HookUpdate, NodeError>> + Send {
        async { Ok(HookUpdate::none()) }
    }

    /// Runs once, at the end of a run.
    fn after_agent(&self, _hook: HookContext) -> impl Future<Output = Result<HookUpdate, NodeError>> + Send {
        async { Ok(HookUpdate::none()) }
    }

    /// Wraps each model call. May change the request, the model or the response, respond without a call, or call
    /// repeatedly.
    fn wrap_model_call(
        &self,
        request: ModelRequest,
        next: NextModel,
    ) -> impl Future<Output = Result<ChatResponse, NodeError>> + Send {
        next.run(request)
    }

    /// Wraps each tool call, within the timeout of the call. May change the arguments or the result, return without a
    /// call, or call repeatedly.
    fn wrap_tool_call(
        &self,
        request: ToolCallRequest,
        next: NextTool,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        next.run(request)
    }
}

/// Point of the loop at which a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookPoint {
    BeforeAgent,
    BeforeModel,
    AfterModel,
    AfterAgent,
}

impl HookPoint {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BeforeAgent => "before_agent",
            Self::BeforeModel => "before_model",
            Self::AfterModel => "after_model",
            Self::AfterAgent => "after_agent",
        }
    }

    pub(super) fn is_enabled(self, hooks: &Hooks) -> bool {
        match self {
            Self::BeforeAgent => hooks.before_agent,
            Self::BeforeModel => hooks.before_model,
            Self::AfterModel => hooks.after_model,
            Self::AfterAgent => hooks.after_agent,
        }
    }
}

/// Object-safe form of [`Middleware`].
pub(super) trait DynMiddleware: Send + Sync {
    fn name(&self) -> &str;
    fn hooks(&self) -> Hooks;
    fn hook(&self, point: HookPoint, hook: HookContext) -> BoxFuture<'_, Result<HookUpdate, NodeError>>;
    fn wrap_model(&self, request: ModelRequest, next: NextModel) -> BoxFuture<'_, Result<ChatResponse, NodeError>>;
    fn wrap_tool(&self, request: ToolCallRequest, next: NextTool) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

impl<M: Middleware> DynMiddleware for M {
    fn name(&self) -> &str {
        Middleware::name(self)
    }

    fn hooks(&self) -> Hooks {
        Middleware::hooks(self)
    }

    fn hook(&self, point: HookPoint, hook: HookContext) -> BoxFuture<'_, Result<HookUpdate, NodeError>> {
        match point {
            HookPoint::BeforeAgent => Box::pin(self.before_agent(hook)),
            HookPoint::BeforeModel => Box::pin(self.before_model(hook)),
            HookPoint::AfterModel => Box::pin(self.after_model(hook)),
            HookPoint::AfterAgent => Box::pin(self.after_agent(hook)),
        }
    }

    fn wrap_model(&self, request: ModelRequest, next: NextModel) -> BoxFuture<'_, Result<ChatResponse, NodeError>> {
        Box::pin(Middleware::wrap_model_call(self, request, next))
    }

    fn wrap_tool(&self, request: ToolCallRequest, next: NextTool) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(Middleware::wrap_tool_call(self, request, next))
    }
}
