//! The process dies at every write of a run that migrates its thread; the next one finds it in one shape or the other.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Compiled, Durability, Migration, Record, Schema};

use crate::support::log_field;

fn build(version: u32, fields: Value, store: &SharedCheckpointer) -> Graph<Record> {
    let schema = Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
    let mut graph = Graph::with_schema("test", schema);
    let names = if version == 1 { ["work", "ask"] } else { ["labour", "ask"] };
    let sum = if version == 1 { "sum" } else { "total" };
    let work = graph.node(names[0], move || json!({ "log": "work", sum: 5, "last": "worked" }));
    let ask = graph.node(names[1], |ask: Ask| async move {
        let well: bool = ask.person("well?", ()).await?;
        Ok::<_, NodeError>(json!({ "log": format!("said {well}") }))
    });
    let end = graph.node("end", move || json!({ "log": "end", sum: 1 }));
    graph.edge(START, work).edge(START, ask).join([work, ask], end).edge(end, END).checkpointer(store.clone());
    graph
}

fn old(store: &SharedCheckpointer) -> Compiled<Record> {
    let fields = json!({ "log": log_field(), "sum": { "reducer": "add", "default": 0 }, "last": null, "draft": null });
    build(1, fields, store).compile().unwrap()
}

fn new(store: &SharedCheckpointer) -> Compiled<Record> {
    let fields = json!({
        "log": log_field(), "total": { "reducer": "add", "default": 0 }, "last": { "type": "array" }, "language": null,
    });
    let mut graph = build(2, fields, store);
    let listed = |old: Value| -> Result<Value, String> { Ok(if old.is_null() { old } else { json!([old]) }) };
    let migration = Migration::to(2).rename("sum", "total").convert("last", listed).remove("draft");
    graph.migrate(1, migration.add("language", "en").rename_node("work", "labour"));
    graph.compile().unwrap()
}

/// Answers what is asked and goes on until the thread is finished.
async fn finish(graph: &Compiled<Record>, durability: Durability) -> superstep::Result<Value> {
    let mut out = graph.go_on("t").durability(durability).await?;
    while !out.questions().is_empty() {
        out = graph.resume("t", true).durability(durability).await?;
    }
    let state = graph.threads().state("t").await?.state;
    Ok(json!({
        "log": *state.get("log"), "total": *state.get("total"), "last": *state.get("last"),
        "language": *state.get("language"),
    }))
}

/// R-FWK-47, R-FWK-28: a crash at any write of the first run after a change of shape changes nothing of its end.
#[tokio::test]
async fn a_crash_while_migrating_changes_nothing() {
    let expected = json!({ "log": ["work", "said true", "end"], "total": 16, "last": ["worked"], "language": "en" });
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        for last in [LastWrite::Lost, LastWrite::Kept] {
            for at in 0.. {
                let disk: SharedCheckpointer = Memory::new().into();
                old(&disk).run(json!({ "sum": 10, "draft": "x" })).thread("t").await.unwrap();
                let store = CrashAt::new(disk.clone(), at, last);
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
