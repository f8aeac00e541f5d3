//! Threads of an older shape of the state: read, run, resumed, forked and changed by a program with a newer one.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::sqlite::Sqlite;
use superstep::{Code, Compiled, HistoryQuery, Migration, Record, Schema};

use crate::support::{log_field, refused};

mod checking;
mod crashes;
mod names;
mod property;
mod refusals;

/// The state as it was first.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct First {
    #[reduce(append)]
    msgs: Vec<String>,
    score: u8,
    draft: String,
    #[reduce(add)]
    turns: u64,
}

/// The state as it became.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[state(version = 2)]
struct Second {
    #[reduce(append)]
    messages: Vec<String>,
    score: f64,
    language: String,
    #[reduce(add)]
    turns: u64,
}

/// Stores that keep live values, and stores that keep text.
fn stores() -> [SharedCheckpointer; 2] {
    [Memory::new().into(), Sqlite::open(":memory:").unwrap().into()]
}

fn first(store: &SharedCheckpointer) -> Compiled<First> {
    let mut graph = Graph::<First>::new("chat");
    let write = graph.node("write", |state: View<First>| {
        First::update().msgs(format!("one {}", state.turns)).turns(1_u64).draft("scribble".to_owned()).score(40_u8)
    });
    let check = graph.node("check", |ask: Ask| async move {
        let good: bool = ask.person("good?", ()).await?;
        Ok::<_, NodeError>(First::update().msgs(format!("good: {good}")))
    });
    graph.sequence([START, write.into(), check.into(), END]).checkpointer(store.clone());
    graph.compile().unwrap()
}

fn to_second() -> Migration {
    Migration::to(2)
        .rename("msgs", "messages")
        .map("score", |percent: u8| f64::from(percent) / 100.0)
        .remove("draft")
        .add("language", "en")
}

fn second(store: &SharedCheckpointer) -> Compiled<Second> {
    let mut graph = Graph::<Second>::new("chat");
    let write = graph
        .node("write", |state: View<Second>| Second::update().messages(format!("two {}", state.turns)).turns(1_u64));
    let check = graph.node("check", |ask: Ask| async move {
        let good: bool = ask.person("good?", ()).await?;
        Ok::<_, NodeError>(Second::update().messages(format!("good: {good}")))
    });
    graph.sequence([START, write.into(), check.into(), END]).checkpointer(store.clone());
    graph.migrate(1, to_second());
    graph.compile().unwrap()
}

/// Everything a store holds of a thread, as text.
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

/// R-FWK-47: a thread of an older version is read through the migrations, newest and history, and nothing is written.
#[tokio::test]
async fn an_older_thread_is_read_in_the_new_shape() {
    for store in stores() {
        first(&store).run(First::input().score(7_u8)).thread("t").await.unwrap();
        let before = stored(&store, "t").await;
        let graph = second(&store);
        let seen = graph.threads().state("t").await.unwrap();
        let expected = Second { messages: vec!["one 0".to_owned()], score: 0.4, language: "en".to_owned(), turns: 1 };
        assert_eq!(*seen.state, expected);
        assert_eq!((seen.checkpoint.schema_version, &seen.next[..]), (1, &["check".to_owned()][..]));
        let history = graph.threads().history("t", &HistoryQuery::default()).await.unwrap();
        assert_eq!(history.iter().map(|seen| seen.state.score).collect::<Vec<_>>(), [0.4, 0.07]);
        let oldest = graph.threads().state_at("t", history[1].id()).await.unwrap();
        assert_eq!((oldest.state.messages.len(), &*oldest.state.language), (0, "en"));
        assert_eq!(stored(&store, "t").await, before, "reading writes nothing");
    }
}

/// R-FWK-47: an answer goes on with an older thread; what is saved then is right for a reader that knows no migration.
#[tokio::test]
async fn an_answer_moves_a_thread_on() {
    for store in stores() {
        let asked = first(&store).run(First::input().score(7_u8)).thread("t").await.unwrap();
        let question = asked.questions()[0].id;
        let graph = second(&store);
        assert_eq!(graph.threads().state("t").await.unwrap().questions()[0].id, question);
        let done = graph.resume_with("t", [(question, json!(true))].into()).await.unwrap();
        assert!(done.is_finished());
        let expected = Second {
            messages: vec!["one 0".to_owned(), "good: true".to_owned()],
            score: 0.4,
            language: "en".to_owned(),
            turns: 1,
        };
        assert_eq!(*done.state, expected);
        let again = second(&store).threads().state("t").await.unwrap();
        assert_eq!((&*again.state, again.checkpoint.schema_version), (&expected, 2));
        let more = second(&store).run(Second::input().language("fr".to_owned())).thread("t").await.unwrap();
        assert_eq!(more.state.messages, ["one 0", "good: true", "two 1"]);
        let steps: Vec<u32> = graph
            .threads()
            .history("t", &HistoryQuery::default())
            .await
            .unwrap()
            .iter()
            .map(|seen| seen.checkpoint.schema_version)
            .collect();
        assert_eq!(steps, [2, 2, 2, 2, 1, 1], "old checkpoints stay as they are");
    }
}

