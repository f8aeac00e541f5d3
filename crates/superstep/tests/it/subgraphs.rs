//! A compiled graph as a node of another.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Code, Compat, Compiled, Persistence, Record, Schema, Status, ToParent};

use crate::engine::{Count, field, graph, says, transcript};

/// A graph of one node.
fn inner<M>(name: &str, node: impl superstep::IntoNode<Record, (), M>) -> Graph<Record> {
    let mut g = graph(name);
    let a = g.node("a", node);
    g.edge(START, a).edge(a, END);
    g
}

/// A graph with this one inside as `child`, between `before` and `after`.
fn around(child: &Compiled<Record>) -> Graph<Record> {
    let mut g = graph("outer");
    let (before, after) = (g.node("before", says("before")), g.node("after", says("after")));
    let child = g.node("child", child.clone());
    g.sequence([START, before.into(), child.into(), after.into(), END]);
    g
}

async fn log_of(mut graph: Graph<Record>) -> Value {
    field(&graph.compile().unwrap().run(json!({ "n": 0 })).await.unwrap(), "log")
}

/// R-FWK-8, R-REF-117: shared fields pass in and out; the growth of a shared list comes out once, also two graphs deep.
#[tokio::test]
async fn shared_fields_pass_through_and_lists_are_not_doubled() {
    let child = inner("inner", |s: View<Record>| json!({ "log": [s.get("log").as_array().map_or(0, Vec::len)] }))
        .compile()
        .unwrap();
    assert_eq!(log_of(around(&child)).await, json!(["before", 1, "after"]));
    let middle = around(&child).compile().unwrap();
    assert_eq!(log_of(around(&middle)).await, json!(["before", "before", 2, "after", "after"]));
    let mut compat = around(&child);
    compat.compat(Compat::LangGraph);
    assert_eq!(log_of(compat).await, json!(["before", "before", 1, "after"]));
}

/// R-FWK-8, R-REF-117: fields only the inner graph has stay inside; fields only the outer one has are not seen there.
#[tokio::test]
async fn fields_of_one_graph_stay_there() {
    let schema = Schema::from_json("inner", &json!({ "title": {}, "own": { "default": 1 } })).unwrap();
    let mut inner = Graph::<Record>::with_schema("inner", schema);
    let a = inner.node("a", || json!({ "own": 7, "title": "from inside" }));
    let b = inner.node(
        "b",
        |s: View<Record>| json!({ "title": format!("{} {}", s.get("title").as_str().unwrap(), s.to_json()) }),
    );
    inner.sequence([START, a.into(), b.into(), END]);
    let mut outer = around(&inner.compile().unwrap());
    let done = outer.compile().unwrap().run(json!({ "title": "given", "n": 3 })).await.unwrap();
    let title = field(&done, "title").as_str().unwrap().to_owned();
    assert!(title.starts_with("from inside") && title.contains("\"own\":7") && !title.contains("\"n\""), "{title}");
    assert_eq!(done.to_json().unwrap(), json!({ "log": ["before", "after"], "n": 3, "text": "", "title": title }));
}

/// R-FWK-8: a shared sum comes out as it is inside, not added to itself; parallel graphs inside add up.
#[tokio::test]
async fn a_shared_sum_is_not_doubled() {
    let child = inner("inner", || json!({ "n": -1, "text": "b" })).compile().unwrap();
    let done = around(&child).compile().unwrap().run(json!({ "n": 5, "text": "a" })).await.unwrap();
    assert_eq!((field(&done, "n"), field(&done, "text")), (json!(4), json!("ab")));
    let mut g = graph("outer");
    for name in ["left", "right"] {
        let child = g.node(name, child.clone());
        g.edge(START, child).edge(child, END);
    }
    let done = g.compile().unwrap().run(json!({ "n": 5, "text": "a" })).await.unwrap();
    assert_eq!((field(&done, "n"), field(&done, "text")), (json!(3), json!("abb")));
}

#[derive(State, Clone, Serialize, Deserialize)]
struct Sums {
    #[reduce(add)]
    count: u64,
    #[reduce(add)]
    weight: f64,
}

