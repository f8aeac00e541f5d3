//! The door for everything that stands around the loop of an agent.

mod approval;
mod clearing;
mod decision;
mod model_calls;
mod models;
mod retrying;
mod selecting;
mod spending;
mod summary;
mod tool_calls;

pub use approval::HumanApproval;
pub use clearing::ClearToolResults;
pub use decision::{Decision, EditedAction};
pub use model_calls::ModelCallLimit;
pub use models::{FallbackModel, RetryModel};
pub use retrying::RetryTools;
pub use selecting::SelectTools;
pub use spending::Spending;
pub use summary::Summarize;
pub use tool_calls::ToolCallLimit;

use std::any::type_name;

use super::around::{ModelRequest, NextModel, NextTool, ToolRequest};
use super::hook::{Effect, Hook, Hooks};
use crate::NodeError;
use crate::core::port::BoxFuture;
use crate::model::Answer;
use crate::tool::{ToolError, ToolOutput};

/// Stands around the loop of an agent. Write it with `async fn`; the agent boxes it once.
///
/// Each hook that [`hooks`](Self::hooks) names is a node of the graph, `<name>.<hook>`: it is one superstep, is kept, may
/// ask a person, and runs once. `before_*` run in the order in which middlewares were given, `after_*` in the reverse
/// one. The first that wraps is the outermost.
///
/// ```
/// use superstep::agent::{Effect, Hook, Hooks, Middleware, react_agent};
/// use superstep::model::Scripted;
/// use superstep::prelude::*;
/// use superstep::tool::Tools;
///
/// /// Tells the model that the user is in a hurry.
/// struct Hurry;
///
/// impl Middleware for Hurry {
///     fn hooks(&self) -> Hooks { Hooks::none().before_agent() }
///
///     async fn before_agent(&self, _hook: Hook) -> Result<Effect, NodeError> {
///         Ok(Effect::none().messages(Message::system("Be short.")))
///     }
/// }
///
/// let agent = react_agent(Scripted::new(["Noon."]), Tools::default()).middleware(Hurry).compile()?;
/// let done = agent.run("How late is it?").wait()?;
/// assert_eq!(done.state.messages.get(1).unwrap().text(), "Be short.");
/// # Ok::<(), superstep::Error>(())
/// ```
pub trait Middleware: Send + Sync + 'static {
    /// The name of its nodes and of what it keeps; that of the type unless told. Of an agent's middlewares each has its
    /// own.
    fn name(&self) -> &str {
        let name = type_name::<Self>();
        let whole = name.split('<').next().unwrap_or(name);
        whole.rsplit("::").next().unwrap_or(whole)
    }

    /// Which of the hooks below it has. One that is not named here is not called.
    fn hooks(&self) -> Hooks;

    /// Once, before anything else of a run.
    fn before_agent(&self, _hook: Hook) -> impl Future<Output = Result<Effect, NodeError>> + Send {
        async { Ok(Effect::none()) }
    }

    /// Each time before the model is asked.
    fn before_model(&self, _hook: Hook) -> impl Future<Output = Result<Effect, NodeError>> + Send {
        async { Ok(Effect::none()) }
    }

    /// Each time after the model has answered, before its tools run.
    fn after_model(&self, _hook: Hook) -> impl Future<Output = Result<Effect, NodeError>> + Send {
        async { Ok(Effect::none()) }
    }

    /// Once, after everything else of a run.
    fn after_agent(&self, _hook: Hook) -> impl Future<Output = Result<Effect, NodeError>> + Send {
        async { Ok(Effect::none()) }
    }

    /// Around each call of the model: may change the request and the model, answer itself, ask again, change the answer.
    fn wrap_model(
        &self,
        request: ModelRequest,
        next: NextModel,
    ) -> impl Future<Output = Result<Answer, NodeError>> + Send {
        next.run(request)
    }

    /// Around each call of a tool, within its time: may change the arguments, answer itself, call again, change the
    /// result.
    fn wrap_tool(
        &self,
        request: ToolRequest,
        next: NextTool,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        next.run(request)
    }
}

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    BeforeAgent,
    BeforeModel,
    AfterModel,
    AfterAgent,
}

impl When {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BeforeAgent => "before_agent",
            Self::BeforeModel => "before_model",
            Self::AfterModel => "after_model",
            Self::AfterAgent => "after_agent",
        }
    }

    pub(super) fn is_in(self, hooks: &Hooks) -> bool {
        match self {
            Self::BeforeAgent => hooks.before_agent,
            Self::BeforeModel => hooks.before_model,
            Self::AfterModel => hooks.after_model,
            Self::AfterAgent => hooks.after_agent,
        }
    }
}

/// A middleware without its type.
pub(super) trait Erased: Send + Sync {
    fn name(&self) -> &str;
    fn hooks(&self) -> Hooks;
    fn hook(&self, when: When, hook: Hook) -> BoxFuture<'_, Result<Effect, NodeError>>;
    fn wrap_model(&self, request: ModelRequest, next: NextModel) -> BoxFuture<'_, Result<Answer, NodeError>>;
    fn wrap_tool(&self, request: ToolRequest, next: NextTool) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

impl<M: Middleware> Erased for M {
    fn name(&self) -> &str {
        Middleware::name(self)
    }

    fn hooks(&self) -> Hooks {
        Middleware::hooks(self)
    }

    fn hook(&self, when: When, hook: Hook) -> BoxFuture<'_, Result<Effect, NodeError>> {
        match when {
            When::BeforeAgent => Box::pin(self.before_agent(hook)),
            When::BeforeModel => Box::pin(self.before_model(hook)),
            When::AfterModel => Box::pin(self.after_model(hook)),
            When::AfterAgent => Box::pin(self.after_agent(hook)),
        }
    }

    fn wrap_model(&self, request: ModelRequest, next: NextModel) -> BoxFuture<'_, Result<Answer, NodeError>> {
        Box::pin(Middleware::wrap_model(self, request, next))
    }

    fn wrap_tool(&self, request: ToolRequest, next: NextTool) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(Middleware::wrap_tool(self, request, next))
    }
}
