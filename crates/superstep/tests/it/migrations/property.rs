//! For every history of a thread, checkpoints that are read through migrations equal states that are migrated by
//! hand.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::core::testing::block_on;
use superstep::prelude::{END, START, StateGraph};
use superstep::{CompiledGraph, DynamicState, HistoryQuery, Migration, Schema};

use super::stores;

const FIELDS: [&str; 4] = ["list", "map", "sum", "last"];

fn graph(version: u32, renamed: bool, store: &SharedCheckpointer) -> StateGraph<DynamicState> {
    let (list, map) = if renamed { ("items", "table") } else { ("list", "map") };
    let mut fields = json!({ "sum": { "reducer": "add", "default": 0 }, "last": null });
    fields[list] = json!({ "type": "array", "reducer": "append", "default": [] });
    fields[map] = json!({ "type": "object", "reducer": "merge", "default": {} });
    if renamed {
        fields["new"] = json!({ "type": "string" });
    }
    let schema = Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
    let mut graph = StateGraph::with_schema("test", schema);
    let step = graph.add_node("step", || json!({ "sum": 1 }));
    graph.add_edge(START, step).add_edge(step, END).checkpointer(store.clone());
    graph
}

fn doubled(old: Value) -> Result<Value, String> {
    old.as_i64().map(|sum| json!(sum * 2)).ok_or_else(|| format!("{old} is no number"))
}

fn new(store: &SharedCheckpointer) -> CompiledGraph<DynamicState> {
    let mut graph = graph(3, true, store);
    graph.add_migration(1, Migration::to_version(2).rename("list", "items").convert("sum", doubled));
    graph.add_migration(2, Migration::to_version(3).rename("map", "table").convert("sum", doubled).add("new", "x"));
    graph.compile().unwrap()
}

fn by_hand(old: &Value) -> Value {
    json!({
        "items": old["list"], "table": old["map"], "last": old["last"], "new": "x", "sum": old["sum"].as_i64().unwrap() * 4,
    })
}

fn values(record: &DynamicState, names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), record.get(name).into_owned())).collect::<Map<_, _>>().into()
}

fn inputs() -> impl Strategy<Value = Vec<Value>> {
    let value = prop_oneof![Just(json!(null)), "[a-z]{0,40}".prop_map(Value::from), any::<i32>().prop_map(Value::from)];
    let input = prop_oneof![
        proptest::collection::vec(value.clone(), 1..4).prop_map(|items| json!({ "list": items })),
        ("[a-d]", value.clone()).prop_map(|(key, value)| json!({ "map": { key: value } })),
        (0_i64..9).prop_map(|sum| json!({ "sum": sum })),
        value.prop_map(|last| json!({ "last": last })),
    ];
    proptest::collection::vec(input, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// R-FWK-47: every checkpoint reads as if its state had been migrated by hand, before and after the thread
    /// continues.
    #[test]
    fn history_reads_as_if_migrated_by_hand(inputs in inputs(), more in inputs()) {
        const NEW: [&str; 5] = ["items", "table", "sum", "last", "new"];
        for store in stores() {
            block_on(async {
                let old = graph(1, false, &store).compile().unwrap();
                for input in &inputs {
                    old.invoke(input.clone()).thread("t").await.unwrap();
                }
                let history = old.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap();
                let expected: Vec<Value> = history.iter().map(|seen| by_hand(&values(&seen.state, &FIELDS))).collect();
                let graph = new(&store);
                let read = |graph: &CompiledGraph<DynamicState>| {
                    let threads = graph.threads();
                    async move {
                        let history = threads.get_state_history("t", &HistoryQuery::default()).await.unwrap();
                        history.iter().map(|seen| values(&seen.state, &NEW)).collect::<Vec<Value>>()
                    }
                };
                assert_eq!(read(&graph).await, expected);
                let mut ends = Vec::new();
                for input in &more {
                    let text = input.to_string().replace("\"list\":", "\"items\":").replace("\"map\":", "\"table\":");
                    let out = graph.invoke(serde_json::from_str::<Value>(&text).unwrap()).thread("t").await.unwrap();
                    ends.push(values(&out.state, &NEW));
                }
                let all = read(&new(&store)).await;
                assert_eq!(all[all.len() - expected.len()..], expected);
                let after: Vec<&Value> = all[..all.len() - expected.len()].iter().rev().skip(1).step_by(2).collect();
                assert_eq!(after, ends.iter().collect::<Vec<_>>());
            });
        }
    }
}
