//! Defects that were found in LangGraph by running it: each test shows that this engine does not have the defect.
//!
//! Those that need a durable checkpointer are in its tests; those that other tests cover have their id there.

use serde_json::{Value, json};
use superstep::core::machine::MachineEvent;
use superstep::prelude::*;
use superstep::{Compat, CompiledGraph, DynamicState, ErrorCode, EventKind, NodeFailure, RunEnd, SubgraphPersistence};

use super::COMPAT_MODES;
use super::recording_checkpointer::RecordingCheckpointer;
use crate::fixtures::{CallCounter, field, graph, log_of, log_word, outcome};
use crate::support::history;

/// R-DEF-1: with a slow checkpointer every stored superstep has the list as it was then, not that of the last
/// superstep.
#[tokio::test]
async fn a_slow_store_keeps_the_list_of_every_step() {
    #[derive(GraphState, Clone, Serialize, Deserialize)]
    struct Topics {
        #[reduce(append)]
        all: Vec<String>,
        #[state(topic)]
        last: Vec<String>,
    }
    for compat in COMPAT_MODES {
        let mut g = StateGraph::<Topics>::new("topics");
        let mut row = vec![START];
        for name in ["a", "b", "c", "d"] {
            row.push(g.add_node(name, move || Topics::update().all(name).last(name)).into());
        }
        row.push(END);
        g.add_sequence(row).compat(compat).checkpointer(RecordingCheckpointer::default());
        let graph = g.compile().unwrap();
        graph.invoke(Topics::input().all("in")).thread("t").await.unwrap();
        let seen = history(&graph, "t").await.into_iter().rev().map(|seen| seen.state.all.join(" "));
        let mut lists: Vec<String> = seen.collect();
        lists.dedup();
        assert_eq!(lists, ["in", "in a", "in a b", "in a b c", "in a b c d"], "{compat:?}");
        let topics: Vec<_> = history(&graph, "t").await.iter().map(|seen| seen.state.last.join(" ")).collect();
        assert_eq!(topics[..4], ["d", "c", "b", "a"], "{compat:?}");
    }
}

/// R-DEF-2: the writes of tasks are saved before the checkpoint that contains them, and both before the next
/// superstep; no two commits are in flight concurrently.
#[tokio::test]
async fn writes_are_saved_before_the_checkpoint_and_the_next_superstep() {
    for compat in COMPAT_MODES {
        let (mut g, store) = (graph("g"), RecordingCheckpointer::default());
        let join = g.reserve_node("join");
        for name in ["a", "b", "c"] {
            let node = g.add_node(name, log_word(name));
            g.add_edge(START, node);
        }
        let seen = store.clone();
        g.define_node(join, move || json!({ "title": seen.take_commits() }));
        g.add_join(["a", "b", "c"], join).add_edge(join, END).compat(compat).checkpointer(store.clone());
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        let before: Vec<String> = serde_json::from_value(field(&done, "title")).unwrap();
        let all: Vec<String> = before.iter().cloned().chain(store.take_commits()).collect();
        for pair in all.chunks(2) {
            assert_eq!(pair[0].replace("begin", "end"), pair[1], "{compat:?}: {all:?}");
        }
        let position_of = |expected: &str| before.iter().position(|event| event == expected);
        let step = position_of("begin step 1").unwrap_or_else(|| panic!("{compat:?}: {before:?}"));
        let positions: Vec<usize> = ["end a", "end b", "end c"].into_iter().filter_map(position_of).collect();
        // The last task to end is saved together with the checkpoint: one commit is enough for both.
        assert!(positions.len() == 2 && positions.iter().all(|kept| *kept < step), "{compat:?}: {before:?}");
        assert_eq!(before.last().unwrap(), "end step 1", "{compat:?}");
    }
}

/// Runs a graph: true if the run ends without an error, and how many of `nodes` sequential nodes run within a limit.
async fn run_with_limit(compat: Compat, nodes: usize, limit: u32) -> (bool, usize) {
    let (mut g, runs) = (graph("g"), CallCounter::default());
    let mut row = vec![START];
    for number in 0..nodes {
        let runs = runs.clone();
        row.push(g.add_node(&format!("n{number}"), move || _ = runs.up()).into());
    }
    row.push(END);
    g.add_sequence(row).compat(compat);
    let ended = g.compile().unwrap().invoke(json!({ "n": 0 })).recursion_limit(limit).await;
    let codes = ended.as_ref().err().map(superstep::Error::code);
    assert!(codes.is_none_or(|code| code == ErrorCode::RecursionLimit), "{codes:?}");
    (ended.is_ok(), runs.get())
}

