//! Threads with an older version of the state: read, run, resumed, forked and updated by an application with a newer
//! one.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::sqlite::SqliteCheckpointer;
use superstep::{CompiledGraph, DynamicState, ErrorCode, HistoryQuery, Migration, Schema};

use crate::support::{expect_error, log_field};

mod compatibility;
mod crashes;
mod errors;
mod property;
mod renamed_nodes;

/// First version of the state.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct First {
    #[reduce(append)]
    msgs: Vec<String>,
    score: u8,
    draft: String,
    #[reduce(add)]
    turns: u64,
}

/// Second version of the state.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[state(version = 2)]
struct Second {
    #[reduce(append)]
    messages: Vec<String>,
    score: f64,
    language: String,
    #[reduce(add)]
    turns: u64,
}

/// Checkpointers with live values and with serialized values.
fn stores() -> [SharedCheckpointer; 2] {
    [MemoryCheckpointer::new().into(), SqliteCheckpointer::open(":memory:").unwrap().into()]
}

fn first(store: &SharedCheckpointer) -> CompiledGraph<First> {
    let mut graph = StateGraph::<First>::new("chat");
    let write = graph.add_node("write", |state: View<First>| {
        First::update().msgs(format!("one {}", state.turns)).turns(1_u64).draft("scribble".to_owned()).score(40_u8)
    });
    let check = graph.add_node("check", |interrupts: Interrupts| async move {
        let good: bool = interrupts.raise("good?", ()).await?;
        Ok::<_, NodeError>(First::update().msgs(format!("good: {good}")))
    });
    graph.add_sequence([START, write.into(), check.into(), END]).checkpointer(store.clone());
    graph.compile().unwrap()
}

fn to_second() -> Migration {
    Migration::to_version(2)
        .rename("msgs", "messages")
        .map("score", |percent: u8| f64::from(percent) / 100.0)
        .remove("draft")
        .add("language", "en")
}

fn second(store: &SharedCheckpointer) -> CompiledGraph<Second> {
    let mut graph = StateGraph::<Second>::new("chat");
    let write = graph.add_node("write", |state: View<Second>| {
        Second::update().messages(format!("two {}", state.turns)).turns(1_u64)
    });
    let check = graph.add_node("check", |interrupts: Interrupts| async move {
        let good: bool = interrupts.raise("good?", ()).await?;
        Ok::<_, NodeError>(Second::update().messages(format!("good: {good}")))
    });
    graph.add_sequence([START, write.into(), check.into(), END]).checkpointer(store.clone());
    graph.add_migration(1, to_second());
    graph.compile().unwrap()
}

/// Returns all stored data of a thread, as text.
async fn stored(store: &SharedCheckpointer, thread: &str) -> String {
    let thread = thread.into();
    let mut text = String::new();
    for namespace in store.namespaces(&thread).await.unwrap() {
        for loaded in store.history(&thread, &namespace, &HistoryQuery::default()).await.unwrap() {
            text += &format!("{:?} {:?} {:?}\n", loaded.checkpoint, loaded.fields, loaded.pending);
        }
    }
    text
}

/// R-FWK-47: a thread of an older version is read through the migrations, latest state and history, and nothing is
/// written.
#[tokio::test]
async fn an_older_thread_is_read_in_the_new_shape() {
    for store in stores() {
        first(&store).invoke(First::input().score(7_u8)).thread("t").await.unwrap();
        let before = stored(&store, "t").await;
        let graph = second(&store);
        let seen = graph.threads().get_state("t").await.unwrap();
        let expected = Second { messages: vec!["one 0".to_owned()], score: 0.4, language: "en".to_owned(), turns: 1 };
        assert_eq!(*seen.state, expected);
        assert_eq!((seen.checkpoint.schema_version, &seen.next[..]), (1, &["check".to_owned()][..]));
        let history = graph.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap();
        assert_eq!(history.iter().map(|seen| seen.state.score).collect::<Vec<_>>(), [0.4, 0.07]);
        let oldest = graph.threads().get_state_at("t", history[1].id()).await.unwrap();
        assert_eq!((oldest.state.messages.len(), &*oldest.state.language), (0, "en"));
        assert_eq!(stored(&store, "t").await, before, "reading writes nothing");
    }
}

