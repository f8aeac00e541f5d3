//! Subgraphs: LangGraph cases 117 to 123 that no other test covers completely.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::port::{CheckpointSelector, Checkpointer};
use superstep::prelude::*;
use superstep::{
    Compat, CompiledGraph, DynamicState, ErrorCode, IntoNode, MemoryStore, RunControl, RunEnd, SharedStore, Store,
    SubgraphPersistence, TaskInfo, ToParent,
};

use super::COMPAT_MODES;
use crate::fixtures::{CallCounter, field, graph, log_word, schema};
use crate::support::{expect_error, history, only_question};

/// A graph of one node.
fn single_node_graph<M>(name: &str, node: impl IntoNode<DynamicState, (), M>) -> CompiledGraph<DynamicState> {
    let mut g = graph(name);
    let a = g.add_node("a", node);
    g.add_edge(START, a).add_edge(a, END);
    g.compile().unwrap()
}

/// R-REF-117: shared fields are passed to the parent's reducers as deltas. In compatibility mode as full values,
/// so that existing content is added to itself.
#[tokio::test]
async fn shared_fields_are_returned_as_deltas_or_full_values() {
    let rows = [
        (Compat::Strict, json!(["before", "in"]), json!(7), json!("ab")),
        (Compat::LangGraph, json!(["before", "before", "in"]), json!(12), json!("aab")),
    ];
    for (compat, log, n, text) in rows {
        let child = single_node_graph("inner", || json!({ "log": ["in"], "n": 2, "text": "b", "title": "set inside" }));
        let mut g = graph("outer");
        let (before, child) = (g.add_node("before", log_word("before")), g.add_node("child", child));
        g.add_sequence([START, before.into(), child.into(), END]).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "n": 5, "text": "a" })).await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n"), field(&done, "text")), (log, n, text), "{compat:?}");
        assert_eq!(field(&done, "title"), json!("set inside"), "{compat:?}");
    }
}

/// Returns the log of `before` → a subgraph with this node → `after`, with `other` and `work` as goto targets.
async fn handed<M>(compat: Compat, name: &str, inner: impl IntoNode<DynamicState, (), M>) -> Value {
    let mut g = graph("outer");
    let [before, after, other] = ["before", "after", "other"].map(|name| g.add_node(name, log_word(name)));
    let work = g.add_node("work", |sent: SendPayload<u32>| json!({ "log": [sent.0] }));
    let child = g.add_node("child", node(single_node_graph(name, inner)).goto_targets([other, work]));
    g.add_sequence([START, before.into(), child.into(), after.into(), END]).add_edge(other, END).add_edge(work, END);
    g.compat(compat);
    field(&g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap(), "log")
}

/// A command for the parent graph.
fn parent_command() -> Command<DynamicState> {
    Command::new().update(json!({ "log": ["told"] }))
}

/// A possible result of a model's tool: a command instead of a text.
async fn tool() -> ToParent<DynamicState> {
    ToParent(parent_command().and_goto("other"))
}

/// R-REF-118: a command for the parent graph is applied there, whether it comes from a node, from one with a timeout,
/// or from a tool that a node called; it may send. Without compatibility mode it replaces the edges there, in
/// compatibility mode it is added to them.
#[tokio::test]
async fn a_command_for_the_graph_around_is_applied_there() {
    for compat in COMPAT_MODES {
        let expected = |last: Value| match compat {
            Compat::Strict => json!(["before", "told", last]),
            _ => json!(["before", "told", "after", last]),
        };
        let other = || ToParent(parent_command().and_goto("other"));
        assert_eq!(handed(compat, "plain", other).await, expected(json!("other")), "{compat:?}");
        let slow = node(move || async move { other() }).timeout(Duration::from_secs(60));
        assert_eq!(handed(compat, "timed", slow).await, expected(json!("other")), "{compat:?}");
        let calls_a_tool = async || tool().await;
        assert_eq!(handed(compat, "tool", calls_a_tool).await, expected(json!("other")), "{compat:?}");
        let sends = || ToParent(parent_command().send(SendTo::new("work", 7_u32)));
        assert_eq!(handed(compat, "sends", sends).await, expected(json!(7)), "{compat:?}");
    }
}

/// R-REF-118: from a subgraph of a subgraph, a command for the parent graph applies to the next one; one that names a
/// graph applies there.
#[tokio::test]
async fn a_command_from_two_graphs_deep_reaches_the_graph_it_means() {
    type Leave = fn() -> ToParent<DynamicState>;
    let rows: [(Leave, Value); 2] = [
        (|| ToParent(parent_command().and_goto("there")), json!(["told", "there in middle", "after in outer"])),
        (|| ToParent(parent_command().and_goto("there").to_graph("outer")), json!(["told", "there in outer"])),
    ];
    for (leave, expected) in rows {
        let wrap = |name: &'static str, child: CompiledGraph<DynamicState>| {
            let mut g = graph(name);
            let there = g.add_node("there", log_word(&format!("there in {name}")));
            let after = g.add_node("after", log_word(&format!("after in {name}")));
            let child = g.add_node("child", node(child).goto_targets([there]));
            g.add_sequence([START, child.into(), after.into(), END]).add_edge(there, END);
            g.compile().unwrap()
        };
        let graph = wrap("outer", wrap("middle", single_node_graph("deep", leave)));
        assert_eq!(field(&graph.invoke(json!({ "n": 0 })).await.unwrap(), "log"), expected);
    }
}

