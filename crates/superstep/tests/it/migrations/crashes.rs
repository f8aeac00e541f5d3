//! The process dies at every write of a run that migrates its thread; the next run finds it in one version or the
//! other.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{CompiledGraph, Durability, DynamicState, Migration, Schema};

use crate::support::log_field;

fn build(version: u32, fields: Value, store: &SharedCheckpointer) -> StateGraph<DynamicState> {
    let schema = Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
    let mut graph = StateGraph::with_schema("test", schema);
    let names = if version == 1 { ["work", "ask"] } else { ["labour", "ask"] };
    let sum = if version == 1 { "sum" } else { "total" };
    let work = graph.add_node(names[0], move || json!({ "log": "work", sum: 5, "last": "worked" }));
    let interrupt = graph.add_node(names[1], |interrupt: Interrupts| async move {
        let well: bool = interrupt.raise("well?", ()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("said {well}") }))
    });
    let end = graph.add_node("end", move || json!({ "log": "end", sum: 1 }));
    graph
        .add_edge(START, work)
        .add_edge(START, interrupt)
        .add_join([work, interrupt], end)
        .add_edge(end, END)
        .checkpointer(store.clone());
    graph
}

fn old(store: &SharedCheckpointer) -> CompiledGraph<DynamicState> {
    let fields = json!({ "log": log_field(), "sum": { "reducer": "add", "default": 0 }, "last": null, "draft": null });
    build(1, fields, store).compile().unwrap()
}

fn new(store: &SharedCheckpointer) -> CompiledGraph<DynamicState> {
    let fields = json!({
        "log": log_field(), "total": { "reducer": "add", "default": 0 }, "last": { "type": "array" }, "language": null,
    });
    let mut graph = build(2, fields, store);
    let listed = |old: Value| -> Result<Value, String> { Ok(if old.is_null() { old } else { json!([old]) }) };
    let migration = Migration::to_version(2).rename("sum", "total").convert("last", listed).remove("draft");
    graph.add_migration(1, migration.add("language", "en").rename_node("work", "labour"));
    graph.compile().unwrap()
}

/// Resumes all interrupts and continues until the thread is finished.
async fn finish(graph: &CompiledGraph<DynamicState>, durability: Durability) -> superstep::Result<Value> {
    let mut out = graph.continue_thread("t").durability(durability).await?;
    while !out.interrupts().is_empty() {
        out = graph.resume("t", true).durability(durability).await?;
    }
    let state = graph.threads().get_state("t").await?.state;
    Ok(json!({
        "log": *state.get("log"), "total": *state.get("total"), "last": *state.get("last"),
        "language": *state.get("language"),
    }))
}

/// R-FWK-47, R-FWK-28: a crash at any write of the first run after a version change does not affect its outcome.
#[tokio::test]
async fn a_crash_while_migrating_changes_nothing() {
    let expected = json!({ "log": ["work", "said true", "end"], "total": 16, "last": ["worked"], "language": "en" });
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
            for at in 0.. {
                let disk: SharedCheckpointer = MemoryCheckpointer::new().into();
                old(&disk).invoke(json!({ "sum": 10, "draft": "x" })).thread("t").await.unwrap();
                let store = CrashingCheckpointer::new(disk.clone(), at, last);
                let survived = finish(&new(&store.into()), durability).await.is_ok();
                let end = finish(&new(&disk), durability).await;
                let end =
                    end.unwrap_or_else(|error| panic!("crash at write {at}, {last:?}, {durability:?}: {error:?}"));
                assert_eq!(end, expected, "crash at write {at}, {last:?}, {durability:?}");
                if survived {
                    assert!(at > 1, "the sweep ended after {at} writes");
                    break;
                }
            }
        }
    }
}
