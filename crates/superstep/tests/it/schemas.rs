//! Input, output and private schemas, validated for every run; for typed and dynamic states.

use serde_json::{Value, json};
use superstep::core::schema::{Schema, TypeChecks, UnknownFields, field};
use superstep::core::types::FieldType;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, Error, ErrorCode, EventKind};

use crate::support::{Calls, dynamic, expect_error, history, log, log_field};

#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
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

fn typed(calls: &Calls) -> CompiledGraph<Order> {
    let node_calls = calls.clone();
    let mut graph = StateGraph::<Order>::new("order");
    let node = graph.add_node("work", move || node_calls.note("work"));
    graph.add_edge(START, node).add_edge(node, END).checkpointer(MemoryCheckpointer::new());
    graph.compile().unwrap()
}

fn untyped(calls: &Calls) -> CompiledGraph<DynamicState> {
    let node_calls = calls.clone();
    let mut graph = dynamic(json!({
        "item": { "type": "string", "required": true },
        "count": { "type": "integer", "required": true },
        "note": { "type": "string" },
        "log": log_field(),
    }));
    let node = graph.add_node("work", move || node_calls.note("work"));
    graph.add_edge(START, node).add_edge(node, END);
    graph.compile().unwrap()
}

fn pointers(error: &Error) -> Vec<&str> {
    let mut pointers: Vec<&str> = error.diagnostics().iter().map(|problem| problem.pointer.as_str()).collect();
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
        expect_error(typed(&calls).invoke(input()).thread("t").await),
        expect_error(untyped(&calls).invoke(input()).thread("t").await),
    ];
    for error in &errors {
        assert_eq!((error.code(), error.http_status(), error.exit_code()), (ErrorCode::InputInvalid, 422, 65));
        assert_eq!(pointers(error), ["/count", "/item", "/itme"], "{error}");
        let find = |pointer: &str| error.diagnostics().iter().find(|problem| problem.pointer == pointer).unwrap();
        assert!(find("/itme").help.as_ref().unwrap().contains("`item`"), "{error}");
        assert!(find("/item").message.contains("missing"), "{error}");
        assert_eq!(error.location().thread, Some("t".into()));
    }
    assert!(calls.take().is_empty());
}

/// R-GRA-50, D6: a wrong type alone is a `TypeMismatch` of the caller, typed and dynamic.
#[tokio::test]
async fn a_wrong_type_in_an_input_is_the_callers_mistake() {
    let calls = Calls::default();
    let input = || json!({ "item": "x", "count": "three" });
    for error in
        [expect_error(typed(&calls).invoke(input()).await), expect_error(untyped(&calls).invoke(input()).await)]
    {
        assert_eq!(
            (error.code(), error.http_status(), pointers(&error)),
            (ErrorCode::TypeMismatch, 422, vec!["/count"]),
            "{error}"
        );
    }
    let nested = json!({ "item": "x", "count": 1, "sizes": [1, "two"], "log": [3] });
    assert_eq!(pointers(&expect_error(typed(&calls).invoke(nested).await)), ["/log/0", "/sizes/1"]);
    assert!(calls.take().is_empty());
}

/// R-GRA-50: required fields are needed with the first input of a thread only; also in a typed input.
#[tokio::test]
async fn required_fields_are_needed_once_per_thread() {
    let graph = typed(&Calls::default());
    let error = expect_error(graph.invoke(Order::input().item("x")).thread("t").await);
    assert_eq!((error.code(), pointers(&error)), (ErrorCode::InputInvalid, vec!["/count"]));
    graph.invoke(Order::input().item("x").count(1_u32)).thread("t").await.unwrap();
    assert!(graph.invoke(Order::input().note("more".to_owned())).thread("t").await.unwrap().is_finished());
}

/// R-GRA-49, R-GRA-50: a field outside the input schema is rejected, in every form of input.
#[tokio::test]
async fn only_fields_of_the_input_schema_are_accepted() {
    let calls = Calls::default();
    let node_calls = calls.clone();
    let mut graph = StateGraph::<Order>::new("order");
    let node = graph.add_node("work", move || node_calls.note("work"));
    graph
        .add_edge(START, node)
        .add_edge(node, END)
        .input_fields(["item", "count"])
        .checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let typed = Order::input().item("x").count(1_u32).note("no".to_owned());
    for error in [
        expect_error(graph.invoke(typed).thread("t").await),
        expect_error(graph.invoke(json!({ "item": "x", "count": 1, "note": "no" })).thread("t").await),
    ] {
        assert_eq!((error.code(), pointers(&error)), (ErrorCode::InputInvalid, vec!["/note"]), "{error}");
        assert!(error.diagnostics()[0].message.contains("not part of the input"), "{error}");
    }
    assert!(calls.take().is_empty());
    graph.invoke(json!({ "item": "x", "count": 1 })).thread("t").await.unwrap();
    assert_eq!(graph.input_schema()["required"], json!(["item", "count"]));
    let schema = graph.input_schema();
    let mut names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["count", "item"]);
}

