//! Graphs inside graphs: cases 117 to 123 of the reference that no other test asserts whole.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::checkpoint::Namespace;
use superstep::core::port::{At, Checkpointer};
use superstep::prelude::*;
use superstep::{
    Code, Compat, Compiled, Control, Info, IntoNode, MemoryStore, Persistence, Record, SharedStore, Status, Store,
    ToParent,
};

use super::PROFILES;
use crate::engine::{Count, field, graph, says, schema};
use crate::support::{history, only_question, refused};

/// A graph of one node.
fn alone<M>(name: &str, node: impl IntoNode<Record, (), M>) -> Compiled<Record> {
    let mut g = graph(name);
    let a = g.node("a", node);
    g.edge(START, a).edge(a, END);
    g.compile().unwrap()
}

/// R-REF-117: shared fields go through the reducers around as what changed. In the reference's profile the whole values
/// do, so that what was there already is added to itself.
#[tokio::test]
async fn shared_fields_come_out_as_what_changed_or_whole() {
    let rows = [
        (Compat::Strict, json!(["before", "in"]), json!(7), json!("ab")),
        (Compat::LangGraph, json!(["before", "before", "in"]), json!(12), json!("aab")),
    ];
    for (compat, log, n, text) in rows {
        let child = alone("inner", || json!({ "log": ["in"], "n": 2, "text": "b", "title": "set inside" }));
        let mut g = graph("outer");
        let (before, child) = (g.node("before", says("before")), g.node("child", child));
        g.sequence([START, before.into(), child.into(), END]).compat(compat);
        let done = g.compile().unwrap().run(json!({ "n": 5, "text": "a" })).await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n"), field(&done, "text")), (log, n, text), "{compat:?}");
        assert_eq!(field(&done, "title"), json!("set inside"), "{compat:?}");
    }
}

/// The log of `before` → a graph whose node does this → `after`, beside which `other` and `work` can be led to.
async fn handed<M>(compat: Compat, name: &str, inside: impl IntoNode<Record, (), M>) -> Value {
    let mut g = graph("outer");
    let [before, after, other] = ["before", "after", "other"].map(|name| g.node(name, says(name)));
    let work = g.node("work", |sent: Sent<u32>| json!({ "log": [sent.0] }));
    let child = g.node("child", node(alone(name, inside)).goto([other, work]));
    g.sequence([START, before.into(), child.into(), after.into(), END]).edge(other, END).edge(work, END);
    g.compat(compat);
    field(&g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap(), "log")
}

/// A command for the graph around.
fn outward() -> Command<Record> {
    Command::new().update(json!({ "log": ["told"] }))
}

/// What a model's tool might return: a command instead of a text.
async fn tool() -> ToParent<Record> {
    ToParent(outward().and_goto("other"))
}

/// R-REF-118: a command for the graph around is applied there whoever gave it: a node, one with a timeout, a tool a node
/// called; it may send. In the strict profile it takes the place of the edges there, in the reference's it adds to them.
#[tokio::test]
async fn a_command_for_the_graph_around_is_applied_there() {
    for compat in PROFILES {
        let expected = |last: Value| match compat {
            Compat::Strict => json!(["before", "told", last]),
            _ => json!(["before", "told", "after", last]),
        };
        let other = || ToParent(outward().and_goto("other"));
        assert_eq!(handed(compat, "plain", other).await, expected(json!("other")), "{compat:?}");
        let slow = node(move || async move { other() }).timeout(Duration::from_secs(60));
        assert_eq!(handed(compat, "timed", slow).await, expected(json!("other")), "{compat:?}");
        let calls_a_tool = async || tool().await;
        assert_eq!(handed(compat, "tool", calls_a_tool).await, expected(json!("other")), "{compat:?}");
        let sends = || ToParent(outward().send(Send::new("work", 7_u32)));
        assert_eq!(handed(compat, "sends", sends).await, expected(json!(7)), "{compat:?}");
    }
}

/// R-REF-118: from two graphs deep a command for the graph around stops at the next one; one that names a graph goes
/// there.
#[tokio::test]
async fn a_command_from_two_graphs_deep_reaches_the_graph_it_means() {
    type Leave = fn() -> ToParent<Record>;
    let rows: [(Leave, Value); 2] = [
        (|| ToParent(outward().and_goto("there")), json!(["told", "there in middle", "after in outer"])),
        (|| ToParent(outward().and_goto("there").in_graph("outer")), json!(["told", "there in outer"])),
    ];
    for (leave, expected) in rows {
        let around = |name: &'static str, child: Compiled<Record>| {
            let mut g = graph(name);
            let there = g.node("there", says(&format!("there in {name}")));
            let after = g.node("after", says(&format!("after in {name}")));
            let child = g.node("child", node(child).goto([there]));
            g.sequence([START, child.into(), after.into(), END]).edge(there, END);
            g.compile().unwrap()
        };
        let graph = around("outer", around("middle", alone("deep", leave)));
        assert_eq!(field(&graph.run(json!({ "n": 0 })).await.unwrap(), "log"), expected);
    }
}

