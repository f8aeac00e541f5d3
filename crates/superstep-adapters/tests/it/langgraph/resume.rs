//! LangGraph threads continued in Rust by graphs with the same node names.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::port::{SharedCheckpointer, ThreadStatus};
use superstep::prelude::*;
use superstep::{Compat, CompiledGraph, MemoryCheckpointer, NodeHandle, RunEnd, SubgraphPersistence};

use super::both;

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    topic: Option<String>,
    #[reduce(add)]
    rounds: i64,
    kinds: Value,
}

/// Builds the graph of `make.py`.
fn chat(store: SharedCheckpointer) -> CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chat");
    let listen = graph.add_node("listen", || Chat::update().rounds(1_i64));
    let approve = graph.add_node("approve", |ask: Interrupts| async move {
        let says: bool = ask.raise("send it?", ()).await?;
        let why: String = ask.raise("why?", ()).await?;
        Ok::<_, NodeError>(Chat::update().messages(Message::assistant(format!("{says}: {why}"))))
    });
    let close = graph.add_node("close", || Chat::update().rounds(1_i64));
    graph.add_sequence([START, listen.into(), approve.into(), close.into(), END]);
    graph.compat(Compat::LangGraph).checkpointer(store).compile().unwrap()
}

/// R-NFR-16b: an interrupted chat shows its interrupt, is resumed, and contains all messages.
#[tokio::test]
async fn an_interrupted_chat_is_answered_in_rust() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("asked", store.clone()).await.unwrap();
        let chat = chat(store);
        let state = chat.threads().get_state("asked").await.unwrap();
        assert_eq!(state.next, ["approve"]);
        assert_eq!(state.interrupts()[0].value, json!({ "question": "send it?", "topic": "hello" }));
        assert_eq!(state.state.kinds["uuid"], json!("12345678-1234-5678-1234-567812345678"));
        let said: Vec<&str> =
            state.state.messages.iter().map(|message| message.id.as_ref().unwrap().as_str()).collect();
        assert_eq!(said, ["sys", "h-1", "ai-2", "tool-2"]);
        let asks = state.state.messages.iter().nth(2).unwrap();
        assert_eq!((asks.tool_calls[0].name.as_str(), asks.usage.as_ref().unwrap().total_tokens), ("search", 7));
        let again = chat.resume("asked", true).await.unwrap();
        assert!(matches!(again.end, RunEnd::Interrupted(_)));
        let done = chat.resume("asked", "fine").await.unwrap();
        assert_eq!(done.state.messages.iter().last().unwrap().text(), "true: fine");
        assert_eq!((done.state.rounds, done.state.messages.len()), (2, 5));
    }
}

/// R-NFR-16b: resume values given in Python count; only open interrupts remain.
#[tokio::test]
async fn answers_given_in_python_count() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        assert_eq!(python.import("answered", store.clone()).await.unwrap().interrupts, 1);
        let chat = chat(store);
        assert_eq!(
            chat.threads().get_state("answered").await.unwrap().interrupts()[0].value,
            json!({ "question": "why?" })
        );
        let done = chat.resume("answered", "late").await.unwrap();
        assert_eq!(done.state.messages.iter().last().unwrap().text(), "true: late");
    }
}

