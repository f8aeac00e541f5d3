//! Fields with special rules: set once, one value per superstep, ephemeral, untracked, topics, overwrites.

use serde_json::{Value, json};
use superstep::core::field::ConflictPolicy;
use superstep::core::schema::{Schema, field};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, EventKind, RemoveMessage};

use crate::support::{Calls, dynamic, expect_error, history, log, log_field, stored};

/// R-GRA-38: an input is reduced into the defaults of a new thread and into the state of an existing one.
#[tokio::test]
async fn an_input_is_reduced_into_the_state() {
    let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 5 }, "log": log_field(), "topic": null }));
    let node = graph.add_node("a", || ());
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let first = graph.invoke(json!({ "n": 3, "log": "x", "topic": "t" })).thread("t").await.unwrap();
    assert_eq!(first.state.to_json(), json!({ "n": 8, "log": ["x"], "topic": "t" }));
    let second = graph.invoke(json!({ "n": 1, "log": ["y"] })).thread("t").await.unwrap();
    assert_eq!(second.state.to_json(), json!({ "n": 9, "log": ["x", "y"], "topic": "t" }));
    let third = graph.invoke(json!({ "n": { "__overwrite__": 3 } })).thread("t").await.unwrap();
    assert_eq!(*third.state.get("n"), json!(3));
}

/// R-GRA-36, R-GRA-37: a new thread has a copy of every default, and null without one; threads are independent.
#[tokio::test]
async fn every_thread_starts_with_its_own_defaults() {
    let mut graph = dynamic(json!({ "deep": { "reducer": "deep_merge", "default": { "list": [] } }, "plain": null }));
    let node = graph
        .add_node("a", |state: View<DynamicState>| json!({ "deep": { "list": [state.get("plain").into_owned()] } }));
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    for n in [1, 2] {
        let thread = format!("t{n}");
        graph.invoke(json!({ "plain": n })).thread(thread.as_str()).await.unwrap();
        let states: Vec<Value> = history(&graph, &thread).await.iter().map(|seen| seen.state.to_json()).collect();
        assert_eq!(
            states,
            [json!({ "deep": { "list": [n] }, "plain": n }), json!({ "deep": { "list": [] }, "plain": n })]
        );
    }
    graph.threads().update_state("t3", json!({})).await.unwrap();
    assert_eq!(
        graph.threads().get_state("t3").await.unwrap().state.to_json(),
        json!({ "deep": { "list": [] }, "plain": null })
    );
}

/// R-GRA-41, R-GRA-42, R-REF-31: nodes of a superstep see the same state, none sees another's update; then all
/// updates are applied.
#[tokio::test]
async fn nodes_of_a_superstep_do_not_see_each_other() {
    let mut graph = dynamic(json!({ "count": { "reducer": "add", "default": 0 }, "log": log_field() }));
    let mut add = |name: &'static str, n: i32| {
        let node = graph.add_node(
            name,
            move |state: View<DynamicState>| json!({ "count": n, "log": format!("{name} {}", state.get("count")) }),
        );
        graph.add_edge(START, node);
        node
    };
    let (a, b) = (add("a", 1), add("b", 2));
    let last =
        graph.add_node("last", |state: View<DynamicState>| json!({ "log": format!("last {}", state.get("count")) }));
    graph.add_join([a, b], last).add_edge(last, END);
    let ended = graph.compile().unwrap().invoke(json!({ "count": 0 })).await.unwrap();
    assert_eq!(log(&ended.state), ["a 0", "b 0", "last 3"]);
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Debate {
    #[state(set_once, default = "none".to_owned())]
    topic: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// One node that writes another topic.
fn debate(strict: bool) -> CompiledGraph<Debate> {
    let mut graph = StateGraph::<Debate>::new("debate");
    let node = graph.add_node("drift", || Debate::update().topic("Different topic").log("drift"));
    graph.add_edge(START, node).add_edge(node, END).checkpointer(MemoryCheckpointer::new());
    if strict {
        graph.strict_set_once();
    }
    graph.compile().unwrap()
}

/// R-GRA-39, D1: the first input is kept, the default does not count, a node's later write is ignored with a warning.
#[tokio::test]
async fn a_field_that_is_set_once_keeps_its_first_value() {
    let mut stream = debate(false).invoke(Debate::input().topic("Should AI be regulated?")).thread("t").stream();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(superstep::core::machine::MachineEvent::Warning { message, .. }) = event.kind {
            events.push(message);
        }
    }
    let ended = stream.finish().await.unwrap();
    assert_eq!((ended.state.topic.as_str(), &ended.state.log), ("Should AI be regulated?", &vec!["drift".to_owned()]));
    assert_eq!((&ended.warnings, events.len()), (&events, 1));
    assert!(events[0].contains("`topic`") && events[0].contains("`drift`"), "{events:?}");
    let unset = debate(false).invoke(Debate::input().log("x")).thread("t").await.unwrap();
    assert_eq!((unset.state.topic.as_str(), unset.warnings.len()), ("Different topic", 0));
}

