//! Telemetry of runs: spans, log lines, metrics, cost.

mod disabled;
mod logs;
mod metrics;
mod spans;
mod usage;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::json;
use superstep::CompiledGraph;
use superstep::core::message::TokenUsage;
use superstep::models::{ScriptedModel, ScriptedReply, SharedModel};
use superstep::prelude::*;
use superstep::tools::has_pending_tool_calls;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

#[derive(GraphState, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reduce(messages)]
    pub(crate) messages: Messages,
    #[reduce(append)]
    pub(crate) log: Vec<String>,
}

/// A text of the user, which no span or log line may contain.
pub(crate) const SECRET: &str = "my-number-is-555";

/// Looks a number up.
#[tool(read_only)]
async fn look_up(number: String) -> String {
    format!("{number} belongs to {SECRET}")
}

async fn think(chat: View<Chat>, model: RunContext<SharedModel>, cx: TaskContext) -> Result<ChatUpdate, NodeError> {
    let answer = cx.model(&model).messages(&chat.messages).await?;
    Ok(Chat::update().messages(answer.message))
}

/// A model that calls a tool and then responds.
pub(crate) fn script() -> ScriptedModel {
    let call = ScriptedReply::tool_call("look_up", json!({ "number": SECRET })).with_usage(TokenUsage::new(100, 10));
    ScriptedModel::new([call, ScriptedReply::text(format!("It is {SECRET}.")).with_usage(TokenUsage::new(200, 20))])
        .with_name("fast")
}

/// A model and its tools, in a loop.
pub(crate) fn agent() -> StateGraph<Chat, SharedModel> {
    let mut graph = StateGraph::<Chat, SharedModel>::new("agent");
    let (think, tools) = (graph.add_node("think", think), graph.add_node("tools", ToolNode::new([look_up()])));
    graph.add_edge(START, think).add_edge(tools, think);
    graph.add_conditional_edges(
        think,
        move |chat: &Chat| if has_pending_tool_calls(&chat.messages) { Goto::node(tools) } else { Goto::end() },
        [tools.into(), END],
    );
    graph
}

/// Runs the agent to its end, on a thread of an in-memory checkpointer.
pub(crate) async fn run_agent(agent: &CompiledGraph<Chat, SharedModel>) -> superstep::Outcome<Chat> {
    let run = agent.invoke(Chat::input().messages(SECRET)).checkpointer(MemoryCheckpointer::new()).thread("t1");
    run.context(script().into()).await.unwrap()
}

/// A recorded span.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedSpan {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) is_closed: bool,
}

/// Message and fields of a log line.
type LogLine = (String, BTreeMap<String, String>);

/// A subscriber that records all spans and log lines.
#[derive(Clone, Default)]
pub(crate) struct RecordingSubscriber {
    spans: Arc<Mutex<Vec<RecordedSpan>>>,
    lines: Arc<Mutex<Vec<LogLine>>>,
}

impl RecordingSubscriber {
    /// Installs the subscriber on this OS thread until the guard is dropped.
    pub(crate) fn at(level: LevelFilter) -> (Self, DefaultGuard) {
        let listening = Self::default();
        let subscriber = Registry::default().with(listening.clone().with_filter(level));
        (listening, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn spans(&self) -> Vec<RecordedSpan> {
        self.spans.lock().unwrap().clone()
    }

    /// Returns the first span with this name.
    pub(crate) fn span(&self, name: &str) -> RecordedSpan {
        let span = self.spans().into_iter().find(|span| span.name == name);
        span.unwrap_or_else(|| panic!("there is no span `{name}`:\n{}", self.tree()))
    }

    /// Returns the log lines with this message.
    pub(crate) fn lines(&self, message: &str) -> Vec<BTreeMap<String, String>> {
        let lines = self.lines.lock().unwrap();
        lines.iter().filter(|(_, fields)| fields["message"] == message).map(|(_, fields)| fields.clone()).collect()
    }

    /// Returns the names of spans, each under its parent, in the order of their start.
    pub(crate) fn tree(&self) -> String {
        let spans = self.spans();
        let mut text = String::new();
        for root in (0..spans.len()).filter(|index| spans[*index].parent.is_none()) {
            branch(&spans, root, 0, &mut text);
        }
        text
    }

    /// Returns all recorded text.
    pub(crate) fn everything(&self) -> String {
        format!("{:?}\n{:?}", self.spans(), self.lines.lock().unwrap())
    }
}

fn branch(spans: &[RecordedSpan], index: usize, depth: usize, text: &mut String) {
    let span = &spans[index];
    let name = span.fields.get("otel.name").unwrap_or(&span.name);
    text.push_str(&format!("{}{name}\n", "  ".repeat(depth)));
    for child in (0..spans.len()).filter(|child| spans[*child].parent == Some(index)) {
        branch(spans, child, depth + 1, text);
    }
}

/// Index of a span in the list.
struct At(usize);

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for RecordingSubscriber {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().target() != "superstep" {
            return;
        }
        let span = context.span(id).unwrap();
        let parent = span.parent().and_then(|parent| parent.extensions().get::<At>().map(|at| at.0));
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut spans = self.spans.lock().unwrap();
        span.extensions_mut().insert(At(spans.len()));
        spans.push(RecordedSpan { name: span.name().to_owned(), parent, fields: fields.0, is_closed: false });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(at) = context.span(id).and_then(|span| span.extensions().get::<At>().map(|at| at.0)) else { return };
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.spans.lock().unwrap()[at].fields.extend(fields.0);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "superstep" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.lines.lock().unwrap().push((event.metadata().level().to_string(), fields.0));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(at) = context.span(&id).and_then(|span| span.extensions().get::<At>().map(|at| at.0)) {
            self.spans.lock().unwrap()[at].is_closed = true;
        }
    }
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}