/// R-DEF-6: a limit of N permits N supersteps. In compatibility mode it permits N − 1.
#[tokio::test]
async fn a_limit_is_the_number_of_supersteps() {
    for (nodes, limit, ends_well) in [(1, 1, true), (3, 3, true), (3, 2, false), (3, 4, true)] {
        let ran = nodes.min(limit as usize);
        assert_eq!(run_with_limit(Compat::Strict, nodes, limit).await, (ends_well, ran), "{nodes} within {limit}");
    }
    for (nodes, limit, ends_well) in [(1, 1, false), (1, 2, true), (3, 3, false), (3, 4, true)] {
        assert_eq!(run_with_limit(Compat::LangGraph, nodes, limit).await.0, ends_well, "{nodes} within {limit}");
    }
}

/// R-DEF-7: a join that waits for a node that was never reached is reported by name when the run ends, in both
/// modes.
#[tokio::test]
async fn a_join_that_did_not_fire_is_reported() {
    for compat in COMPAT_MODES {
        let draw = move |g: &mut StateGraph<DynamicState>| {
            let [a, b, join] = ["a", "b", "join"].map(|name| g.add_node(name, log_word(name)));
            g.set_conditional_entry_point(|_: &DynamicState| "a", [a, b])
                .add_join([a, b], join)
                .add_edge(join, END)
                .compat(compat);
        };
        let done = outcome(draw, json!({ "n": 0 })).await.unwrap();
        assert_eq!((done.end.clone(), field(&done, "log")), (RunEnd::Finished, json!(["a"])), "{compat:?}");
        let is_reported = |text: &String| text.contains("`join`") && text.contains("`b`");
        assert!(done.warnings.iter().any(is_reported), "{compat:?}: {:?}", done.warnings);
    }
}

/// R-DEF-9: a graph with a default handler can be compiled repeatedly.
#[tokio::test]
async fn a_graph_with_a_default_handler_compiles_twice() {
    let mut g = graph("g");
    g.default_error_handler(|failure: NodeFailure| json!({ "log": [&*failure.node] }));
    let a = g.add_node("a", || Err::<(), _>(NodeError::new("no")));
    g.add_edge(START, a).add_edge(a, END);
    let graphs = [g.compile().unwrap(), g.compile().unwrap(), g.compile().unwrap()];
    for graph in graphs {
        assert_eq!(field(&graph.invoke(json!({ "n": 0 })).await.unwrap(), "log"), json!(["a"]));
    }
}

/// R-DEF-10: an unknown field name is rejected in a result and in an input. In compatibility mode both are
/// dropped.
#[tokio::test]
async fn unknown_names_are_rejected_or_dropped() {
    for compat in COMPAT_MODES {
        let result = |update: Value, input: Value| {
            let draw = move |g: &mut StateGraph<DynamicState>| {
                let a = g.add_node("a", move || update.clone());
                g.add_edge(START, a).add_edge(a, END).compat(compat);
            };
            outcome(draw, input)
        };
        let by_node = result(json!({ "log": ["a"], "lgo": ["b"] }), json!({ "n": 0 })).await;
        let by_input = result(json!({ "log": ["a"] }), json!({ "n": 0, "m": 1 })).await;
        if compat == Compat::Strict {
            assert_eq!(by_node.unwrap_err().code(), ErrorCode::UnknownField);
            assert_eq!(by_input.unwrap_err().code(), ErrorCode::InputInvalid);
        } else {
            assert_eq!(field(&by_node.unwrap(), "log"), json!(["a"]));
            assert_eq!(field(&by_input.unwrap(), "log"), json!(["a"]));
        }
    }
}

/// R-DEF-11: an overwrite of a field without a value sets the value, never its wrapper; later writes are reduced into
/// it.
#[tokio::test]
async fn an_overwrite_of_an_empty_field_sets_its_value() {
    let fields = json!({ "list": { "reducer": "append" }, "sum": { "reducer": "add" }, "plain": {}, "go": {} });
    let forms: [fn(Value) -> Value; 2] =
        [|value| json!({ "__overwrite__": value }), |value| json!({ "value": value, "type": "__overwrite__" })];
    for (compat, form) in COMPAT_MODES.into_iter().flat_map(|compat| forms.map(|form| (compat, form))) {
        let schema = superstep::Schema::from_json("empty", &fields).unwrap();
        let mut g = StateGraph::<DynamicState>::with_schema("empty", schema);
        let first = g.add_node("first", move || json!({ "list": form(json!([1])), "sum": form(json!(5)) }));
        let second = g.add_node("second", || json!({ "list": [2], "sum": 3 }));
        g.add_sequence([START, first.into(), second.into(), END]).compat(compat);
        let graph = g.compile().unwrap();
        let done = graph.invoke(json!({ "go": 1, "plain": form(json!("p")) })).await.unwrap();
        let expected = json!({ "list": [1, 2], "sum": 8, "plain": "p", "go": 1 });
        assert_eq!(done.to_json().unwrap(), expected, "{compat:?}: {}", form(json!(0)));
    }
}

