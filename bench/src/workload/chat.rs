//! W6: a growing conversation, one run per turn.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{CompiledGraph, Message};

use crate::checkpointer::CheckpointerKind;
use crate::fixture_text::text;
use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

const THREAD: &str = "chat";

/// Responds, and sometimes replaces the response before.
async fn answer(chat: View<Chat>) -> ChatUpdate {
    let turn = chat.messages.len() / 2;
    let mut messages = vec![Message::assistant(text(200, turn)).with_id(format!("a{turn}"))];
    if turn % 10 == 9 {
        let edited = format!("edited {}", text(193, turn - 1));
        messages.push(Message::assistant(edited).with_id(format!("a{}", turn - 1)));
    }
    Chat::update().messages(messages)
}

fn chat(store: &SharedCheckpointer) -> CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let answer = graph.add_node("answer", answer);
    graph.add_edge(START, answer).add_edge(answer, END).checkpointer(store.clone());
    graph.compile().expect("one node compiles")
}

fn run_turns(runtime: &Runtime, graph: &CompiledGraph<Chat>, turns: std::ops::Range<usize>) -> f64 {
    let started_at = measure::cpu_now();
    for turn in turns {
        let user_message = Message::user(text(100, turn)).with_id(format!("h{turn}"));
        runtime.finish(graph.invoke(Chat::input().messages(user_message)).thread(THREAD));
    }
    measure::cpu_now() - started_at
}

pub(crate) fn run(id: &str, runtime: &Runtime, turns: usize, store: CheckpointerKind) {
    let open = || {
        let opened = store.open(runtime);
        (chat(&opened.store), opened)
    };
    let (times, ((graph, opened), ends)) = measure::time_each(open, |(graph, _)| {
        let part = turns.min(100);
        let first = run_turns(runtime, graph, 0..part);
        run_turns(runtime, graph, part..turns - part.min(turns - part));
        let last = run_turns(runtime, graph, part.max(turns - part)..turns);
        (first, last)
    });
    drop(graph);
    let read = chat(&opened.reopen(runtime));
    let state = runtime.block_on(read.threads().get_state(THREAD)).expect("the thread was filled").state;
    drop(read);
    let params = json!({ "turns": turns, "store": store.name() });
    let extra = json!({ "first100_cpu_s": ends.0, "last100_cpu_s": ends.1 });
    let result = result(&state.messages, turns);
    Report { bytes: Some(opened.bytes(runtime)), extra, ..Report::new(params, result) }.print(id, runtime, &times);
}

fn result(messages: &Messages, turns: usize) -> Value {
    let texts: Vec<String> = messages.iter().map(|message| message.text().into_owned()).collect();
    let expected_ids = (0..turns).flat_map(|turn| [format!("h{turn}"), format!("a{turn}")]);
    json!({
        "messages": messages.len(),
        "edited": texts.iter().filter(|text| text.starts_with("edited ")).count(),
        "chars": texts.iter().map(String::len).sum::<usize>(),
        "in_order": messages.iter().map(|message| message.id.as_ref().map(ToString::to_string)).eq(expected_ids.map(Some)),
    })
}
