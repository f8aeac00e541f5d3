//! Execution of one tool call: attempts, timeout, panics, result.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value};
use superstep_core::error::{Error, ErrorCode, panic_message};
use superstep_core::message::ToolCall;
use superstep_core::port::ToolInvocation;
use superstep_core::tool::{ToolAnnotations, ToolError, ToolOutput};
use superstep_core::validation_error::ValidationError;

use super::arguments::InvalidArgs;
use super::at_most_once::AtMostOnceMarker;
use super::error_handling::{ToolErrorHandling, ToolFailure, ToolFailureKind};
use super::events::ToolEventEmitter;
use super::node::ToolNode;
use super::pending_calls::PendingToolCalls;
use super::redaction::CallRedaction;
use super::result::{CallFrame, ToolCallResult};
use super::tool_set::RegisteredTool;
use crate::engine::context::TaskContext;
use crate::graph::output::NodeError;
use crate::telemetry::{ToolCallSpan, traced_tool_call};

/// Maximum size of the arguments, and default maximum size of the output, in bytes.
pub(super) const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// Decision about a call.
pub(super) enum CallDecision {
    /// The call runs with these arguments.
    Run(Arc<RegisteredTool>, Map<String, Value>),
    /// The call cannot run.
    Fail(ToolFailure),
    /// The call is rejected.
    Reject(String),
}

impl CallDecision {
    /// Returns true if the call may have a side effect that must not be repeated.
    pub(super) fn is_not_repeatable(&self) -> bool {
        let Self::Run(registered, _) = self else { return false };
        let ToolAnnotations { read_only, idempotent, destructive } = registered.tool.spec().annotations;
        destructive || !(read_only || idempotent)
    }
}

/// Data for executing one call.
pub(super) struct ToolCallJob<'a> {
    /// Options of the tool node.
    pub(super) node: &'a ToolNode,
    pub(super) call: &'a ToolCall,
    pub(super) cx: TaskContext,
    pub(super) pending_calls: &'a PendingToolCalls,
    pub(super) redaction: CallRedaction,
    /// At-most-once marker, if the call must not be repeated.
    pub(super) marker: Option<AtMostOnceMarker>,
}

/// A call without a result.
enum CallError {
    /// Not an error of the tool: the run stops or fails.
    Passthrough(NodeError),
    Failure(ToolFailure),
}

