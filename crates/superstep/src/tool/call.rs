//! One call of one tool: attempts, time, panics, and what came of it.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value};
use superstep_core::error::{Code, Error, panic_text};
use superstep_core::fault::Fault;
use superstep_core::message::ToolCall;
use superstep_core::port::Invocation;
use superstep_core::tool::{Annotations, ToolError, ToolOutput};

use super::argument::BadArguments;
use super::errors::{Errors, FailureKind, ToolFailure};
use super::list::Known;
use super::marks::Marks;
use super::node::ToolNode;
use super::outcome::{Frame, Settled};
use super::redacting::Redacting;
use super::tell::Teller;
use super::turn::Turn;
use crate::context::Cx;
use crate::output::NodeError;
use crate::telemetry::{Called, watched_tool};

/// The longest arguments and, unless told, the longest output, in bytes.
pub(super) const CAP: usize = 256 * 1024;

/// What is to be done about a call.
pub(super) enum Verdict {
    /// It is made with these arguments.
    Run(Arc<Known>, Map<String, Value>),
    /// It cannot be made.
    Fail(ToolFailure),
    /// It must not be made.
    Refuse(String),
}

impl Verdict {
    /// Whether the call may change something that it must not change twice.
    pub(super) fn may_not_repeat(&self) -> bool {
        let Self::Run(known, _) = self else { return false };
        let Annotations { read_only, idempotent, destructive } = known.tool.spec().annotations;
        destructive || !(read_only || idempotent)
    }
}

/// What one call needs to be made.
pub(super) struct Job<'a> {
    /// What is said about calls.
    pub(super) node: &'a ToolNode,
    pub(super) call: &'a ToolCall,
    pub(super) cx: Cx,
    pub(super) turn: &'a Turn,
    pub(super) redacting: Redacting,
    /// Where it is marked, when it must not be made twice.
    pub(super) marks: Option<Marks>,
}

/// A call that has no result.
enum Trouble {
    /// Not the tool's: the run stops, or is at fault.
    Passes(NodeError),
    Failure(ToolFailure),
}

