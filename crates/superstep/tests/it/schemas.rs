//! Input, output and private schemas, held against every run; typed and dynamic states alike.

use serde_json::{Value, json};
use superstep::core::schema::{Schema, TypeChecks, UnknownFields, field};
use superstep::core::types::FieldType;
use superstep::prelude::*;
use superstep::{Code, Compiled, Error, EventKind, Record};

use crate::support::{Calls, dynamic, history, log, log_field, refused};

#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    #[state(required)]
    item: String,
    #[state(required)]
    count: u32,
    note: Option<String>,
    sizes: Vec<u32>,
    #[reduce(append)]
    log: Vec<String>,
}

fn typed(calls: &Calls) -> Compiled<Order> {
    let noted = calls.clone();
    let mut graph = Graph::<Order>::new("order");
    let node = graph.node("work", move || noted.note("work"));
    graph.edge(START, node).edge(node, END).checkpointer(Memory::new());
    graph.compile().unwrap()
}

fn untyped(calls: &Calls) -> Compiled<Record> {
    let noted = calls.clone();
    let mut graph = dynamic(json!({
        "item": { "type": "string", "required": true },
        "count": { "type": "integer", "required": true },
        "note": { "type": "string" },
        "log": log_field(),
    }));
    let node = graph.node("work", move || noted.note("work"));
    graph.edge(START, node).edge(node, END);
    graph.compile().unwrap()
}

fn pointers(error: &Error) -> Vec<&str> {
    let mut pointers: Vec<&str> = error.problems().iter().map(|problem| problem.pointer.as_str()).collect();
    pointers.sort_unstable();
    pointers
}

/// R-GRA-50, R-DEF-10: unknown key, wrong type and missing field are listed in one error, with pointers, before
/// anything runs.
#[tokio::test]
async fn everything_wrong_with_an_input_is_listed_at_once() {
    let calls = Calls::default();
    let input = || json!({ "itme": "x", "count": "three", "log": [] });
    let errors = [
        refused(typed(&calls).run(input()).thread("t").await),
        refused(untyped(&calls).run(input()).thread("t").await),
    ];
    for error in &errors {
        assert_eq!((error.code(), error.http_status(), error.exit_code()), (Code::InputInvalid, 422, 65));
        assert_eq!(pointers(error), ["/count", "/item", "/itme"], "{error}");
        let find = |pointer: &str| error.problems().iter().find(|problem| problem.pointer == pointer).unwrap();
        assert!(find("/itme").help.as_ref().unwrap().contains("`item`"), "{error}");
        assert!(find("/item").message.contains("missing"), "{error}");
        assert_eq!(error.place().thread, Some("t".into()));
    }
    assert!(calls.take().is_empty());
}

/// R-GRA-50, D6: a wrong type alone is a `TypeMismatch` of the caller, typed and dynamic.
#[tokio::test]
async fn a_wrong_type_in_an_input_is_the_callers_mistake() {
    let calls = Calls::default();
    let input = || json!({ "item": "x", "count": "three" });
    for error in [refused(typed(&calls).run(input()).await), refused(untyped(&calls).run(input()).await)] {
        assert_eq!(
            (error.code(), error.http_status(), pointers(&error)),
            (Code::TypeMismatch, 422, vec!["/count"]),
            "{error}"
        );
    }
    let nested = json!({ "item": "x", "count": 1, "sizes": [1, "two"], "log": [3] });
    assert_eq!(pointers(&refused(typed(&calls).run(nested).await)), ["/log/0", "/sizes/1"]);
    assert!(calls.take().is_empty());
}

/// R-GRA-50: required fields are asked for with the first input of a thread only; a typed input is held to them too.
#[tokio::test]
async fn required_fields_are_needed_once_per_thread() {
    let graph = typed(&Calls::default());
    let error = refused(graph.run(Order::input().item("x")).thread("t").await);
    assert_eq!((error.code(), pointers(&error)), (Code::InputInvalid, vec!["/count"]));
    graph.run(Order::input().item("x").count(1_u32)).thread("t").await.unwrap();
    assert!(graph.run(Order::input().note("more".to_owned())).thread("t").await.unwrap().is_finished());
}

