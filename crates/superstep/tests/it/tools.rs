//! Tools: functions that a model asks for, and the node that runs them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::tool::SharedTool;
use superstep::{Compiled, Error, Outcome};

mod approval;
mod attribute;
mod commands;
mod durable;
mod failures;
mod graphs;
mod inside;
mod node;
mod watched;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reduce(messages)]
    pub(crate) messages: Messages,
    pub(crate) topic: String,
    #[reduce(append)]
    pub(crate) log: Vec<String>,
}

/// How often each tool ran.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<Mutex<BTreeMap<String, usize>>>);

impl Runs {
    pub(crate) fn note(&self, tool: &str) {
        *self.0.lock().unwrap().entry(tool.to_owned()).or_default() += 1;
    }

    pub(crate) fn of(&self, tool: &str) -> usize {
        self.0.lock().unwrap().get(tool).copied().unwrap_or(0)
    }
}

/// START → tools → END, kept in a store.
pub(crate) fn graph_in(store: impl Into<SharedCheckpointer>, node: ToolNode) -> Compiled<Chat> {
    let mut graph = Graph::<Chat>::new("chat");
    let tools = graph.node("tools", node);
    graph.edge(START, tools).edge(tools, END).checkpointer(store);
    graph.compile().unwrap()
}

pub(crate) fn graph(node: ToolNode) -> Compiled<Chat> {
    graph_in(Memory::new(), node)
}

/// A message that asks for these tools; the calls are `c0`, `c1`, …
pub(crate) fn asks(calls: &[(&str, Value)]) -> Message {
    let calls =
        calls.iter().zip(0..).map(|((name, args), place)| ToolCall::new(format!("c{place}"), *name, args.clone()));
    Message::assistant("").with_id("asks").with_tool_calls(calls)
}

pub(crate) async fn called(node: ToolNode, calls: &[(&str, Value)]) -> Result<Outcome<Chat>, Error> {
    graph(node).run(Chat::input().messages(asks(calls))).thread("t").await
}

/// The answers of a run: call, text, whether it went well.
pub(crate) fn answers(messages: &Messages) -> Vec<(String, String, bool)> {
    let tools = messages.iter().filter(|message| message.tool_call_id.is_some());
    let row = |message: &Message| {
        let call = message.tool_call_id.clone().unwrap();
        (call, message.text().into_owned(), message.status == ToolStatus::Success)
    };
    tools.map(row).collect()
}

/// The one answer of a node that is asked for one call.
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

/// A tool that counts its calls and gives its argument back.
pub(crate) fn echo(runs: &Runs) -> SharedTool {
    let runs = runs.clone();
    superstep::tool::tool_fn(superstep::tool::ToolSpec::new("echo", "Says it again."), move |args: Text, _cx| {
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

/// Lets other tasks run until something holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    for _ in 0..100_000 {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never held");
}
