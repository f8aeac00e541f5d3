//! Nodes: a span for each task, which calls of models and tools are inside of.

use std::time::Duration;

use superstep_core::error::Error;
use superstep_core::machine::TaskEnd;
use tracing::{Instrument, Span, field, info_span, warn};

use super::Watch;
use super::watch::failed;
use crate::context::Cx;
use crate::executor::run_unwatched;
use crate::output::NodeError;

/// Runs a task that somebody listens to.
pub(crate) async fn watched_task(cx: &Cx, watch: &Watch) -> TaskEnd {
    let span = span(cx, watch);
    cx.set_span(&span);
    let began = watch.clock.now();
    let end = run_unwatched(cx).instrument(span.clone()).await;
    span.record("superstep.attempt", cx.attempt());
    let name = match &end {
        TaskEnd::Done(_) => "done",
        TaskEnd::Cached(_) => "cached",
        TaskEnd::Asked(_) => "asked",
        TaskEnd::Paused(_) => "paused",
        TaskEnd::Cancelled => "cancelled",
        TaskEnd::Failed(error) => {
            node_failed(cx, watch, &span, error);
            "failed"
        }
    };
    span.record("superstep.outcome", name);
    if let Some(metrics) = &watch.metrics {
        metrics.node_ended(&watch.graph, cx.node(), watch.since(began));
    }
    end
}

fn span(cx: &Cx, watch: &Watch) -> Span {
    info_span!(
        target: "superstep",
        parent: watch.here().id(),
        "node",
        otel.name = format_args!("node {}", cx.node()),
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        superstep.node = cx.node(),
        superstep.graph = %watch.graph,
        superstep.step = cx.step(),
        superstep.task.id = %cx.task_id(),
        superstep.attempt = field::Empty,
        superstep.outcome = field::Empty,
    )
}

fn node_failed(cx: &Cx, watch: &Watch, span: &Span, error: &Error) {
    let code = error.code();
    failed(span, &code.to_string());
    warn!(target: "superstep", parent: span, {
        "error.type" = %code, superstep.node = cx.node(), superstep.attempt = cx.attempt(),
        error.message = watch.message(error)
    }, "node failed");
    if let Some(metrics) = &watch.metrics {
        metrics.node_failed(&watch.graph, cx.node(), &code.to_string());
    }
}

/// A node has failed and is tried again after a while.
pub(crate) fn retried(cx: &Cx, attempt: u32, wait: Duration, error: &NodeError) {
    let Some(watch) = &cx.0.shared.watch else { return };
    let error = error.error();
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    warn!(target: "superstep", {
        "error.type" = %error.code(), superstep.node = cx.node(), superstep.attempt = attempt,
        superstep.wait_ms = wait, error.message = watch.words(cx, error)
    }, "node is tried again");
    if let Some(metrics) = &watch.metrics {
        metrics.node_retried(&watch.graph, cx.node());
    }
}
