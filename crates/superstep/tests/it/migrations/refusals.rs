//! Migrations that cannot be: refused when the graph is compiled, or with a thread that they do not fit.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{Code, Error, HistoryQuery, Migration};

use super::{dynamic, stored, stores};
use crate::support::{log_field, refused};

fn problems(version: u32, fields: Value, migrations: Vec<(u32, Migration)>) -> Vec<String> {
    let mut graph = dynamic(version, fields, &Memory::new().into());
    for (from, migration) in migrations {
        graph.migrate(from, migration);
    }
    let error = refused(graph.compile());
    assert_eq!(error.code(), Code::InvalidGraph);
    error.problems().iter().map(|problem| problem.message.clone()).collect()
}

/// R-FWK-47: every gap between versions is listed, and what leads nowhere or too far.
#[test]
fn gaps_are_listed_at_compile() {
    let all = vec![
        (1, Migration::to(2)),
        (3, Migration::to(4)),
        (6, Migration::to(6)),
        (7, Migration::to(9)),
        (7, Migration::to(9)),
    ];
    let found = problems(8, json!({ "log": log_field() }), all);
    assert_eq!(
        found,
        [
            "version 7 has two migrations",
            "no migration leads on from version 2; the state's version is 8",
            "no migration leads on from version 4; the state's version is 8",
            "migration 6 → 6 does not lead on",
            "migration 7 → 9 leads past the state's version 8",
        ]
    );
}

/// R-FWK-47: names and values that do not fit the state or the drawing are listed.
#[test]
fn what_does_not_fit_is_listed_at_compile() {
    let fields = json!({ "log": log_field(), "language": { "type": "string" }, "draft": null });
    let one = Migration::to(2).add("langage", "en").add("language", 7).rename("msgs", "messages").remove("draft");
    let two = Migration::to(3)
        .rename("messages", "gone")
        .remove("gone")
        .rename_node("a", "stepp")
        .rename_node("step", "step");
    let found = problems(3, fields, vec![(1, one), (2, two)]);
    assert_eq!(
        found,
        [
            "a migration to 2 says add `langage`, and the state has no field `langage`",
            "a migration to 2 says add `language`, and its value does not fit: expected string, found integer",
            "field `draft` of the state is one that a migration has renamed or removed",
            "a migration renames node `a` to `stepp`, which is no node",
            "node `step` has a name that a migration took from `step`",
        ]
    );
}

async fn thread(store: &SharedCheckpointer) -> String {
    let fields = json!({ "log": log_field(), "size": null });
    let one = dynamic(1, fields, store).compile().unwrap();
    one.run(json!({ "size": "seven" })).thread("t").await.unwrap();
    stored(store, "t").await
}

/// Reads, runs, goes on, updates and forks: each must fail the same way and leave the store as it is.
async fn check_refused(store: &SharedCheckpointer, graph: &mut Graph<superstep::Record>) -> Vec<Error> {
    let graph = graph.compile().unwrap();
    let threads = graph.threads();
    vec![
        refused(threads.state("t").await),
        refused(threads.history("t", &HistoryQuery::default()).await),
        refused(graph.run(json!({ "log": "x" })).thread("t").await),
        refused(graph.go_on("t").await),
        refused(threads.update("t", json!({ "log": "x" })).await),
        refused(
            graph
                .go_on("t")
                .at(store
                    .load(&"t".into(), &"".into(), superstep::core::port::At::Latest)
                    .await
                    .unwrap()
                    .unwrap()
                    .checkpoint
                    .id)
                .await,
        ),
    ]
}

