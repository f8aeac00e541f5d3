//! Export of spans over OTLP to a collector that decodes them with the official protobuf definitions.

mod errors;
mod spans;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::message::TokenUsage;
use superstep::models::{ScriptedModel, ScriptedReply, SharedModel};
use superstep::prelude::*;
use superstep::tools::has_pending_tool_calls;
use superstep_adapters::otlp::OtlpExporter;
use superstep_cluster::OtlpCollector;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

#[derive(GraphState, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reduce(messages)]
    pub(crate) messages: Messages,
}

/// Text of a user, which must not occur in any sent byte.
pub(crate) const SECRET: &str = "my-number-is-555";

/// Looks a number up.
#[tool(read_only)]
async fn look_up(number: String) -> Result<String, ToolError> {
    Err(ToolError::new(format!("{number} is nobody's")))
}

async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
    Ok(Chat::update().messages(cx.model(&model).messages(&chat.messages).await?.message))
}

/// Builds an agent loop of a model and a tool that fails.
pub(crate) fn agent() -> StateGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("agent");
    let (think, tools) = (graph.add_node("think", think), graph.add_node("tools", ToolNode::new([look_up()])));
    graph.add_edge(START, think).add_edge(tools, think).checkpointer(MemoryCheckpointer::new());
    graph.add_conditional_edges(
        think,
        move |chat: &Chat| if has_pending_tool_calls(&chat.messages) { Goto::node(tools) } else { Goto::end() },
        [tools.into(), END],
    );
    graph
}

pub(crate) fn script() -> SharedModel {
    let call = ScriptedReply::tool_call("look_up", json!({ "number": SECRET })).with_usage(TokenUsage::new(100, 10));
    ScriptedModel::new([call, ScriptedReply::text(SECRET).with_usage(TokenUsage::new(200, 20))])
        .with_name("fast")
        .into()
}

pub(crate) fn collector() -> OtlpCollector {
    OtlpCollector::start(Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()).unwrap()
}

/// Runs a future while its spans are exported, and waits for the export.
pub(crate) async fn with_export<T>(exporter: OtlpExporter, work: impl Future<Output = T>) -> T {
    let (layer, guard) = exporter.layer().unwrap();
    let subscriber_guard = tracing::subscriber::set_default(Registry::default().with(layer));
    let output = work.await;
    guard.flush().unwrap();
    drop((guard, subscriber_guard));
    output
}

/// A span as received by the collector.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) trace: String,
    pub(crate) kind: String,
    pub(crate) status: Value,
    pub(crate) attributes: BTreeMap<String, Value>,
    pub(crate) events: Vec<String>,
    start_time: u64,
}

/// Returns the requests that a collector received, and their spans by start time.
pub(crate) fn received(collector: &OtlpCollector) -> (Vec<Value>, Vec<Span>) {
    let requests: Vec<Value> = serde_json::from_str(&collector.received().unwrap()).unwrap();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut spans = Vec::new();
    for request in &requests {
        for resource in list(&request["spans"], "resourceSpans") {
            for scope in list(&resource, "scopeSpans") {
                spans.extend(list(&scope, "spans").iter().map(span));
            }
        }
    }
    spans.sort_by_key(|span| span.start_time);
    (requests, spans)
}

fn span(span: &Value) -> Span {
    let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
    let events = span["events"].as_array().into_iter().flatten();
    Span {
        name: text("name"),
        id: text("spanId"),
        parent: span["parentSpanId"].as_str().map(str::to_owned),
        trace: text("traceId"),
        kind: text("kind"),
        status: span["status"].clone(),
        attributes: attributes(span),
        events: events.map(|event| event["name"].as_str().unwrap_or_default().to_owned()).collect(),
        start_time: text("startTimeUnixNano").parse().unwrap(),
    }
}

pub(crate) fn attributes(source: &Value) -> BTreeMap<String, Value> {
    let pairs = source["attributes"].as_array().into_iter().flatten();
    let value = |pair: &Value| pair["value"].as_object().and_then(|value| value.values().next()).cloned();
    pairs.filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), value(pair)?))).collect()
}

/// Returns the names of spans as an indented tree.
pub(crate) fn tree(spans: &[Span]) -> String {
    let mut text = String::new();
    for root in spans.iter().filter(|span| span.parent.is_none()) {
        push_subtree(spans, root, 0, &mut text);
    }
    text
}

fn push_subtree(spans: &[Span], span: &Span, depth: usize, text: &mut String) {
    text.push_str(&format!("{}{}\n", "  ".repeat(depth), span.name));
    for child in spans.iter().filter(|child| child.parent.as_ref() == Some(&span.id)) {
        push_subtree(spans, child, depth + 1, text);
    }
}