/// R-FWK-8: so does a typed one, whether a node inside adds to it or sets it.
#[tokio::test]
async fn a_typed_sum_is_added_to_or_set() {
    for (set, expected) in [(false, (7, 2.5)), (true, (1, 0.5))] {
        let mut inner = Graph::<Sums>::new("inner");
        let a = inner.node("a", move || match set {
            false => Sums::update().count(2u64).weight(0.5),
            true => Sums::update().count(Overwrite(1u64)).weight(Overwrite(0.5)),
        });
        inner.edge(START, a).edge(a, END);
        let mut outer = Graph::<Sums>::new("outer");
        let child = outer.node("child", inner.compile().unwrap());
        outer.edge(START, child).edge(child, END);
        let done = outer.compile().unwrap().run(Sums::input().count(5u64).weight(2.0)).await.unwrap();
        assert_eq!((done.state.count, done.state.weight), expected);
    }
}

/// R-FWK-8: what the inner graph leaves as it was is not written outside.
#[tokio::test]
async fn unchanged_fields_are_not_written_outside() {
    let child = inner("inner", says("inside")).compile().unwrap();
    let mut g = graph("outer");
    let child = g.node("child", child);
    let sibling = g.node("sibling", || json!({ "title": "sibling", "n": 1 }));
    g.edge(START, child).edge(START, sibling).edge(child, END).edge(sibling, END);
    let done = g.compile().unwrap().run(json!({ "n": 5, "title": "given" })).await.unwrap();
    assert_eq!(
        (field(&done, "title"), field(&done, "n"), field(&done, "log")),
        (json!("sibling"), json!(6), json!(["inside"]))
    );
}

/// R-FWK-8: a send to an inner graph is its input.
#[tokio::test]
async fn a_send_is_the_input_of_an_inner_graph() {
    let child = inner("inner", |s: View<Record>| json!({ "log": [s.get("title")] })).compile().unwrap();
    let mut g = graph("outer");
    let (fan, child) = (g.node("fan", says("fan")), g.node("child", child));
    g.edge(START, fan).edge(child, END);
    g.route(
        fan,
        move |_: &Record| ["x", "y"].map(|title| Send::new(child, json!({ "title": title }))).to_vec(),
        [child],
    );
    assert_eq!(log_of(g).await, json!(["fan", "x", "y"]));
}

/// R-FWK-8, R-REF-118: a command to the parent is applied there, from one and from two graphs deep.
#[tokio::test]
async fn a_command_to_the_parent_routes_there() {
    let command = || ToParent(Command::<Record>::goto("other").update(json!({ "log": ["told"], "n": 1 })));
    let child = inner("inner", command).compile().unwrap();
    let mut g = around(&child);
    let other = g.node("other", says("other"));
    g.edge(other, END).route("after", |_: &Record| END, [other.into(), END]);
    let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["before", "told", "other"]), json!(1)));

    let named = || ToParent(Command::<Record>::goto("other").update(json!({ "n": 1 })).in_graph("outer"));
    let deep = inner("deep", named).compile().unwrap();
    let mut middle = graph("middle");
    let (child, never) = (middle.node("child", deep), middle.node("never", says("never")));
    middle.sequence([START, child.into(), never.into(), END]);
    let mut g = around(&middle.compile().unwrap());
    let other = g.node("other", says("other"));
    g.edge(other, END).route("after", |_: &Record| END, [other.into(), END]);
    let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["before", "other"]), json!(1)));
}

/// R-FWK-8: events carry the path of the graph they happened in.
#[tokio::test]
async fn events_carry_the_path() {
    let child = inner("inner", says("inside")).compile().unwrap();
    let (lines, done) = transcript(around(&child).compile().unwrap().run(json!({ "n": 0 }))).await;
    assert!(done.unwrap().is_finished());
    let inside: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.starts_with("child: ")).collect();
    assert!(inside[0].starts_with("child: begins with"));
    assert_eq!(
        inside[1..],
        ["child: 0 values", "child: 1 a started", "child: 1 a done", "child: 1 values", "child: ends"]
    );
}