/// first → ask → last, as a subgraph of `outer`; `last` counts its runs.
struct Nested {
    inner: CompiledGraph<DynamicState>,
    outer: CompiledGraph<DynamicState>,
    memory: MemoryCheckpointer,
    last: CallCounter,
}

fn nested(compat: Compat, stops: &[&str]) -> Nested {
    let (mut g, memory, last) = (graph("inner"), MemoryCheckpointer::new(), CallCounter::default());
    let runs = last.clone();
    let first = g.add_node("first", log_word("first"));
    let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
        Ok::<_, NodeError>(json!({ "log": [interrupt.raise::<String>("who", ()).await?] }))
    });
    let end = g.add_node("last", move || {
        runs.up();
        json!({ "log": ["last"] })
    });
    g.add_sequence([START, first.into(), interrupt.into(), end.into(), END]).interrupt_before(stops.iter().copied());
    let inner = g.compile().unwrap();
    let mut g = graph("outer");
    let child = g.add_node("child", inner.clone());
    g.add_edge(START, child).add_edge(child, END).compat(compat).checkpointer(memory.clone());
    Nested { inner, outer: g.compile().unwrap(), memory, last }
}

/// Returns the namespace of the only subgraph of a thread.
async fn path_inside(graph: &CompiledGraph<DynamicState>) -> CheckpointNamespace {
    let all = graph.threads().namespaces("t").await.unwrap();
    let [namespace] = &*all.into_iter().filter(|path| !path.is_root()).collect::<Vec<_>>() else {
        panic!("one inside")
    };
    namespace.clone()
}

/// R-REF-121: while a subgraph is interrupted, its state is read and updated in its namespace; the update is part of
/// its output, and its interrupt keeps its id.
#[tokio::test]
async fn an_interrupted_subgraph_is_read_and_updated_at_its_path() {
    for compat in COMPAT_MODES {
        let Nested { inner, outer, memory, last } = nested(compat, &[]);
        let question = only_question(&outer.invoke(json!({ "n": 1 })).thread("t").await.unwrap());
        let (namespace, threads) = (path_inside(&outer).await, inner.threads().checkpointer(memory));
        let seen = threads.get_subgraph_state("t", &namespace).await.unwrap();
        assert_eq!((seen.state.get("log").into_owned(), &seen.next[..]), (json!(["first"]), &["ask".to_owned()][..]));
        assert_eq!((seen.interrupts()[0].id, seen.checkpoint.namespace.clone()), (question.id, namespace.clone()));
        threads.update_state("t", json!({ "log": ["edited"], "n": 10 })).namespace(&namespace).await.unwrap();
        let seen = threads.get_subgraph_state("t", &namespace).await.unwrap();
        assert_eq!((seen.state.get("log").into_owned(), seen.next.len()), (json!(["first", "edited"]), 1));
        assert_eq!(seen.interrupts()[0].id, question.id, "{compat:?}");
        let done = outer.resume_with("t", [(question.id, json!("Ann"))].into()).await.unwrap();
        assert_eq!(field(&done, "log"), json!(["first", "edited", "Ann", "last"]), "{compat:?}");
        let n = if compat == Compat::Strict { 11 } else { 12 };
        assert_eq!((field(&done, "n"), last.get()), (json!(n), 1), "{compat:?}");
    }
}

/// R-REF-121: an update as a node of a subgraph continues inside it; an unknown namespace is rejected.
#[tokio::test]
async fn an_update_as_a_node_of_a_subgraph_continues_there() {
    for compat in COMPAT_MODES {
        let Nested { inner, outer, memory, last } = nested(compat, &["ask"]);
        let paused = outer.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(paused.end, RunEnd::Paused(vec!["ask".to_owned()]), "{compat:?}");
        let (namespace, threads) = (path_inside(&outer).await, inner.threads().checkpointer(memory));
        threads.update_state("t", json!({ "log": ["by hand"] })).as_node("ask").namespace(&namespace).await.unwrap();
        assert_eq!(threads.get_subgraph_state("t", &namespace).await.unwrap().next, ["last"], "{compat:?}");
        let done = outer.continue_thread("t").await.unwrap();
        assert_eq!((field(&done, "log"), last.get()), (json!(["first", "by hand", "last"]), 1), "{compat:?}");
        let nowhere = CheckpointNamespace::from("nobody");
        for error in [
            expect_error(threads.update_state("t", json!({ "n": 1 })).namespace(&nowhere).await),
            expect_error(threads.get_subgraph_state("t", &nowhere).await),
        ] {
            assert!(error.code() == ErrorCode::NotFound && error.message().contains("`nobody`"), "{error}");
        }
        assert_eq!(outer.threads().namespaces("t").await.unwrap().len(), 2);
    }
}

