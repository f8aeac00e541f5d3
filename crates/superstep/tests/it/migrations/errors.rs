//! Invalid migrations: rejected when the graph is compiled, or with a thread that is incompatible.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{Error, ErrorCode, HistoryQuery, Migration};

use super::{dynamic, stored, stores};
use crate::support::{expect_error, log_field};

fn problems(version: u32, fields: Value, migrations: Vec<(u32, Migration)>) -> Vec<String> {
    let mut graph = dynamic(version, fields, &MemoryCheckpointer::new().into());
    for (from, migration) in migrations {
        graph.add_migration(from, migration);
    }
    let error = expect_error(graph.compile());
    assert_eq!(error.code(), ErrorCode::InvalidGraph);
    error.diagnostics().iter().map(|problem| problem.message.clone()).collect()
}

/// R-FWK-47: every gap between versions is listed, and migrations with an invalid target version.
#[test]
fn gaps_are_listed_at_compile() {
    let all = vec![
        (1, Migration::to_version(2)),
        (3, Migration::to_version(4)),
        (6, Migration::to_version(6)),
        (7, Migration::to_version(9)),
        (7, Migration::to_version(9)),
    ];
    let diagnostics = problems(8, json!({ "log": log_field() }), all);
    assert_eq!(
        diagnostics,
        [
            "two migrations start at version 7",
            "no migration from version 2 to the state version 8",
            "no migration from version 4 to the state version 8",
            "migration 6 → 6 does not increase the version",
            "migration 7 → 9 exceeds the state version 8",
        ]
    );
}

/// R-FWK-47: names and values that are not valid for the state or the graph are listed.
#[test]
fn invalid_migrations_are_listed_at_compile() {
    let fields = json!({ "log": log_field(), "language": { "type": "string" }, "draft": null });
    let one =
        Migration::to_version(2).add("langage", "en").add("language", 7).rename("msgs", "messages").remove("draft");
    let two = Migration::to_version(3)
        .rename("messages", "gone")
        .remove("gone")
        .rename_node("a", "stepp")
        .rename_node("step", "step");
    let diagnostics = problems(3, fields, vec![(1, one), (2, two)]);
    assert_eq!(
        diagnostics,
        [
            "migration to 2 (add `langage`): the state has no field `langage`",
            "migration to 2 (add `language`): the value does not match: expected string, found integer",
            "field `draft` of the state was renamed or removed by a migration",
            "a migration renames node `a` to `stepp`, which is not a node",
            "node `step` has a name that a migration renames to `step`",
        ]
    );
}

async fn thread(store: &SharedCheckpointer) -> String {
    let fields = json!({ "log": log_field(), "size": null });
    let one = dynamic(1, fields, store).compile().unwrap();
    one.invoke(json!({ "size": "seven" })).thread("t").await.unwrap();
    stored(store, "t").await
}

/// Reads, runs, continues, updates and forks: each must fail in the same way and leave the stored data unchanged.
async fn check_rejected(store: &SharedCheckpointer, graph: &mut StateGraph<superstep::DynamicState>) -> Vec<Error> {
    let graph = graph.compile().unwrap();
    let threads = graph.threads();
    vec![
        expect_error(threads.get_state("t").await),
        expect_error(threads.get_state_history("t", &HistoryQuery::default()).await),
        expect_error(graph.invoke(json!({ "log": "x" })).thread("t").await),
        expect_error(graph.continue_thread("t").await),
        expect_error(threads.update_state("t", json!({ "log": "x" })).await),
        expect_error(
            graph
                .continue_thread("t")
                .from_checkpoint(
                    store
                        .load(&"t".into(), &"".into(), superstep::core::port::CheckpointSelector::Latest)
                        .await
                        .unwrap()
                        .unwrap()
                        .checkpoint
                        .id,
                )
                .await,
        ),
    ]
}

