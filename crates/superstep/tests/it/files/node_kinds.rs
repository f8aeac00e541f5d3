//! Every kind of node, in a run.

use serde_json::{Value, json};
use superstep::files::{Components, Condition, FileFormat, GraphFile};
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, RunEnd};

use super::samples::{parts, sample};

/// Builds a graph with these nodes, over a state that has the fields that they need; edges are pairs.
fn graph(nodes: Value, edges: &[(&str, &str)], parts: &Components) -> CompiledGraph<DynamicState> {
    let edges: Vec<Value> = edges.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
    let file = json!({
        "name": "test",
        "state": {
            "text": { "type": "string" }, "n": { "type": "integer" }, "list": { "type": "array" }, "any": {},
            "log": { "type": "array", "reducer": "append", "default": [] }, "chat": { "type": "messages" },
        },
        "nodes": nodes, "edges": edges,
    });
    GraphFile::parse(&file.to_string(), FileFormat::Json).unwrap().build(parts).unwrap()
}

fn line(node: Value, parts: &Components) -> CompiledGraph<DynamicState> {
    graph(json!({ "a": node }), &[("START", "a"), ("a", "END")], parts)
}

/// R-FWK-96: a model receives its prompt and the messages, and its response is added to them.
#[tokio::test]
async fn a_model_continues_with_its_messages() {
    let model = ScriptedModel::new(["Noon."]);
    let parts = Components::new().model("m", model.clone());
    let node = json!({ "kind": "model", "model": "m", "prompt": "Be {{text}}.", "messages": "chat", "temperature": 0.25,
        "max_tokens": 9 });
    let done = line(node, &parts).invoke(json!({ "text": "short", "chat": "How late is it?" })).await.unwrap();
    let chat = done.state.messages("chat").unwrap();
    assert_eq!(
        chat.iter().map(|message| message.text().into_owned()).collect::<Vec<_>>(),
        ["How late is it?", "Noon."]
    );
    let request = &model.requests()[0];
    let texts: Vec<String> = request.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["Be short.", "How late is it?"]);
    assert_eq!((request.temperature, request.max_tokens), (Some(0.25), Some(9)));
    assert_eq!(request.prompt.as_deref(), Some("a@1"));
}

/// R-FWK-96: without messages the prompt is the request, and the text of the response is written to a field.
#[tokio::test]
async fn a_model_without_messages_answers_its_prompt() {
    let model = ScriptedModel::new(["Foxes"]);
    let parts = Components::new().model("m", model.clone());
    let node = json!({ "kind": "model", "model": "m", "prompt": "Title: {{list}} {{n}} {{any}}!", "output": "text" });
    let done = line(node, &parts).invoke(json!({ "list": ["a", 1], "n": 3 })).await.unwrap();
    assert_eq!(*done.state.get("text"), "Foxes");
    assert_eq!(model.requests()[0].messages[0].text(), "Title: [\"a\",1] 3 !");
    assert_eq!(model.requests()[0].messages.len(), 1);
}