/// R-NFR-16b: a thread that was forked in Python continues from the newest branch.
#[tokio::test]
async fn a_fork_made_in_python_goes_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("done", store.clone()).await.unwrap();
        let chat = chat(store);
        let asked = chat.continue_thread("done").await.unwrap();
        assert!(matches!(asked.end, RunEnd::Interrupted(_)));
        assert_eq!((asked.state.topic.as_deref(), asked.state.messages.len()), (Some("forked"), 4));
    }
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Jobs {
    #[reduce(append)]
    items: Vec<i64>,
    #[reduce(append)]
    log: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Job {
    n: usize,
}

fn says(line: &'static str) -> impl Fn() -> JobsUpdate + Clone {
    move || Jobs::update().log(line)
}

fn jobs(store: SharedCheckpointer, ran: &Arc<AtomicUsize>) -> CompiledGraph<Jobs> {
    let mut graph = StateGraph::<Jobs>::new("jobs");
    let [plan, side, left, last] = ["plan", "side", "left", "last"].map(|name| graph.add_node(name, says(name)));
    let ran = ran.clone();
    let worker = graph.add_node("worker", move |job: SendPayload<Job>, ask: Interrupts| {
        ran.fetch_add(1, Ordering::Relaxed);
        async move {
            let answer: String = ask.raise("go on?", job.0.n).await?;
            Ok::<_, NodeError>(Jobs::update().log(format!("worker {}: {answer}", job.0.n)))
        }
    });
    graph.add_edge(START, plan);
    let spread = move |_: &Jobs| {
        let sends = (0..3).map(|n| SendTo::new(worker, Job { n }));
        sends.fold(Goto::node(side), Goto::and_send)
    };
    graph.add_conditional_edges(plan, spread, [worker, side]);
    graph.add_edge(side, left).add_join([left, worker], last).add_edge(last, END);
    graph.compat(Compat::LangGraph).checkpointer(store).compile().unwrap()
}

/// R-NFR-16b: results recorded in Python are not computed again; a partially filled join is completed.
#[tokio::test]
async fn results_kept_in_python_are_not_made_again() {
    for (python, _) in both().await {
        let (store, ran): (SharedCheckpointer, Arc<AtomicUsize>) = (MemoryCheckpointer::new().into(), Arc::default());
        assert_eq!(python.import("jobs", store.clone()).await.unwrap().interrupts, 1);
        let jobs = jobs(store, &ran);
        let state = jobs.threads().get_state("jobs").await.unwrap();
        assert_eq!(state.tasks.iter().filter(|task| task.is_finished).count(), 3);
        let done = jobs.resume("jobs", "yes").await.unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        assert_eq!(done.state.log, ["plan", "side", "worker 0", "worker 1: yes", "worker 2", "left", "last"]);
        assert_eq!(done.state.items, [1]);
    }
}

/// Adds a node with an interrupt, as in `make.py`.
fn asks(graph: &mut StateGraph<Jobs>, name: &'static str, question: &'static str) -> NodeHandle {
    graph.add_node(name, move |ask: Interrupts| async move {
        let answer: String = ask.raise(question, ()).await?;
        Ok::<_, NodeError>(Jobs::update().log(format!("{question} {answer}")))
    })
}

/// R-NFR-16b: a partially filled join is completed, and a deferred node runs at the end.
#[tokio::test]
async fn joins_and_deferred_nodes_go_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("half", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("half");
        let [a, b, d] = ["a", "b", "d"].map(|name| graph.add_node(name, says(name)));
        let c = asks(&mut graph, "c", "c?");
        let late = graph.add_node("late", node(says("late")).defer());
        graph
            .add_edge(START, a)
            .add_edge(START, b)
            .add_edge(b, c)
            .add_edge(a, late)
            .add_join([a, c], d)
            .add_edge(d, END)
            .add_edge(late, END);
        let half = graph.checkpointer(store).compile().unwrap();
        let done = half.resume("half", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "a", "b", "c? yes", "d", "late"]);
    }
}

/// R-NFR-16b: a command of a task that finished in Python is followed, and its overwritten value replaces the field.
#[tokio::test]
async fn a_command_given_in_python_is_followed() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("goto", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("leaving");
        let x = graph.add_node("x", says("x"));
        let left = graph.add_node("left", node(|| -> Command<Jobs> { unreachable!("it is done") }).goto_targets([x]));
        let right = asks(&mut graph, "right", "right?");
        graph.add_edge(START, left).add_edge(START, right).add_edge(right, END).add_edge(x, END);
        let leaving = graph.checkpointer(store).compile().unwrap();
        let done = leaving.resume("goto", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "left", "right? yes", "x"]);
        assert_eq!(done.state.items, [9]);
    }
}

/// R-NFR-16b: a thread that stopped before a node continues with it.
#[tokio::test]
async fn a_breakpoint_is_gone_on_from() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("paused", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("paused");
        let [one, two] = ["one", "two"].map(|name| graph.add_node(name, says(name)));
        graph.add_sequence([START, one.into(), two.into(), END]);
        let paused = graph.checkpointer(store).compile().unwrap();
        assert_eq!(paused.continue_thread("paused").await.unwrap().state.log, ["in", "one", "two"]);
    }
}

/// R-NFR-16b: each of several parallel calls of a subgraph is resumed.
#[tokio::test]
async fn graphs_side_by_side_go_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        assert_eq!(python.import("fan", store.clone()).await.unwrap().interrupts, 2);
        let mut graph = StateGraph::<Jobs>::new("inner");
        let ask = asks(&mut graph, "ask", "n?");
        let inner = graph.add_edge(START, ask).add_edge(ask, END).compile().unwrap();
        let mut graph = StateGraph::<Jobs>::new("fan");
        let plan = graph.add_node("plan", says("plan"));
        let child = graph.add_node("child", inner);
        let spread = move |_: &Jobs| Goto::sends([SendTo::new(child, json!({ "log": ["n"] }))]);
        graph.add_edge(START, plan).add_edge(child, END);
        graph.add_conditional_edges(plan, spread, [child]);
        let fan = graph.checkpointer(store).compile().unwrap();
        let state = fan.threads().get_state("fan").await.unwrap();
        let answers = state.interrupts().into_iter().map(|asked| (asked.id, json!(format!("to {}", asked.value))));
        let done = fan.resume_with("fan", answers.collect()).await.unwrap();
        assert_eq!(done.state.log, ["in", "plan", "n? to \"n0\"", "n? to \"n1\""]);
    }
}

