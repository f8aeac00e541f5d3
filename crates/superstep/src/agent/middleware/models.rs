//! Other models where one fails, and further attempts.

use std::time::Duration;

use super::Middleware;
use crate::agent::around::{ModelRequest, NextModel};
use crate::agent::hook::Hooks;
use crate::core::port::{BoxFuture, Clock};
use crate::model::{Answer, ModelExt, SharedModel};
use crate::{Cx, NodeError, Retry};

/// Asks another model where the agent's cannot answer: see [`crate::model::Fallback`].
///
/// ```
/// use superstep::agent::{FallbackModel, react_agent};
/// use superstep::model::{Scripted, Trouble};
/// use superstep::tool::Tools;
///
/// let spare = FallbackModel::to(Scripted::new(["Noon."]));
/// let agent = react_agent(Scripted::new([Trouble::NoNetwork]), Tools::default()).middleware(spare).compile()?;
/// assert_eq!(agent.run("How late is it?").wait()?.state.messages.last().unwrap().text(), "Noon.");
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "give it to an agent"]
pub struct FallbackModel(Vec<SharedModel>);

impl FallbackModel {
    /// This one is asked when the agent's model cannot answer.
    pub fn to(model: impl Into<SharedModel>) -> Self {
        Self(vec![model.into()])
    }

    /// This one is asked when all before it could not answer.
    pub fn or(mut self, model: impl Into<SharedModel>) -> Self {
        self.0.push(model.into());
        self
    }
}

impl Middleware for FallbackModel {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model()
    }

    async fn wrap_model(&self, mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        let mut others = self.0.iter().cloned();
        if let Some(first) = others.next() {
            request.model = others.fold(request.model.or(first), |chain, other| chain.or(other)).share();
        }
        next.run(request).await
    }
}

/// Asks the model again when it failed in a way that may pass: see [`crate::model::Retrying`].
#[derive(Clone)]
#[must_use = "give it to an agent"]
pub struct RetryModel(Retry);

impl RetryModel {
    /// By this policy.
    pub fn new(retry: Retry) -> Self {
        Self(retry)
    }
}

impl Middleware for RetryModel {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_model()
    }

    async fn wrap_model(&self, mut request: ModelRequest, next: NextModel) -> Result<Answer, NodeError> {
        let clock = TaskClock(request.cx.clone());
        request.model = request.model.retrying(self.0.clone()).clock(clock).share();
        next.run(request).await
    }
}

/// The clock of the run.
struct TaskClock(Cx);

impl Clock for TaskClock {
    fn now(&self) -> i64 {
        self.0.now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let cx = self.0.clone();
        Box::pin(async move { cx.sleep(time).await })
    }
}
