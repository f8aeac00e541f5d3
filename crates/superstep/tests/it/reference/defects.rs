//! Defects that were found in the reference by running it: each is a test that this engine does not have it.
//!
//! Those that need a durable store come with it; those that other tests show carry their id there.

use serde_json::{Value, json};
use superstep::core::machine::Event;
use superstep::prelude::*;
use superstep::{Code, Compat, Compiled, EventKind, Failure, Persistence, Record, Status};

use super::PROFILES;
use super::watched::Watched;
use crate::engine::{Count, field, graph, log_of, outcome, says};
use crate::support::history;

/// R-DEF-1: with a slow store every stored step has the list as it was then, not the one the last step left behind.
#[tokio::test]
async fn a_slow_store_keeps_the_list_of_every_step() {
    #[derive(State, Clone, Serialize, Deserialize)]
    struct Topics {
        #[reduce(append)]
        all: Vec<String>,
        #[state(topic)]
        last: Vec<String>,
    }
    for compat in PROFILES {
        let mut g = Graph::<Topics>::new("topics");
        let mut row = vec![START];
        for name in ["a", "b", "c", "d"] {
            row.push(g.node(name, move || Topics::update().all(name).last(name)).into());
        }
        row.push(END);
        g.sequence(row).compat(compat).checkpointer(Watched::default());
        let graph = g.compile().unwrap();
        graph.run(Topics::input().all("in")).thread("t").await.unwrap();
        let seen = history(&graph, "t").await.into_iter().rev().map(|seen| seen.state.all.join(" "));
        let mut lists: Vec<String> = seen.collect();
        lists.dedup();
        assert_eq!(lists, ["in", "in a", "in a b", "in a b c", "in a b c d"], "{compat:?}");
        let topics: Vec<_> = history(&graph, "t").await.iter().map(|seen| seen.state.last.join(" ")).collect();
        assert_eq!(topics[..4], ["d", "c", "b", "a"], "{compat:?}");
    }
}

/// R-DEF-2: what tasks wrote is saved before the checkpoint that is made of it, and both before the next superstep; no
/// two commits are under way at once.
#[tokio::test]
async fn writes_are_saved_before_the_checkpoint_and_before_what_follows() {
    for compat in PROFILES {
        let (mut g, store) = (graph("g"), Watched::default());
        let join = g.reserve("join");
        for name in ["a", "b", "c"] {
            let node = g.node(name, says(name));
            g.edge(START, node);
        }
        let seen = store.clone();
        g.define(join, move || json!({ "title": seen.said() }));
        g.join(["a", "b", "c"], join).edge(join, END).compat(compat).checkpointer(store.clone());
        let done = g.compile().unwrap().run(json!({ "n": 0 })).thread("t").await.unwrap();
        let before: Vec<String> = serde_json::from_value(field(&done, "title")).unwrap();
        let all: Vec<String> = before.iter().cloned().chain(store.said()).collect();
        for pair in all.chunks(2) {
            assert_eq!(pair[0].replace("begin", "end"), pair[1], "{compat:?}: {all:?}");
        }
        let place = |what: &str| before.iter().position(|said| said == what);
        let step = place("begin step 1").unwrap_or_else(|| panic!("{compat:?}: {before:?}"));
        let kept: Vec<usize> = ["end a", "end b", "end c"].into_iter().filter_map(place).collect();
        // The last task to end is saved together with the checkpoint: one commit is enough for both.
        assert!(kept.len() == 2 && kept.iter().all(|kept| *kept < step), "{compat:?}: {before:?}");
        assert_eq!(before.last().unwrap(), "end step 1", "{compat:?}");
    }
}

/// How many of three nodes in a row run within a limit, and whether the run ends well.
async fn within(compat: Compat, nodes: usize, limit: u32) -> (bool, usize) {
    let (mut g, runs) = (graph("g"), Count::default());
    let mut row = vec![START];
    for number in 0..nodes {
        let runs = runs.clone();
        row.push(g.node(&format!("n{number}"), move || _ = runs.up()).into());
    }
    row.push(END);
    g.sequence(row).compat(compat);
    let ended = g.compile().unwrap().run(json!({ "n": 0 })).recursion_limit(limit).await;
    let codes = ended.as_ref().err().map(superstep::Error::code);
    assert!(codes.is_none_or(|code| code == Code::RecursionLimit), "{codes:?}");
    (ended.is_ok(), runs.get())
}