/// A child that counts in a field of its own how often it was called, and notes it in the shared log.
fn counting(persistence: Persistence) -> Compiled<Record> {
    let fields = json!({
        "log": { "type": "array", "reducer": "append", "default": [] },
        "calls": { "type": "integer", "reducer": "add", "default": 0 },
    });
    let mut g = Graph::<Record>::with_schema("inner", Schema::from_json("inner", &fields).unwrap());
    let a = g.node("a", || json!({ "calls": 1 }));
    let b = g.node("b", |s: View<Record>| json!({ "log": [s.get("calls")] }));
    g.sequence([START, a.into(), b.into(), END]).persistence(persistence);
    let child = g.compile().unwrap();
    let mut outer = graph("outer");
    let child = outer.node("child", child);
    outer.edge(START, child).edge(child, END).checkpointer(Memory::new());
    outer.compile().unwrap()
}

/// R-FWK-8, R-REF-98: an inner graph starts fresh for each call, keeps one state for the thread, or is never saved.
#[tokio::test]
async fn an_inner_graph_keeps_its_state_as_told() {
    let rows = [
        (Persistence::Inherit, json!([1, 1]), 3),
        (Persistence::PerThread, json!([1, 2]), 2),
        (Persistence::Stateless, json!([1, 1]), 1),
    ];
    for (persistence, expected, places) in rows {
        let graph = counting(persistence);
        graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        let done = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(field(&done, "log"), expected, "{persistence:?}");
        assert_eq!(graph.threads().namespaces("t").await.unwrap().len(), places, "{persistence:?}");
    }
}

/// A graph inside that asks between two nodes that count their runs.
fn asking(persistence: Persistence) -> (Graph<Record>, Count, Count) {
    let (mut g, before, asked) = (graph("inner"), Count::default(), Count::default());
    let (befores, askeds) = (before.clone(), asked.clone());
    let first = g.node("first", move || {
        befores.up();
        json!({ "log": ["first"] })
    });
    let ask = g.node("ask", move |ask: Ask| {
        askeds.up();
        async move { Ok::<_, NodeError>(json!({ "log": [ask.person::<String>("who?", "you").await?] })) }
    });
    let last = g.node("last", says("last"));
    g.sequence([START, first.into(), ask.into(), last.into(), END]).persistence(persistence);
    (g, before, asked)
}

/// R-FWK-8, R-REF-80: a question inside surfaces once, with its path; the answer goes on inside, without repeating.
#[tokio::test]
async fn a_question_inside_surfaces_once_and_resumes_inside() {
    for depth in [1, 2] {
        let (mut inner, before, asked) = asking(Persistence::Inherit);
        let mut graph = inner.compile().unwrap();
        for level in 0..depth {
            let mut g = around(&graph);
            if level + 1 == depth {
                g.checkpointer(Memory::new());
            }
            graph = g.compile().unwrap();
        }
        let (lines, paused) = transcript(graph.run(json!({ "n": 0 })).thread("t")).await;
        let paused = paused.unwrap();
        let [question] = paused.questions() else { panic!("{:?}", paused.status) };
        assert_eq!(
            (&*question.node, question.name.as_str(), question.namespace.as_str().matches("child").count()),
            ("ask", "who?", depth)
        );
        assert_eq!(lines.iter().filter(|line| *line == "asks 1").count(), 1);
        assert_eq!(graph.threads().state("t").await.unwrap().questions().len(), 1);
        let done = graph.resume("t", "me").await.unwrap();
        let (befores, afters) = (vec!["before"; depth], vec!["after"; depth]);
        assert_eq!(field(&done, "log"), json!([befores, vec!["first", "me", "last"], afters].concat()));
        assert_eq!((before.get(), asked.get()), (1, 2), "depth {depth}");
    }
}

/// R-FWK-8: a question in an inner graph that is never saved is answered too; the graph inside starts again.
#[tokio::test]
async fn a_question_in_an_unsaved_graph_can_be_answered() {
    let (mut inner, before, _) = asking(Persistence::Stateless);
    let graph = around(&inner.compile().unwrap()).checkpointer(Memory::new()).compile().unwrap();
    assert_eq!(graph.run(json!({ "n": 0 })).thread("t").await.unwrap().questions().len(), 1);
    let done = graph.resume("t", "me").await.unwrap();
    assert_eq!(done.status, Status::Finished);
    assert_eq!((field(&done, "log"), before.get()), (json!(["before", "first", "me", "last", "after"]), 2));
}