/// R-FWK-96: a response with a schema is a value; a response that is not valid fails the node.
#[tokio::test]
async fn an_answer_with_a_schema_is_validated() {
    let parts = Components::new().model("m", ScriptedModel::new([r#"{"n": 1}"#, r#"{"n": "one"}"#]));
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let node = json!({ "kind": "model", "model": "m", "prompt": "?", "output": "any", "schema": schema });
    let graph = line(node, &parts);
    assert_eq!(*graph.invoke(json!({ "n": 0 })).await.unwrap().state.get("any"), json!({ "n": 1 }));
    let error = graph.invoke(json!({ "n": 0 })).await.unwrap_err();
    assert_eq!(error.location().node.as_deref(), Some("a"));
    assert_eq!(error.code(), superstep::ErrorCode::ModelBadAnswer);
}

/// R-FWK-96: the tool calls of the last message run, and a policy may require approval before.
#[tokio::test]
async fn tools_run_and_approval_is_requested_as_the_policy_requires() {
    let calls = [
        ScriptedReply::tool_call("find_order", json!({ "number": 3 })),
        ScriptedReply::tool_call("refund", json!({ "number": 3 })),
    ];
    let parts = parts().model("m", calls.into_iter().fold(ScriptedModel::default(), ScriptedModel::then).then("done"));
    let nodes = json!({
        "model": { "kind": "model", "model": "m", "messages": "chat", "tools": ["find_order", "refund"] },
        "more": { "kind": "condition", "routes": [{ "when": { "has_tool_calls": "chat" }, "to": "tools" }], "else": "END" },
        "tools": { "kind": "tools", "tools": ["find_order", "refund"], "messages": "chat", "policy": { "require_approval": ["*"],
            "allow": ["find_order"] } },
    });
    let graph = graph(nodes, &[("START", "model"), ("model", "more"), ("tools", "model")], &parts);
    let paused = graph.invoke(json!({ "chat": "my money" })).thread("t").await.unwrap();
    assert_eq!(paused.interrupts()[0].value["tool"], "refund");
    let answer = superstep::tools::Approval::approve(&paused.interrupts()[0]).unwrap();
    let done = graph.resume("t", answer).await.unwrap();
    let texts: Vec<String> =
        done.state.messages("chat").unwrap().iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["my money", "", "order 3 left on Monday", "", "order 3 is paid back", "done"]);
}

/// R-FWK-96: the first condition that is true applies; each operator compares as documented.
#[tokio::test]
async fn the_first_true_condition_applies() {
    let rows = [
        (json!({ "field": "n", "equals": 3 }), json!({ "n": 3 }), true),
        (json!({ "field": "any", "equals": 3 }), json!({ "any": 3.0 }), true),
        (json!({ "field": "n", "equals": 3 }), json!({ "n": 4 }), false),
        (json!({ "field": "any", "equals": { "a": [1] } }), json!({ "any": { "a": [1] } }), true),
        (json!({ "field": "text", "one_of": ["a", "b"] }), json!({ "text": "b" }), true),
        (json!({ "field": "text", "one_of": ["a", "b"] }), json!({ "text": "c" }), false),
        (json!({ "field": "n", "at_least": 3 }), json!({ "n": 3 }), true),
        (json!({ "field": "n", "at_least": 3.5 }), json!({ "n": 3 }), false),
        (json!({ "field": "text", "at_most": "m" }), json!({ "text": "k" }), true),
        (json!({ "field": "text", "at_most": 5 }), json!({ "text": "k" }), false),
        (json!({ "field": "any", "at_most": 5 }), json!({ "n": 1 }), false),
        (json!({ "field": "text", "contains": "ox" }), json!({ "text": "fox" }), true),
        (json!({ "field": "list", "contains": 2 }), json!({ "list": [1, 2] }), true),
        (json!({ "field": "list", "contains": "ox" }), json!({ "list": ["fox"] }), false),
        (json!({ "field": "n", "exists": true }), json!({ "text": "" }), false),
        (json!({ "field": "n", "exists": false }), json!({ "text": "" }), true),
        (json!({ "field": "any", "at": "/a/0", "equals": 1 }), json!({ "any": { "a": [1] } }), true),
        (json!({ "field": "any", "at": "/a/1", "exists": true }), json!({ "any": { "a": [1] } }), false),
        (
            json!({ "all": [{ "field": "n", "equals": 1 }, { "field": "text", "equals": "a" }] }),
            json!({ "n": 1 }),
            false,
        ),
        (
            json!({ "any": [{ "field": "n", "equals": 1 }, { "field": "text", "equals": "a" }] }),
            json!({ "n": 1 }),
            true,
        ),
        (json!({ "all": [] }), json!({ "n": 1 }), true),
        (json!({ "any": [] }), json!({ "n": 1 }), false),
        (json!({ "not": { "field": "n", "equals": 1 } }), json!({ "n": 1 }), false),
        (json!({ "has_tool_calls": "chat" }), json!({ "chat": "hello" }), false),
    ];
    for (test, input, holds) in rows {
        let nodes = json!({
            "a": { "kind": "condition", "routes": [
                { "when": test, "to": "yes" }, { "when": { "all": [] }, "to": "no" }
            ], "else": "END" },
            "yes": { "kind": "set", "values": { "log": "yes" } },
            "no": { "kind": "set", "values": { "log": "no" } },
        });
        let graph = graph(nodes, &[("START", "a"), ("yes", "END"), ("no", "END")], &Components::new());
        let done = graph.invoke(input.clone()).await.unwrap();
        assert_eq!(*done.state.get("log"), json!([if holds { "yes" } else { "no" }]), "{test} {input}");
    }
    assert_ne!(Condition::exists("a"), Condition::is_missing("a"));
}

/// R-FWK-96: a map starts a task per item; results are collected in the order of the items.
#[tokio::test]
async fn a_map_runs_a_node_for_each_item_in_order() {
    let nodes = json!({
        "each": { "kind": "map", "over": "list", "to": "one", "as": "fruit", "else": "none" },
        "one": { "kind": "set", "templates": { "log": "a {{fruit}} of {{text}}" } },
        "none": { "kind": "set", "values": { "log": "nothing" } },
        "last": { "kind": "set", "values": { "n": 1 } },
    });
    let edges = [("START", "each"), ("one", "last"), ("none", "END"), ("last", "END")];
    let graph = graph(nodes, &edges, &Components::new());
    let done = graph.invoke(json!({ "list": ["pear", "apple", "fig"], "text": "mine" })).await.unwrap();
    assert_eq!(*done.state.get("log"), json!(["a pear of mine", "a apple of mine", "a fig of mine"]));
    assert_eq!(*done.state.get("n"), 1);
    for empty in [json!([]), Value::Null] {
        let done = graph.invoke(json!({ "list": empty })).await.unwrap();
        assert_eq!(*done.state.get("log"), json!(["nothing"]));
    }
}

/// R-FWK-96: an item may be of any type, also for a node in Rust, a condition and an interrupt.
#[tokio::test]
async fn an_item_reaches_every_kind_of_node() {
    let parts = Components::new().node("rust", |item: SendPayload<Value>| json!({ "log": [item["item"]["n"]] }));
    let nodes = json!({
        "each": { "kind": "map", "over": "list", "to": "big" },
        "big": { "kind": "condition", "routes": [{ "when": { "field": "item", "at": "/n", "at_least": 2 }, "to": "END" }],
            "else": "END" },
        "again": { "kind": "map", "over": "list", "to": "rust" },
        "rust": { "kind": "rust", "node": "rust" },
    });
    let graph = graph(nodes, &[("START", "each"), ("START", "again"), ("rust", "END")], &parts);
    let done = graph.invoke(json!({ "list": [{ "n": 1 }, { "n": 2 }] })).await.unwrap();
    assert_eq!(*done.state.get("log"), json!([1, 2]));
}

/// R-FWK-96: an interrupt has its text, contains fields, and accepts only a resume value of its type.
#[tokio::test]
async fn an_interrupt_asks_and_checks_the_answer() {
    let node = json!({ "kind": "interrupt", "prompt": "Is {{text}} good?", "payload_fields": ["n"], "resume_type": "boolean", "output": "any" });
    let graph = line(node, &Components::new().checkpointer(MemoryCheckpointer::new()));
    let paused = graph.invoke(json!({ "text": "this", "n": 4 })).thread("t").await.unwrap();
    let question = &paused.interrupts()[0];
    assert_eq!((question.name.as_str(), question.prompt.as_deref()), ("a", Some("Is this good?")));
    assert_eq!(
        (&question.value, question.resume_schema.as_ref()),
        (&json!({ "n": 4 }), Some(&json!({ "type": "boolean" })))
    );
    let error = graph.resume("t", "perhaps").await.unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::InvalidResume);
    assert_eq!(*graph.resume("t", true).await.unwrap().state.get("any"), true);
}

/// R-FWK-96: `set` writes constants, texts and copies; reducers merge them.
#[tokio::test]
async fn set_writes_constants_texts_and_copies() {
    let node = json!({ "kind": "set", "values": { "log": ["x"], "n": 2 }, "templates": { "text": "{{n}} {{text}}" },
        "copies": { "any": "list" } });
    let done =
        line(node, &Components::new()).invoke(json!({ "n": 1, "text": "t", "list": [1], "log": "w" })).await.unwrap();
    let expected = json!({ "any": [1], "chat": [], "list": [1], "log": ["w", "x"], "n": 2, "text": "1 t" });
    assert_eq!(done.state.to_json(), expected);
}

/// R-FWK-96: a node in Rust keeps the policies of its component, unless the file overrides them.
#[tokio::test]
async fn a_rust_node_keeps_its_own_retry_policy() {
    let attempts = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = attempts.clone();
    let flaky = move || {
        let count = counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if count < 2 { Err(NodeError::new("not yet").retryable()) } else { Ok(json!({ "n": count })) }
    };
    let quick = RetryPolicy::exponential(3).initial_interval(std::time::Duration::from_micros(1));
    let parts = Components::new().node("flaky", node(flaky).retry(quick));
    let done = line(json!({ "kind": "rust", "node": "flaky" }), &parts).invoke(json!({ "n": 0 })).await.unwrap();
    assert_eq!(*done.state.get("n"), 2);
    attempts.store(0, std::sync::atomic::Ordering::Relaxed);
    let once = json!({ "kind": "rust", "node": "flaky", "retry": { "max_attempts": 1 } });
    assert!(line(once, &parts).invoke(json!({ "n": 0 })).await.is_err());
}

/// R-FWK-96: graphs in files and graphs in Rust run as subgraphs, and share fields by name.
#[tokio::test]
async fn everything_runs() {
    let graph = sample("everything.json").build(&parts()).unwrap();
    let paused = graph.invoke(json!({ "text": "the fox", "items": ["x", "y"] })).thread("t").await.unwrap();
    assert_eq!(paused.interrupts()[0].prompt.as_deref(), Some("Good, A title for quiet?"));
    assert_eq!(paused.interrupts()[0].value, json!({ "found": ["x", "y"], "secret": "quiet" }));
    let before = graph.resume("t", json!({ "yes": true })).await.unwrap();
    assert!(matches!(before.end, RunEnd::Paused { .. }), "a breakpoint: {:?}", before.end);
    graph.continue_thread("t").await.unwrap();
    let done = graph.continue_thread("t").await.unwrap();
    assert_eq!(done.state.get("words").as_u64(), Some(1 + 10 + 100 + 1000));
    assert_eq!(done.to_json().unwrap()["found"], json!(["x", "y"]));
}

/// R-FWK-96: the sample of the book takes all its routes.
#[tokio::test]
async fn the_triage_sample_takes_all_its_routes() {
    let graph = sample("triage.toml").build(&parts()).unwrap();
    let paged = graph.invoke(json!({ "ticket": "fire in the hall" })).await.unwrap();
    assert_eq!(paged.to_json().unwrap()["draft"], "Somebody is on the way: fire in the hall");
    let paused = graph.invoke(json!({ "ticket": "where is my order?" })).thread("order").await.unwrap();
    let saved = graph.threads().get_state("order").await.unwrap();
    let messages = saved.state.messages("messages").unwrap();
    assert_eq!(messages.last().unwrap().text(), "It left on Monday.");
    assert_eq!(paused.interrupts()[0].prompt.as_deref(), Some("Send this answer?"));
    let sent = graph.resume("order", true).await.unwrap();
    assert_eq!(sent.to_json().unwrap()["status"], "sent");
    let paused = graph.invoke(json!({ "ticket": "the lamp is dark" })).thread("lamp").await.unwrap();
    assert_eq!(*paused.state.get("findings"), json!(["found: Why?", "found: Since when?", "found: How much?"]));
    let rejected = graph.resume("lamp", false).await.unwrap();
    assert_eq!(rejected.to_json().unwrap()["status"], "refused");
}