/// R-GRA-39, D1: in strict mode a node's later write is an error, and nothing of its update is applied.
#[tokio::test]
async fn in_strict_mode_a_second_write_is_an_error() {
    let graph = debate(true);
    let error = expect_error(graph.invoke(Debate::input().topic("x")).thread("t").await);
    assert_eq!(
        (error.code(), error.http_status(), error.location().node.as_deref()),
        (ErrorCode::SetOnceViolation, 409, Some("drift"))
    );
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((saved.state.topic.as_str(), saved.state.log.len()), ("x", 0));
}

/// R-GRA-39, D1: a later input may repeat the value; another value is rejected before anything runs.
#[tokio::test]
async fn a_later_input_with_another_value_is_rejected() {
    let graph = debate(false);
    graph.invoke(Debate::input().topic("x")).thread("t").await.unwrap();
    graph.invoke(Debate::input().topic("x").log("same")).thread("t").await.unwrap();
    let before = history(&graph, "t").await.len();
    for run in
        [graph.invoke(Debate::input().topic("y").log("other")), graph.invoke(json!({ "topic": "y", "log": "other" }))]
    {
        let error = expect_error(run.thread("t").await);
        assert_eq!((error.code(), error.http_status(), error.exit_code()), (ErrorCode::SetOnceViolation, 409, 65));
        assert!(error.message().contains("`topic`") && error.help().is_some(), "{error}");
    }
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((history(&graph, "t").await.len(), saved.state.topic.as_str()), (before, "x"));
    assert!(!saved.state.log.contains(&"other".to_owned()));
}

/// R-GRA-39: null does not count as a value: a `set_once` field may still be set after it.
#[tokio::test]
async fn null_does_not_count_as_the_first_value() {
    let mut graph = dynamic(json!({ "topic": { "set_once": true }, "log": log_field() }));
    let node = graph.add_node("a", || ());
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "topic": null, "log": "x" })).thread("t").await.unwrap();
    let ended = graph.invoke(json!({ "topic": "first" })).thread("t").await.unwrap();
    assert_eq!(*ended.state.get("topic"), json!("first"));
    assert_eq!(
        expect_error(graph.invoke(json!({ "topic": "second" })).thread("t").await).code(),
        ErrorCode::SetOnceViolation
    );
}

/// `red` and `blue` run together and write one field.
fn duel(
    field: superstep::core::schema::FieldBuilder,
    conflict: ConflictPolicy,
    values: [Value; 2],
) -> CompiledGraph<DynamicState> {
    let schema = Schema::builder("state").field(field).on_conflict(conflict).build().unwrap();
    let mut graph = StateGraph::<DynamicState>::with_schema("duel", schema);
    for (name, value) in ["red", "blue"].into_iter().zip(values) {
        let node = graph.add_node(name, move || json!({ "title": value }));
        graph.add_edge(START, node).add_edge(node, END);
    }
    graph.checkpointer(MemoryCheckpointer::new());
    graph.compile().unwrap()
}