/// R-GRA-49, R-GRA-50: a field outside the input schema is refused, whoever names it and however.
#[tokio::test]
async fn only_fields_of_the_input_schema_may_be_given() {
    let calls = Calls::default();
    let noted = calls.clone();
    let mut graph = Graph::<Order>::new("order");
    let node = graph.node("work", move || noted.note("work"));
    graph.edge(START, node).edge(node, END).input(["item", "count"]).checkpointer(Memory::new());
    let graph = graph.compile().unwrap();
    let typed = Order::input().item("x").count(1_u32).note("no".to_owned());
    for error in [
        refused(graph.run(typed).thread("t").await),
        refused(graph.run(json!({ "item": "x", "count": 1, "note": "no" })).thread("t").await),
    ] {
        assert_eq!((error.code(), pointers(&error)), (Code::InputInvalid, vec!["/note"]), "{error}");
        assert!(error.problems()[0].message.contains("not part of the input"), "{error}");
    }
    assert!(calls.take().is_empty());
    graph.run(json!({ "item": "x", "count": 1 })).thread("t").await.unwrap();
    assert_eq!(graph.input_schema()["required"], json!(["item", "count"]));
    let schema = graph.input_schema();
    let mut names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["count", "item"]);
}

/// R-GRA-49, R-GRA-51: a result has only fields of the output schema; checkpoints have all.
#[tokio::test]
async fn a_result_has_only_fields_of_the_output_schema() {
    let mut graph = Graph::<Order>::new("order");
    let node = graph.node("work", || Order::update().note("secret".to_owned()).log("done"));
    graph.edge(START, node).edge(node, END).output(["item", "log"]).checkpointer(Memory::new());
    let graph = graph.compile().unwrap();
    let ended = graph.run(Order::input().item("x").count(3_u32)).thread("t").await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "item": "x", "log": ["done"] }));
    assert_eq!((ended.state.count, ended.state.note.as_deref()), (0, None));
    let saved = graph.threads().state("t").await.unwrap();
    assert_eq!((saved.state.count, saved.state.note.as_deref()), (3, Some("secret")));
    assert_eq!(graph.output_schema()["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["item", "log"]);
}

/// R-GRA-52: a required output field that nobody wrote is `OutputInvalid`; the state is saved first.
#[tokio::test]
async fn a_required_output_that_is_absent_is_an_error_after_the_save() {
    let mut graph = dynamic(json!({ "topic": null, "answer": { "required": true } }));
    let node = graph.node("think", || json!({ "topic": "thought" }));
    graph.edge(START, node).edge(node, END).input(["topic"]).output(["answer"]);
    let graph = graph.compile().unwrap();
    let error = refused(graph.run(json!({ "topic": "x" })).thread("t").await);
    assert_eq!((error.code(), error.http_status()), (Code::OutputInvalid, 500));
    assert!(error.message().contains("`answer`") && error.advice().is_some(), "{error}");
    let saved = graph.threads().state("t").await.unwrap();
    assert_eq!((&*saved.state.get("topic"), saved.next.len()), (&json!("thought"), 0));
    assert_eq!(error.partial().unwrap().checkpoint, Some(saved.id()));
}

/// A graph with a private field that `hide` writes and `seek` reads, where they declare it.
fn secret(hide_declares: bool, seek_declares: bool) -> Compiled<Record> {
    let mut graph = dynamic(json!({ "found": null, "key": { "private": true, "default": "none" } }));
    let declare = |declares: bool| if declares { vec!["key"] } else { vec![] };
    let hide = graph.node("hide", node(|| json!({ "key": "k1" })).writes(declare(hide_declares)));
    let look = |state: View<Record>| json!({ "found": state.get("key").into_owned() });
    let seek = if seek_declares { node(look).reads(["key"]) } else { node(look) };
    let seek = graph.node("seek", seek);
    graph.sequence([START, hide.into(), seek.into(), END]);
    graph.compile().unwrap()
}

/// R-GRA-53, R-REF-14: nodes that declare a private field may write and read it; it is in no input and no output.
#[tokio::test]
async fn a_private_field_is_seen_by_those_who_declare_it() {
    let graph = secret(true, true);
    let ended = graph.run(json!({ "found": "" })).thread("t").await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "found": "k1" }));
    assert_eq!(*ended.state.get("key"), json!("none"));
    assert_eq!(*graph.threads().state("t").await.unwrap().state.get("key"), json!("k1"));
    let error = refused(graph.run(json!({ "found": "", "key": "x" })).thread("u").await);
    assert_eq!((error.code(), pointers(&error)), (Code::InputInvalid, vec!["/key"]));
    for schema in [graph.input_schema(), graph.output_schema()] {
        assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["found"]);
    }
}

