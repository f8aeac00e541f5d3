//! A compiled graph as a node of another.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Compat, CompiledGraph, DynamicState, ErrorCode, RunEnd, Schema, SubgraphPersistence, ToParent};

use crate::fixtures::{CallCounter, field, graph, log_word, transcript};

/// A graph of one node.
fn inner<M>(name: &str, node: impl superstep::IntoNode<DynamicState, (), M>) -> StateGraph<DynamicState> {
    let mut g = graph(name);
    let a = g.add_node("a", node);
    g.add_edge(START, a).add_edge(a, END);
    g
}

/// A graph with this subgraph as `child`, between `before` and `after`.
fn parent_graph(child: &CompiledGraph<DynamicState>) -> StateGraph<DynamicState> {
    let mut g = graph("outer");
    let (before, after) = (g.add_node("before", log_word("before")), g.add_node("after", log_word("after")));
    let child = g.add_node("child", child.clone());
    g.add_sequence([START, before.into(), child.into(), after.into(), END]);
    g
}

async fn log_of(mut graph: StateGraph<DynamicState>) -> Value {
    field(&graph.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap(), "log")
}

/// R-FWK-8, R-REF-117: shared fields are passed in and out; the growth of a shared list is passed out once, also when
/// nested twice.
#[tokio::test]
async fn shared_fields_pass_through_and_lists_are_not_doubled() {
    let child = inner("inner", |s: View<DynamicState>| json!({ "log": [s.get("log").as_array().map_or(0, Vec::len)] }))
        .compile()
        .unwrap();
    assert_eq!(log_of(parent_graph(&child)).await, json!(["before", 1, "after"]));
    let middle = parent_graph(&child).compile().unwrap();
    assert_eq!(log_of(parent_graph(&middle)).await, json!(["before", "before", 2, "after", "after"]));
    let mut compat = parent_graph(&child);
    compat.compat(Compat::LangGraph);
    assert_eq!(log_of(compat).await, json!(["before", "before", 1, "after"]));
}

/// R-FWK-8, R-REF-117: fields of the subgraph only stay inside; fields of the parent only are not visible there.
#[tokio::test]
async fn fields_of_one_graph_stay_there() {
    let schema = Schema::from_json("inner", &json!({ "title": {}, "own": { "default": 1 } })).unwrap();
    let mut inner = StateGraph::<DynamicState>::with_schema("inner", schema);
    let a = inner.add_node("a", || json!({ "own": 7, "title": "from inside" }));
    let b = inner.add_node(
        "b",
        |s: View<DynamicState>| json!({ "title": format!("{} {}", s.get("title").as_str().unwrap(), s.to_json()) }),
    );
    inner.add_sequence([START, a.into(), b.into(), END]);
    let mut outer = parent_graph(&inner.compile().unwrap());
    let done = outer.compile().unwrap().invoke(json!({ "title": "given", "n": 3 })).await.unwrap();
    let title = field(&done, "title").as_str().unwrap().to_owned();
    assert!(title.starts_with("from inside") && title.contains("\"own\":7") && !title.contains("\"n\""), "{title}");
    assert_eq!(done.to_json().unwrap(), json!({ "log": ["before", "after"], "n": 3, "text": "", "title": title }));
}

