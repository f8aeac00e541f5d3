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
    let approve = graph.add_node("approve", |interrupts: Interrupts| async move {
        let approved: bool = interrupts.raise("send it?", ()).await?;
        let reason: String = interrupts.raise("why?", ()).await?;
        Ok::<_, NodeError>(Chat::update().messages(Message::assistant(format!("{approved}: {reason}"))))
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
        let ids: Vec<&str> = state.state.messages.iter().map(|message| message.id.as_ref().unwrap().as_str()).collect();
        assert_eq!(ids, ["sys", "h-1", "ai-2", "tool-2"]);
        let assistant = state.state.messages.iter().nth(2).unwrap();
        assert_eq!(
            (assistant.tool_calls[0].name.as_str(), assistant.usage.as_ref().unwrap().total_tokens),
            ("search", 7)
        );
        let paused = chat.resume("asked", true).await.unwrap();
        assert!(matches!(paused.end, RunEnd::Interrupted(_)));
        let done = chat.resume("asked", "fine").await.unwrap();
        assert_eq!(done.state.messages.iter().last().unwrap().text(), "true: fine");
        assert_eq!((done.state.rounds, done.state.messages.len()), (2, 5));
    }
}

/// R-NFR-16b: resume values given in Python count; only open interrupts remain.
#[tokio::test]
async fn resume_values_of_python_are_used() {
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
async fn a_fork_made_in_python_continues() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("done", store.clone()).await.unwrap();
        let chat = chat(store);
        let paused = chat.continue_thread("done").await.unwrap();
        assert!(matches!(paused.end, RunEnd::Interrupted(_)));
        assert_eq!((paused.state.topic.as_deref(), paused.state.messages.len()), (Some("forked"), 4));
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

fn log_line(line: &'static str) -> impl Fn() -> JobsUpdate + Clone {
    move || Jobs::update().log(line)
}

fn jobs(store: SharedCheckpointer, worker_calls: &Arc<AtomicUsize>) -> CompiledGraph<Jobs> {
    let mut graph = StateGraph::<Jobs>::new("jobs");
    let [plan, side, left, last] = ["plan", "side", "left", "last"].map(|name| graph.add_node(name, log_line(name)));
    let worker_calls = worker_calls.clone();
    let worker = graph.add_node("worker", move |job: SendPayload<Job>, interrupts: Interrupts| {
        worker_calls.fetch_add(1, Ordering::Relaxed);
        async move {
            let answer: String = interrupts.raise("go on?", job.0.n).await?;
            Ok::<_, NodeError>(Jobs::update().log(format!("worker {}: {answer}", job.0.n)))
        }
    });
    graph.add_edge(START, plan);
    let fan_out = move |_: &Jobs| {
        let sends = (0..3).map(|n| SendTo::new(worker, Job { n }));
        sends.fold(Goto::node(side), Goto::and_send)
    };
    graph.add_conditional_edges(plan, fan_out, [worker, side]);
    graph.add_edge(side, left).add_join([left, worker], last).add_edge(last, END);
    graph.compat(Compat::LangGraph).checkpointer(store).compile().unwrap()
}

/// R-NFR-16b: results recorded in Python are not computed again; a partially filled join is completed.
#[tokio::test]
async fn results_recorded_in_python_are_not_computed_again() {
    for (python, _) in both().await {
        let (store, worker_calls): (SharedCheckpointer, Arc<AtomicUsize>) =
            (MemoryCheckpointer::new().into(), Arc::default());
        assert_eq!(python.import("jobs", store.clone()).await.unwrap().interrupts, 1);
        let jobs = jobs(store, &worker_calls);
        let state = jobs.threads().get_state("jobs").await.unwrap();
        assert_eq!(state.tasks.iter().filter(|task| task.is_finished).count(), 3);
        let done = jobs.resume("jobs", "yes").await.unwrap();
        assert_eq!(worker_calls.load(Ordering::Relaxed), 1);
        assert_eq!(done.state.log, ["plan", "side", "worker 0", "worker 1: yes", "worker 2", "left", "last"]);
        assert_eq!(done.state.items, [1]);
    }
}

/// Adds a node with an interrupt, as in `make.py`.
fn add_interrupt_node(graph: &mut StateGraph<Jobs>, name: &'static str, question: &'static str) -> NodeHandle {
    graph.add_node(name, move |interrupts: Interrupts| async move {
        let answer: String = interrupts.raise(question, ()).await?;
        Ok::<_, NodeError>(Jobs::update().log(format!("{question} {answer}")))
    })
}

/// R-NFR-16b: a partially filled join is completed, and a deferred node runs at the end.
#[tokio::test]
async fn joins_and_deferred_nodes_continue() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("half", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("half");
        let [a, b, d] = ["a", "b", "d"].map(|name| graph.add_node(name, log_line(name)));
        let c = add_interrupt_node(&mut graph, "c", "c?");
        let late = graph.add_node("late", node(log_line("late")).defer());
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
async fn a_command_of_python_is_followed() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("goto", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("leaving");
        let x = graph.add_node("x", log_line("x"));
        let left = graph.add_node("left", node(|| -> Command<Jobs> { unreachable!("it is done") }).goto_targets([x]));
        let right = add_interrupt_node(&mut graph, "right", "right?");
        graph.add_edge(START, left).add_edge(START, right).add_edge(right, END).add_edge(x, END);
        let leaving = graph.checkpointer(store).compile().unwrap();
        let done = leaving.resume("goto", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "left", "right? yes", "x"]);
        assert_eq!(done.state.items, [9]);
    }
}

