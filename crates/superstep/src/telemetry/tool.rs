//! Spans of tool calls. An unknown tool name is not recorded, because it is text of the model.

use std::sync::Arc;

use tracing::{Instrument, Span, field, info, info_span, warn};

use super::RunObserver;
use super::observer::{failed, parent};
use crate::engine::context::TaskContext;
use crate::graph::output::NodeError;
use crate::tools::ToolCallResult;

/// A tool call.
pub(crate) struct ToolCallSpan<'a> {
    /// Name of the tool; `None` if there is no such tool.
    pub(crate) tool: Option<&'a str>,
    /// Id of the call.
    pub(crate) call: &'a str,
    /// Arguments of the call.
    pub(crate) args: &'a serde_json::Value,
}

/// Executes a tool call with telemetry.
pub(crate) async fn traced_tool_call(
    observer: Arc<RunObserver>,
    cx: TaskContext,
    call: ToolCallSpan<'_>,
    work: impl Future<Output = Result<ToolCallResult, NodeError>>,
) -> Result<ToolCallResult, NodeError> {
    let tool = call.tool.unwrap_or("unknown");
    let span = span(&cx, tool, call.call);
    if observer.content {
        info!(target: "superstep", parent: &span, { gen_ai.tool.call.arguments = %RunObserver::redact_json(&cx, call.args.clone()) }, "tool \
             call started");
    }
    let started_at = observer.clock.now();
    let completed = work.instrument(span.clone()).await;
    match &completed {
        Ok(completed) => {
            if let Some(failure) = completed.failure_name() {
                tool_failed(&cx, &observer, &span, (tool, failure));
            }
            if observer.content {
                info!(target: "superstep", parent: &span, {
                    gen_ai.tool.call.result = %RunObserver::redact_json(&cx, completed.event_output())
                }, "tool call finished");
            }
        }
        // A stopped subgraph is not a failure.
        Err(error) if error.stopped.is_some() => {}
        Err(error) => tool_failed(&cx, &observer, &span, (tool, &error.error().code().to_string())),
    }
    if let Some(metrics) = &observer.metrics {
        metrics.tool_called(tool, observer.since(started_at));
    }
    completed
}

fn span(cx: &TaskContext, tool: &str, call: &str) -> Span {
    info_span!(
        target: "superstep",
        parent: parent(cx),
        "execute_tool",
        otel.name = format_args!("execute_tool {tool}"),
        otel.status_code = field::Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.call.id = call,
        "error.type" = field::Empty,
        superstep.node = cx.node(),
    )
}

fn tool_failed(cx: &TaskContext, observer: &RunObserver, span: &Span, (tool, failure): (&str, &str)) {
    failed(span, failure);
    warn!(target: "superstep", parent: span, {
        "error.type" = failure, gen_ai.tool.name = tool, superstep.node = cx.node()
    }, "tool call failed");
    if let Some(metrics) = &observer.metrics {
        metrics.tool_failed(tool, failure);
    }
}