/// R-GRA-43, R-REF-16, D2: two writers of a field without a reducer are rejected, naming field, nodes, values and
/// three solutions.
#[tokio::test]
async fn two_writers_of_one_value_are_rejected() {
    let graph = duel(field("title"), ConflictPolicy::Reject, [json!("R"), json!("B")]);
    let error = expect_error(graph.invoke(json!({ "title": "in" })).thread("t").await);
    assert_eq!((error.code(), error.http_status()), (ErrorCode::ConcurrentUpdate, 500));
    for word in ["`title`", "`red` wrote \"R\"", "`blue` wrote \"B\""] {
        assert!(error.message().contains(word), "{error}");
    }
    let help = error.help().unwrap();
    assert!(help.contains("reducer") && help.contains("last_wins") && help.contains("one after another"), "{help}");
    assert_eq!(error.partial_state::<DynamicState>().unwrap().to_json(), json!({ "title": "in" }));
    assert_eq!(*graph.threads().get_state("t").await.unwrap().state.get("title"), json!("in"));
}

/// R-GRA-43, D2, D7: equal values are accepted; `last_wins`, per field or schema, takes the last by registration.
#[tokio::test]
async fn equal_values_and_last_wins_are_accepted() {
    let differ = || [json!("R"), json!("B")];
    let rows = [
        (duel(field("title"), ConflictPolicy::Reject, [json!({ "a": 1 }), json!({ "a": 1 })]), json!({ "a": 1 })),
        (duel(field("title").last_wins(), ConflictPolicy::Reject, differ()), json!("B")),
        (duel(field("title"), ConflictPolicy::LastWins, differ()), json!("B")),
    ];
    for (graph, expected) in rows {
        let ended = graph.invoke(json!({ "title": "in" })).thread("t").await.unwrap();
        assert_eq!(*ended.state.get("title"), expected);
    }
}

/// R-GRA-43: the same holds for a typed state.
#[tokio::test]
async fn typed_writers_of_one_value_are_rejected_too() {
    #[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
    struct Page {
        title: String,
        #[state(last_wins)]
        color: String,
    }
    let build = |titles: [&'static str; 2]| {
        let mut graph = StateGraph::<Page>::new("page");
        for (name, title) in ["b", "a"].into_iter().zip(titles) {
            let node = graph.add_node(name, move || Page::update().title(title).color(name));
            graph.add_edge(START, node).add_edge(node, END);
        }
        graph.compile().unwrap()
    };
    let error = expect_error(build(["x", "y"]).invoke(Page::input().title("in")).await);
    assert!(error.code() == ErrorCode::ConcurrentUpdate && error.message().contains("`title`"), "{error}");
    assert_eq!(build(["x", "x"]).invoke(Page::input().title("in")).await.unwrap().state.color, "a");
}

/// R-GRA-44, D7: parallel updates are applied in order of registration, never of completion.
#[tokio::test]
async fn parallel_updates_fold_by_registration() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let (first, second) = tokio::sync::watch::channel(false);
    let slow = graph.add_node("z_slow", move || {
        let mut other = second.clone();
        async move {
            other.wait_for(|done| *done).await.ok();
            json!({ "log": "slow" })
        }
    });
    let quick = graph.add_node("a_quick", move || {
        first.send_replace(true);
        json!({ "log": "quick" })
    });
    graph.add_edge(START, slow).add_edge(START, quick).add_edge(slow, END).add_edge(quick, END);
    assert_eq!(log(&graph.compile().unwrap().invoke(json!({ "log": [] })).await.unwrap().state), ["slow", "quick"]);
}