/// R-NFR-16b: a thread that stopped before a node continues with it.
#[tokio::test]
async fn a_run_continues_from_a_breakpoint() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("paused", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("paused");
        let [one, two] = ["one", "two"].map(|name| graph.add_node(name, log_line(name)));
        graph.add_sequence([START, one.into(), two.into(), END]);
        let paused = graph.checkpointer(store).compile().unwrap();
        assert_eq!(paused.continue_thread("paused").await.unwrap().state.log, ["in", "one", "two"]);
    }
}

/// R-NFR-16b: each of several parallel calls of a subgraph is resumed.
#[tokio::test]
async fn parallel_subgraphs_continue() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        assert_eq!(python.import("fan", store.clone()).await.unwrap().interrupts, 2);
        let mut graph = StateGraph::<Jobs>::new("inner");
        let interrupting = add_interrupt_node(&mut graph, "ask", "n?");
        let inner = graph.add_edge(START, interrupting).add_edge(interrupting, END).compile().unwrap();
        let mut graph = StateGraph::<Jobs>::new("fan");
        let plan = graph.add_node("plan", log_line("plan"));
        let child = graph.add_node("child", inner);
        let fan_out = move |_: &Jobs| Goto::sends([SendTo::new(child, json!({ "log": ["n"] }))]);
        graph.add_edge(START, plan).add_edge(child, END);
        graph.add_conditional_edges(plan, fan_out, [child]);
        let fan = graph.checkpointer(store).compile().unwrap();
        let state = fan.threads().get_state("fan").await.unwrap();
        let resume_values =
            state.interrupts().into_iter().map(|interrupt| (interrupt.id, json!(format!("to {}", interrupt.value))));
        let done = fan.resume_with("fan", resume_values.collect()).await.unwrap();
        assert_eq!(done.state.log, ["in", "plan", "n? to \"n0\"", "n? to \"n1\""]);
    }
}

/// R-NFR-16b: a subgraph of a subgraph continues.
#[tokio::test]
async fn a_subgraph_two_levels_deep_continues() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("deep", store.clone()).await.unwrap();
        let mut graph = StateGraph::<Jobs>::new("grandchild");
        let (lookup, interrupting) =
            (graph.add_node("look", log_line("look")), add_interrupt_node(&mut graph, "ask", "deep?"));
        let inner = graph.add_sequence([START, lookup.into(), interrupting.into(), END]).compile().unwrap();
        let mut graph = StateGraph::<Jobs>::new("child");
        let (first, grandchild) = (graph.add_node("first", log_line("first")), graph.add_node("grandchild", inner));
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
        let interrupting = add_interrupt_node(&mut graph, "ask", "kept?");
        let inner = graph
            .add_edge(START, interrupting)
            .add_edge(interrupting, END)
            .subgraph_persistence(SubgraphPersistence::PerThread)
            .compile()
            .unwrap();
        let mut graph = StateGraph::<Jobs>::new("kept");
        let child = graph.add_node("child", inner.clone());
        let parent = graph.add_edge(START, child).add_edge(child, END).checkpointer(store.clone()).compile().unwrap();
        let done = parent.resume("kept", "twice").await.unwrap();
        assert_eq!(done.state.log, ["in", "in", "kept? once", "again", "kept? twice"]);
        let subgraph = inner
            .threads()
            .checkpointer(store)
            .get_subgraph_state("kept", &CheckpointNamespace::from("child"))
            .await
            .unwrap();
        assert_eq!(subgraph.state.log, ["in", "kept? once", "in", "in", "kept? once", "again", "kept? twice"]);
    }
}

fn nested(store: SharedCheckpointer) -> CompiledGraph<Jobs> {
    let mut graph = StateGraph::<Jobs>::new("inner");
    let lookup = graph.add_node("look", log_line("look"));
    let interrupts = graph.add_node("ask", |interrupts: Interrupts| async move {
        let answer: String = interrupts.raise("inside?", ()).await?;
        Ok::<_, NodeError>(Jobs::update().log(format!("asked: {answer}")))
    });
    let inner = graph.add_sequence([START, lookup.into(), interrupts.into(), END]).compile().unwrap();
    let mut graph = StateGraph::<Jobs>::new("outer");
    let (before, after) = (graph.add_node("before", log_line("before")), graph.add_node("after", log_line("after")));
    let child = graph.add_node("child", inner);
    graph.add_sequence([START, before.into(), child.into(), after.into(), END]);
    graph.checkpointer(store).compile().unwrap()
}

/// R-NFR-16b: an interrupt of a subgraph is resumed; the subgraph continues where it was and returns its changes.
#[tokio::test]
async fn a_subgraph_continues_where_it_was() {
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
        let fails = graph.add_node("fails", log_line("works now"));
        graph.add_edge(START, fails).add_edge(fails, END);
        let graph = graph.checkpointer(store).compile().unwrap();
        let state = graph.threads().get_state("failed").await.unwrap();
        assert_eq!(state.tasks[0].error.as_ref().unwrap().message, "ValueError('no such file')");
        assert_eq!(graph.threads().status("failed").await.unwrap(), Some(ThreadStatus::Error));
        assert_eq!(graph.continue_thread("failed").await.unwrap().state.log, ["in", "works now"]);
    }
}