/// R-FWK-47: an older thread can be resumed; a reader without migrations can read what is saved then.
#[tokio::test]
async fn an_answer_moves_a_thread_on() {
    for store in stores() {
        let paused = first(&store).invoke(First::input().score(7_u8)).thread("t").await.unwrap();
        let question = paused.interrupts()[0].id;
        let graph = second(&store);
        assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts()[0].id, question);
        let done = graph.resume_with("t", [(question, json!(true))].into()).await.unwrap();
        assert!(done.is_finished());
        let expected = Second {
            messages: vec!["one 0".to_owned(), "good: true".to_owned()],
            score: 0.4,
            language: "en".to_owned(),
            turns: 1,
        };
        assert_eq!(*done.state, expected);
        let reloaded = second(&store).threads().get_state("t").await.unwrap();
        assert_eq!((&*reloaded.state, reloaded.checkpoint.schema_version), (&expected, 2));
        let more = second(&store).invoke(Second::input().language("fr".to_owned())).thread("t").await.unwrap();
        assert_eq!(more.state.messages, ["one 0", "good: true", "two 1"]);
        let steps: Vec<u32> = graph
            .threads()
            .get_state_history("t", &HistoryQuery::default())
            .await
            .unwrap()
            .iter()
            .map(|seen| seen.checkpoint.schema_version)
            .collect();
        assert_eq!(steps, [2, 2, 2, 2, 1, 1], "old checkpoints stay as they are");
    }
}

/// R-FWK-47: an input, a fork, an update and continuing each start from the migrated state, and leave it complete.
#[tokio::test]
async fn every_continuation_leaves_a_complete_thread() {
    for store in stores() {
        let old = first(&store);
        for thread in ["input", "fork", "update", "update-old", "go-on"] {
            old.invoke(First::input().score(7_u8)).thread(thread).await.unwrap();
        }
        let graph = second(&store);
        let threads = graph.threads();
        let previous_checkpoint = |thread: &'static str| {
            let threads = graph.threads();
            async move { threads.get_state_history(thread, &HistoryQuery::default()).await.unwrap()[1].id() }
        };
        graph.invoke(Second::input().turns(5_u64)).thread("input").await.unwrap();
        graph.continue_thread("fork").from_checkpoint(previous_checkpoint("fork").await).await.unwrap();
        threads.update_state("update", Second::update().messages("said".to_owned())).await.unwrap();
        threads
            .update_state("update-old", json!({ "language": "fr" }))
            .from_checkpoint(previous_checkpoint("update-old").await)
            .await
            .unwrap();
        graph.continue_thread("go-on").await.unwrap();
        let expected = [
            ("input", 0.4, "en", vec!["one 0", "two 6"]),
            ("fork", 0.07, "en", vec!["two 0"]),
            ("update", 0.4, "en", vec!["one 0", "said"]),
            ("update-old", 0.07, "fr", vec![]),
            ("go-on", 0.4, "en", vec!["one 0"]),
        ];
        for (thread, score, language, messages) in expected {
            let seen = second(&store).threads().get_state(thread).await.unwrap();
            assert_eq!(seen.checkpoint.schema_version, 2, "{thread}");
            assert_eq!((seen.state.score, &*seen.state.language), (score, language), "{thread}");
            assert_eq!(seen.state.messages, messages, "{thread}");
        }
        assert_eq!(threads.get_state("update").await.unwrap().interrupts().len(), 1, "the question is carried over");
        let answered = graph.resume("update", false).await.unwrap();
        assert_eq!(answered.state.messages, ["one 0", "said", "good: false"]);
    }
}

/// R-FWK-47: if a run commits only at its end, its one commit contains the complete migrated fields.
#[tokio::test]
async fn exit_durability_saves_the_complete_migrated_thread() {
    for store in stores() {
        first(&store).invoke(First::input().score(7_u8)).thread("t").await.unwrap();
        let graph = second(&store);
        let continued = graph.continue_thread("t").durability(superstep::Durability::Exit).await.unwrap();
        assert_eq!(continued.interrupts().len(), 1);
        let seen = second(&store).threads().get_state("t").await.unwrap();
        assert_eq!((seen.checkpoint.schema_version, seen.state.score), (2, 0.4));
        let done = graph.resume("t", true).durability(superstep::Durability::Exit).await.unwrap();
        assert_eq!(done.state.messages, ["one 0", "good: true"]);
        assert_eq!(*second(&store).threads().get_state("t").await.unwrap().state, *done.state);
    }
}

fn dynamic(version: u32, fields: Value, store: &SharedCheckpointer) -> StateGraph<DynamicState> {
    let schema = Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
    let mut graph = StateGraph::with_schema("test", schema);
    graph.checkpointer(store.clone());
    let step = graph.add_node("step", || json!({ "log": "step" }));
    graph.add_edge(START, step).add_edge(step, END);
    graph
}

