//! Runs, and graphs inside nodes: one span each, and how they ended.

use std::sync::Arc;

use superstep_core::error::{Code, Error, Result};
use superstep_core::machine::{End, Outcome};
use tracing::span::Id;
use tracing::{Instrument, Span, error, field, info, info_span};

use super::Watch;
use super::watch::failed;
use crate::call::{Call, Status};
use crate::conclude::RawOutcome;
use crate::launch::{real_world, start_outermost};

/// Runs a graph that somebody listens to.
pub(crate) async fn watched_run(mut call: Box<Call>) -> Result<RawOutcome> {
    let graph = call.program.topology.name.clone();
    let clock = call.clock.clone().unwrap_or_else(|| real_world().0.clone());
    let watch = Arc::new(Watch::new(span(&graph, Span::current().id()), graph, &call.observed, clock));
    call.watch = Some(watch.clone());
    let began = watch.clock.now();
    let mut going = Going { watch: &watch, began, is_over: false };
    let ended = start_outermost(call).instrument(watch.span.clone()).await;
    going.is_over = true;
    watch.is_over();
    match &ended {
        Ok(outcome) => {
            let name = status_name(&outcome.status);
            watch.span.record("superstep.outcome", name);
            watch.span.record("superstep.supersteps", outcome.supersteps);
            watch.span.record("gen_ai.usage.input_tokens", outcome.usage.input_tokens());
            watch.span.record("gen_ai.usage.output_tokens", outcome.usage.output_tokens());
            if let Some(cents) = outcome.usage.cents() {
                watch.span.record("superstep.cost.cents", cents);
            }
            info!(target: "superstep", parent: &watch.span, { superstep.outcome = name }, "run ended");
        }
        Err(error) => run_failed(&watch, error),
    }
    if let Some(metrics) = &watch.metrics {
        metrics.run_ended(&watch.graph, outcome_name(&ended), watch.since(began));
        if let Err(error) = &ended {
            metrics.run_failed(&watch.graph, &error.code().to_string());
        }
    }
    ended
}

/// A run that goes on. One that is dropped before its end was called off by whoever waited for it.
struct Going<'a> {
    watch: &'a Watch,
    began: i64,
    /// It has ended by itself.
    is_over: bool,
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let name = failure_name(Code::Cancelled);
        self.watch.is_over();
        self.watch.span.record("superstep.outcome", name);
        if let Some(metrics) = &self.watch.metrics {
            metrics.run_ended(&self.watch.graph, name, self.watch.since(self.began));
        }
    }
}

/// Runs a graph inside a node of a run that somebody listens to.
pub(crate) async fn watched_inside(watch: &Watch, work: impl Future<Output = Result<Outcome>>) -> Result<Outcome> {
    let ended = work.instrument(watch.span.clone()).await;
    watch.is_over();
    match &ended {
        Ok(Outcome { end: End::Failed(error), .. }) | Err(error) => {
            watch.span.record("superstep.outcome", "failed");
            failed(&watch.span, &error.code().to_string());
        }
        Ok(outcome) => {
            watch.span.record("superstep.outcome", end_name(&outcome.end));
            watch.span.record("superstep.supersteps", outcome.supersteps);
        }
    }
    ended
}

/// The span of one graph of a run.
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

fn run_failed(watch: &Watch, error: &Error) {
    let code = error.code();
    let name = failure_name(code);
    watch.span.record("superstep.outcome", name);
    failed(&watch.span, &code.to_string());
    let (node, message) = (error.place().node.as_deref(), watch.message(error));
    // Whoever cancels a run knows it.
    if code == Code::Cancelled {
        return info!(target: "superstep", parent: &watch.span, { superstep.outcome = name }, "run ended");
    }
    error!(target: "superstep", parent: &watch.span, {
        "error.type" = %code, superstep.graph = %watch.graph, superstep.node = node, error.message = message
    }, "run failed");
}

fn outcome_name(ended: &Result<RawOutcome>) -> &'static str {
    match ended {
        Ok(outcome) => status_name(&outcome.status),
        Err(error) => failure_name(error.code()),
    }
}

fn failure_name(code: Code) -> &'static str {
    if code == Code::Cancelled { "cancelled" } else { "failed" }
}

fn status_name(status: &Status) -> &'static str {
    match status {
        Status::Finished => "finished",
        Status::Interrupted(_) => "interrupted",
        Status::Paused(_) => "paused",
        Status::Drained => "drained",
        Status::Truncated => "truncated",
    }
}

fn end_name(end: &End) -> &'static str {
    match end {
        End::Interrupted(_) => "interrupted",
        End::Paused(_) => "paused",
        End::Drained => "drained",
        End::Truncated => "truncated",
        End::Failed(_) => "failed",
        End::Finished | End::Outward(_) => "finished",
    }
}