/// Context of a run.
struct App {
    key: &'static str,
    memory: MemoryCheckpointer,
    control: RunControl,
}

/// Nested three times: `probe` logs the values that it sees and drains the run, `after` follows it.
fn three_deep() -> CompiledGraph<DynamicState, App> {
    let probe = async |app: RunContext<App>, store: SharedStore, info: TaskInfo| {
        let (thread, checkpoint) = (info.thread_id().unwrap(), info.checkpoint_id().unwrap());
        // The checkpoint of this superstep is stored before it runs, in nested subgraphs too.
        let saved = app.memory.load(thread, info.namespace(), CheckpointSelector::Id(checkpoint)).await?.is_some();
        store.put("seen", app.key, true).await?;
        app.control.drain();
        let depth = info.namespace().as_str().split('|').count();
        Ok::<_, NodeError>(
            json!({ "log": [app.key, info.tags(), info.metadata(), info.configurable("k"), depth, saved] }),
        )
    };
    let mut g = StateGraph::<DynamicState, App>::with_schema("deep", schema());
    let (probe, after) = (g.add_node("look", probe), g.add_node("after", log_word("after")));
    g.add_sequence([START, probe.into(), after.into(), END]);
    let mut graph = g.compile().unwrap();
    for name in ["middle", "outer"] {
        let mut g = StateGraph::<DynamicState, App>::with_schema(name, schema());
        let child = g.add_node("child", graph);
        g.add_edge(START, child).add_edge(child, END);
        graph = g.compile().unwrap();
    }
    graph
}

/// R-REF-122: context, store, tags (once), metadata, configuration, durability and control reach a subgraph that is
/// nested three times.
#[tokio::test]
async fn run_options_reach_nested_subgraphs() {
    let (graph, memory, store) = (three_deep(), MemoryCheckpointer::new(), MemoryStore::new());
    let control = RunControl::new();
    let app = App { key: "key", memory: memory.clone(), control: control.clone() };
    let run = graph.invoke(json!({ "n": 0 })).thread("t").context(app).store(store.clone()).control(control);
    let run = run.checkpointer(memory.clone()).tag("blue").tag("fast").metadata("user", "ann").configurable("k", 7);
    let stopped = run.await.unwrap();
    assert_eq!(stopped.end, RunEnd::Drained);
    assert_eq!(store.get("seen", "key").await.unwrap().unwrap().value, json!(true));
    let app = App { key: "other", memory: memory.clone(), control: RunControl::new() };
    let done = graph.continue_thread("t").context(app).store(store).checkpointer(memory.clone()).await.unwrap();
    let seen = json!(["key", ["blue", "fast"], { "user": "ann" }, 7, 2, true, "after"]);
    assert_eq!((done.end.clone(), field(&done, "log")), (RunEnd::Finished, seen));
    assert_eq!(memory.namespaces(&"t".into()).await.unwrap().len(), 3);
}

/// R-REF-123: a graph that a node runs on a separate thread is independent: its history, its state from call to call
/// and its interrupts are separate from those of the calling thread.
#[tokio::test]
async fn a_graph_on_a_thread_of_its_own_is_independent() {
    for persistence in [SubgraphPersistence::Inherit, SubgraphPersistence::PerThread] {
        let memory = MemoryCheckpointer::new();
        let mut g = graph("child");
        let count = g.add_node("count", || json!({ "n": 1 }));
        let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
            Ok::<_, NodeError>(json!({ "title": interrupt.raise::<String>("who", ()).await? }))
        });
        g.add_sequence([START, count.into(), interrupt.into(), END])
            .subgraph_persistence(persistence)
            .checkpointer(memory.clone());
        let child = g.compile().unwrap();
        let mut g = graph("outer");
        let called = child.clone();
        let call = g.add_node("call", move || {
            let child = called.clone();
            async move {
                let paused = child.invoke(json!({ "n": 0 })).thread("own").await?;
                Ok::<_, NodeError>(json!({ "log": [field(&paused, "n"), paused.interrupts().len()] }))
            }
        });
        g.add_edge(START, call).add_edge(call, END).checkpointer(memory.clone());
        let outer = g.compile().unwrap();
        for expected in [json!([1, 1]), json!([1, 1, 2, 1])] {
            let done = outer.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
            assert_eq!((done.end.clone(), field(&done, "log")), (RunEnd::Finished, expected));
        }
        assert_eq!(outer.threads().namespaces("t").await.unwrap(), [CheckpointNamespace::root()]);
        assert_eq!(child.threads().namespaces("own").await.unwrap(), [CheckpointNamespace::root()]);
        assert_eq!((history(&outer, "t").await.len(), history(&child, "own").await.len()), (4, 4));
        assert_eq!(field(&child.resume("own", "Ann").await.unwrap(), "title"), json!("Ann"));
        assert!(outer.threads().get_state("t").await.unwrap().interrupts().is_empty());
    }
}
