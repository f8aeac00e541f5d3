//! Further attempts of tools.

use std::time::Duration;

use super::Middleware;
use crate::Retry;
use crate::agent::around::{NextTool, ToolRequest};
use crate::agent::hook::Hooks;
use crate::tool::{ToolError, ToolOutput};

/// Calls a tool again when it fails, where that does no harm: tools that are read-only or idempotent, errors that say that
/// another attempt may go well, and tools that are named here. A result that says itself that it is a failure counts as one.
/// All attempts share the time of the call.
///
/// ```
/// use std::time::Duration;
/// use superstep::agent::RetryTools;
/// let retry = RetryTools::new(3).first_wait(Duration::from_millis(200)).also(["send_mail"]);
/// ```
#[derive(Clone)]
#[must_use = "give it to an agent"]
pub struct RetryTools {
    attempts: u32,
    waits: Retry,
    also: Vec<String>,
}

impl RetryTools {
    /// At most this many attempts in all.
    pub fn new(attempts: u32) -> Self {
        Self { attempts, waits: Retry::exponential(attempts).without_jitter(), also: Vec::new() }
    }

    /// The wait before the second attempt, which doubles with each; half a second unless told.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.waits = self.waits.initial_interval(wait);
        self
    }

    /// These are called again whatever they say of themselves.
    pub fn also(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.also.extend(tools.into_iter().map(Into::into));
        self
    }

    fn may_repeat(&self, request: &ToolRequest, result: &Result<ToolOutput, ToolError>) -> bool {
        let says = request.spec.annotations;
        let is_harmless = says.read_only || says.idempotent || self.also.iter().any(|tool| tool == request.tool());
        match result {
            Ok(output) => output.is_error && is_harmless,
            // What passes the tool is no failure of it.
            Err(error) => error.passes.is_none() && (is_harmless || error.retryable),
        }
    }
}

impl Middleware for RetryTools {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_tool()
    }

    async fn wrap_tool(&self, request: ToolRequest, next: NextTool) -> Result<ToolOutput, ToolError> {
        let mut attempt = 1;
        loop {
            let result = next.clone().run(request.clone()).await;
            if attempt >= self.attempts || !self.may_repeat(&request, &result) {
                return result;
            }
            if let Some(cx) = request.cx() {
                cx.sleep(self.waits.wait(attempt, 0.0)).await;
            }
            attempt += 1;
        }
    }
}
