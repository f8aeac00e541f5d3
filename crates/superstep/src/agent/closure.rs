//! Closures as middlewares: one hook each, with a name.

use super::around::{ModelRequest, NextModel, NextTool, ToolRequest};
use super::hook::{Effect, Hook, Hooks, Jump};
use super::middleware::Middleware;
use crate::NodeError;
use crate::model::Answer;
use crate::tool::{ToolError, ToolOutput};

macro_rules! closures_are_hooks {
    ($($kind:ident $function:ident $doc:literal;)*) => {$(
        #[doc = concat!("A closure that is called ", $doc, ". Made by [`", stringify!($function), "`].")]
        pub struct $kind<F> {
            name: String,
            hook: F,
            jumps: Vec<Jump>,
        }

        impl<F> $kind<F> {
            /// It may go on at these places.
            #[must_use]
            pub fn may_jump(mut self, to: impl IntoIterator<Item = Jump>) -> Self {
                self.jumps.extend(to);
                self
            }
        }

        #[doc = concat!("Calls a closure ", $doc, ".")]
        pub fn $function<F, Fut>(name: impl Into<String>, hook: F) -> $kind<F>
        where
            F: Fn(Hook) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<Effect, NodeError>> + Send + 'static,
        {
            $kind { name: name.into(), hook, jumps: Vec::new() }
        }

        impl<F, Fut> Middleware for $kind<F>
        where
            F: Fn(Hook) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<Effect, NodeError>> + Send + 'static,
        {
            fn name(&self) -> &str {
                &self.name
            }

            fn hooks(&self) -> Hooks {
                Hooks::none().$function().may_jump(self.jumps.iter().copied())
            }

            async fn $function(&self, hook: Hook) -> Result<Effect, NodeError> {
                (self.hook)(hook).await
            }
        }
    )*};
}

closures_are_hooks! {
    BeforeAgent before_agent "once, before anything else of a run";
    BeforeModel before_model "each time before the model is asked";
    AfterModel after_model "each time after the model has answered";
    AfterAgent after_agent "once, after everything else of a run";
}

/// A closure around calls of the model. Made by [`wrap_model`].
pub struct WrapModel<F> {
    name: String,
    wrap: F,
}

/// Calls a closure around each call of the model.
///
/// ```
/// use superstep::agent::{react_agent, wrap_model};
/// use superstep::model::Scripted;
/// use superstep::tool::Tools;
///
/// let cold = wrap_model("cold", |mut request, next| async move {
///     request.request.temperature = Some(0.0);
///     next.run(request).await
/// });
/// let model = Scripted::new(["Noon."]);
/// let agent = react_agent(model.clone(), Tools::default()).middleware(cold).compile()?;
/// agent.run("How late is it?").wait()?;
/// assert_eq!(model.requests()[0].temperature, Some(0.0));
/// # Ok::<(), superstep::Error>(())
/// ```
pub fn wrap_model<F, Fut>(name: impl Into<String>, wrap: F) -> WrapModel<F>
where
    F: Fn(ModelRequest, NextModel) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, NodeError>> + Send + 'static,
{
    WrapModel { name: name.into(), wrap }
}

impl<F, Fut> Middleware for WrapModel<F>
where
    F: Fn(ModelRequest, NextModel) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, NodeError>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model()
    }

    async fn wrap_model(&self, request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        (self.wrap)(request, next).await
    }
}

/// A closure around calls of tools. Made by [`wrap_tool`].
pub struct WrapTool<F> {
    name: String,
    wrap: F,
}

/// Calls a closure around each call of a tool.
pub fn wrap_tool<F, Fut>(name: impl Into<String>, wrap: F) -> WrapTool<F>
where
    F: Fn(ToolRequest, NextTool) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    WrapTool { name: name.into(), wrap }
}

impl<F, Fut> Middleware for WrapTool<F>
where
    F: Fn(ToolRequest, NextTool) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_tool()
    }

    async fn wrap_tool(&self, request: ToolRequest, next: NextTool) -> Result<ToolOutput, ToolError> {
        (self.wrap)(request, next).await
    }
}