/// R-FWK-47: a migration that fails names thread, checkpoint, field and step, and nothing is written.
#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let fails = |old: Value| -> Result<Value, String> { Err(format!("{old} is no number")) };
    let panics = |_: Value| -> Result<Value, String> { panic!("not me") };
    let mistyped = |_: Value| -> Result<Value, String> { Ok(json!([])) };
    let rows = [
        (
            Migration::to_version(2).convert("size", fails),
            "migration 1 → 2 failed to convert `size`: \"seven\" is no number",
        ),
        (
            Migration::to_version(2).convert("size", panics),
            "migration 1 → 2 failed to convert `size`: it panicked: not me",
        ),
        (
            Migration::to_version(2).map("size", |size: u8| size),
            "migration 1 → 2 failed to convert `size`: invalid type: string \"seven\", expected u8",
        ),
        (
            Migration::to_version(2).convert("size", mistyped),
            "field `size` of state version 1 does not match version 2: expected integer, found array",
        ),
    ];
    for (migration, message) in rows {
        for store in stores() {
            let before = thread(&store).await;
            let mut graph = dynamic(2, json!({ "log": log_field(), "size": { "type": "integer" } }), &store);
            graph.add_migration(1, migration.clone());
            for error in check_rejected(&store, &mut graph).await {
                assert_eq!(
                    (error.code(), error.location().thread.clone()),
                    (ErrorCode::InvalidGraph, Some("t".into())),
                    "{error}"
                );
                assert!(
                    error.message().starts_with("thread `t`, checkpoint ") && error.message().ends_with(message),
                    "{error}"
                );
                assert!(error.help().unwrap().contains("nothing was changed"), "{error}");
            }
            assert_eq!(stored(&store, "t").await, before);
        }
    }
}

/// R-FWK-47: a version without a following migration is rejected by its number.
#[tokio::test]
async fn a_version_without_a_migration_is_rejected() {
    for store in stores() {
        let before = thread(&store).await;
        let mut graph = dynamic(3, json!({ "log": log_field(), "size": null }), &store);
        graph.add_migration(2, Migration::to_version(3));
        for error in check_rejected(&store, &mut graph).await {
            assert_eq!(error.code(), ErrorCode::InvalidGraph);
            assert!(error.message().ends_with("no migration from state version 1 to 3"), "{error}");
        }
        assert_eq!(stored(&store, "t").await, before);
    }
}

/// R-FWK-47: a pending result of a finished task is converted if a conversion is declared, otherwise rejected.
#[tokio::test]
async fn pending_writes_are_converted_or_rejected() {
    let build = |version: u32, store: &SharedCheckpointer| {
        let numbers = json!({ "type": "array", "reducer": "append", "default": [] });
        let fields = json!({ "numbers": numbers, "last": null, "approved": null });
        let schema = superstep::Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
        let mut graph = StateGraph::<superstep::DynamicState>::with_schema("test", schema);
        let work = graph.add_node("work", || json!({ "numbers": 7, "last": 7 }));
        let interrupt = graph.add_node("ask", |interrupt: Interrupts| async move {
            Ok::<_, NodeError>(json!({ "approved": interrupt.raise::<bool>("well?", ()).await? }))
        });
        graph
            .add_edge(START, work)
            .add_edge(START, interrupt)
            .add_edge(work, END)
            .add_edge(interrupt, END)
            .checkpointer(store.clone());
        graph
    };
    let each = |old: Value| -> Result<Value, String> {
        Ok(old.as_array().ok_or("no list")?.iter().map(|number| json!(number.to_string())).collect())
    };
    let one = |old: Value| -> Result<Value, String> { Ok(json!(old.to_string())) };
    for store in stores() {
        build(1, &store).compile().unwrap().invoke(json!({ "numbers": 1 })).thread("t").await.unwrap();
        let mut graph = build(2, &store);
        graph.add_migration(1, Migration::to_version(2).convert("numbers", each));
        let error = expect_error(graph.compile().unwrap().resume("t", true).await);
        assert!(error.message().contains("the write of a finished task is not reduced yet"), "{error}");
        assert!(error.help().unwrap().contains("convert_pending_writes"), "{error}");
        let mut graph = build(2, &store);
        graph.add_migration(
            1,
            Migration::to_version(2)
                .convert("numbers", each)
                .convert_pending_writes("numbers", one)
                .convert("last", one),
        );
        let done = graph.compile().unwrap().resume("t", true).await.unwrap();
        assert_eq!(*done.state.get("numbers"), json!(["1", "7"]));
        assert_eq!(*done.state.get("last"), json!("7"));
    }
}