/// R-FWK-47: migrations are chained, and a removed name may be reused with another meaning.
#[tokio::test]
async fn migrations_are_chained() {
    for store in stores() {
        let one = dynamic(1, json!({ "log": log_field(), "note": null, "size": { "default": 3 } }), &store)
            .compile()
            .unwrap();
        one.invoke(json!({ "note": "old" })).thread("a").await.unwrap();
        one.invoke(json!({ "note": "old" })).thread("b").await.unwrap();
        let to_two = || Migration::to_version(2).remove("note").rename("size", "width");
        let mut two = dynamic(2, json!({ "log": log_field(), "width": null }), &store);
        two.add_migration(1, to_two());
        two.compile().unwrap().invoke(json!({ "width": 8 })).thread("a").await.unwrap();
        let fields = json!({ "log": log_field(), "note": { "type": "array", "reducer": "append" }, "wide": null });
        let mut three = dynamic(3, fields, &store);
        let widen = |old: Value| -> superstep::Result<Value> { Ok(json!(old.as_u64().unwrap_or(0) * 10)) };
        three.add_migration(1, to_two()).add_migration(
            2,
            Migration::to_version(3).convert("width", widen).rename("width", "wide").add("note", json!([])),
        );
        let three = three.compile().unwrap();
        for (thread, wide) in [("a", 80), ("b", 30)] {
            let seen = three.threads().get_state(thread).await.unwrap();
            assert_eq!(
                (seen.state.get("wide").into_owned(), seen.state.get("note").into_owned()),
                (json!(wide), json!([]))
            );
            let out = three.invoke(json!({ "note": "new" })).thread(thread).await.unwrap();
            assert_eq!(out.state.get("note").into_owned(), json!(["new"]), "{thread}");
            let seen = three.threads().get_state(thread).await.unwrap();
            assert_eq!(
                (seen.state.get("wide").into_owned(), seen.state.get("note").into_owned()),
                (json!(wide), json!(["new"]))
            );
        }
        let history = three.threads().get_state_history("a", &HistoryQuery::default()).await.unwrap();
        let wide: Vec<Value> = history.iter().map(|seen| seen.state.get("wide").into_owned()).collect();
        assert_eq!(wide, [80, 80, 80, 80, 30, 30].map(Value::from));
    }
}

/// R-FWK-47: a message list is converted completely, whatever changes it consists of.
#[tokio::test]
async fn a_grown_list_is_converted_completely() {
    for store in stores() {
        let fields = json!({ "log": log_field(), "chat": { "type": "messages" } });
        let one = dynamic(1, fields, &store).compile().unwrap();
        for number in 0..30 {
            one.invoke(
                json!({ "chat": [{ "role": "user", "content": format!("{number}"), "id": format!("m{number}") }] }),
            )
            .thread("t")
            .await
            .unwrap();
        }
        one.invoke(json!({ "chat": [{ "role": "user", "content": "changed", "id": "m3" }] }))
            .thread("t")
            .await
            .unwrap();
        let mut two = dynamic(2, json!({ "log": log_field(), "texts": { "type": "array" } }), &store);
        let texts = |old: Value| -> Result<Value, String> {
            let messages = old.as_array().ok_or("no list")?;
            Ok(messages.iter().map(|message| message["content"].clone()).collect())
        };
        two.add_migration(1, Migration::to_version(2).convert("chat", texts).rename("chat", "texts"));
        let two = two.compile().unwrap();
        let seen = two.threads().get_state("t").await.unwrap();
        let texts = seen.state.get("texts").into_owned();
        assert_eq!((texts.as_array().unwrap().len(), &texts[2], &texts[3]), (30, &json!("2"), &json!("changed")));
        let out = two.invoke(json!({ "log": "on" })).thread("t").await.unwrap();
        assert_eq!(*out.state.get("texts"), texts);
        assert_eq!(*two.threads().get_state("t").await.unwrap().state.get("texts"), texts);
    }
}

/// R-FWK-47: a thread of a newer version than the application knows is rejected, and nothing is written.
#[tokio::test]
async fn a_newer_thread_is_rejected() {
    for store in stores() {
        second(&store).invoke(Second::input().turns(1_u64)).thread("t").await.unwrap();
        let before = stored(&store, "t").await;
        let old = first(&store);
        for error in [
            expect_error(old.threads().get_state("t").await),
            expect_error(old.invoke(First::input().score(1_u8)).thread("t").await),
            expect_error(old.resume("t", true).await),
        ] {
            assert_eq!(error.code(), ErrorCode::CheckpointTooNew, "{error}");
        }
        assert_eq!(stored(&store, "t").await, before);
    }
}

/// A later version that only adds fields needs no migration: new fields have their defaults.
#[tokio::test]
async fn added_fields_need_no_migration() {
    for store in stores() {
        let one = dynamic(1, json!({ "log": log_field() }), &store).compile().unwrap();
        one.invoke(json!({ "log": "begun" })).thread("t").await.unwrap();
        let two = dynamic(2, json!({ "log": log_field(), "more": { "default": 5 } }), &store).compile().unwrap();
        let out = two.invoke(json!({ "log": "on" })).thread("t").await.unwrap();
        assert_eq!(*out.state.get("more"), json!(5));
    }
}