/// R-GRA-53: an undeclared write or read of a private field is an error that names it.
#[tokio::test]
async fn an_undeclared_use_of_a_private_field_fails() {
    let error = refused(secret(false, true).run(json!({ "found": "" })).thread("t").await);
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::UnknownField, Some("hide")));
    assert!(error.message().contains("`key`") && error.advice().unwrap().contains("writes"), "{error}");
    let error = refused(secret(true, false).run(json!({ "found": "" })).thread("t").await);
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::UnknownField, Some("seek")));
    assert!(error.message().contains("`key`") && error.advice().unwrap().contains("reads"), "{error}");
}

/// R-GRA-54: input and output fields that the state lacks, and private ones, are refused at compile time, all at once.
#[test]
fn schemas_with_fields_the_state_lacks_do_not_compile() {
    let mut graph = dynamic(json!({ "topic": null, "key": { "private": true } }));
    let node = graph.node("a", || ());
    graph.edge(START, node).edge(node, END).input(["topci"]).output(["answer", "key"]);
    let error = refused(graph.compile());
    assert_eq!((error.code(), error.problems().len()), (Code::InvalidGraph, 3), "{error}");
    let text = error.to_string();
    assert!(["`topci`", "`topic`", "`answer`", "`key`"].iter().all(|name| text.contains(name)), "{text}");
}

/// R-GRA-55: two nodes that can be due together and declare to write one last-value field are warned about.
#[test]
fn possible_conflicts_are_warned_about_at_compile_time() {
    let build = |conflict: Value, together: bool| {
        let mut graph = dynamic(json!({ "title": conflict }));
        let [a, b] = ["a", "b"].map(|name| graph.node(name, node(|| ()).writes(["title"])));
        if together {
            graph.edge(START, a).edge(START, b).edge(a, END)
        } else {
            graph.edge(START, a).edge(a, b)
        };
        graph.edge(b, END);
        graph.compile().unwrap().warnings().to_vec()
    };
    let warnings = build(json!({}), true);
    assert_eq!(warnings.len(), 1);
    assert!(["`a`", "`b`", "`title`"].iter().all(|name| warnings[0].contains(name)), "{warnings:?}");
    assert!(build(json!({}), false).is_empty());
    assert!(build(json!({ "on_conflict": "last_wins" }), true).is_empty());
    assert!(build(json!({ "reducer": "append" }), true).is_empty());
}

/// A graph whose one node returns `{ titel: .. }` over a state with `title`.
fn misspelt(unknown: UnknownFields) -> Compiled<Record> {
    let schema = Schema::builder("state").field(field("title")).unknown_fields(unknown).build().unwrap();
    let mut graph = Graph::<Record>::with_schema("test", schema);
    let node = graph.node("draft", || json!({ "titel": "x" }));
    graph.edge(START, node).edge(node, END).checkpointer(Memory::new());
    graph.compile().unwrap()
}

/// R-GRA-47, D5: an unknown key of a node is an error with node, key and the nearest name; nothing is applied.
#[tokio::test]
async fn an_unknown_key_of_a_node_is_refused_with_a_suggestion() {
    let graph = misspelt(UnknownFields::Refuse);
    let error = refused(graph.run(json!({ "title": "t" })).thread("t").await);
    assert_eq!(
        (error.code(), error.place().node.as_deref(), error.http_status()),
        (Code::UnknownField, Some("draft"), 500)
    );
    assert!(error.to_string().contains("`titel`") && error.to_string().contains("`title`"), "{error}");
    assert_eq!(graph.threads().state("t").await.unwrap().state.to_json(), json!({ "title": "t" }));
    let mut typed = Graph::<Order>::new("order");
    let node = typed.node("draft", || Command::<Order>::new().update(json!({ "itme": "x" })));
    typed.edge(START, node).edge(node, END);
    let error = refused(typed.compile().unwrap().run(Order::input().item("x").count(1_u32)).await);
    assert!(error.code() == Code::UnknownField && error.to_string().contains("`item`"), "{error}");
}

/// R-GRA-47: `allow` keeps an unknown key, in results and checkpoints; `drop` leaves it out with a warning event.
#[tokio::test]
async fn unknown_keys_may_be_kept_or_dropped() {
    let kept = misspelt(UnknownFields::Allow);
    let ended = kept.run(json!({ "title": "t", "more": 1 })).thread("t").await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "title": "t", "titel": "x", "more": 1 }));
    assert_eq!(
        kept.threads().state("t").await.unwrap().state.to_json(),
        json!({ "title": "t", "titel": "x", "more": 1 })
    );
    let mut stream = misspelt(UnknownFields::Drop).run(json!({ "title": "t", "more": 1 })).thread("t").stream();
    let mut warnings = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(superstep::core::machine::Event::Warning { message, .. }) = event.kind {
            warnings.push(message);
        }
    }
    let ended = stream.finish().await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "title": "t" }));
    assert_eq!(ended.warnings, warnings);
    assert!(warnings.len() == 2 && warnings[0].contains("`more`") && warnings[1].contains("`titel`"), "{warnings:?}");
}