/// R-FWK-8: a shared sum is passed out as its increase and is not added to itself; parallel subgraphs add up.
#[tokio::test]
async fn a_shared_sum_is_not_doubled() {
    let child = inner("inner", || json!({ "n": -1, "text": "b" })).compile().unwrap();
    let done = parent_graph(&child).compile().unwrap().invoke(json!({ "n": 5, "text": "a" })).await.unwrap();
    assert_eq!((field(&done, "n"), field(&done, "text")), (json!(4), json!("ab")));
    let mut g = graph("outer");
    for name in ["left", "right"] {
        let child = g.add_node(name, child.clone());
        g.add_edge(START, child).add_edge(child, END);
    }
    let done = g.compile().unwrap().invoke(json!({ "n": 5, "text": "a" })).await.unwrap();
    assert_eq!((field(&done, "n"), field(&done, "text")), (json!(3), json!("abb")));
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Sums {
    #[reduce(add)]
    count: u64,
    #[reduce(add)]
    weight: f64,
}

/// R-FWK-8: so is a typed one, whether a node of the subgraph adds to it or sets it.
#[tokio::test]
async fn a_typed_sum_is_added_to_or_set() {
    for (set, expected) in [(false, (7, 2.5)), (true, (1, 0.5))] {
        let mut inner = StateGraph::<Sums>::new("inner");
        let a = inner.add_node("a", move || match set {
            false => Sums::update().count(2u64).weight(0.5),
            true => Sums::update().count(Overwrite(1u64)).weight(Overwrite(0.5)),
        });
        inner.add_edge(START, a).add_edge(a, END);
        let mut outer = StateGraph::<Sums>::new("outer");
        let child = outer.add_node("child", inner.compile().unwrap());
        outer.add_edge(START, child).add_edge(child, END);
        let done = outer.compile().unwrap().invoke(Sums::input().count(5u64).weight(2.0)).await.unwrap();
        assert_eq!((done.state.count, done.state.weight), expected);
    }
}

/// R-FWK-8: fields that the subgraph does not change are not written in the parent.
#[tokio::test]
async fn unchanged_fields_are_not_written_outside() {
    let child = inner("inner", log_word("inside")).compile().unwrap();
    let mut g = graph("outer");
    let child = g.add_node("child", child);
    let sibling = g.add_node("sibling", || json!({ "title": "sibling", "n": 1 }));
    g.add_edge(START, child).add_edge(START, sibling).add_edge(child, END).add_edge(sibling, END);
    let done = g.compile().unwrap().invoke(json!({ "n": 5, "title": "given" })).await.unwrap();
    assert_eq!(
        (field(&done, "title"), field(&done, "n"), field(&done, "log")),
        (json!("sibling"), json!(6), json!(["inside"]))
    );
}

/// R-FWK-8: a send to a subgraph is its input.
#[tokio::test]
async fn a_send_is_the_input_of_an_inner_graph() {
    let child = inner("inner", |s: View<DynamicState>| json!({ "log": [s.get("title")] })).compile().unwrap();
    let mut g = graph("outer");
    let (fan, child) = (g.add_node("fan", log_word("fan")), g.add_node("child", child));
    g.add_edge(START, fan).add_edge(child, END);
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| ["x", "y"].map(|title| SendTo::new(child, json!({ "title": title }))).to_vec(),
        [child],
    );
    assert_eq!(log_of(g).await, json!(["fan", "x", "y"]));
}

/// R-FWK-8, R-REF-118: a command for the parent graph is applied there, from one and from two levels below.
#[tokio::test]
async fn a_command_to_the_parent_routes_there() {
    let command = || ToParent(Command::<DynamicState>::goto("other").update(json!({ "log": ["told"], "n": 1 })));
    let child = inner("inner", command).compile().unwrap();
    let mut g = parent_graph(&child);
    let other = g.add_node("other", log_word("other"));
    g.add_edge(other, END).add_conditional_edges("after", |_: &DynamicState| END, [other.into(), END]);
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["before", "told", "other"]), json!(1)));

    let named = || ToParent(Command::<DynamicState>::goto("other").update(json!({ "n": 1 })).to_graph("outer"));
    let deep = inner("deep", named).compile().unwrap();
    let mut middle = graph("middle");
    let (child, never) = (middle.add_node("child", deep), middle.add_node("never", log_word("never")));
    middle.add_sequence([START, child.into(), never.into(), END]);
    let mut g = parent_graph(&middle.compile().unwrap());
    let other = g.add_node("other", log_word("other"));
    g.add_edge(other, END).add_conditional_edges("after", |_: &DynamicState| END, [other.into(), END]);
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["before", "other"]), json!(1)));
}

/// R-FWK-8: events carry the namespace of their graph.
#[tokio::test]
async fn events_carry_the_path() {
    let child = inner("inner", log_word("inside")).compile().unwrap();
    let (lines, done) = transcript(parent_graph(&child).compile().unwrap().invoke(json!({ "n": 0 }))).await;
    assert!(done.unwrap().is_finished());
    let child_lines: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.starts_with("child: ")).collect();
    assert!(child_lines[0].starts_with("child: begins with"));
    assert_eq!(
        child_lines[1..],
        ["child: 0 values", "child: 1 a started", "child: 1 a done", "child: 1 values", "child: ends"]
    );
}

