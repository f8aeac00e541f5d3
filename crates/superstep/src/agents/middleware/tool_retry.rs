//! Middleware for retries of tool calls.

use std::time::Duration;

use super::Middleware;
use crate::RetryPolicy;
use crate::agents::call_chain::{NextTool, ToolCallRequest};
use crate::agents::hooks::Hooks;
use crate::tools::{ToolError, ToolOutput};

/// Retries failed tool calls if a repetition is safe: calls of read-only or idempotent tools, errors that are marked
/// as retryable, and tools that are named here. A result that is marked as an error counts as a failure. All attempts
/// share the timeout of the call.
///
/// ```
/// use std::time::Duration;
/// use superstep::agents::ToolRetry;
/// let retry = ToolRetry::new(3).initial_interval(Duration::from_millis(200)).always_retry(["send_mail"]);
/// ```
#[derive(Clone)]
#[must_use = "middleware has no effect until it is added to an agent"]
pub struct ToolRetry {
    attempts: u32,
    backoff: RetryPolicy,
    always_retry: Vec<String>,
}

impl ToolRetry {
    /// Sets the maximum number of attempts, including the first.
    pub fn new(attempts: u32) -> Self {
        Self { attempts, backoff: RetryPolicy::exponential(attempts).without_jitter(), always_retry: Vec::new() }
    }

    /// Sets the delay before the second attempt, which doubles with each attempt. Default: 500 ms.
    pub fn initial_interval(mut self, interval: Duration) -> Self {
        self.backoff = self.backoff.initial_interval(interval);
        self
    }

    /// Names tools that are retried regardless of their annotations.
    pub fn always_retry(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.always_retry.extend(tools.into_iter().map(Into::into));
        self
    }

    fn is_retryable(&self, request: &ToolCallRequest, result: &Result<ToolOutput, ToolError>) -> bool {
        let annotations = request.spec.annotations;
        let is_harmless = annotations.read_only
            || annotations.idempotent
            || self.always_retry.iter().any(|tool| tool == request.tool());
        match result {
            Ok(output) => output.is_error && is_harmless,
            // An error that passes the tool node (such as an interrupt) is not a failure of the tool.
            Err(error) => error.passthrough.is_none() && (is_harmless || error.retryable),
        }
    }
}

impl Middleware for ToolRetry {
    fn hooks(&self) -> Hooks {
        Hooks::none().wrap_tool_call()
    }

    async fn wrap_tool_call(&self, request: ToolCallRequest, next: NextTool) -> Result<ToolOutput, ToolError> {
        let mut attempt = 1;
        loop {
            let result = next.clone().run(request.clone()).await;
            if attempt >= self.attempts || !self.is_retryable(&request, &result) {
                return result;
            }
            if let Some(cx) = request.task() {
                cx.sleep(self.backoff.delay(attempt, 0.0)).await;
            }
            attempt += 1;
        }
    }
}