/// R-FWK-47: an input, a fork, an update and going on each begin from the migrated state, and leave it whole.
#[tokio::test]
async fn every_way_to_go_on_leaves_a_whole_thread() {
    for store in stores() {
        let old = first(&store);
        for thread in ["input", "fork", "update", "update-old", "go-on"] {
            old.run(First::input().score(7_u8)).thread(thread).await.unwrap();
        }
        let graph = second(&store);
        let threads = graph.threads();
        let begun = |thread: &'static str| {
            let threads = graph.threads();
            async move { threads.history(thread, &HistoryQuery::default()).await.unwrap()[1].id() }
        };
        graph.run(Second::input().turns(5_u64)).thread("input").await.unwrap();
        graph.go_on("fork").at(begun("fork").await).await.unwrap();
        threads.update("update", Second::update().messages("said".to_owned())).await.unwrap();
        threads.update("update-old", json!({ "language": "fr" })).at(begun("update-old").await).await.unwrap();
        graph.go_on("go-on").await.unwrap();
        let expected = [
            ("input", 0.4, "en", vec!["one 0", "two 6"]),
            ("fork", 0.07, "en", vec!["two 0"]),
            ("update", 0.4, "en", vec!["one 0", "said"]),
            ("update-old", 0.07, "fr", vec![]),
            ("go-on", 0.4, "en", vec!["one 0"]),
        ];
        for (thread, score, language, messages) in expected {
            let seen = second(&store).threads().state(thread).await.unwrap();
            assert_eq!(seen.checkpoint.schema_version, 2, "{thread}");
            assert_eq!((seen.state.score, &*seen.state.language), (score, language), "{thread}");
            assert_eq!(seen.state.messages, messages, "{thread}");
        }
        assert_eq!(threads.state("update").await.unwrap().questions().len(), 1, "the question is carried over");
        let answered = graph.resume("update", false).await.unwrap();
        assert_eq!(answered.state.messages, ["one 0", "said", "good: false"]);
    }
}

/// R-FWK-47: where a run saves only at its end, its one commit holds the migrated fields whole.
#[tokio::test]
async fn a_run_that_saves_at_its_end_leaves_a_whole_thread() {
    for store in stores() {
        first(&store).run(First::input().score(7_u8)).thread("t").await.unwrap();
        let graph = second(&store);
        let again = graph.go_on("t").durability(superstep::Durability::Exit).await.unwrap();
        assert_eq!(again.questions().len(), 1);
        let seen = second(&store).threads().state("t").await.unwrap();
        assert_eq!((seen.checkpoint.schema_version, seen.state.score), (2, 0.4));
        let done = graph.resume("t", true).durability(superstep::Durability::Exit).await.unwrap();
        assert_eq!(done.state.messages, ["one 0", "good: true"]);
        assert_eq!(*second(&store).threads().state("t").await.unwrap().state, *done.state);
    }
}

fn dynamic(version: u32, fields: Value, store: &SharedCheckpointer) -> Graph<Record> {
    let schema = Schema::builder("state").fields_from_json(&fields).version(version).build().unwrap();
    let mut graph = Graph::with_schema("test", schema);
    graph.checkpointer(store.clone());
    let step = graph.node("step", || json!({ "log": "step" }));
    graph.edge(START, step).edge(step, END);
    graph
}

