//! Cases 69 and 70: fields that are stored as what was added to them, beside fields that are stored whole.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use superstep::core::change::Change;
use superstep::core::checkpoint::Namespace;
use superstep::core::id::CheckpointId;
use superstep::core::port::{HistoryQuery, SharedCheckpointer};
use superstep::core::schema::{FieldBuilder, field};
use superstep::core::types::FieldType;
use superstep::prelude::*;
use superstep::{Cache, CachePolicy, Compat, Compiled, Record, Schema};

use super::PROFILES;
use super::stores::Paper;
use crate::support::{due_at, history};

/// A list that grows item by item and is stored so.
fn grown(name: &str) -> FieldBuilder {
    field(name).kind(FieldType::Array).reducer("append").default(json!([]))
}

/// A list with a reducer of our own that does the same; the engine can only store it whole.
fn whole(name: &str) -> FieldBuilder {
    let fold = |current: Value, update: Value| {
        let mut list = current.as_array().cloned().unwrap_or_default();
        match update {
            Value::Array(items) => list.extend(items),
            item => list.push(item),
        }
        Ok(Value::Array(list))
    };
    field(name).kind(FieldType::Array).reduce_with(fold).default(json!([]))
}

fn both(value: Value) -> Value {
    json!({ "grown": value, "whole": value })
}

/// `q` and `p` together, then a cached node, then one that starts both lists anew once they are long.
fn twins(compat: Compat, store: SharedCheckpointer) -> Compiled<Record> {
    let schema = Schema::builder("twins").field(grown("grown")).field(whole("whole")).build().unwrap();
    let mut graph = Graph::<Record>::with_schema("twins", schema);
    let q = graph.node("q", || both(json!("q")));
    let p = graph.node("p", async || {
        tokio::task::yield_now().await;
        both(json!(["p", ["deep"]]))
    });
    let cached = node(|cx: Cx| both(json!(cx.step()))).cache(CachePolicy::by(|_: &Record| "one".to_owned()));
    let cached = graph.node("cached", cached);
    let anew = graph.node("anew", |state: View<Record>| {
        let is_long = state.get("grown").as_array().is_some_and(|list| list.len() > 9);
        both(if is_long { json!({ "__overwrite__": ["anew"] }) } else { json!([]) })
    });
    graph.edge(START, q).edge(START, p).join([q, p], cached).edge(cached, anew).edge(anew, END);
    graph.checkpointer(store).cache(Cache::new()).compat(compat);
    graph.compile().unwrap()
}

/// R-REF-69: at every checkpoint a list stored as what was added reads like one stored whole: after parallel writes,
/// cached results, overwrites, updates from outside and forks.
#[tokio::test]
async fn a_list_stored_as_growth_reads_like_one_stored_whole() {
    for compat in PROFILES {
        for store in [SharedCheckpointer::from(Memory::new()), Paper::on(&Memory::new()).into()] {
            let graph = twins(compat, store.clone());
            for round in 0..4 {
                graph.run(both(json!([round]))).thread("t").await.unwrap();
                graph.threads().update("t", both(json!("edit"))).await.unwrap();
            }
            let old = due_at(&graph, "t", &["anew"]).await;
            graph.threads().update("t", both(json!(["fork"]))).at(old).await.unwrap();
            graph.go_on("t").await.unwrap();
            graph.run(both(json!("last"))).thread("t").at(old).await.unwrap();
            let states: Vec<Value> = history(&graph, "t").await.iter().map(|seen| seen.state.to_json()).collect();
            assert!(states.len() >= 4 * 5 + 6, "{} checkpoints", states.len());
            assert!(states.iter().all(|state| state["grown"] == state["whole"]), "{states:#?}");
            let lengths: Vec<usize> = states.iter().map(|state| state["grown"].as_array().unwrap().len()).collect();
            assert!(lengths.iter().any(|length| *length > 9) && lengths.contains(&1), "{lengths:?}");
            let stored = store.history(&"t".into(), &Namespace::root(), &HistoryQuery::default()).await.unwrap();
            let grows = |name: &str| {
                let logs = stored.iter().flat_map(|loaded| &loaded.fields).filter(|(field, _)| &**field == name);
                logs.flat_map(|(_, log)| log).any(|(change, _)| matches!(change, Change::Appended { .. }))
            };
            assert_eq!((grows("grown"), grows("whole")), (true, false));
        }
    }
}

/// Adds one item to `list` for each run: by itself where the field folds, with the whole list where it does not.
fn adding(list: FieldBuilder, folds: bool, store: &SharedCheckpointer) -> Compiled<Record> {
    let schema = Schema::builder("state").field(list).field(field("item")).build().unwrap();
    let mut graph = Graph::<Record>::with_schema("adding", schema);
    let add = graph.node("add", move |state: View<Record>| {
        let item = state.get("item").into_owned();
        if folds {
            return json!({ "list": [item] });
        }
        let mut list = state.get("list").as_array().cloned().unwrap_or_default();
        list.push(item);
        json!({ "list": list })
    });
    graph.edge(START, add).edge(add, END).checkpointer(store.clone());
    graph.compile().unwrap()
}

/// The ids of the items of each checkpoint.
async fn lists(graph: &Compiled<Record>) -> BTreeMap<CheckpointId, Vec<Value>> {
    let ids =
        |state: &Record| state.get("list").as_array().into_iter().flatten().map(|item| item["id"].clone()).collect();
    history(graph, "t").await.iter().map(|seen| (seen.id(), ids(&seen.state))).collect()
}

/// A field in two shapes, and whether each folds.
type Shapes = [(fn() -> FieldBuilder, bool); 2];

/// R-REF-70: a thread goes on when its field becomes a list that is stored as growth, and back again, twice; every
/// earlier checkpoint reads as before in either shape.
#[tokio::test]
async fn a_field_may_become_a_growing_list_and_back() {
    let plain: (fn() -> FieldBuilder, bool) = (|| field("list"), false);
    let rows: [Shapes; 3] = [
        [plain, (|| grown("list"), true)],
        [(|| whole("list"), true), (|| grown("list"), true)],
        [plain, (|| field("list").kind(FieldType::Messages), true)],
    ];
    for shapes in rows {
        for store in [SharedCheckpointer::from(Memory::new()), Paper::on(&Memory::new()).into()] {
            let (mut before, mut expected) = (BTreeMap::new(), Vec::new());
            for (number, (list, folds)) in shapes.iter().chain(&shapes).enumerate() {
                let graph = adding(list(), *folds, &store);
                assert_eq!(lists(&graph).await, before, "as {number}");
                for half in 0..2 {
                    let id = format!("{number}.{half}");
                    let item = json!({ "id": id, "role": "user", "content": "hello" });
                    graph.run(json!({ "item": item })).thread("t").await.unwrap();
                    expected.push(json!(id));
                }
                before = lists(&graph).await;
                assert_eq!(before.values().max_by_key(|list| list.len()), Some(&expected));
                assert_eq!(before.len(), 2 * expected.len());
            }
        }
    }
}
