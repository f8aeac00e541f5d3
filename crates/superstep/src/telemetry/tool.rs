//! Calls of tools: a span for each. A name that the model made up is not told, it is text of the model.

use std::sync::Arc;

use tracing::{Instrument, Span, field, info, info_span, warn};

use super::Watch;
use super::watch::{failed, parent};
use crate::context::Cx;
use crate::output::NodeError;
use crate::tool::Settled;

/// What is called.
pub(crate) struct Called<'a> {
    /// The tool; nothing where there is none of that name.
    pub(crate) tool: Option<&'a str>,
    /// The id of the call.
    pub(crate) call: &'a str,
    /// What it is called with.
    pub(crate) args: &'a serde_json::Value,
}

/// Calls a tool while somebody listens.
pub(crate) async fn watched_tool(
    watch: Arc<Watch>,
    cx: Cx,
    called: Called<'_>,
    work: impl Future<Output = Result<Settled, NodeError>>,
) -> Result<Settled, NodeError> {
    let tool = called.tool.unwrap_or("unknown");
    let span = span(&cx, tool, called.call);
    if watch.content {
        info!(target: "superstep", parent: &span, { gen_ai.tool.call.arguments = %Watch::told(&cx, called.args.clone()) }, "tool called");
    }
    let began = watch.clock.now();
    let settled = work.instrument(span.clone()).await;
    match &settled {
        Ok(settled) => {
            if let Some(trouble) = settled.trouble() {
                tool_failed(&cx, &watch, &span, (tool, trouble));
            }
            if watch.content {
                info!(target: "superstep", parent: &span, {
                    gen_ai.tool.call.result = %Watch::told(&cx, settled.told())
                }, "tool answered");
            }
        }
        // A graph inside that stopped is no failure.
        Err(error) if error.stopped.is_some() => {}
        Err(error) => tool_failed(&cx, &watch, &span, (tool, &error.error().code().to_string())),
    }
    if let Some(metrics) = &watch.metrics {
        metrics.tool_called(tool, watch.since(began));
    }
    settled
}

fn span(cx: &Cx, tool: &str, call: &str) -> Span {
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

fn tool_failed(cx: &Cx, watch: &Watch, span: &Span, (tool, trouble): (&str, &str)) {
    failed(span, trouble);
    warn!(target: "superstep", parent: span, {
        "error.type" = trouble, gen_ai.tool.name = tool, superstep.node = cx.node()
    }, "tool call failed");
    if let Some(metrics) = &watch.metrics {
        metrics.tool_failed(tool, trouble);
    }
}
