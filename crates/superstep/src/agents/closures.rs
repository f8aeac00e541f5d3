//! Closures as middleware: one hook each, with a name.

use super::call_chain::{ModelRequest, NextModel, NextTool, ToolCallRequest};
use super::hooks::{HookContext, HookUpdate, Hooks, JumpTo};
use super::middleware::Middleware;
use crate::NodeError;
use crate::models::ChatResponse;
use crate::tools::{ToolError, ToolOutput};

macro_rules! closures_are_hooks {
    ($($kind:ident $function:ident $doc:literal;)*) => {$(
        #[doc = concat!("A closure that is called ", $doc, ". Created by [`", stringify!($function), "`].")]
        pub struct $kind<F> {
            name: String,
            hook: F,
            jumps: Vec<JumpTo>,
        }

        impl<F> $kind<F> {
            /// Declares the jump targets of the hook.
            #[must_use]
            pub fn can_jump_to(mut self, to: impl IntoIterator<Item = JumpTo>) -> Self {
                self.jumps.extend(to);
                self
            }
        }

        #[doc = concat!("Calls a closure ", $doc, ".")]
        pub fn $function<F, Fut>(name: impl Into<String>, hook: F) -> $kind<F>
        where
            F: Fn(HookContext) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<HookUpdate, NodeError>> + Send + 'static,
        {
            $kind { name: name.into(), hook, jumps: Vec::new() }
        }

        impl<F, Fut> Middleware for $kind<F>
        where
            F: Fn(HookContext) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<HookUpdate, NodeError>> + Send + 'static,
        {
            fn name(&self) -> &str {
                &self.name
            }

            fn hooks(&self) -> Hooks {
                Hooks::none().$function().can_jump_to(self.jumps.iter().copied())
            }

            async fn $function(&self, hook: HookContext) -> Result<HookUpdate, NodeError> {
                (self.hook)(hook).await
            }
        }
    )*};
}

closures_are_hooks! {
    BeforeAgent before_agent "once, at the start of a run";
    BeforeModel before_model "before each model call";
    AfterModel after_model "after each model call";
    AfterAgent after_agent "once, at the end of a run";
}

/// A closure around model calls. Created by [`wrap_model_call`].
pub struct WrapModelCall<F> {
    name: String,
    wrap: F,
}

/// Wraps each model call with a closure.
///
/// ```
/// use superstep::agents::{react_agent, wrap_model_call};
/// use superstep::models::ScriptedModel;
/// use superstep::tools::ToolSet;
///
/// let cold = wrap_model_call("cold", |mut request, next| async move {
///     request.request.temperature = Some(0.0);
///     next.run(request).await
/// });
/// let model = ScriptedModel::new(["Noon."]);
/// let agent = react_agent(model.clone(), ToolSet::default()).middleware(cold).compile()?;
/// agent.invoke("How late is it?").wait_blocking()?;
/// assert_eq!(model.requests()[0].temperature, Some(0.0));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn wrap_model_call<F, Fut>(name: impl Into<String>, wrap: F) -> WrapModelCall<F>
where
    F: Fn(ModelRequest, NextModel) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ChatResponse, NodeError>> + Send + 'static,
{
    WrapModelCall { name: name.into(), wrap }
}

impl<F, Fut> Middleware for WrapModelCall<F>
where
    F: Fn(ModelRequest, NextModel) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ChatResponse, NodeError>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model_call()
    }

    async fn wrap_model_call(&self, request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        (self.wrap)(request, next).await
    }
}

/// A closure around tool calls. Created by [`wrap_tool_call`].
pub struct WrapToolCall<F> {
    name: String,
    wrap: F,
}

/// Wraps each tool call with a closure.
pub fn wrap_tool_call<F, Fut>(name: impl Into<String>, wrap: F) -> WrapToolCall<F>
where
    F: Fn(ToolCallRequest, NextTool) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    WrapToolCall { name: name.into(), wrap }
}

impl<F, Fut> Middleware for WrapToolCall<F>
where
    F: Fn(ToolCallRequest, NextTool) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_tool_call()
    }

    async fn wrap_tool_call(&self, request: ToolCallRequest, next: NextTool) -> Result<ToolOutput, ToolError> {
        (self.wrap)(request, next).await
    }
}