/// R-FWK-8: tasks of one node that share one state for the thread do not mix up their questions.
#[tokio::test]
async fn sends_to_an_inner_graph_with_one_state_keep_apart() {
    let (mut inner, before, _) = asking(Persistence::PerThread);
    let mut g = graph("outer");
    let (fan, child) = (g.node("fan", says("fan")), g.node("child", inner.compile().unwrap()));
    g.edge(START, fan).edge(child, END).checkpointer(Memory::new());
    g.route(fan, move |_: &Record| [1, 2].map(|n| Send::new(child, json!({ "n": n }))).to_vec(), [child]);
    let graph = g.compile().unwrap();
    let paused = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
    let answers =
        paused.questions().iter().enumerate().map(|(place, question)| (question.id, json!(format!("answer {place}"))));
    let done = graph.resume_with("t", answers.collect()).await.unwrap();
    assert_eq!(done.status, Status::Finished);
    assert_eq!(field(&done, "log"), json!(["fan", "first", "answer 0", "last", "first", "answer 1", "last"]));
    assert_eq!(before.get(), 2);
}

/// R-FWK-8: two children that ask in one superstep are answered one by one.
#[tokio::test]
async fn children_that_ask_together_are_answered_apart() {
    let mut g = graph("outer");
    for name in ["left", "right"] {
        let child = g.node(name, asking(Persistence::Inherit).0.compile().unwrap());
        g.edge(START, child).edge(child, END);
    }
    g.checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let paused = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
    let ids: Vec<_> = paused.questions().iter().map(|question| question.id).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(graph.resume("t", "x").await.unwrap_err().code(), Code::InvalidResume);
    let half = graph.resume_with("t", [(ids[1], json!("R"))].into()).await.unwrap();
    assert_eq!(half.questions().iter().map(|question| question.id).collect::<Vec<_>>(), [ids[0]]);
    let done = graph.resume("t", "L").await.unwrap();
    assert_eq!(field(&done, "log"), json!(["first", "L", "last", "first", "R", "last"]));
}

/// R-FWK-8: a failure inside keeps what is finished inside; going on runs only the rest.
#[tokio::test]
async fn a_failure_inside_goes_on_inside() {
    let (mut inner, before) = (graph("inner"), Count::default());
    let (befores, tries) = (before.clone(), Count::default());
    let first = inner.node("first", move || json!({ "log": [befores.up()] }));
    let flaky = inner
        .node("flaky", move || if tries.up() < 2 { Err(NodeError::new("no")) } else { Ok(json!({ "log": ["well"] })) });
    inner.sequence([START, first.into(), flaky.into(), END]);
    let graph = around(&inner.compile().unwrap()).checkpointer(Memory::new()).compile().unwrap();
    let error = graph.run(json!({ "n": 0 })).thread("t").await.unwrap_err();
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::NodeFailed, Some("flaky")));
    let done = graph.go_on("t").await.unwrap();
    assert_eq!((field(&done, "log"), before.get()), (json!(["before", 1, "well", "after"]), 1));
}

/// R-FWK-8, R-REF-120: a node may call a graph by hand as its own part; called twice it keeps two histories.
#[tokio::test]
async fn a_node_may_run_a_graph_inside_itself() {
    let child = inner("inner", |s: View<Record>| json!({ "log": [s.get("n")] })).compile().unwrap();
    let mut g = graph("outer");
    let a = g.node("a", move |cx: Cx| {
        let child = child.clone();
        async move {
            let first = child.run(json!({ "n": 1 })).inside(&cx).await?;
            let second = child.run(json!({ "n": 2 })).inside(&cx).await?;
            Ok::<_, NodeError>(json!({ "log": [field(&first, "log"), field(&second, "log")] }))
        }
    });
    g.edge(START, a).edge(a, END).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let done = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
    assert_eq!(field(&done, "log"), json!([[1], [2]]));
    assert_eq!(graph.threads().namespaces("t").await.unwrap().len(), 3);
}