/// A subgraph that counts its calls in a private field, and records the count in the shared log.
fn counting(persistence: SubgraphPersistence) -> CompiledGraph<DynamicState> {
    let fields = json!({
        "log": { "type": "array", "reducer": "append", "default": [] },
        "calls": { "type": "integer", "reducer": "add", "default": 0 },
    });
    let mut g = StateGraph::<DynamicState>::with_schema("inner", Schema::from_json("inner", &fields).unwrap());
    let a = g.add_node("a", || json!({ "calls": 1 }));
    let b = g.add_node("b", |s: View<DynamicState>| json!({ "log": [s.get("calls")] }));
    g.add_sequence([START, a.into(), b.into(), END]).subgraph_persistence(persistence);
    let child = g.compile().unwrap();
    let mut outer = graph("outer");
    let child = outer.add_node("child", child);
    outer.add_edge(START, child).add_edge(child, END).checkpointer(MemoryCheckpointer::new());
    outer.compile().unwrap()
}

/// R-FWK-8, R-REF-98: a subgraph starts empty for each call, keeps one state per thread, or is never saved.
#[tokio::test]
async fn an_inner_graph_keeps_its_state_as_configured() {
    let rows = [
        (SubgraphPersistence::Inherit, json!([1, 1]), 3),
        (SubgraphPersistence::PerThread, json!([1, 2]), 2),
        (SubgraphPersistence::Stateless, json!([1, 1]), 1),
    ];
    for (persistence, expected, namespaces) in rows {
        let graph = counting(persistence);
        graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        let done = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(field(&done, "log"), expected, "{persistence:?}");
        assert_eq!(graph.threads().namespaces("t").await.unwrap().len(), namespaces, "{persistence:?}");
    }
}

/// A subgraph that interrupts between two nodes that count their runs.
fn interrupting_graph(persistence: SubgraphPersistence) -> (StateGraph<DynamicState>, CallCounter, CallCounter) {
    let (mut g, before, ask_runs) = (graph("inner"), CallCounter::default(), CallCounter::default());
    let (befores, askeds) = (before.clone(), ask_runs.clone());
    let first = g.add_node("first", move || {
        befores.up();
        json!({ "log": ["first"] })
    });
    let interrupt = g.add_node("ask", move |interrupt: Interrupts| {
        askeds.up();
        async move { Ok::<_, NodeError>(json!({ "log": [interrupt.raise::<String>("who?", "you").await?] })) }
    });
    let last = g.add_node("last", log_word("last"));
    g.add_sequence([START, first.into(), interrupt.into(), last.into(), END]).subgraph_persistence(persistence);
    (g, before, ask_runs)
}

/// R-FWK-8, R-REF-80: an interrupt of a subgraph is reported once, with its namespace; resuming continues inside,
/// without repeating.
#[tokio::test]
async fn a_subgraph_interrupt_is_reported_once_and_resumed_there() {
    for depth in [1, 2] {
        let (mut inner, before, ask_runs) = interrupting_graph(SubgraphPersistence::Inherit);
        let mut graph = inner.compile().unwrap();
        for level in 0..depth {
            let mut g = parent_graph(&graph);
            if level + 1 == depth {
                g.checkpointer(MemoryCheckpointer::new());
            }
            graph = g.compile().unwrap();
        }
        let (lines, paused) = transcript(graph.invoke(json!({ "n": 0 })).thread("t")).await;
        let paused = paused.unwrap();
        let [question] = paused.interrupts() else { panic!("{:?}", paused.end) };
        assert_eq!(
            (&*question.node, question.name.as_str(), question.namespace.as_str().matches("child").count()),
            ("ask", "who?", depth)
        );
        assert_eq!(lines.iter().filter(|line| *line == "asks 1").count(), 1);
        assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts().len(), 1);
        let done = graph.resume("t", "me").await.unwrap();
        let (befores, afters) = (vec!["before"; depth], vec!["after"; depth]);
        assert_eq!(field(&done, "log"), json!([befores, vec!["first", "me", "last"], afters].concat()));
        assert_eq!((before.get(), ask_runs.get()), (1, 2), "depth {depth}");
    }
}

/// R-FWK-8: an interrupt of a subgraph that is never saved can be resumed too; the subgraph starts again.
#[tokio::test]
async fn a_question_in_an_unsaved_graph_can_be_answered() {
    let (mut inner, before, _) = interrupting_graph(SubgraphPersistence::Stateless);
    let graph = parent_graph(&inner.compile().unwrap()).checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    assert_eq!(graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap().interrupts().len(), 1);
    let done = graph.resume("t", "me").await.unwrap();
    assert_eq!(done.end, RunEnd::Finished);
    assert_eq!((field(&done, "log"), before.get()), (json!(["before", "first", "me", "last", "after"]), 2));
}