/// R-FWK-47: migrations follow one another, and a name that was let go may come back with another meaning.
#[tokio::test]
async fn migrations_follow_one_another() {
    for store in stores() {
        let one = dynamic(1, json!({ "log": log_field(), "note": null, "size": { "default": 3 } }), &store)
            .compile()
            .unwrap();
        one.run(json!({ "note": "old" })).thread("a").await.unwrap();
        one.run(json!({ "note": "old" })).thread("b").await.unwrap();
        let to_two = || Migration::to(2).remove("note").rename("size", "width");
        let mut two = dynamic(2, json!({ "log": log_field(), "width": null }), &store);
        two.migrate(1, to_two());
        two.compile().unwrap().run(json!({ "width": 8 })).thread("a").await.unwrap();
        let fields = json!({ "log": log_field(), "note": { "type": "array", "reducer": "append" }, "wide": null });
        let mut three = dynamic(3, fields, &store);
        let widen = |old: Value| -> superstep::Result<Value> { Ok(json!(old.as_u64().unwrap_or(0) * 10)) };
        three
            .migrate(1, to_two())
            .migrate(2, Migration::to(3).convert("width", widen).rename("width", "wide").add("note", json!([])));
        let three = three.compile().unwrap();
        for (thread, wide) in [("a", 80), ("b", 30)] {
            let seen = three.threads().state(thread).await.unwrap();
            assert_eq!(
                (seen.state.get("wide").into_owned(), seen.state.get("note").into_owned()),
                (json!(wide), json!([]))
            );
            let out = three.run(json!({ "note": "new" })).thread(thread).await.unwrap();
            assert_eq!(out.state.get("note").into_owned(), json!(["new"]), "{thread}");
            let seen = three.threads().state(thread).await.unwrap();
            assert_eq!(
                (seen.state.get("wide").into_owned(), seen.state.get("note").into_owned()),
                (json!(wide), json!(["new"]))
            );
        }
        let history = three.threads().history("a", &HistoryQuery::default()).await.unwrap();
        let wide: Vec<Value> = history.iter().map(|seen| seen.state.get("wide").into_owned()).collect();
        assert_eq!(wide, [80, 80, 80, 80, 30, 30].map(Value::from));
    }
}

/// R-FWK-47: a list of messages is converted whole, whatever changes it is made of.
#[tokio::test]
async fn a_list_that_grew_is_converted_whole() {
    for store in stores() {
        let fields = json!({ "log": log_field(), "chat": { "type": "messages" } });
        let one = dynamic(1, fields, &store).compile().unwrap();
        for number in 0..30 {
            one.run(
                json!({ "chat": [{ "role": "user", "content": format!("{number}"), "id": format!("m{number}") }] }),
            )
            .thread("t")
            .await
            .unwrap();
        }
        one.run(json!({ "chat": [{ "role": "user", "content": "changed", "id": "m3" }] })).thread("t").await.unwrap();
        let mut two = dynamic(2, json!({ "log": log_field(), "texts": { "type": "array" } }), &store);
        let texts = |old: Value| -> Result<Value, String> {
            let messages = old.as_array().ok_or("no list")?;
            Ok(messages.iter().map(|message| message["content"].clone()).collect())
        };
        two.migrate(1, Migration::to(2).convert("chat", texts).rename("chat", "texts"));
        let two = two.compile().unwrap();
        let seen = two.threads().state("t").await.unwrap();
        let texts = seen.state.get("texts").into_owned();
        assert_eq!((texts.as_array().unwrap().len(), &texts[2], &texts[3]), (30, &json!("2"), &json!("changed")));
        let out = two.run(json!({ "log": "on" })).thread("t").await.unwrap();
        assert_eq!(*out.state.get("texts"), texts);
        assert_eq!(*two.threads().state("t").await.unwrap().state.get("texts"), texts);
    }
}

/// R-FWK-47: a thread of a newer version than the program knows is refused, and nothing is written.
#[tokio::test]
async fn a_newer_thread_is_refused() {
    for store in stores() {
        second(&store).run(Second::input().turns(1_u64)).thread("t").await.unwrap();
        let before = stored(&store, "t").await;
        let old = first(&store);
        for error in [
            refused(old.threads().state("t").await),
            refused(old.run(First::input().score(1_u8)).thread("t").await),
            refused(old.resume("t", true).await),
        ] {
            assert_eq!(error.code(), Code::CheckpointTooNew, "{error}");
        }
        assert_eq!(stored(&store, "t").await, before);
    }
}

/// A later version that only adds fields needs no migration: they have their defaults.
#[tokio::test]
async fn added_fields_need_no_migration() {
    for store in stores() {
        let one = dynamic(1, json!({ "log": log_field() }), &store).compile().unwrap();
        one.run(json!({ "log": "begun" })).thread("t").await.unwrap();
        let two = dynamic(2, json!({ "log": log_field(), "more": { "default": 5 } }), &store).compile().unwrap();
        let out = two.run(json!({ "log": "on" })).thread("t").await.unwrap();
        assert_eq!(*out.state.get("more"), json!(5));
    }
}