/// a → b → c over a field; each node records the value that it sees, `a` writes it.
fn seen_by_each(options: Value, written: Value) -> (CompiledGraph<DynamicState>, MemoryCheckpointer) {
    let memory = MemoryCheckpointer::new();
    let mut graph = dynamic(json!({ "log": log_field(), "flash": options }));
    let flash = |state: &DynamicState| state.get("flash").to_string();
    let a = graph.add_node("a", move |state: View<DynamicState>| json!({ "log": flash(&state), "flash": written }));
    let b = graph.add_node("b", move |state: View<DynamicState>| json!({ "log": flash(&state) }));
    let c = graph.add_node("c", move |state: View<DynamicState>| json!({ "log": flash(&state) }));
    graph.add_sequence([START, a.into(), b.into(), c.into(), END]).checkpointer(memory.clone());
    (graph.compile().unwrap(), memory)
}

/// R-REF-19: an ephemeral value is seen in exactly one following superstep, also if it came with the input.
#[tokio::test]
async fn an_ephemeral_value_is_readable_for_one_superstep() {
    let (graph, _) = seen_by_each(json!({ "ephemeral": true, "default": "-" }), json!("new"));
    let ended = graph.invoke(json!({ "flash": "in" })).thread("t").await.unwrap();
    assert_eq!(log(&ended.state), [r#""in""#, r#""new""#, r#""-""#]);
}

/// R-REF-19: an ephemeral value of the last superstep of a run is gone when the next input arrives.
#[tokio::test]
async fn an_ephemeral_value_does_not_reach_the_next_run() {
    let mut graph = dynamic(json!({ "log": log_field(), "flash": { "ephemeral": true, "default": "-" } }));
    let node = graph
        .add_node("a", |state: View<DynamicState>| json!({ "log": state.get("flash").into_owned(), "flash": "left" }));
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": "1" })).thread("t").await.unwrap();
    let ended = graph.invoke(json!({ "log": "2" })).thread("t").await.unwrap();
    assert_eq!(log(&ended.state), ["1", "-", "2", "-"]);
}

/// R-REF-20: a topic takes several values, flattens lists by one level and is empty after one superstep.
#[tokio::test]
async fn a_topic_is_emptied_each_superstep() {
    let topic = json!({ "reducer": "append", "ephemeral": true, "default": [] });
    let (graph, _) = seen_by_each(topic, json!(["x", ["y"]]));
    let ended = graph.invoke(json!({ "flash": "in" })).thread("t").await.unwrap();
    assert_eq!(log(&ended.state), [r#"["in"]"#, r#"["x",["y"]]"#, "[]"]);
    #[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
    struct Feed {
        #[state(topic)]
        news: Vec<String>,
        #[reduce(append)]
        seen: Vec<String>,
    }
    let mut graph = StateGraph::<Feed>::new("feed");
    let write = graph.add_node("write", || {
        vec![Command::new().update(Feed::update().news("a")), Command::new().update(Feed::update().news("b"))]
    });
    let [first, second] = ["first", "second"]
        .map(|name| graph.add_node(name, |feed: View<Feed>| Feed::update().seen(feed.news.concat())));
    graph.add_sequence([START, write.into(), first.into(), second.into(), END]);
    let ended = graph.compile().unwrap().invoke(Feed::input().news("in")).await.unwrap();
    assert_eq!(ended.state.seen, ["ab", ""]);
}

/// R-REF-21: an untracked value is read in the run, and is in no checkpoint, no pending entry and no result.
#[tokio::test]
async fn an_untracked_value_is_never_stored() {
    let (graph, memory) = seen_by_each(json!({ "untracked": true }), json!("marker-4711"));
    let ended = graph.invoke(json!({ "flash": "marker-4712" })).thread("t").await.unwrap();
    assert_eq!(log(&ended.state), [r#""marker-4712""#, r#""marker-4711""#, r#""marker-4711""#]);
    assert_eq!(ended.to_json().unwrap().as_object().unwrap().keys().collect::<Vec<_>>(), ["log"]);
    let mut graph = dynamic(json!({ "flash": { "untracked": true }, "log": log_field() }));
    let write = graph.add_node("write", || json!({ "flash": "marker-4713" }));
    let interrupt = graph.add_node("ask", |interrupt: Interrupts| async move {
        Ok::<_, NodeError>(json!({ "log": interrupt.raise::<String>("x", 1).await? }))
    });
    graph
        .add_edge(START, write)
        .add_edge(START, interrupt)
        .add_edge(write, END)
        .add_edge(interrupt, END)
        .checkpointer(memory.clone());
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": "x" })).thread("u").await.unwrap();
    assert!(!stored(&memory, "u").await.contains("marker-"));
    assert!(!stored(&memory, "t").await.contains("flash"));
    assert!(graph.resume("u", "y").await.unwrap().is_finished());
}

/// R-GRA-35, R-REF-25, D4: an overwrite replaces the value regardless of the reducer, takes precedence over ordinary
/// writes, and two of them are a conflict.
#[tokio::test]
async fn an_overwrite_replaces_whatever_the_reducer() {
    let build = |left: Value, right: Value| {
        let mut graph = dynamic(json!({ "log": log_field() }));
        for (name, value) in [("left", left), ("right", right)] {
            let node = graph.add_node(name, move || json!({ "log": value }));
            graph.add_edge(START, node).add_edge(node, END);
        }
        graph.compile().unwrap().invoke(json!({ "log": ["old"] }))
    };
    let over = |value: &str| json!({ "__overwrite__": [value] });
    assert_eq!(log(&build(json!("x"), over("new")).await.unwrap().state), ["new"]);
    assert_eq!(log(&build(over("new"), json!("x")).await.unwrap().state), ["new"]);
    assert_eq!(
        log(&build(json!({ "value": ["new"], "type": "__overwrite__" }), json!([])).await.unwrap().state),
        ["new"]
    );
    assert_eq!(expect_error(build(over("a"), over("b")).await).code(), ErrorCode::ConcurrentUpdate);
}

/// R-GRA-35: an overwrite survives being stored and loaded before it is applied.
#[tokio::test]
async fn an_overwrite_survives_an_interrupt() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let clear = graph.add_node("clear", || json!({ "log": { "__overwrite__": ["fresh"] } }));
    let interrupt =
        graph.add_node("ask", |interrupt: Interrupts| async move { interrupt.raise::<bool>("ok?", 1).await.map(drop) });
    graph.add_edge(START, clear).add_edge(START, interrupt).add_edge(clear, END).add_edge(interrupt, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": ["old"] })).thread("t").await.unwrap();
    assert_eq!(log(&graph.resume("t", true).await.unwrap().state), ["fresh"]);
}

/// R-GRA-26, R-GRA-28, D3, D4: equal messages without ids stay two; a removal shortens the list; an unknown id fails.
#[tokio::test]
async fn equal_messages_stay_separate_and_are_removed_by_id() {
    #[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
    struct Chat {
        #[reduce(messages)]
        messages: Messages,
    }
    let mut graph = StateGraph::<Chat>::new("chat");
    let node = graph.add_node("forget", |chat: View<Chat>| {
        let first = chat.messages.iter().next().and_then(|message| message.id.clone()).unwrap();
        Chat::update().messages(RemoveMessage::new(first))
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let same = || Message::user("hi");
    let ended = graph.invoke(Chat::input().messages(vec![same(), same(), same()])).await.unwrap();
    assert_eq!(ended.state.messages.iter().filter(|message| message.text() == "hi").count(), 2);
    let error = expect_error(graph.invoke(Chat::input().messages(RemoveMessage::new("nobody"))).await);
    assert!(error.message().contains("nobody"), "{error}");
}

/// R-FWK-3, D10: a join fires once all its sources have finished since it last fired, in one superstep or in several.
#[tokio::test]
async fn a_join_waits_for_sources_of_different_supersteps() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let [short, long, longer, join] =
        ["short", "long", "longer", "join"].map(|name| graph.add_node(name, calls.step(name)));
    graph
        .add_edge(START, short)
        .add_edge(START, long)
        .add_edge(long, longer)
        .add_join([short, longer], join)
        .add_edge(join, END);
    let ended = graph.compile().unwrap().invoke(json!({ "log": [] })).await.unwrap();
    assert_eq!(log(&ended.state), ["short", "long", "longer", "join"]);
}