/// A graph with its own checkpointer and a join that does not fire, inside one without.
fn with_own_store(own: &MemoryCheckpointer, persistence: SubgraphPersistence) -> StateGraph<DynamicState> {
    let mut inner = graph("inner");
    let [a, b, join] = ["a", "b", "join"].map(|name| inner.add_node(name, log_word(name)));
    inner.set_conditional_entry_point(|_: &DynamicState| "a", [a, b]).add_join([a, b], join).add_edge(join, END);
    inner.checkpointer(own.clone()).subgraph_persistence(persistence);
    let mut g = graph("outer");
    let child = g.add_node("child", inner.compile().unwrap());
    g.add_edge(START, child).add_edge(child, END);
    g
}

/// R-DEF-13: a subgraph is saved by the checkpointer of its parent. Without one, its own checkpointer is not ignored
/// silently: a warning of the outcome says that nothing is saved.
#[tokio::test]
async fn an_unused_store_is_reported() {
    let (own, parent_store) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
    let warning_count = |warnings: &[String]| warnings.iter().filter(|text| text.contains("nothing is saved")).count();
    let graph = with_own_store(&own, SubgraphPersistence::Inherit).compile().unwrap();
    let done = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    assert_eq!((warning_count(&done.warnings), field(&done, "log")), (1, json!(["a"])), "{:?}", done.warnings);
    assert!(done.warnings.iter().any(|text| text.contains("`inner`") && text.contains("`outer`")));
    let saved = graph.invoke(json!({ "n": 0 })).thread("t").checkpointer(parent_store.clone()).await.unwrap();
    assert_eq!(warning_count(&saved.warnings), 0);
    let threads = graph.threads().checkpointer(parent_store);
    assert_eq!(threads.namespaces("t").await.unwrap().len(), 2);
    assert!(graph.threads().checkpointer(own.clone()).namespaces("t").await.unwrap().is_empty());
    let never = with_own_store(&own, SubgraphPersistence::Stateless).compile().unwrap();
    assert_eq!(warning_count(&never.invoke(json!({ "n": 0 })).await.unwrap().warnings), 0);
}

/// R-DEF-7, R-DEF-13: warnings of a subgraph are part of the outcome of the run and of its events, once.
#[tokio::test]
async fn warnings_of_a_subgraph_reach_the_outcome() {
    let graph: CompiledGraph<DynamicState> =
        with_own_store(&MemoryCheckpointer::new(), SubgraphPersistence::Stateless).compile().unwrap();
    let mut stream = graph.invoke(json!({ "n": 0 })).stream();
    let mut warned = 0;
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(MachineEvent::Warning { message, .. }) = event.kind {
            warned += usize::from(message.contains("`join`"));
        }
    }
    let done = stream.finish().await.unwrap();
    assert_eq!((warned, done.warnings.len()), (1, 1), "{:?}", done.warnings);
    assert!(done.warnings[0].contains("graph `inner`") && done.warnings[0].contains("`join`"), "{:?}", done.warnings);
}

/// R-DEF-16: all tasks that end at the same moment on several OS threads are saved: none runs again after a failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_result_is_lost_when_many_tasks_end_at_once() {
    for compat in COMPAT_MODES {
        for _ in 0..10 {
            let (mut g, runs, attempts) = (graph("g"), CallCounter::default(), CallCounter::default());
            let (counted, done) = (runs.clone(), runs.clone());
            let work = g.add_node("work", move |sent: SendPayload<usize>| {
                counted.up();
                json!({ "log": [sent.0] })
            });
            let fails = g.add_node("fails", move || {
                let (done, first) = (done.clone(), attempts.up() == 1);
                async move {
                    while done.get() < 64 {
                        tokio::task::yield_now().await;
                    }
                    if first { Err(NodeError::new("last")) } else { Ok(()) }
                }
            });
            let fan =
                move |_: &DynamicState| Goto::sends((0..64).map(|index| SendTo::new(work, index))).and_node(fails);
            g.set_conditional_entry_point(fan, [work, fails]).add_edge(work, END).add_edge(fails, END);
            g.compat(compat).branch_policy(superstep::BranchPolicy::SettleAll).checkpointer(MemoryCheckpointer::new());
            let graph = g.compile().unwrap();
            assert_eq!(graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap_err().code(), ErrorCode::NodeFailed);
            let ended = graph.continue_thread("t").await.unwrap();
            assert_eq!((field(&ended, "log"), runs.get()), (json!((0..64).collect::<Vec<_>>()), 64), "{compat:?}");
        }
    }
}

/// R-DEF-8: a node with a goto does not follow its edge as well. In compatibility mode it does.
#[tokio::test]
async fn a_goto_is_not_followed_by_the_edge_too() {
    for (compat, expected) in [(Compat::Strict, json!(["b"])), (Compat::LangGraph, json!(["b", "edge"]))] {
        let log = log_of(|g| {
            let [edge, b] = ["edge", "b"].map(|name| g.add_node(name, log_word(name)));
            let a = g.add_node("a", node(|| Command::<DynamicState>::goto("b")).goto_targets([b]));
            g.add_edge(START, a).add_edge(a, edge).add_edge(edge, END).add_edge(b, END).compat(compat);
        });
        assert_eq!(log.await, expected, "{compat:?}");
    }
}