/// R-NFR-16b: a subgraph of a subgraph continues.
#[tokio::test]
async fn a_graph_two_levels_inside_goes_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("deep", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("grandchild");
        let (look, ask) = (graph.add_node("look", says("look")), asks(&mut graph, "ask", "deep?"));
        let inner = graph.add_sequence([START, look.into(), ask.into(), END]).compile().unwrap();
        let mut graph = StateGraph::<Jobs>::new("child");
        let (first, grandchild) = (graph.add_node("first", says("first")), graph.add_node("grandchild", inner));
        let middle = graph.add_sequence([START, first.into(), grandchild.into(), END]).compile().unwrap();
        let mut graph = StateGraph::<Jobs>::new("deep");
        let child = graph.add_node("child", middle);
        let deep = graph.add_edge(START, child).add_edge(child, END).checkpointer(store).compile().unwrap();
        let done = deep.resume("deep", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "first", "look", "deep? yes"]);
    }
}

/// R-NFR-16b: a subgraph with state across calls finds its state.
#[tokio::test]
async fn a_graph_that_keeps_its_state_has_it() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("kept", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("inner");
        let ask = asks(&mut graph, "ask", "kept?");
        let inner = graph
            .add_edge(START, ask)
            .add_edge(ask, END)
            .subgraph_persistence(SubgraphPersistence::PerThread)
            .compile()
            .unwrap();
        let mut graph = StateGraph::<Jobs>::new("kept");
        let child = graph.add_node("child", inner.clone());
        let kept = graph.add_edge(START, child).add_edge(child, END).checkpointer(store.clone()).compile().unwrap();
        let done = kept.resume("kept", "twice").await.unwrap();
        assert_eq!(done.state.log, ["in", "in", "kept? once", "again", "kept? twice"]);
        let inside = inner
            .threads()
            .checkpointer(store)
            .get_subgraph_state("kept", &CheckpointNamespace::from("child"))
            .await
            .unwrap();
        assert_eq!(inside.state.log, ["in", "kept? once", "in", "in", "kept? once", "again", "kept? twice"]);
    }
}

fn nested(store: SharedCheckpointer) -> CompiledGraph<Jobs> {
    let mut graph = StateGraph::<Jobs>::new("inner");
    let look = graph.add_node("look", says("look"));
    let ask = graph.add_node("ask", |ask: Interrupts| async move {
        let answer: String = ask.raise("inside?", ()).await?;
        Ok::<_, NodeError>(Jobs::update().log(format!("asked: {answer}")))
    });
    let inner = graph.add_sequence([START, look.into(), ask.into(), END]).compile().unwrap();
    let mut graph = StateGraph::<Jobs>::new("outer");
    let (before, after) = (graph.add_node("before", says("before")), graph.add_node("after", says("after")));
    let child = graph.add_node("child", inner);
    graph.add_sequence([START, before.into(), child.into(), after.into(), END]);
    graph.checkpointer(store).compile().unwrap()
}

/// R-NFR-16b: an interrupt of a subgraph is resumed; the subgraph continues where it was and returns its changes.
#[tokio::test]
async fn a_graph_inside_goes_on_where_it_was() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("inner", store.clone()).await.unwrap();
        let nested = nested(store);
        assert_eq!(nested.threads().get_state("inner").await.unwrap().interrupts()[0].value, json!("inside?"));
        let done = nested.resume("inner", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "before", "look", "asked: yes", "after"]);
    }
}

/// R-NFR-16b: a thread that failed in Python reports the error, and its node can be retried.
#[tokio::test]
async fn a_failed_thread_is_tried_again() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("failed", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("failing");
        let fails = graph.add_node("fails", says("works now"));
        graph.add_edge(START, fails).add_edge(fails, END);
        let graph = graph.checkpointer(store).compile().unwrap();
        let state = graph.threads().get_state("failed").await.unwrap();
        assert_eq!(state.tasks[0].error.as_ref().unwrap().message, "ValueError('no such file')");
        assert_eq!(graph.threads().status("failed").await.unwrap(), Some(ThreadStatus::Error));
        assert_eq!(graph.continue_thread("failed").await.unwrap().state.log, ["in", "works now"]);
    }
}