/// first → ask → last, as a graph inside `outer`; `last` counts its runs.
struct Nested {
    inner: Compiled<Record>,
    outer: Compiled<Record>,
    memory: Memory,
    last: Count,
}

fn nested(compat: Compat, stops: &[&str]) -> Nested {
    let (mut g, memory, last) = (graph("inner"), Memory::new(), Count::default());
    let runs = last.clone();
    let first = g.node("first", says("first"));
    let ask =
        g.node("ask", async |ask: Ask| Ok::<_, NodeError>(json!({ "log": [ask.person::<String>("who", ()).await?] })));
    let end = g.node("last", move || {
        runs.up();
        json!({ "log": ["last"] })
    });
    g.sequence([START, first.into(), ask.into(), end.into(), END]).interrupt_before(stops.iter().copied());
    let inner = g.compile().unwrap();
    let mut g = graph("outer");
    let child = g.node("child", inner.clone());
    g.edge(START, child).edge(child, END).compat(compat).checkpointer(memory.clone());
    Nested { inner, outer: g.compile().unwrap(), memory, last }
}

/// The path of the only graph inside a thread.
async fn path_inside(graph: &Compiled<Record>) -> Namespace {
    let all = graph.threads().namespaces("t").await.unwrap();
    let [inside] = &*all.into_iter().filter(|path| !path.is_root()).collect::<Vec<_>>() else { panic!("one inside") };
    inside.clone()
}

/// R-REF-121: while a graph inside waits, its state is read and edited at its path; the edit is part of what it hands
/// out, and its question keeps its id.
#[tokio::test]
async fn a_waiting_graph_inside_is_read_and_edited_at_its_path() {
    for compat in PROFILES {
        let Nested { inner, outer, memory, last } = nested(compat, &[]);
        let asked = only_question(&outer.run(json!({ "n": 1 })).thread("t").await.unwrap());
        let (inside, threads) = (path_inside(&outer).await, inner.threads().checkpointer(memory));
        let seen = threads.state_in("t", &inside).await.unwrap();
        assert_eq!((seen.state.get("log").into_owned(), &seen.next[..]), (json!(["first"]), &["ask".to_owned()][..]));
        assert_eq!((seen.questions()[0].id, seen.checkpoint.namespace.clone()), (asked.id, inside.clone()));
        threads.update("t", json!({ "log": ["edited"], "n": 10 })).inside(&inside).await.unwrap();
        let seen = threads.state_in("t", &inside).await.unwrap();
        assert_eq!((seen.state.get("log").into_owned(), seen.next.len()), (json!(["first", "edited"]), 1));
        assert_eq!(seen.questions()[0].id, asked.id, "{compat:?}");
        let done = outer.resume_with("t", [(asked.id, json!("Ann"))].into()).await.unwrap();
        assert_eq!(field(&done, "log"), json!(["first", "edited", "Ann", "last"]), "{compat:?}");
        let n = if compat == Compat::Strict { 11 } else { 12 };
        assert_eq!((field(&done, "n"), last.get()), (json!(n), 1), "{compat:?}");
    }
}