/// R-GRA-49, R-GRA-51: an output has only fields of the output schema; checkpoints have all.
#[tokio::test]
async fn a_result_has_only_fields_of_the_output_schema() {
    let mut graph = StateGraph::<Order>::new("order");
    let node = graph.add_node("work", || Order::update().note("secret".to_owned()).log("done"));
    graph
        .add_edge(START, node)
        .add_edge(node, END)
        .output_fields(["item", "log"])
        .checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let ended = graph.invoke(Order::input().item("x").count(3_u32)).thread("t").await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "item": "x", "log": ["done"] }));
    assert_eq!((ended.state.count, ended.state.note.as_deref()), (0, None));
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((saved.state.count, saved.state.note.as_deref()), (3, Some("secret")));
    assert_eq!(graph.output_schema()["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["item", "log"]);
}

/// R-GRA-52: a required output field that was never written is `OutputInvalid`; the state is saved first.
#[tokio::test]
async fn a_required_output_that_is_absent_is_an_error_after_the_save() {
    let mut graph = dynamic(json!({ "topic": null, "answer": { "required": true } }));
    let node = graph.add_node("think", || json!({ "topic": "thought" }));
    graph.add_edge(START, node).add_edge(node, END).input_fields(["topic"]).output_fields(["answer"]);
    let graph = graph.compile().unwrap();
    let error = expect_error(graph.invoke(json!({ "topic": "x" })).thread("t").await);
    assert_eq!((error.code(), error.http_status()), (ErrorCode::OutputInvalid, 500));
    assert!(error.message().contains("`answer`") && error.help().is_some(), "{error}");
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((&*saved.state.get("topic"), saved.next.len()), (&json!("thought"), 0));
    assert_eq!(error.partial().unwrap().checkpoint, Some(saved.id()));
}

/// A graph with a private field that `hide` writes and `seek` reads, if they declare it.
fn secret(hide_declares: bool, seek_declares: bool) -> CompiledGraph<DynamicState> {
    let mut graph = dynamic(json!({ "found": null, "key": { "private": true, "default": "none" } }));
    let declare = |declares: bool| if declares { vec!["key"] } else { vec![] };
    let hide = graph.add_node("hide", node(|| json!({ "key": "k1" })).writes(declare(hide_declares)));
    let read_key = |state: View<DynamicState>| json!({ "found": state.get("key").into_owned() });
    let seek = if seek_declares { node(read_key).reads(["key"]) } else { node(read_key) };
    let seek = graph.add_node("seek", seek);
    graph.add_sequence([START, hide.into(), seek.into(), END]);
    graph.compile().unwrap()
}

/// R-GRA-53, R-REF-14: nodes that declare a private field may write and read it; it is in no input and no output.
#[tokio::test]
async fn a_private_field_is_visible_to_nodes_that_declare_it() {
    let graph = secret(true, true);
    let ended = graph.invoke(json!({ "found": "" })).thread("t").await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "found": "k1" }));
    assert_eq!(*ended.state.get("key"), json!("none"));
    assert_eq!(*graph.threads().get_state("t").await.unwrap().state.get("key"), json!("k1"));
    let error = expect_error(graph.invoke(json!({ "found": "", "key": "x" })).thread("u").await);
    assert_eq!((error.code(), pointers(&error)), (ErrorCode::InputInvalid, vec!["/key"]));
    for schema in [graph.input_schema(), graph.output_schema()] {
        assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["found"]);
    }
}

/// R-GRA-53: an undeclared write or read of a private field is an error that names it.
#[tokio::test]
async fn an_undeclared_use_of_a_private_field_fails() {
    let error = expect_error(secret(false, true).invoke(json!({ "found": "" })).thread("t").await);
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::UnknownField, Some("hide")));
    assert!(error.message().contains("`key`") && error.help().unwrap().contains("writes"), "{error}");
    let error = expect_error(secret(true, false).invoke(json!({ "found": "" })).thread("t").await);
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::UnknownField, Some("seek")));
    assert!(error.message().contains("`key`") && error.help().unwrap().contains("reads"), "{error}");
}

