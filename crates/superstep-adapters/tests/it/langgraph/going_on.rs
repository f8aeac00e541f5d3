//! Threads of LangGraph's, gone on with in Rust by graphs whose nodes have the same names.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::checkpoint::Namespace;
use superstep::core::port::{SharedCheckpointer, ThreadStatus};
use superstep::prelude::*;
use superstep::{Compat, Compiled, Memory, NodeHandle, Persistence, Status};

use super::both;

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
    topic: Option<String>,
    #[reduce(add)]
    rounds: i64,
    kinds: Value,
}

/// The graph of `make.py`.
fn chat(store: SharedCheckpointer) -> Compiled<Chat> {
    let mut graph = Graph::<Chat>::new("chat");
    let listen = graph.node("listen", || Chat::update().rounds(1_i64));
    let approve = graph.node("approve", |ask: Ask| async move {
        let says: bool = ask.person("send it?", ()).await?;
        let why: String = ask.person("why?", ()).await?;
        Ok::<_, NodeError>(Chat::update().messages(Message::assistant(format!("{says}: {why}"))))
    });
    let close = graph.node("close", || Chat::update().rounds(1_i64));
    graph.sequence([START, listen.into(), approve.into(), close.into(), END]);
    graph.compat(Compat::LangGraph).checkpointer(store).compile().unwrap()
}

/// R-NFR-16: a chat that waits for a person shows its question here, is answered here, and has everything that was said.
#[tokio::test]
async fn an_interrupted_chat_is_answered_in_rust() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("asked", store.clone()).await.unwrap();
        let chat = chat(store);
        let state = chat.threads().state("asked").await.unwrap();
        assert_eq!(state.next, ["approve"]);
        assert_eq!(state.questions()[0].value, json!({ "question": "send it?", "topic": "hello" }));
        assert_eq!(state.state.kinds["uuid"], json!("12345678-1234-5678-1234-567812345678"));
        let said: Vec<&str> =
            state.state.messages.iter().map(|message| message.id.as_ref().unwrap().as_str()).collect();
        assert_eq!(said, ["sys", "h-1", "ai-2", "tool-2"]);
        let asks = state.state.messages.iter().nth(2).unwrap();
        assert_eq!((asks.tool_calls[0].name.as_str(), asks.usage.as_ref().unwrap().total_tokens), ("search", 7));
        let again = chat.resume("asked", true).await.unwrap();
        assert!(matches!(again.status, Status::Interrupted(_)));
        let done = chat.resume("asked", "fine").await.unwrap();
        assert_eq!(done.state.messages.iter().last().unwrap().text(), "true: fine");
        assert_eq!((done.state.rounds, done.state.messages.len()), (2, 5));
    }
}

/// R-NFR-16: an answer that was given in Python counts; only what is still open is asked.
#[tokio::test]
async fn answers_given_in_python_count() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        assert_eq!(python.import("answered", store.clone()).await.unwrap().questions, 1);
        let chat = chat(store);
        assert_eq!(chat.threads().state("answered").await.unwrap().questions()[0].value, json!({ "question": "why?" }));
        let done = chat.resume("answered", "late").await.unwrap();
        assert_eq!(done.state.messages.iter().last().unwrap().text(), "true: late");
    }
}

/// R-NFR-16: a thread that was forked in Python goes on from the newest line.
#[tokio::test]
async fn a_fork_made_in_python_goes_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("done", store.clone()).await.unwrap();
        let chat = chat(store);
        let asked = chat.go_on("done").await.unwrap();
        assert!(matches!(asked.status, Status::Interrupted(_)));
        assert_eq!((asked.state.topic.as_deref(), asked.state.messages.len()), (Some("forked"), 4));
    }
}

#[derive(State, Clone, Debug, Serialize, Deserialize)]
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

fn jobs(store: SharedCheckpointer, ran: &Arc<AtomicUsize>) -> Compiled<Jobs> {
    let mut graph = Graph::<Jobs>::new("jobs");
    let [plan, side, left, last] = ["plan", "side", "left", "last"].map(|name| graph.node(name, says(name)));
    let ran = ran.clone();
    let worker = graph.node("worker", move |job: Sent<Job>, ask: Ask| {
        ran.fetch_add(1, Ordering::Relaxed);
        async move {
            let answer: String = ask.person("go on?", job.0.n).await?;
            Ok::<_, NodeError>(Jobs::update().log(format!("worker {}: {answer}", job.0.n)))
        }
    });
    graph.edge(START, plan);
    let spread = move |_: &Jobs| {
        let sends = (0..3).map(|n| Send::new(worker, Job { n }));
        sends.fold(Go::to(side), Go::and_send)
    };
    graph.route(plan, spread, [worker, side]);
    graph.edge(side, left).join([left, worker], last).edge(last, END);
    graph.compat(Compat::LangGraph).checkpointer(store).compile().unwrap()
}