/// R-FWK-8: tasks of one node with one state per thread do not mix up their interrupts.
#[tokio::test]
async fn sends_to_a_subgraph_with_thread_state_do_not_mix() {
    let (mut inner, before, _) = interrupting_graph(SubgraphPersistence::PerThread);
    let mut g = graph("outer");
    let (fan, child) = (g.add_node("fan", log_word("fan")), g.add_node("child", inner.compile().unwrap()));
    g.add_edge(START, fan).add_edge(child, END).checkpointer(MemoryCheckpointer::new());
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| [1, 2].map(|n| SendTo::new(child, json!({ "n": n }))).to_vec(),
        [child],
    );
    let graph = g.compile().unwrap();
    let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    let answers =
        paused.interrupts().iter().enumerate().map(|(index, question)| (question.id, json!(format!("answer {index}"))));
    let done = graph.resume_with("t", answers.collect()).await.unwrap();
    assert_eq!(done.end, RunEnd::Finished);
    assert_eq!(field(&done, "log"), json!(["fan", "first", "answer 0", "last", "first", "answer 1", "last"]));
    assert_eq!(before.get(), 2);
}

/// R-FWK-8: two subgraphs that interrupt in one superstep are resumed one by one.
#[tokio::test]
async fn children_that_ask_together_are_answered_apart() {
    let mut g = graph("outer");
    for name in ["left", "right"] {
        let child = g.add_node(name, interrupting_graph(SubgraphPersistence::Inherit).0.compile().unwrap());
        g.add_edge(START, child).add_edge(child, END);
    }
    g.checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let paused = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    let ids: Vec<_> = paused.interrupts().iter().map(|question| question.id).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(graph.resume("t", "x").await.unwrap_err().code(), ErrorCode::InvalidResume);
    let half = graph.resume_with("t", [(ids[1], json!("R"))].into()).await.unwrap();
    assert_eq!(half.interrupts().iter().map(|question| question.id).collect::<Vec<_>>(), [ids[0]]);
    let done = graph.resume("t", "L").await.unwrap();
    assert_eq!(field(&done, "log"), json!(["first", "L", "last", "first", "R", "last"]));
}

/// R-FWK-8: a failure in a subgraph keeps its finished tasks; continuing runs only the rest.
#[tokio::test]
async fn a_failure_in_a_subgraph_continues_there() {
    let (mut inner, before) = (graph("inner"), CallCounter::default());
    let (befores, attempts) = (before.clone(), CallCounter::default());
    let first = inner.add_node("first", move || json!({ "log": [befores.up()] }));
    let flaky = inner.add_node("flaky", move || {
        if attempts.up() < 2 { Err(NodeError::new("no")) } else { Ok(json!({ "log": ["well"] })) }
    });
    inner.add_sequence([START, first.into(), flaky.into(), END]);
    let graph = parent_graph(&inner.compile().unwrap()).checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let error = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::NodeFailed, Some("flaky")));
    let done = graph.continue_thread("t").await.unwrap();
    assert_eq!((field(&done, "log"), before.get()), (json!(["before", 1, "well", "after"]), 1));
}

/// R-FWK-8, R-REF-120: a node may call a graph explicitly; called twice, the graph has two histories.
#[tokio::test]
async fn a_node_may_call_a_graph() {
    let child = inner("inner", |s: View<DynamicState>| json!({ "log": [s.get("n")] })).compile().unwrap();
    let mut g = graph("outer");
    let a = g.add_node("a", move |cx: TaskContext| {
        let child = child.clone();
        async move {
            let first = child.invoke(json!({ "n": 1 })).nested_in(&cx).await?;
            let second = child.invoke(json!({ "n": 2 })).nested_in(&cx).await?;
            Ok::<_, NodeError>(json!({ "log": [field(&first, "log"), field(&second, "log")] }))
        }
    });
    g.add_edge(START, a).add_edge(a, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let done = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    assert_eq!(field(&done, "log"), json!([[1], [2]]));
    assert_eq!(graph.threads().namespaces("t").await.unwrap().len(), 3);
}