/// R-DEF-6: a limit of N lets N supersteps run and end. In the reference's profile it lets N − 1 end well.
#[tokio::test]
async fn a_limit_is_the_number_of_supersteps() {
    for (nodes, limit, ends_well) in [(1, 1, true), (3, 3, true), (3, 2, false), (3, 4, true)] {
        let ran = nodes.min(limit as usize);
        assert_eq!(within(Compat::Strict, nodes, limit).await, (ends_well, ran), "{nodes} within {limit}");
    }
    for (nodes, limit, ends_well) in [(1, 1, false), (1, 2, true), (3, 3, false), (3, 4, true)] {
        assert_eq!(within(Compat::LangGraph, nodes, limit).await.0, ends_well, "{nodes} within {limit}");
    }
}

/// R-DEF-7: a join that waits for a node nobody went to is told by name when the run ends, in both profiles.
#[tokio::test]
async fn a_join_that_did_not_fire_is_told() {
    for compat in PROFILES {
        let draw = move |g: &mut Graph<Record>| {
            let [a, b, join] = ["a", "b", "join"].map(|name| g.node(name, says(name)));
            g.entry_by(|_: &Record| "a", [a, b]).join([a, b], join).edge(join, END).compat(compat);
        };
        let done = outcome(draw, json!({ "n": 0 })).await.unwrap();
        assert_eq!((done.status.clone(), field(&done, "log")), (Status::Finished, json!(["a"])), "{compat:?}");
        let told = |text: &String| text.contains("`join`") && text.contains("`b`");
        assert!(done.warnings.iter().any(told), "{compat:?}: {:?}", done.warnings);
    }
}

/// R-DEF-9: a graph with a default handler is compiled as often as one likes.
#[tokio::test]
async fn a_graph_with_a_default_handler_compiles_twice() {
    let mut g = graph("g");
    g.default_on_error(|failure: Failure| json!({ "log": [&*failure.node] }));
    let a = g.node("a", || Err::<(), _>(NodeError::new("no")));
    g.edge(START, a).edge(a, END);
    let graphs = [g.compile().unwrap(), g.compile().unwrap(), g.compile().unwrap()];
    for graph in graphs {
        assert_eq!(field(&graph.run(json!({ "n": 0 })).await.unwrap(), "log"), json!(["a"]));
    }
}

/// R-DEF-10: a name the state lacks is refused in a result and in an input. In the reference's profile both are dropped.
#[tokio::test]
async fn unknown_names_are_refused_or_dropped() {
    for compat in PROFILES {
        let result = |update: Value, input: Value| {
            let draw = move |g: &mut Graph<Record>| {
                let a = g.node("a", move || update.clone());
                g.edge(START, a).edge(a, END).compat(compat);
            };
            outcome(draw, input)
        };
        let by_node = result(json!({ "log": ["a"], "lgo": ["b"] }), json!({ "n": 0 })).await;
        let by_input = result(json!({ "log": ["a"] }), json!({ "n": 0, "m": 1 })).await;
        if compat == Compat::Strict {
            assert_eq!(by_node.unwrap_err().code(), Code::UnknownField);
            assert_eq!(by_input.unwrap_err().code(), Code::InputInvalid);
        } else {
            assert_eq!(field(&by_node.unwrap(), "log"), json!(["a"]));
            assert_eq!(field(&by_input.unwrap(), "log"), json!(["a"]));
        }
    }
}

/// R-DEF-11: an overwrite of a field without a value sets the value, never the wrapper it came in; what follows is
/// folded into it.
#[tokio::test]
async fn an_overwrite_of_an_empty_field_sets_its_value() {
    let fields = json!({ "list": { "reducer": "append" }, "sum": { "reducer": "add" }, "plain": {}, "go": {} });
    let forms: [fn(Value) -> Value; 2] =
        [|value| json!({ "__overwrite__": value }), |value| json!({ "value": value, "type": "__overwrite__" })];
    for (compat, form) in PROFILES.into_iter().flat_map(|compat| forms.map(|form| (compat, form))) {
        let schema = superstep::Schema::from_json("empty", &fields).unwrap();
        let mut g = Graph::<Record>::with_schema("empty", schema);
        let first = g.node("first", move || json!({ "list": form(json!([1])), "sum": form(json!(5)) }));
        let second = g.node("second", || json!({ "list": [2], "sum": 3 }));
        g.sequence([START, first.into(), second.into(), END]).compat(compat);
        let graph = g.compile().unwrap();
        let done = graph.run(json!({ "go": 1, "plain": form(json!("p")) })).await.unwrap();
        let expected = json!({ "list": [1, 2], "sum": 8, "plain": "p", "go": 1 });
        assert_eq!(done.to_json().unwrap(), expected, "{compat:?}: {}", form(json!(0)));
    }
}