/// R-GRA-54: unknown and private input and output fields are rejected at compile time, all at once.
#[test]
fn schemas_with_fields_the_state_lacks_do_not_compile() {
    let mut graph = dynamic(json!({ "topic": null, "key": { "private": true } }));
    let node = graph.add_node("a", || ());
    graph.add_edge(START, node).add_edge(node, END).input_fields(["topci"]).output_fields(["answer", "key"]);
    let error = expect_error(graph.compile());
    assert_eq!((error.code(), error.diagnostics().len()), (ErrorCode::InvalidGraph, 3), "{error}");
    let text = error.to_string();
    assert!(["`topci`", "`topic`", "`answer`", "`key`"].iter().all(|name| text.contains(name)), "{text}");
}

/// R-GRA-55: two nodes that may run together and declare to write one last-value field produce a warning.
#[test]
fn possible_conflicts_are_warned_about_at_compile_time() {
    let build = |conflict: Value, together: bool| {
        let mut graph = dynamic(json!({ "title": conflict }));
        let [a, b] = ["a", "b"].map(|name| graph.add_node(name, node(|| ()).writes(["title"])));
        if together {
            graph.add_edge(START, a).add_edge(START, b).add_edge(a, END)
        } else {
            graph.add_edge(START, a).add_edge(a, b)
        };
        graph.add_edge(b, END);
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
fn misspelt(unknown: UnknownFields) -> CompiledGraph<DynamicState> {
    let schema = Schema::builder("state").field(field("title")).unknown_fields(unknown).build().unwrap();
    let mut graph = StateGraph::<DynamicState>::with_schema("test", schema);
    let node = graph.add_node("draft", || json!({ "titel": "x" }));
    graph.add_edge(START, node).add_edge(node, END).checkpointer(MemoryCheckpointer::new());
    graph.compile().unwrap()
}

/// R-GRA-47, D5: an unknown key of a node is an error with node, key and the nearest name; nothing is applied.
#[tokio::test]
async fn an_unknown_key_of_a_node_is_rejected_with_a_suggestion() {
    let graph = misspelt(UnknownFields::Reject);
    let error = expect_error(graph.invoke(json!({ "title": "t" })).thread("t").await);
    assert_eq!(
        (error.code(), error.location().node.as_deref(), error.http_status()),
        (ErrorCode::UnknownField, Some("draft"), 500)
    );
    assert!(error.to_string().contains("`titel`") && error.to_string().contains("`title`"), "{error}");
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.to_json(), json!({ "title": "t" }));
    let mut typed = StateGraph::<Order>::new("order");
    let node = typed.add_node("draft", || Command::<Order>::new().update(json!({ "itme": "x" })));
    typed.add_edge(START, node).add_edge(node, END);
    let error = expect_error(typed.compile().unwrap().invoke(Order::input().item("x").count(1_u32)).await);
    assert!(error.code() == ErrorCode::UnknownField && error.to_string().contains("`item`"), "{error}");
}

/// R-GRA-47: `allow` keeps an unknown key, in results and checkpoints; `drop` removes it with a warning event.
#[tokio::test]
async fn unknown_keys_may_be_allowed_or_dropped() {
    let allowed = misspelt(UnknownFields::Allow);
    let ended = allowed.invoke(json!({ "title": "t", "more": 1 })).thread("t").await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "title": "t", "titel": "x", "more": 1 }));
    assert_eq!(
        allowed.threads().get_state("t").await.unwrap().state.to_json(),
        json!({ "title": "t", "titel": "x", "more": 1 })
    );
    let mut stream = misspelt(UnknownFields::Drop).invoke(json!({ "title": "t", "more": 1 })).thread("t").stream();
    let mut warnings = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(superstep::core::machine::MachineEvent::Warning { message, .. }) = event.kind {
            warnings.push(message);
        }
    }
    let ended = stream.finish().await.unwrap();
    assert_eq!(ended.to_json().unwrap(), json!({ "title": "t" }));
    assert_eq!(ended.warnings, warnings);
    assert!(warnings.len() == 2 && warnings[0].contains("`more`") && warnings[1].contains("`titel`"), "{warnings:?}");
}

