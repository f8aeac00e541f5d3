//! Generated Rust code of graph files: committed, compiled here, and equivalent to the file.

use serde_json::{Value, json};
use superstep::files::{Components, FileFormat, GraphFile};
use superstep::{CompiledGraph, DynamicState, HistoryQuery};

use super::samples::{assert_golden, parts, sample};

#[allow(unreachable_pub, reason = "a library would have them public")]
#[path = "generated/everything.rs"]
mod everything;
#[allow(unreachable_pub, reason = "a library would have them public")]
#[path = "generated/strange.rs"]
mod strange;
#[allow(unreachable_pub, reason = "a library would have them public")]
#[path = "generated/triage.rs"]
mod triage;

/// R-FWK-96: the generated Rust of the samples is the committed one, which is compiled with these tests.
#[test]
fn the_rust_of_a_file_is_committed() {
    assert_golden("generated/triage.rs", &sample("triage.toml").to_rust());
    assert_golden("generated/everything.rs", &sample("everything.json").to_rust());
}

/// Returns the history of a thread: states, next tasks, steps.
async fn history(graph: &CompiledGraph<DynamicState>, thread: &str) -> Vec<Value> {
    let history = graph.threads().get_state_history(thread, &HistoryQuery::default()).await.unwrap();
    let rows = history.iter().map(|snapshot| {
        json!({ "state": without_chance(snapshot.state.to_json()), "next": snapshot.next, "step": snapshot.checkpoint.step })
    });
    rows.collect()
}

/// Removes ids of messages and durations of tools, which differ between runs.
fn without_chance(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.retain(|key, _| !["id", "tool_call_id", "duration_ms"].contains(&key.as_str()));
            map.values_mut().for_each(|inner| *inner = without_chance(inner.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_chance(item.take())),
        _ => {}
    }
    value
}

async fn assert_same(
    file: &CompiledGraph<DynamicState>,
    rust: &CompiledGraph<DynamicState>,
    input: &Value,
    answers: &[Value],
) {
    assert_eq!(file.diagram().to_json(), rust.diagram().to_json());
    assert_eq!(file.input_schema(), rust.input_schema());
    assert_eq!(file.output_schema(), rust.output_schema());
    let mut seen = Vec::new();
    for graph in [file, rust] {
        let mut outcome = graph.invoke(input.clone()).thread("t").await.unwrap();
        for answer in answers {
            outcome = match answer {
                Value::Null => graph.continue_thread("t").await.unwrap(),
                answer => graph.resume("t", answer).await.unwrap(),
            };
        }
        seen.push((without_chance(outcome.to_json().unwrap()), history(graph, "t").await));
    }
    assert!(seen[0].1.len() > 3, "{seen:?}");
    assert_eq!(seen[0], seen[1]);
}

/// R-FWK-96: with the same components, the generated Rust has the same diagram, and every run has the same state and
/// history.
#[tokio::test]
async fn generated_rust_behaves_like_its_file() {
    for (ticket, answers) in
        [("fire", vec![]), ("where is my order?", vec![json!(true)]), ("the lamp is dark", vec![json!(false)])]
    {
        let file = sample("triage.toml").build(&parts()).unwrap();
        assert_same(&file, &triage::build(&parts()).unwrap(), &json!({ "ticket": ticket }), &answers).await;
    }
    for items in [json!([]), json!(["x", "y"])] {
        let file = sample("everything.json").build(&parts()).unwrap();
        let rust = everything::build(&parts()).unwrap();
        let answers = [json!({ "yes": false }), Value::Null, Value::Null];
        assert_same(&file, &rust, &json!({ "text": "the fox", "items": items }), &answers).await;
    }
}

/// R-FWK-96: the generated Rust reports a missing component.
#[test]
fn the_rust_of_a_file_names_missing_parts() {
    let error = triage::build(&Components::new()).map(drop).unwrap_err();
    assert_eq!(error.message(), "the components have no model `small`");
}

/// Names that are not valid in Rust, and texts, numbers and empty lists that need escaping or types.
fn strange_file() -> GraphFile {
    let long =
        "a very long prompt that needs a constant of its own because it does not fit on one line, and \"quotes\" too";
    let numbers = json!([1.5, 1e300, 9_007_199_254_740_993_u64, -3_000_000_000_i64, i64::MIN, u64::MAX]);
    let wide: serde_json::Map<String, Value> =
        (0..9).map(|number| (format!("a key of some length, {number}"), json!(5_000_000_000_u64 + number))).collect();
    let file = json!({
        "name": "fn",
        "state": { "a b": { "reducer": "append" }, "r#": { "type": "string" }, "big": { "default": 9_007_199_254_740_993_u64 } },
        "nodes": {
            "1st": { "kind": "interrupt", "prompt": long, "output": "r#" },
            "!?": { "kind": "set", "values": { "a b": ["tab\tand \u{1} and \"#"] } },
            "self": { "kind": "set", "values": { "a b": [{ "k\n": numbers }], "big": u64::MAX } },
            "wide": { "kind": "set", "values": { "a b": [wide] } },
            "none": { "kind": "condition", "else": "rust", "routes": [
                { "when": { "field": "big", "one_of": [] }, "to": "END" },
                { "when": { "any": [] }, "to": "END" },
                { "when": { "field": "big", "one_of": [4_000_000_000_u64, -4_000_000_000_i64] }, "to": "END" },
            ] },
            "rust": { "kind": "rust", "node": "send", "goto": [], "reads": [], "writes": [] },
        },
        "edges": [
            { "from": "START", "to": ["1st", "!?", "self", "wide"] },
            { "from": ["1st", "!?", "self", "wide"], "to": "none" },
        ],
    });
    GraphFile::parse(&file.to_string(), FileFormat::Json).unwrap()
}

fn strange_parts() -> Components {
    Components::new().node("send", || json!({})).checkpointer(superstep::MemoryCheckpointer::new())
}

/// R-FWK-96: names that are not valid in Rust, and other special cases, produce equivalent Rust.
#[tokio::test]
async fn unusual_names_and_values_produce_valid_rust() {
    let file = strange_file();
    assert_golden("generated/strange.rs", &file.to_rust());
    let rust = strange::build(&strange_parts()).unwrap();
    assert_same(&file.build(&strange_parts()).unwrap(), &rust, &json!({ "big": 3 }), &[json!("yes")]).await;
}