/// A graph with a store of its own and a join that does not fire, inside one without.
fn with_own_store(own: &Memory, persistence: Persistence) -> Graph<Record> {
    let mut inner = graph("inner");
    let [a, b, join] = ["a", "b", "join"].map(|name| inner.node(name, says(name)));
    inner.entry_by(|_: &Record| "a", [a, b]).join([a, b], join).edge(join, END);
    inner.checkpointer(own.clone()).persistence(persistence);
    let mut g = graph("outer");
    let child = g.node("child", inner.compile().unwrap());
    g.edge(START, child).edge(child, END);
    g
}

/// R-DEF-13: a graph inside is saved by the store around it. Where there is none, a store of its own is not forgotten in
/// silence: the result says that nothing is saved.
#[tokio::test]
async fn a_store_that_is_not_used_is_told() {
    let (own, around) = (Memory::new(), Memory::new());
    let told = |warnings: &[String]| warnings.iter().filter(|text| text.contains("nothing is saved")).count();
    let graph = with_own_store(&own, Persistence::Inherit).compile().unwrap();
    let done = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
    assert_eq!((told(&done.warnings), field(&done, "log")), (1, json!(["a"])), "{:?}", done.warnings);
    assert!(done.warnings.iter().any(|text| text.contains("`inner`") && text.contains("`outer`")));
    let saved = graph.run(json!({ "n": 0 })).thread("t").checkpointer(around.clone()).await.unwrap();
    assert_eq!(told(&saved.warnings), 0);
    let threads = graph.threads().checkpointer(around);
    assert_eq!(threads.namespaces("t").await.unwrap().len(), 2);
    assert!(graph.threads().checkpointer(own.clone()).namespaces("t").await.unwrap().is_empty());
    let never = with_own_store(&own, Persistence::Stateless).compile().unwrap();
    assert_eq!(told(&never.run(json!({ "n": 0 })).await.unwrap().warnings), 0);
}

/// R-DEF-7, R-DEF-13: what a graph inside lets pass reaches the result of the run, and whoever watches, once.
#[tokio::test]
async fn warnings_of_a_graph_inside_reach_the_result() {
    let graph: Compiled<Record> = with_own_store(&Memory::new(), Persistence::Stateless).compile().unwrap();
    let mut stream = graph.run(json!({ "n": 0 })).stream();
    let mut told = 0;
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(Event::Warning { message, .. }) = event.kind {
            told += usize::from(message.contains("`join`"));
        }
    }
    let done = stream.finish().await.unwrap();
    assert_eq!((told, done.warnings.len()), (1, 1), "{:?}", done.warnings);
    assert!(done.warnings[0].contains("graph `inner`") && done.warnings[0].contains("`join`"), "{:?}", done.warnings);
}

/// R-DEF-16: tasks that end at the same moment on several threads are all kept: none runs again after a failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_result_is_lost_when_many_tasks_end_at_once() {
    for compat in PROFILES {
        for _ in 0..10 {
            let (mut g, runs, tries) = (graph("g"), Count::default(), Count::default());
            let (counted, done) = (runs.clone(), runs.clone());
            let work = g.node("work", move |sent: Sent<usize>| {
                counted.up();
                json!({ "log": [sent.0] })
            });
            let fails = g.node("fails", move || {
                let (done, first) = (done.clone(), tries.up() == 1);
                async move {
                    while done.get() < 64 {
                        tokio::task::yield_now().await;
                    }
                    if first { Err(NodeError::new("last")) } else { Ok(()) }
                }
            });
            let fan = move |_: &Record| Go::sends((0..64).map(|place| Send::new(work, place))).and(fails);
            g.entry_by(fan, [work, fails]).edge(work, END).edge(fails, END);
            g.compat(compat).on_failure(superstep::BranchPolicy::SettleAll).checkpointer(Memory::new());
            let graph = g.compile().unwrap();
            assert_eq!(graph.run(json!({ "n": 0 })).thread("t").await.unwrap_err().code(), Code::NodeFailed);
            let ended = graph.go_on("t").await.unwrap();
            assert_eq!((field(&ended, "log"), runs.get()), (json!((0..64).collect::<Vec<_>>()), 64), "{compat:?}");
        }
    }
}

/// R-DEF-8: a node that says where to go on does not go along its edge as well. In the reference's profile it does.
#[tokio::test]
async fn a_goto_is_not_followed_by_the_edge_too() {
    for (compat, expected) in [(Compat::Strict, json!(["b"])), (Compat::LangGraph, json!(["b", "edge"]))] {
        let log = log_of(|g| {
            let [edge, b] = ["edge", "b"].map(|name| g.node(name, says(name)));
            let a = g.node("a", node(|| Command::<Record>::goto("b")).goto([b]));
            g.edge(START, a).edge(a, edge).edge(edge, END).edge(b, END).compat(compat);
        });
        assert_eq!(log.await, expected, "{compat:?}");
    }
}
