//! Spans over OTLP, to a collector that decodes them with the definitions of the protocol's own project.

mod sent;
mod trouble;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::core::message::Usage;
use superstep::model::{Reply, Scripted, SharedModel};
use superstep::prelude::*;
use superstep::tool::wants_tools;
use superstep_adapters::otlp::Exporter;
use superstep_cluster::Collector;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reduce(messages)]
    pub(crate) messages: Messages,
}

/// What a person says: in no byte that is sent.
pub(crate) const SECRET: &str = "my-number-is-555";

/// Looks a number up.
#[tool(read_only)]
async fn look_up(number: String) -> Result<String, ToolError> {
    Err(ToolError::new(format!("{number} is nobody's")))
}

async fn think(chat: View<Chat>, model: Ctx<SharedModel>, cx: Cx) -> Result<ChatUpdate, NodeError> {
    Ok(Chat::update().messages(cx.model(&model).messages(&chat.messages).await?.message))
}

/// A model and a tool that fails, in a circle.
pub(crate) fn agent() -> Graph<Chat, SharedModel> {
    let mut graph = Graph::<Chat, SharedModel>::new("agent");
    let (think, tools) = (graph.node("think", think), graph.node("tools", ToolNode::new([look_up()])));
    graph.edge(START, think).edge(tools, think).checkpointer(Memory::new());
    graph.route(
        think,
        move |chat: &Chat| if wants_tools(&chat.messages) { Go::to(tools) } else { Go::end() },
        [tools.into(), END],
    );
    graph
}

pub(crate) fn script() -> SharedModel {
    let call = Reply::call("look_up", json!({ "number": SECRET })).with_usage(Usage::new(100, 10));
    Scripted::new([call, Reply::text(SECRET).with_usage(Usage::new(200, 20))]).named("fast").into()
}

pub(crate) fn collector() -> Collector {
    Collector::start(Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()).unwrap()
}

/// Does something while its spans are sent, and waits until they are.
pub(crate) async fn sending<T>(exporter: Exporter, work: impl Future<Output = T>) -> T {
    let (layer, guard) = exporter.layer().unwrap();
    let listening = tracing::subscriber::set_default(Registry::default().with(layer));
    let done = work.await;
    guard.flush().unwrap();
    drop((guard, listening));
    done
}

/// One span as the collector got it.
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
    begun: u64,
}

/// What a collector got: requests, and their spans in the order they began.
pub(crate) fn received(collector: &Collector) -> (Vec<Value>, Vec<Span>) {
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
    spans.sort_by_key(|span| span.begun);
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
        begun: text("startTimeUnixNano").parse().unwrap(),
    }
}

pub(crate) fn attributes(of: &Value) -> BTreeMap<String, Value> {
    let pairs = of["attributes"].as_array().into_iter().flatten();
    let value = |pair: &Value| pair["value"].as_object().and_then(|value| value.values().next()).cloned();
    pairs.filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), value(pair)?))).collect()
}

/// The names of spans, each under its parent.
pub(crate) fn tree(spans: &[Span]) -> String {
    let mut text = String::new();
    for root in spans.iter().filter(|span| span.parent.is_none()) {
        branch(spans, root, 0, &mut text);
    }
    text
}

fn branch(spans: &[Span], span: &Span, depth: usize, text: &mut String) {
    text.push_str(&format!("{}{}\n", "  ".repeat(depth), span.name));
    for child in spans.iter().filter(|child| child.parent.as_ref() == Some(&span.id)) {
        branch(spans, child, depth + 1, text);
    }
}
