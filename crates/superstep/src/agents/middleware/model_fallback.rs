//! Middleware for fallback models and for retries of model calls.

use std::time::Duration;

use super::Middleware;
use crate::agents::call_chain::{ModelRequest, NextModel};
use crate::agents::hooks::Hooks;
use crate::core::port::{BoxFuture, Clock};
use crate::models::{ChatResponse, ModelExt, SharedModel};
use crate::{NodeError, RetryPolicy, TaskContext};

/// Calls a fallback model if the agent's model fails: see [`crate::models::FallbackModel`].
///
/// ```
/// use superstep::agents::{ModelFallback, react_agent};
/// use superstep::models::{ScriptedModel, ModelErrorKind};
/// use superstep::tools::ToolSet;
///
/// let spare = ModelFallback::new(ScriptedModel::new(["Noon."]));
/// let agent = react_agent(ScriptedModel::new([ModelErrorKind::Connection]), ToolSet::default()).middleware(spare).compile()?;
/// assert_eq!(agent.invoke("How late is it?").wait_blocking()?.state.messages.last().unwrap().text(), "Noon.");
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ModelFallback(Vec<SharedModel>);

impl ModelFallback {
    /// Sets the model that is called if the agent's model fails.
    pub fn new(model: impl Into<SharedModel>) -> Self {
        Self(vec![model.into()])
    }

    /// Adds a model that is called if all previous models fail.
    pub fn fallback_to(mut self, model: impl Into<SharedModel>) -> Self {
        self.0.push(model.into());
        self
    }
}

impl Middleware for ModelFallback {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model_call()
    }

    async fn wrap_model_call(&self, mut request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        let mut others = self.0.iter().cloned();
        if let Some(first) = others.next() {
            request.model =
                others.fold(request.model.with_fallback(first), |chain, other| chain.fallback_to(other)).share();
        }
        next.run(request).await
    }
}

/// Retries model calls that fail with a transient error: see [`crate::models::RetryingModel`].
#[derive(Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ModelRetry(RetryPolicy);

impl ModelRetry {
    /// Creates the middleware from a retry policy.
    pub fn new(retry: RetryPolicy) -> Self {
        Self(retry)
    }
}

impl Middleware for ModelRetry {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model_call()
    }

    async fn wrap_model_call(&self, mut request: ModelRequest, next: NextModel) -> Result<ChatResponse, NodeError> {
        let clock = TaskClock(request.task.clone());
        request.model = request.model.with_retry(self.0.clone()).clock(clock).share();
        next.run(request).await
    }
}

/// The clock of the run, as clock of the retry delays.
struct TaskClock(TaskContext);

impl Clock for TaskClock {
    fn now(&self) -> i64 {
        self.0.now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let cx = self.0.clone();
        Box::pin(async move { cx.sleep(time).await })
    }
}
