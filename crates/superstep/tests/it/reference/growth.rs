//! Cases 69 and 70: fields that are stored as deltas, compared with fields that are stored as full values.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use superstep::core::change::Change;
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::id::CheckpointId;
use superstep::core::port::{HistoryQuery, SharedCheckpointer};
use superstep::core::schema::{FieldBuilder, field};
use superstep::core::types::FieldType;
use superstep::prelude::*;
use superstep::{Cache, CachePolicy, Compat, CompiledGraph, DynamicState, Schema};

use super::COMPAT_MODES;
use super::json_checkpointer::JsonCheckpointer;
use crate::support::{due_at, history};

/// A list that grows item by item and is stored as deltas.
fn grown(name: &str) -> FieldBuilder {
    field(name).field_type(FieldType::Array).reducer("append").default(json!([]))
}

/// A list with an equivalent custom reducer; the engine can only store it as full values.
fn custom_list(name: &str) -> FieldBuilder {
    let fold = |current: Value, update: Value| {
        let mut list = current.as_array().cloned().unwrap_or_default();
        match update {
            Value::Array(items) => list.extend(items),
            item => list.push(item),
        }
        Ok(Value::Array(list))
    };
    field(name).field_type(FieldType::Array).reduce_with(fold).default(json!([]))
}

fn both(value: Value) -> Value {
    json!({ "grown": value, "whole": value })
}

/// `q` and `p` together, then a cached node, then one that resets both lists once they are long.
fn graph_with_both_lists(compat: Compat, store: SharedCheckpointer) -> CompiledGraph<DynamicState> {
    let schema = Schema::builder("twins").field(grown("grown")).field(custom_list("whole")).build().unwrap();
    let mut graph = StateGraph::<DynamicState>::with_schema("twins", schema);
    let q = graph.add_node("q", || both(json!("q")));
    let p = graph.add_node("p", async || {
        tokio::task::yield_now().await;
        both(json!(["p", ["deep"]]))
    });
    let cached = node(|cx: TaskContext| both(json!(cx.step())))
        .cache(CachePolicy::with_key(|_: &DynamicState| "one".to_owned()));
    let cached = graph.add_node("cached", cached);
    let anew = graph.add_node("anew", |state: View<DynamicState>| {
        let is_long = state.get("grown").as_array().is_some_and(|list| list.len() > 9);
        both(if is_long { json!({ "__overwrite__": ["anew"] }) } else { json!([]) })
    });
    graph.add_edge(START, q).add_edge(START, p).add_join([q, p], cached).add_edge(cached, anew).add_edge(anew, END);
    graph.checkpointer(store).cache(Cache::new()).compat(compat);
    graph.compile().unwrap()
}

/// R-REF-69: at every checkpoint a list stored as deltas equals one stored as full values: after parallel writes,
/// cached results, overwrites, external updates and forks.
#[tokio::test]
async fn a_list_stored_as_deltas_reads_like_a_full_value() {
    for compat in COMPAT_MODES {
        for store in [
            SharedCheckpointer::from(MemoryCheckpointer::new()),
            JsonCheckpointer::on(&MemoryCheckpointer::new()).into(),
        ] {
            let graph = graph_with_both_lists(compat, store.clone());
            for round in 0..4 {
                graph.invoke(both(json!([round]))).thread("t").await.unwrap();
                graph.threads().update_state("t", both(json!("edit"))).await.unwrap();
            }
            let old = due_at(&graph, "t", &["anew"]).await;
            graph.threads().update_state("t", both(json!(["fork"]))).from_checkpoint(old).await.unwrap();
            graph.continue_thread("t").await.unwrap();
            graph.invoke(both(json!("last"))).thread("t").from_checkpoint(old).await.unwrap();
            let states: Vec<Value> = history(&graph, "t").await.iter().map(|seen| seen.state.to_json()).collect();
            assert!(states.len() >= 4 * 5 + 6, "{} checkpoints", states.len());
            assert!(states.iter().all(|state| state["grown"] == state["whole"]), "{states:#?}");
            let lengths: Vec<usize> = states.iter().map(|state| state["grown"].as_array().unwrap().len()).collect();
            assert!(lengths.iter().any(|length| *length > 9) && lengths.contains(&1), "{lengths:?}");
            let stored =
                store.history(&"t".into(), &CheckpointNamespace::root(), &HistoryQuery::default()).await.unwrap();
            let grows = |name: &str| {
                let logs = stored.iter().flat_map(|loaded| &loaded.fields).filter(|(field, _)| &**field == name);
                logs.flat_map(|(_, log)| log).any(|(change, _)| matches!(change, Change::Appended { .. }))
            };
            assert_eq!((grows("grown"), grows("whole")), (true, false));
        }
    }
}

/// Adds one item to `list` per run: only the item if the field has a reducer, otherwise the complete list.
fn adding(list: FieldBuilder, folds: bool, store: &SharedCheckpointer) -> CompiledGraph<DynamicState> {
    let schema = Schema::builder("state").field(list).field(field("item")).build().unwrap();
    let mut graph = StateGraph::<DynamicState>::with_schema("adding", schema);
    let add = graph.add_node("add", move |state: View<DynamicState>| {
        let item = state.get("item").into_owned();
        if folds {
            return json!({ "list": [item] });
        }
        let mut list = state.get("list").as_array().cloned().unwrap_or_default();
        list.push(item);
        json!({ "list": list })
    });
    graph.add_edge(START, add).add_edge(add, END).checkpointer(store.clone());
    graph.compile().unwrap()
}

/// Returns the ids of the items of each checkpoint.
async fn lists(graph: &CompiledGraph<DynamicState>) -> BTreeMap<CheckpointId, Vec<Value>> {
    let ids = |state: &DynamicState| {
        state.get("list").as_array().into_iter().flatten().map(|item| item["id"].clone()).collect()
    };
    history(graph, "t").await.iter().map(|seen| (seen.id(), ids(&seen.state))).collect()
}

/// A field in two forms, and whether each has a reducer.
type Shapes = [(fn() -> FieldBuilder, bool); 2];

/// R-REF-70: a thread continues when its field becomes a list that is stored as deltas, and back again, twice; every
/// earlier checkpoint reads as before in either form.
#[tokio::test]
async fn a_field_may_become_a_growing_list_and_back() {
    let plain: (fn() -> FieldBuilder, bool) = (|| field("list"), false);
    let rows: [Shapes; 3] = [
        [plain, (|| grown("list"), true)],
        [(|| custom_list("list"), true), (|| grown("list"), true)],
        [plain, (|| field("list").field_type(FieldType::Messages), true)],
    ];
    for shapes in rows {
        for store in [
            SharedCheckpointer::from(MemoryCheckpointer::new()),
            JsonCheckpointer::on(&MemoryCheckpointer::new()).into(),
        ] {
            let (mut before, mut expected) = (BTreeMap::new(), Vec::new());
            for (number, (list, folds)) in shapes.iter().chain(&shapes).enumerate() {
                let graph = adding(list(), *folds, &store);
                assert_eq!(lists(&graph).await, before, "as {number}");
                for half in 0..2 {
                    let id = format!("{number}.{half}");
                    let item = json!({ "id": id, "role": "user", "content": "hello" });
                    graph.invoke(json!({ "item": item })).thread("t").await.unwrap();
                    expected.push(json!(id));
                }
                before = lists(&graph).await;
                assert_eq!(before.values().max_by_key(|list| list.len()), Some(&expected));
                assert_eq!(before.len(), 2 * expected.len());
            }
        }
    }
}