/// R-GRA-7, D6: an update with a wrong type is rejected, reported as a warning or accepted, as the schema configures.
#[tokio::test]
async fn node_update_types_are_checked_as_configured() {
    let graph = |types| {
        let schema = Schema::builder("state")
            .field(field("n").field_type(FieldType::Integer))
            .type_checks(types)
            .build()
            .unwrap();
        let mut graph = StateGraph::<DynamicState>::with_schema("test", schema);
        let node = graph.add_node("a", || json!({ "n": "three" }));
        graph.add_edge(START, node).add_edge(node, END);
        graph.compile().unwrap()
    };
    let error = expect_error(graph(TypeChecks::Enforce).invoke(json!({ "n": 1 })).await);
    assert_eq!(
        (error.code(), error.http_status(), error.location().node.as_deref()),
        (ErrorCode::TypeMismatch, 500, Some("a"))
    );
    assert!(error.to_string().contains("/n") && error.to_string().contains("integer"), "{error}");
    let warned = graph(TypeChecks::Warn).invoke(json!({ "n": 1 })).await.unwrap();
    assert_eq!((&*warned.state.get("n"), warned.warnings.len()), (&json!("three"), 1));
    let off = graph(TypeChecks::Off).invoke(json!({ "n": 1 })).await.unwrap();
    assert_eq!((&*off.state.get("n"), off.warnings.len()), (&json!("three"), 0));
}

/// R-GRA-46, R-REF-29: no return value is valid too: the node counts as finished and its edges are followed.
#[tokio::test]
async fn a_node_may_return_nothing() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node_calls = calls.clone();
    let a = graph.add_node("a", move || node_calls.note("a"));
    let b = graph.add_node("b", || json!(null));
    let c = graph.add_node("c", || None::<Value>);
    let d = graph.add_node("d", calls.step("d"));
    graph.add_sequence([START, a.into(), b.into(), c.into(), d.into(), END]);
    let ended = graph.compile().unwrap().invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take(), ended.supersteps),
        (vec!["in".to_owned(), "d".into()], vec!["a".to_owned(), "d".into()], 4)
    );
}

/// R-GRA-46, R-REF-30: zero, false, and empty texts and lists are valid values.
#[tokio::test]
async fn falsy_results_are_results() {
    let mut graph = dynamic(
        json!({ "n": null, "yes": null, "text": null, "list": null, "sum": { "reducer": "add", "default": 1 } }),
    );
    let node = graph.add_node("a", || json!({ "n": 0, "yes": false, "text": "", "list": [], "sum": 0 }));
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let ended = graph.invoke(json!({ "n": 9, "yes": true, "text": "x", "list": [1] })).thread("t").await.unwrap();
    let expected = json!({ "n": 0, "yes": false, "text": "", "list": [], "sum": 1 });
    assert_eq!(ended.state.to_json(), expected);
    assert_eq!(history(&graph, "t").await[0].state.to_json(), expected);
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Growing {
    #[reduce(append)]
    log: Vec<u32>,
    #[reduce(merge)]
    notes: std::collections::BTreeMap<String, u32>,
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Plain {
    log: std::collections::VecDeque<u32>,
    notes: Value,
}

/// R-FWK-47: a field whose reducer was removed, or whose type was replaced by one with the same encoding, reads
/// stored values.
#[tokio::test]
async fn a_field_without_its_former_reducer_reads_stored_values() {
    let memory = MemoryCheckpointer::new();
    let mut graph = StateGraph::<Growing>::new("grow");
    let grow = graph.add_node("grow", |state: View<Growing>| {
        let notes = std::collections::BTreeMap::from([(format!("n{}", state.log.len()), 1)]);
        Growing::update().log(2_u32).notes(notes)
    });
    graph.add_edge(START, grow).add_edge(grow, END).checkpointer(memory.clone());
    let growing = graph.compile().unwrap();
    for _ in 0..2 {
        growing.invoke(Growing::input().log(1_u32)).thread("t").await.unwrap();
    }
    let mut graph = StateGraph::<Plain>::new("grow");
    let plain = graph.add_node("grow", Plain::update);
    graph.add_edge(START, plain).add_edge(plain, END).checkpointer(memory);
    let state = graph.compile().unwrap().threads().get_state("t").await.unwrap().state;
    assert_eq!((json!(state.log), &state.notes), (json!([1, 2, 1, 2]), &json!({ "n1": 1, "n3": 1 })));
}
