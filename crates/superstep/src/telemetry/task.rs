//! Spans of tasks, which enclose the spans of model and tool calls.

use std::time::Duration;

use superstep_core::error::Error;
use superstep_core::machine::TaskEnd;
use tracing::{Instrument, Span, field, info_span, warn};

use super::RunObserver;
use super::observer::failed;
use crate::engine::context::TaskContext;
use crate::engine::executor::run_task_untraced;
use crate::graph::output::NodeError;

/// Runs a task with telemetry.
pub(crate) async fn traced_task(cx: &TaskContext, observer: &RunObserver) -> TaskEnd {
    let span = span(cx, observer);
    cx.set_span(&span);
    let started_at = observer.clock.now();
    let end = run_task_untraced(cx).instrument(span.clone()).await;
    span.record("superstep.attempt", cx.attempt());
    let name = match &end {
        TaskEnd::Finished(_) => "done",
        TaskEnd::Cached(_) => "cached",
        TaskEnd::Interrupted(_) => "asked",
        TaskEnd::Paused(_) => "paused",
        TaskEnd::Cancelled => "cancelled",
        TaskEnd::Failed(error) => {
            node_failed(cx, observer, &span, error);
            "failed"
        }
    };
    span.record("superstep.outcome", name);
    if let Some(metrics) = &observer.metrics {
        metrics.node_ended(&observer.graph, cx.node(), observer.since(started_at));
    }
    end
}

fn span(cx: &TaskContext, observer: &RunObserver) -> Span {
    info_span!(
        target: "superstep",
        parent: observer.current_span().id(),
        "node",
        otel.name = format_args!("node {}", cx.node()),
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        superstep.node = cx.node(),
        superstep.graph = %observer.graph,
        superstep.step = cx.step(),
        superstep.task.id = %cx.task_id(),
        superstep.attempt = field::Empty,
        superstep.outcome = field::Empty,
    )
}

fn node_failed(cx: &TaskContext, observer: &RunObserver, span: &Span, error: &Error) {
    let code = error.code();
    failed(span, &code.to_string());
    warn!(target: "superstep", parent: span, {
        "error.type" = %code, superstep.node = cx.node(), superstep.attempt = cx.attempt(),
        error.message = observer.message(error)
    }, "node failed");
    if let Some(metrics) = &observer.metrics {
        metrics.node_failed(&observer.graph, cx.node(), &code.to_string());
    }
}

/// Records a retry of a failed node.
pub(crate) fn record_retry(cx: &TaskContext, attempt: u32, delay: Duration, error: &NodeError) {
    let Some(observer) = &cx.0.shared.observer else { return };
    let error = error.error();
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    warn!(target: "superstep", {
        "error.type" = %error.code(), superstep.node = cx.node(), superstep.attempt = attempt,
        superstep.wait_ms = delay_ms, error.message = observer.redacted_message(cx, error)
    }, "node retried");
    if let Some(metrics) = &observer.metrics {
        metrics.node_retried(&observer.graph, cx.node());
    }
}