/// R-GRA-7, D6: a node's update of a wrong type is refused, warned about or let pass, as the schema says.
#[tokio::test]
async fn types_of_node_updates_are_checked_as_the_schema_says() {
    let graph = |types| {
        let schema =
            Schema::builder("state").field(field("n").kind(FieldType::Integer)).type_checks(types).build().unwrap();
        let mut graph = Graph::<Record>::with_schema("test", schema);
        let node = graph.node("a", || json!({ "n": "three" }));
        graph.edge(START, node).edge(node, END);
        graph.compile().unwrap()
    };
    let error = refused(graph(TypeChecks::Enforce).run(json!({ "n": 1 })).await);
    assert_eq!(
        (error.code(), error.http_status(), error.place().node.as_deref()),
        (Code::TypeMismatch, 500, Some("a"))
    );
    assert!(error.to_string().contains("/n") && error.to_string().contains("integer"), "{error}");
    let warned = graph(TypeChecks::Warn).run(json!({ "n": 1 })).await.unwrap();
    assert_eq!((&*warned.state.get("n"), warned.warnings.len()), (&json!("three"), 1));
    let off = graph(TypeChecks::Off).run(json!({ "n": 1 })).await.unwrap();
    assert_eq!((&*off.state.get("n"), off.warnings.len()), (&json!("three"), 0));
}

/// R-GRA-46, R-REF-29: nothing is a result too: the node counts as finished and its edges are followed.
#[tokio::test]
async fn a_node_may_return_nothing() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let noted = calls.clone();
    let a = graph.node("a", move || noted.note("a"));
    let b = graph.node("b", || json!(null));
    let c = graph.node("c", || None::<Value>);
    let d = graph.node("d", calls.step("d"));
    graph.sequence([START, a.into(), b.into(), c.into(), d.into(), END]);
    let ended = graph.compile().unwrap().run(json!({ "log": "in" })).thread("t").await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take(), ended.supersteps),
        (vec!["in".to_owned(), "d".into()], vec!["a".to_owned(), "d".into()], 4)
    );
}

/// R-GRA-46, R-REF-30: zero, false, and empty text and lists are real results.
#[tokio::test]
async fn falsy_results_are_results() {
    let mut graph = dynamic(
        json!({ "n": null, "yes": null, "text": null, "list": null, "sum": { "reducer": "add", "default": 1 } }),
    );
    let node = graph.node("a", || json!({ "n": 0, "yes": false, "text": "", "list": [], "sum": 0 }));
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    let ended = graph.run(json!({ "n": 9, "yes": true, "text": "x", "list": [1] })).thread("t").await.unwrap();
    let expected = json!({ "n": 0, "yes": false, "text": "", "list": [], "sum": 1 });
    assert_eq!(ended.state.to_json(), expected);
    assert_eq!(history(&graph, "t").await[0].state.to_json(), expected);
}

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Growing {
    #[reduce(append)]
    log: Vec<u32>,
    #[reduce(merge)]
    notes: std::collections::BTreeMap<String, u32>,
}

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Plain {
    log: std::collections::VecDeque<u32>,
    notes: Value,
}

/// R-FWK-47: a field whose reducer was taken away, or whose type is another with the same form, reads what was saved.
#[tokio::test]
async fn a_field_that_lost_its_reducer_reads_what_was_saved() {
    let memory = Memory::new();
    let mut graph = Graph::<Growing>::new("grow");
    let grow = graph.node("grow", |state: View<Growing>| {
        let notes = std::collections::BTreeMap::from([(format!("n{}", state.log.len()), 1)]);
        Growing::update().log(2_u32).notes(notes)
    });
    graph.edge(START, grow).edge(grow, END).checkpointer(memory.clone());
    let growing = graph.compile().unwrap();
    for _ in 0..2 {
        growing.run(Growing::input().log(1_u32)).thread("t").await.unwrap();
    }
    let mut graph = Graph::<Plain>::new("grow");
    let keep = graph.node("grow", Plain::update);
    graph.edge(START, keep).edge(keep, END).checkpointer(memory);
    let state = graph.compile().unwrap().threads().state("t").await.unwrap().state;
    assert_eq!((json!(state.log), &state.notes), (json!([1, 2, 1, 2]), &json!({ "n1": 1, "n3": 1 })));
}