/// R-REF-121: an update as a node of a graph inside leads on inside it; a path that does not exist is refused.
#[tokio::test]
async fn an_update_as_a_node_of_a_graph_inside_leads_on_there() {
    for compat in PROFILES {
        let Nested { inner, outer, memory, last } = nested(compat, &["ask"]);
        let paused = outer.run(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(paused.status, Status::Paused(vec!["ask".to_owned()]), "{compat:?}");
        let (inside, threads) = (path_inside(&outer).await, inner.threads().checkpointer(memory));
        threads.update("t", json!({ "log": ["by hand"] })).as_node("ask").inside(&inside).await.unwrap();
        assert_eq!(threads.state_in("t", &inside).await.unwrap().next, ["last"], "{compat:?}");
        let done = outer.go_on("t").await.unwrap();
        assert_eq!((field(&done, "log"), last.get()), (json!(["first", "by hand", "last"]), 1), "{compat:?}");
        let nowhere = Namespace::from("nobody");
        for error in [
            refused(threads.update("t", json!({ "n": 1 })).inside(&nowhere).await),
            refused(threads.state_in("t", &nowhere).await),
        ] {
            assert!(error.code() == Code::NotFound && error.message().contains("`nobody`"), "{error}");
        }
        assert_eq!(outer.threads().namespaces("t").await.unwrap().len(), 2);
    }
}

/// What a run brings along.
struct App {
    key: &'static str,
    memory: Memory,
    control: Control,
}

/// Three graphs deep: `look` says what it sees and asks the run to stop, `after` follows it.
fn three_deep() -> Compiled<Record, App> {
    let look = async |app: Ctx<App>, store: SharedStore, info: Info| {
        let (thread, checkpoint) = (info.thread().unwrap(), info.checkpoint().unwrap());
        // What this superstep builds on is in the store before it runs, three graphs deep as well.
        let saved = app.memory.load(thread, info.namespace(), At::Id(checkpoint)).await?.is_some();
        store.put("seen", app.key, true).await?;
        app.control.drain();
        let depth = info.namespace().as_str().split('|').count();
        Ok::<_, NodeError>(
            json!({ "log": [app.key, info.tags(), info.metadata(), info.configurable("k"), depth, saved] }),
        )
    };
    let mut g = Graph::<Record, App>::with_schema("deep", schema());
    let (look, after) = (g.node("look", look), g.node("after", says("after")));
    g.sequence([START, look.into(), after.into(), END]);
    let mut graph = g.compile().unwrap();
    for name in ["middle", "outer"] {
        let mut g = Graph::<Record, App>::with_schema(name, schema());
        let child = g.node("child", graph);
        g.edge(START, child).edge(child, END);
        graph = g.compile().unwrap();
    }
    graph
}

/// R-REF-122: context, store, tags (once), metadata, configuration, durability and the hand that stops a run reach
/// three graphs deep.
#[tokio::test]
async fn what_a_run_brings_reaches_three_graphs_deep() {
    let (graph, memory, store) = (three_deep(), Memory::new(), MemoryStore::new());
    let control = Control::new();
    let app = App { key: "key", memory: memory.clone(), control: control.clone() };
    let run = graph.run(json!({ "n": 0 })).thread("t").context(app).store(store.clone()).control(control);
    let run = run.checkpointer(memory.clone()).tag("blue").tag("fast").metadata("user", "ann").configurable("k", 7);
    let stopped = run.await.unwrap();
    assert_eq!(stopped.status, Status::Drained);
    assert_eq!(store.get("seen", "key").await.unwrap().unwrap().value, json!(true));
    let app = App { key: "other", memory: memory.clone(), control: Control::new() };
    let done = graph.go_on("t").context(app).store(store).checkpointer(memory.clone()).await.unwrap();
    let seen = json!(["key", ["blue", "fast"], { "user": "ann" }, 7, 2, true, "after"]);
    assert_eq!((done.status.clone(), field(&done, "log")), (Status::Finished, seen));
    assert_eq!(memory.namespaces(&"t".into()).await.unwrap().len(), 3);
}

/// R-REF-123: a graph that a node runs on a thread of its own has a life of its own: its history, its state from call to
/// call and its questions are not those of the thread it was called from.
#[tokio::test]
async fn a_graph_on_a_thread_of_its_own_is_independent() {
    for persistence in [Persistence::Inherit, Persistence::PerThread] {
        let memory = Memory::new();
        let mut g = graph("child");
        let count = g.node("count", || json!({ "n": 1 }));
        let ask = g.node("ask", async |ask: Ask| {
            Ok::<_, NodeError>(json!({ "title": ask.person::<String>("who", ()).await? }))
        });
        g.sequence([START, count.into(), ask.into(), END]).persistence(persistence).checkpointer(memory.clone());
        let child = g.compile().unwrap();
        let mut g = graph("outer");
        let called = child.clone();
        let call = g.node("call", move || {
            let child = called.clone();
            async move {
                let paused = child.run(json!({ "n": 0 })).thread("own").await?;
                Ok::<_, NodeError>(json!({ "log": [field(&paused, "n"), paused.questions().len()] }))
            }
        });
        g.edge(START, call).edge(call, END).checkpointer(memory.clone());
        let outer = g.compile().unwrap();
        for expected in [json!([1, 1]), json!([1, 1, 2, 1])] {
            let done = outer.run(json!({ "n": 0 })).thread("t").await.unwrap();
            assert_eq!((done.status.clone(), field(&done, "log")), (Status::Finished, expected));
        }
        assert_eq!(outer.threads().namespaces("t").await.unwrap(), [Namespace::root()]);
        assert_eq!(child.threads().namespaces("own").await.unwrap(), [Namespace::root()]);
        assert_eq!((history(&outer, "t").await.len(), history(&child, "own").await.len()), (4, 4));
        assert_eq!(field(&child.resume("own", "Ann").await.unwrap(), "title"), json!("Ann"));
        assert!(outer.threads().state("t").await.unwrap().questions().is_empty());
    }
}