impl Job<'_> {
    /// Carries a verdict out.
    pub(super) async fn settle(self, verdict: Verdict) -> Result<Settled, NodeError> {
        let Some(watch) = self.cx.0.shared.watch.clone() else { return self.carry_out(verdict).await };
        let is_known = !matches!(&verdict, Verdict::Fail(failure) if failure.kind == FailureKind::UnknownTool);
        let ToolCall { id, name, args, .. } = self.call;
        let called = Called { tool: is_known.then_some(name), call: id, args };
        let work = self.carry_out(verdict);
        let settled = Box::pin(watched_tool(watch.clone(), self.cx.clone(), called, work)).await;
        watch.redacted(&self.redacting.counts());
        settled
    }

    async fn carry_out(&self, verdict: Verdict) -> Result<Settled, NodeError> {
        let (teller, began) = (Teller::new(&self.cx, self.call, self.redacting.redaction()), self.cx.now());
        let frame = |job: &Self| Frame {
            call: job.call,
            turn: job.turn,
            field: &job.node.field,
            cap: job.node.result_bytes,
            took: Duration::from_micros(job.cx.now().saturating_sub(began).try_into().unwrap_or(0)),
            id: job.cx.fresh_id(),
            redacted: job.redacting.counts(),
        };
        let (known, args) = match verdict {
            Verdict::Refuse(reason) => return Ok(frame(self).refused(&reason)),
            Verdict::Fail(failure) => {
                let failure = self.redacting.failure(failure);
                teller.started(self.call).await;
                teller.failed(&failure.text, 1, false).await;
                return self.failed(&frame(self), failure);
            }
            Verdict::Run(known, args) => (known, args),
        };
        teller.started(self.call).await;
        if let Some(marks) = &self.marks
            && !marks.begin().await?
        {
            let text = format!(
                "whether `{}` was carried out is not known: the process ended while it ran, and it is not run again",
                self.call.name
            );
            teller.failed(&text, 1, false).await;
            return self.failed(&frame(self), self.failure(FailureKind::OutcomeUnknown, text));
        }
        match self.attempts(&known, args, &teller).await {
            Ok(output) => {
                let frame = frame(self);
                let settled = frame.settled(&self.cx, output);
                match settled {
                    Ok(settled) => {
                        teller.ended(|| settled.told(), &frame).await;
                        Ok(settled)
                    }
                    Err(text) => {
                        teller.failed(&text, self.cx.attempt(), false).await;
                        self.failed(&frame, self.failure(FailureKind::Failed, text))
                    }
                }
            }
            Err(Trouble::Passes(error)) => Err(error),
            Err(Trouble::Failure(failure)) => self.failed(&frame(self), failure),
        }
    }

    fn failed(&self, frame: &Frame<'_>, failure: ToolFailure) -> Result<Settled, NodeError> {
        match self.node.errors.text(&failure) {
            Some(text) => Ok(frame.error(&text, failure.kind)),
            None => Err(failure.propagated()),
        }
    }

    fn failure(&self, kind: FailureKind, text: String) -> ToolFailure {
        self.redacting.failure(failure(self.call, kind, text))
    }

    async fn attempts(
        &self,
        known: &Known,
        mut args: Map<String, Value>,
        teller: &Teller,
    ) -> Result<ToolOutput, Trouble> {
        let retries = self.retries(known);
        for attempt in 1.. {
            // After the last attempt nobody needs them.
            let given = if attempt <= retries { args.clone() } else { std::mem::take(&mut args) };
            let failure = match self.attempt(known, given, teller).await {
                Ok(output) if output.is_error && !matches!(self.node.errors, Errors::Text) => {
                    let text = output.content.as_ref().map(|content| content.text().into_owned());
                    self.failure(FailureKind::Failed, text.unwrap_or_default())
                }
                Err(Trouble::Failure(failure)) => failure,
                ended => return ended,
            };
            // A bug and bad arguments are the same the next time.
            let may_help = matches!(failure.kind, FailureKind::Failed | FailureKind::TimedOut)
                && (failure.retryable || self.node.safe_retries.is_none());
            let will_retry = may_help && attempt <= retries;
            teller.failed(&failure.text, attempt, will_retry).await;
            if !will_retry {
                return Err(Trouble::Failure(failure));
            }
            self.cx.sleep(pause(attempt)).await;
            self.cx.try_again();
        }
        Err(Trouble::Passes(Error::internal("a tool was tried without end").into()))
    }

    /// How often a failed call is made again.
    fn retries(&self, known: &Known) -> u32 {
        let spec = known.tool.spec();
        let is_safe = spec.annotations.read_only || spec.annotations.idempotent;
        match self.node.safe_retries {
            // Whoever wants a call at most once does not want it again after a failure either.
            _ if self.marks.is_some() => 0,
            None => spec.retries,
            Some(retries) if is_safe => retries,
            Some(_) => 0,
        }
    }

    /// One attempt, within its time.
    async fn attempt(&self, known: &Known, args: Map<String, Value>, teller: &Teller) -> Result<ToolOutput, Trouble> {
        let time = known.tool.spec().timeout.unwrap_or(self.node.timeout);
        let mut invocation = Invocation::new(self.call.id.clone(), args);
        invocation.progress = teller.progress();
        invocation.host = Some(Arc::new(self.cx.clone()));
        let mut work = Box::pin(known.tool.call(invocation));
        let mut limit = self.cx.0.shared.clock.sleep(time);
        let ended = poll_fn(|context| {
            match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
                Ok(Poll::Ready(Ok(output))) => {
                    let schema = &self.cx.0.shared.program.topology.schema;
                    return Poll::Ready(Ok(self.redacting.output(schema, output)));
                }
                Ok(Poll::Ready(Err(error))) => return Poll::Ready(Err(self.trouble(self.redacting.error(error)))),
                // A look at a hidden field unwinds to the executor, which says so.
                Err(panic) if panic.is::<Fault>() => resume_unwind(panic),
                Err(panic) => return Poll::Ready(Err(Trouble::Failure(self.panicked(&*panic)))),
                Ok(Poll::Pending) => {}
            }
            // What waits for a person is let go of, and takes as long as it takes.
            if self.cx.0.cell.has_asked() || limit.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let text = format!("`{}` took longer than {time:?} and was stopped", self.call.name);
            let failure = self.failure(FailureKind::TimedOut, text);
            Poll::Ready(Err(Trouble::Failure(ToolFailure { retryable: true, ..failure })))
        })
        .await;
        // It ended without an answer to what it asked: it must not be taken for one that waits.
        drop(self.cx.0.cell.take_asked());
        ended
    }

    fn trouble(&self, error: ToolError) -> Trouble {
        let ToolError { message, retryable, cause, passes } = error;
        match passes.map(|what| what.downcast::<NodeError>()) {
            Some(Ok(error)) => return Trouble::Passes(*error),
            Some(Err(what)) if what.is::<BadArguments>() => {
                let text = format!("bad arguments for `{}`: {message}", self.call.name);
                return Trouble::Failure(self.failure(FailureKind::BadArguments, text));
            }
            Some(Err(_)) => return Trouble::Passes(NodeError::new(message)),
            None => {}
        }
        let stops = cause.as_ref().and_then(|cause| cause.downcast_ref::<Error>());
        if let Some(error) = stops.filter(|error| error.code() == Code::Cancelled) {
            return Trouble::Passes(error.clone().into());
        }
        let failure = self.failure(FailureKind::Failed, format!("`{}` failed: {message}", self.call.name));
        Trouble::Failure(ToolFailure { retryable, cause, ..failure })
    }

    /// What was said when it panicked may be anything, and is not for a model.
    fn panicked(&self, panic: &(dyn std::any::Any + Send)) -> ToolFailure {
        let cause = Error::new(Code::NodeFailed, format!("it panicked: {}", panic_text(panic)));
        let failure = self.failure(FailureKind::Panicked, format!("`{}` panicked", self.call.name));
        self.redacting.failure(ToolFailure { cause: Some(Arc::new(cause)), ..failure })
    }
}

/// A call that went wrong.
pub(super) fn failure(call: &ToolCall, kind: FailureKind, text: String) -> ToolFailure {
    let (tool, call) = (call.name.clone(), call.id.clone());
    ToolFailure { tool, call, kind, text, cause: None, retryable: false }
}

/// The wait after a failed attempt: half a second, doubled each time, at most half a minute.
fn pause(attempt: u32) -> Duration {
    Duration::from_millis(500 << (attempt - 1).min(6)).min(Duration::from_secs(30))
}