impl ToolCallJob<'_> {
    /// Executes a decision.
    pub(super) async fn resolve(self, decision: CallDecision) -> Result<ToolCallResult, NodeError> {
        let Some(observer) = self.cx.0.shared.observer.clone() else { return self.execute(decision).await };
        let is_known_tool =
            !matches!(&decision, CallDecision::Fail(failure) if failure.kind == ToolFailureKind::UnknownTool);
        let ToolCall { id, name, args, .. } = self.call;
        let call_span = ToolCallSpan { tool: is_known_tool.then_some(name), call: id, args };
        let work = self.execute(decision);
        let completed = Box::pin(traced_tool_call(observer.clone(), self.cx.clone(), call_span, work)).await;
        observer.redacted(&self.redaction.counts());
        completed
    }

    async fn execute(&self, decision: CallDecision) -> Result<ToolCallResult, NodeError> {
        let (emitter, started_at) =
            (ToolEventEmitter::new(&self.cx, self.call, self.redaction.redaction()), self.cx.now());
        let frame = |job: &Self| CallFrame {
            call: job.call,
            pending_calls: job.pending_calls,
            field: &job.node.field,
            max_bytes: job.node.max_result_bytes,
            duration: Duration::from_micros(job.cx.now().saturating_sub(started_at).try_into().unwrap_or(0)),
            id: job.cx.new_id(),
            redacted: job.redaction.counts(),
        };
        let (registered, args) = match decision {
            CallDecision::Reject(reason) => return Ok(frame(self).rejected(&reason)),
            CallDecision::Fail(failure) => {
                let failure = self.redaction.failure(failure);
                emitter.started(self.call).await;
                emitter.failed(&failure.text, 1, false).await;
                return self.failed(&frame(self), failure);
            }
            CallDecision::Run(registered, args) => (registered, args),
        };
        emitter.started(self.call).await;
        if let Some(marker) = &self.marker
            && !marker.mark_started().await?
        {
            let text = format!(
                "outcome of `{}` is unknown: the process ended while it ran, and it is not run again",
                self.call.name
            );
            emitter.failed(&text, 1, false).await;
            return self.failed(&frame(self), self.failure(ToolFailureKind::OutcomeUnknown, text));
        }
        match self.attempts(&registered, args, &emitter).await {
            Ok(output) => {
                let frame = frame(self);
                let completed = frame.success(&self.cx, output);
                match completed {
                    Ok(completed) => {
                        emitter.ended(|| completed.event_output(), &frame).await;
                        Ok(completed)
                    }
                    Err(text) => {
                        emitter.failed(&text, self.cx.attempt(), false).await;
                        self.failed(&frame, self.failure(ToolFailureKind::Failed, text))
                    }
                }
            }
            Err(CallError::Passthrough(error)) => Err(error),
            Err(CallError::Failure(failure)) => self.failed(&frame(self), failure),
        }
    }

    fn failed(&self, frame: &CallFrame<'_>, failure: ToolFailure) -> Result<ToolCallResult, NodeError> {
        match self.node.error_handling.text(&failure) {
            Some(text) => Ok(frame.error(&text, failure.kind)),
            None => Err(failure.into_node_error()),
        }
    }

    fn failure(&self, kind: ToolFailureKind, text: String) -> ToolFailure {
        self.redaction.failure(failure(self.call, kind, text))
    }

    async fn attempts(
        &self,
        registered: &RegisteredTool,
        mut args: Map<String, Value>,
        emitter: &ToolEventEmitter,
    ) -> Result<ToolOutput, CallError> {
        let retries = self.retries(registered);
        for attempt in 1.. {
            // The last attempt can take the arguments.
            let attempt_args = if attempt <= retries { args.clone() } else { std::mem::take(&mut args) };
            let failure = match self.attempt(registered, attempt_args, emitter).await {
                Ok(output)
                    if output.is_error && !matches!(self.node.error_handling, ToolErrorHandling::ReturnToModel) =>
                {
                    let text = output.content.as_ref().map(|content| content.text().into_owned());
                    self.failure(ToolFailureKind::Failed, text.unwrap_or_default())
                }
                Err(CallError::Failure(failure)) => failure,
                ended => return ended,
            };
            // A panic and invalid arguments would repeat.
            let can_retry = matches!(failure.kind, ToolFailureKind::Failed | ToolFailureKind::TimedOut)
                && (failure.retryable || self.node.safe_retries.is_none());
            let will_retry = can_retry && attempt <= retries;
            emitter.failed(&failure.text, attempt, will_retry).await;
            if !will_retry {
                return Err(CallError::Failure(failure));
            }
            self.cx.sleep(backoff_delay(attempt)).await;
            self.cx.start_attempt();
        }
        Err(CallError::Passthrough(Error::internal("the retry loop ended without a result").into()))
    }

    /// Returns the number of retries of a failed call.
    fn retries(&self, registered: &RegisteredTool) -> u32 {
        let spec = registered.tool.spec();
        let is_safe = spec.annotations.read_only || spec.annotations.idempotent;
        match self.node.safe_retries {
            // A call that runs at most once is not retried after an error either.
            _ if self.marker.is_some() => 0,
            None => spec.retries,
            Some(retries) if is_safe => retries,
            Some(_) => 0,
        }
    }

    /// Runs one attempt, with its timeout.
    async fn attempt(
        &self,
        registered: &RegisteredTool,
        args: Map<String, Value>,
        emitter: &ToolEventEmitter,
    ) -> Result<ToolOutput, CallError> {
        let time = registered.tool.spec().timeout.unwrap_or(self.node.timeout);
        let mut invocation = ToolInvocation::new(self.call.id.clone(), args);
        invocation.progress = emitter.progress();
        invocation.task_context = Some(Arc::new(self.cx.clone()));
        let mut work = Box::pin(registered.tool.call(invocation));
        let mut limit = self.cx.0.shared.clock.sleep(time);
        let ended = poll_fn(|context| {
            match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
                Ok(Poll::Ready(Ok(output))) => {
                    let schema = &self.cx.0.shared.program.topology.schema;
                    return Poll::Ready(Ok(self.redaction.output(schema, output)));
                }
                Ok(Poll::Ready(Err(error))) => return Poll::Ready(Err(self.call_error(self.redaction.error(error)))),
                // Access to a hidden field unwinds to the executor, which reports it.
                Err(panic) if panic.is::<ValidationError>() => resume_unwind(panic),
                Err(panic) => return Poll::Ready(Err(CallError::Failure(self.panicked(&*panic)))),
                Ok(Poll::Pending) => {}
            }
            // A call with an open interrupt has no timeout; its future is dropped, and the call runs again with the
            // resume value.
            if self.cx.0.cell.has_interrupts() || limit.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let text = format!("`{}` exceeded its timeout of {time:?} and was cancelled", self.call.name);
            let failure = self.failure(ToolFailureKind::TimedOut, text);
            Poll::Ready(Err(CallError::Failure(ToolFailure { retryable: true, ..failure })))
        })
        .await;
        // The call has ended without using its interrupts: they must not be taken for open ones.
        drop(self.cx.0.cell.take_interrupts());
        ended
    }

    fn call_error(&self, error: ToolError) -> CallError {
        let ToolError { message, retryable, cause, passthrough } = error;
        match passthrough.map(|passthrough| passthrough.downcast::<NodeError>()) {
            Some(Ok(error)) => return CallError::Passthrough(*error),
            Some(Err(passthrough)) if passthrough.is::<InvalidArgs>() => {
                let text = format!("invalid arguments for `{}`: {message}", self.call.name);
                return CallError::Failure(self.failure(ToolFailureKind::BadArguments, text));
            }
            Some(Err(_)) => return CallError::Passthrough(NodeError::new(message)),
            None => {}
        }
        let core_error = cause.as_ref().and_then(|cause| cause.downcast_ref::<Error>());
        if let Some(error) = core_error.filter(|error| error.code() == ErrorCode::Cancelled) {
            return CallError::Passthrough(error.clone().into());
        }
        let failure = self.failure(ToolFailureKind::Failed, format!("`{}` failed: {message}", self.call.name));
        CallError::Failure(ToolFailure { retryable, cause, ..failure })
    }

    /// The panic message may contain anything, so the model does not receive it.
    fn panicked(&self, panic: &(dyn std::any::Any + Send)) -> ToolFailure {
        let cause = Error::new(ErrorCode::NodeFailed, format!("the tool panicked: {}", panic_message(panic)));
        let failure = self.failure(ToolFailureKind::Panicked, format!("`{}` panicked", self.call.name));
        self.redaction.failure(ToolFailure { cause: Some(Arc::new(cause)), ..failure })
    }
}

/// Creates a tool failure.
pub(super) fn failure(call: &ToolCall, kind: ToolFailureKind, text: String) -> ToolFailure {
    let (tool, call) = (call.name.clone(), call.id.clone());
    ToolFailure { tool, call, kind, text, cause: None, retryable: false }
}

/// Returns the delay after a failed attempt: 500 ms, doubled with each attempt, at most 30 s.
fn backoff_delay(attempt: u32) -> Duration {
    Duration::from_millis(500 << (attempt - 1).min(6)).min(Duration::from_secs(30))
}
