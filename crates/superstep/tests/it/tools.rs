//! Tools: functions that a model calls, and the node that runs them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::tools::SharedTool;
use superstep::{CompiledGraph, Error, Outcome};

mod approval;
mod commands;
mod direct_calls;
mod durable;
mod events;
mod failures;
mod graphs;
mod node;
mod tool_macro;

#[derive(GraphState, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reduce(messages)]
    pub(crate) messages: Messages,
    pub(crate) topic: String,
    #[reduce(append)]
    pub(crate) log: Vec<String>,
}

/// Number of executions of each tool.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<Mutex<BTreeMap<String, usize>>>);

impl Runs {
    pub(crate) fn note(&self, tool: &str) {
        *self.0.lock().unwrap().entry(tool.to_owned()).or_default() += 1;
    }

    pub(crate) fn count(&self, tool: &str) -> usize {
        self.0.lock().unwrap().get(tool).copied().unwrap_or(0)
    }
}

/// START → tools → END, with a checkpointer.
pub(crate) fn graph_in(store: impl Into<SharedCheckpointer>, node: ToolNode) -> CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let tools = graph.add_node("tools", node);
    graph.add_edge(START, tools).add_edge(tools, END).checkpointer(store);
    graph.compile().unwrap()
}

pub(crate) fn graph(node: ToolNode) -> CompiledGraph<Chat> {
    graph_in(MemoryCheckpointer::new(), node)
}

/// Creates a message that calls these tools; the calls are `c0`, `c1`, …
pub(crate) fn call_message(calls: &[(&str, Value)]) -> Message {
    let calls =
        calls.iter().zip(0..).map(|((name, args), index)| ToolCall::new(format!("c{index}"), *name, args.clone()));
    Message::assistant("").with_id("asks").with_tool_calls(calls)
}

pub(crate) async fn called(node: ToolNode, calls: &[(&str, Value)]) -> Result<Outcome<Chat>, Error> {
    graph(node).invoke(Chat::input().messages(call_message(calls))).thread("t").await
}

/// Returns the tool results of a run: call, text, and whether it succeeded.
pub(crate) fn answers(messages: &Messages) -> Vec<(String, String, bool)> {
    let tools = messages.iter().filter(|message| message.tool_call_id.is_some());
    let row = |message: &Message| {
        let call = message.tool_call_id.clone().unwrap();
        (call, message.text().into_owned(), message.status == ToolStatus::Success)
    };
    tools.map(row).collect()
}

/// Returns the only result of a node for one call.
pub(crate) async fn answer(node: ToolNode, tool: &str, args: Value) -> (String, bool) {
    let done = called(node, &[(tool, args)]).await.unwrap();
    let [(_, text, went_well)] = &answers(&done.state.messages)[..] else { panic!("not one answer") };
    (text.clone(), *went_well)
}

/// Adds two numbers.
#[tool(read_only)]
pub(crate) async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A tool that counts its calls and returns its argument.
pub(crate) fn echo(runs: &Runs) -> SharedTool {
    let runs = runs.clone();
    superstep::tools::tool_fn(superstep::tools::ToolSpec::new("echo", "Says it again."), move |args: Text, _cx| {
        runs.note("echo");
        async move { args.text }
    })
}

#[derive(Deserialize, superstep::JsonSchema)]
pub(crate) struct Text {
    pub(crate) text: String,
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// Lets other tasks run until a condition holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never held");
}