/// R-NFR-16: results that were kept in Python are not made again; a join that is half full fills here.
#[tokio::test]
async fn results_kept_in_python_are_not_made_again() {
    for (python, _) in both().await {
        let (store, ran): (SharedCheckpointer, Arc<AtomicUsize>) = (Memory::new().into(), Arc::default());
        assert_eq!(python.import("jobs", store.clone()).await.unwrap().questions, 1);
        let jobs = jobs(store, &ran);
        let state = jobs.threads().state("jobs").await.unwrap();
        assert_eq!(state.tasks.iter().filter(|task| task.is_done).count(), 3);
        let done = jobs.resume("jobs", "yes").await.unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        assert_eq!(done.state.log, ["plan", "side", "worker 0", "worker 1: yes", "worker 2", "left", "last"]);
        assert_eq!(done.state.items, [1]);
    }
}

/// A node that asks, as those of `make.py` do.
fn asks(graph: &mut Graph<Jobs>, name: &'static str, question: &'static str) -> NodeHandle {
    graph.node(name, move |ask: Ask| async move {
        let answer: String = ask.person(question, ()).await?;
        Ok::<_, NodeError>(Jobs::update().log(format!("{question} {answer}")))
    })
}

/// R-NFR-16: a join that is half full fills here, and a node that waits for the end runs at the end.
#[tokio::test]
async fn joins_and_deferred_nodes_go_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("half", store.clone()).await.unwrap();
        let mut graph = Graph::<Jobs>::new("half");
        let [a, b, d] = ["a", "b", "d"].map(|name| graph.node(name, says(name)));
        let c = asks(&mut graph, "c", "c?");
        let late = graph.node("late", node(says("late")).defer());
        graph.edge(START, a).edge(START, b).edge(b, c).edge(a, late).join([a, c], d).edge(d, END).edge(late, END);
        let half = graph.checkpointer(store).compile().unwrap();
        let done = half.resume("half", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "a", "b", "c? yes", "d", "late"]);
    }
}

/// R-NFR-16: a command of a task that was done in Python is followed here, and what it overwrote is overwritten.
#[tokio::test]
async fn a_command_given_in_python_is_followed() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("goto", store.clone()).await.unwrap();
        let mut graph = Graph::<Jobs>::new("leaving");
        let x = graph.node("x", says("x"));
        let left = graph.node("left", node(|| -> Command<Jobs> { unreachable!("it is done") }).goto([x]));
        let right = asks(&mut graph, "right", "right?");
        graph.edge(START, left).edge(START, right).edge(right, END).edge(x, END);
        let leaving = graph.checkpointer(store).compile().unwrap();
        let done = leaving.resume("goto", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "left", "right? yes", "x"]);
        assert_eq!(done.state.items, [9]);
    }
}

/// R-NFR-16: a thread that stopped before a node goes on with it.
#[tokio::test]
async fn a_breakpoint_is_gone_on_from() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("paused", store.clone()).await.unwrap();
        let mut graph = Graph::<Jobs>::new("paused");
        let [one, two] = ["one", "two"].map(|name| graph.node(name, says(name)));
        graph.sequence([START, one.into(), two.into(), END]);
        let paused = graph.checkpointer(store).compile().unwrap();
        assert_eq!(paused.go_on("paused").await.unwrap().state.log, ["in", "one", "two"]);
    }
}

/// R-NFR-16: a graph that runs several times side by side is answered each time.
#[tokio::test]
async fn graphs_side_by_side_go_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        assert_eq!(python.import("fan", store.clone()).await.unwrap().questions, 2);
        let mut graph = Graph::<Jobs>::new("inner");
        let ask = asks(&mut graph, "ask", "n?");
        let inner = graph.edge(START, ask).edge(ask, END).compile().unwrap();
        let mut graph = Graph::<Jobs>::new("fan");
        let plan = graph.node("plan", says("plan"));
        let child = graph.node("child", inner);
        let spread = move |_: &Jobs| Go::sends([Send::new(child, json!({ "log": ["n"] }))]);
        graph.edge(START, plan).edge(child, END);
        graph.route(plan, spread, [child]);
        let fan = graph.checkpointer(store).compile().unwrap();
        let state = fan.threads().state("fan").await.unwrap();
        let answers = state.questions().into_iter().map(|asked| (asked.id, json!(format!("to {}", asked.value))));
        let done = fan.resume_with("fan", answers.collect()).await.unwrap();
        assert_eq!(done.state.log, ["in", "plan", "n? to \"n0\"", "n? to \"n1\""]);
    }
}