/// R-FWK-47: a migration that fails names thread, checkpoint, field and step, and nothing is written.
#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let fails = |old: Value| -> Result<Value, String> { Err(format!("{old} is no number")) };
    let panics = |_: Value| -> Result<Value, String> { panic!("not me") };
    let misfits = |_: Value| -> Result<Value, String> { Ok(json!([])) };
    let rows = [
        (Migration::to(2).convert("size", fails), "migration 1 → 2 cannot convert `size`: \"seven\" is no number"),
        (Migration::to(2).convert("size", panics), "migration 1 → 2 cannot convert `size`: it panicked: not me"),
        (
            Migration::to(2).map("size", |size: u8| size),
            "migration 1 → 2 cannot convert `size`: invalid type: string \"seven\", expected u8",
        ),
        (
            Migration::to(2).convert("size", misfits),
            "field `size` of state version 1 does not fit version 2: expected integer, found array",
        ),
    ];
    for (migration, said) in rows {
        for store in stores() {
            let before = thread(&store).await;
            let mut graph = dynamic(2, json!({ "log": log_field(), "size": { "type": "integer" } }), &store);
            graph.migrate(1, migration.clone());
            for error in check_refused(&store, &mut graph).await {
                assert_eq!(
                    (error.code(), error.place().thread.clone()),
                    (Code::InvalidGraph, Some("t".into())),
                    "{error}"
                );
                assert!(
                    error.message().starts_with("thread `t`, checkpoint ") && error.message().ends_with(said),
                    "{error}"
                );
                assert!(error.advice().unwrap().contains("nothing was changed"), "{error}");
            }
            assert_eq!(stored(&store, "t").await, before);
        }
    }
}

/// R-FWK-47: a version that nothing leads on from is refused by name.
#[tokio::test]
async fn a_version_without_a_migration_is_refused() {
    for store in stores() {
        let before = thread(&store).await;
        let mut graph = dynamic(3, json!({ "log": log_field(), "size": null }), &store);
        graph.migrate(2, Migration::to(3));
        for error in check_refused(&store, &mut graph).await {
            assert_eq!(error.code(), Code::InvalidGraph);
            assert!(error.message().ends_with("no migration leads from state version 1 to 3"), "{error}");
        }
        assert_eq!(stored(&store, "t").await, before);
    }
}

/// R-FWK-47: what a finished task has written and nobody has folded is converted where that can be said, else refused.
#[tokio::test]
async fn writes_that_wait_are_converted_or_refused() {
    let build = |version: u32, store: &SharedCheckpointer| {
        let numbers = json!({ "type": "array", "reducer": "append", "default": [] });
        let fields = json!({ "numbers": numbers, "last": null, "approved": null });
        let schema = superstep::Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
        let mut graph = Graph::<superstep::Record>::with_schema("test", schema);
        let work = graph.node("work", || json!({ "numbers": 7, "last": 7 }));
        let ask = graph.node("ask", |ask: Ask| async move {
            Ok::<_, NodeError>(json!({ "approved": ask.person::<bool>("well?", ()).await? }))
        });
        graph.edge(START, work).edge(START, ask).edge(work, END).edge(ask, END).checkpointer(store.clone());
        graph
    };
    let each = |old: Value| -> Result<Value, String> {
        Ok(old.as_array().ok_or("no list")?.iter().map(|number| json!(number.to_string())).collect())
    };
    let one = |old: Value| -> Result<Value, String> { Ok(json!(old.to_string())) };
    for store in stores() {
        build(1, &store).compile().unwrap().run(json!({ "numbers": 1 })).thread("t").await.unwrap();
        let mut graph = build(2, &store);
        graph.migrate(1, Migration::to(2).convert("numbers", each));
        let error = refused(graph.compile().unwrap().resume("t", true).await);
        assert!(error.message().contains("a task has finished and its write is not folded yet"), "{error}");
        assert!(error.advice().unwrap().contains("convert_writes"), "{error}");
        let mut graph = build(2, &store);
        graph.migrate(1, Migration::to(2).convert("numbers", each).convert_writes("numbers", one).convert("last", one));
        let done = graph.compile().unwrap().resume("t", true).await.unwrap();
        assert_eq!(*done.state.get("numbers"), json!(["1", "7"]));
        assert_eq!(*done.state.get("last"), json!("7"));
    }
}
