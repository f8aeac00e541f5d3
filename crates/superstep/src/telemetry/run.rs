//! Spans of runs and subgraphs, with their outcomes.

use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::machine::{MachineEnd, MachineOutcome};
use tracing::span::Id;
use tracing::{Instrument, Span, error, field, info, info_span};

use super::RunObserver;
use super::observer::failed;
use crate::engine::outcome::ErasedOutcome;
use crate::engine::start::{start_root, system_environment};
use crate::run::builder::{RunEnd, RunSpec};

/// Runs a graph with telemetry.
pub(crate) async fn traced_run(mut call: Box<RunSpec>) -> Result<ErasedOutcome> {
    let graph = call.program.topology.name.clone();
    let clock = call.clock.clone().unwrap_or_else(|| system_environment().0.clone());
    let observer = Arc::new(RunObserver::new(span(&graph, Span::current().id()), graph, &call.telemetry, clock));
    call.observer = Some(observer.clone());
    let started_at = observer.clock.now();
    let mut run_guard = RunSpanGuard { observer: &observer, started_at, is_over: false };
    let ended = start_root(call).instrument(observer.span.clone()).await;
    run_guard.is_over = true;
    observer.finish();
    match &ended {
        Ok(outcome) => {
            let name = status_name(&outcome.status);
            observer.span.record("superstep.outcome", name);
            observer.span.record("superstep.supersteps", outcome.supersteps);
            observer.span.record("gen_ai.usage.input_tokens", outcome.usage.input_tokens());
            observer.span.record("gen_ai.usage.output_tokens", outcome.usage.output_tokens());
            if let Some(cents) = outcome.usage.cost_cents() {
                observer.span.record("superstep.cost.cents", cents);
            }
            info!(target: "superstep", parent: &observer.span, { superstep.outcome = name }, "run ended");
        }
        Err(error) => run_failed(&observer, error),
    }
    if let Some(metrics) = &observer.metrics {
        metrics.run_ended(&observer.graph, outcome_name(&ended), observer.since(started_at));
        if let Err(error) = &ended {
            metrics.run_failed(&observer.graph, &error.code().to_string());
        }
    }
    ended
}

/// Guard of a running run. Records the run as cancelled if it is dropped before its end.
struct RunSpanGuard<'a> {
    observer: &'a RunObserver,
    started_at: i64,
    /// True if the run has ended by itself.
    is_over: bool,
}

impl Drop for RunSpanGuard<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let name = failure_name(ErrorCode::Cancelled);
        self.observer.finish();
        self.observer.span.record("superstep.outcome", name);
        if let Some(metrics) = &self.observer.metrics {
            metrics.run_ended(&self.observer.graph, name, self.observer.since(self.started_at));
        }
    }
}

/// Runs a subgraph with telemetry.
pub(crate) async fn traced_subgraph(
    observer: &RunObserver,
    work: impl Future<Output = Result<MachineOutcome>>,
) -> Result<MachineOutcome> {
    let ended = work.instrument(observer.span.clone()).await;
    observer.finish();
    match &ended {
        Ok(MachineOutcome { end: MachineEnd::Failed(error), .. }) | Err(error) => {
            observer.span.record("superstep.outcome", "failed");
            failed(&observer.span, &error.code().to_string());
        }
        Ok(outcome) => {
            observer.span.record("superstep.outcome", end_name(&outcome.end));
            observer.span.record("superstep.supersteps", outcome.supersteps);
        }
    }
    ended
}

/// Creates the span of a root graph or a subgraph.
pub(super) fn span(graph: &str, parent: Option<Id>) -> Span {
    info_span!(
        target: "superstep",
        parent: parent,
        "run",
        otel.name = format_args!("invoke_workflow {graph}"),
        otel.status_code = field::Empty,
        gen_ai.operation.name = "invoke_workflow",
        gen_ai.workflow.name = graph,
        gen_ai.conversation.id = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        "error.type" = field::Empty,
        superstep.graph = graph,
        superstep.run.id = field::Empty,
        superstep.outcome = field::Empty,
        superstep.supersteps = field::Empty,
        superstep.cost.cents = field::Empty,
    )
}

fn run_failed(observer: &RunObserver, error: &Error) {
    let code = error.code();
    let name = failure_name(code);
    observer.span.record("superstep.outcome", name);
    failed(&observer.span, &code.to_string());
    let (node, message) = (error.location().node.as_deref(), observer.message(error));
    // Not an error: the caller requested the cancellation.
    if code == ErrorCode::Cancelled {
        return info!(target: "superstep", parent: &observer.span, { superstep.outcome = name }, "run ended");
    }
    error!(target: "superstep", parent: &observer.span, {
        "error.type" = %code, superstep.graph = %observer.graph, superstep.node = node, error.message = message
    }, "run failed");
}

fn outcome_name(ended: &Result<ErasedOutcome>) -> &'static str {
    match ended {
        Ok(outcome) => status_name(&outcome.status),
        Err(error) => failure_name(error.code()),
    }
}

fn failure_name(code: ErrorCode) -> &'static str {
    if code == ErrorCode::Cancelled { "cancelled" } else { "failed" }
}

fn status_name(status: &RunEnd) -> &'static str {
    match status {
        RunEnd::Finished => "finished",
        RunEnd::Interrupted(_) => "interrupted",
        RunEnd::Paused(_) => "paused",
        RunEnd::Drained => "drained",
        RunEnd::Truncated => "truncated",
    }
}

fn end_name(end: &MachineEnd) -> &'static str {
    match end {
        MachineEnd::Interrupted(_) => "interrupted",
        MachineEnd::Paused(_) => "paused",
        MachineEnd::Drained => "drained",
        MachineEnd::Truncated => "truncated",
        MachineEnd::Failed(_) => "failed",
        MachineEnd::Finished | MachineEnd::ParentCommand(_) => "finished",
    }
}