/// R-NFR-16: a graph inside a graph inside a graph goes on.
#[tokio::test]
async fn a_graph_two_levels_inside_goes_on() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("deep", store.clone()).await.unwrap();
        let mut graph = Graph::<Jobs>::new("grandchild");
        let (look, ask) = (graph.node("look", says("look")), asks(&mut graph, "ask", "deep?"));
        let inner = graph.sequence([START, look.into(), ask.into(), END]).compile().unwrap();
        let mut graph = Graph::<Jobs>::new("child");
        let (first, grandchild) = (graph.node("first", says("first")), graph.node("grandchild", inner));
        let middle = graph.sequence([START, first.into(), grandchild.into(), END]).compile().unwrap();
        let mut graph = Graph::<Jobs>::new("deep");
        let child = graph.node("child", middle);
        let deep = graph.edge(START, child).edge(child, END).checkpointer(store).compile().unwrap();
        let done = deep.resume("deep", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "first", "look", "deep? yes"]);
    }
}

/// R-NFR-16: a graph inside that keeps its state from call to call has it here.
#[tokio::test]
async fn a_graph_that_keeps_its_state_has_it() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("kept", store.clone()).await.unwrap();
        let mut graph = Graph::<Jobs>::new("inner");
        let ask = asks(&mut graph, "ask", "kept?");
        let inner = graph.edge(START, ask).edge(ask, END).persistence(Persistence::PerThread).compile().unwrap();
        let mut graph = Graph::<Jobs>::new("kept");
        let child = graph.node("child", inner.clone());
        let kept = graph.edge(START, child).edge(child, END).checkpointer(store.clone()).compile().unwrap();
        let done = kept.resume("kept", "twice").await.unwrap();
        assert_eq!(done.state.log, ["in", "in", "kept? once", "again", "kept? twice"]);
        let inside = inner.threads().checkpointer(store).state_in("kept", &Namespace::from("child")).await.unwrap();
        assert_eq!(inside.state.log, ["in", "kept? once", "in", "in", "kept? once", "again", "kept? twice"]);
    }
}

fn nested(store: SharedCheckpointer) -> Compiled<Jobs> {
    let mut graph = Graph::<Jobs>::new("inner");
    let look = graph.node("look", says("look"));
    let ask = graph.node("ask", |ask: Ask| async move {
        let answer: String = ask.person("inside?", ()).await?;
        Ok::<_, NodeError>(Jobs::update().log(format!("asked: {answer}")))
    });
    let inner = graph.sequence([START, look.into(), ask.into(), END]).compile().unwrap();
    let mut graph = Graph::<Jobs>::new("outer");
    let (before, after) = (graph.node("before", says("before")), graph.node("after", says("after")));
    let child = graph.node("child", inner);
    graph.sequence([START, before.into(), child.into(), after.into(), END]);
    graph.checkpointer(store).compile().unwrap()
}

/// R-NFR-16: a question of a graph inside is answered; the graph goes on where it was and hands over what it changed.
#[tokio::test]
async fn a_graph_inside_goes_on_where_it_was() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("inner", store.clone()).await.unwrap();
        let nested = nested(store);
        assert_eq!(nested.threads().state("inner").await.unwrap().questions()[0].value, json!("inside?"));
        let done = nested.resume("inner", "yes").await.unwrap();
        assert_eq!(done.state.log, ["in", "before", "look", "asked: yes", "after"]);
    }
}

/// R-NFR-16: a thread that failed in Python says so, and its node can be tried again.
#[tokio::test]
async fn a_failed_thread_is_tried_again() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = Memory::new().into();
        python.import("failed", store.clone()).await.unwrap();
        let mut graph = Graph::<Jobs>::new("failing");
        let fails = graph.node("fails", says("works now"));
        graph.edge(START, fails).edge(fails, END);
        let graph = graph.checkpointer(store).compile().unwrap();
        let state = graph.threads().state("failed").await.unwrap();
        assert_eq!(state.tasks[0].error.as_ref().unwrap().message, "ValueError('no such file')");
        assert_eq!(graph.threads().status("failed").await.unwrap(), Some(ThreadStatus::Error));
        assert_eq!(graph.go_on("failed").await.unwrap().state.log, ["in", "works now"]);
    }
}
