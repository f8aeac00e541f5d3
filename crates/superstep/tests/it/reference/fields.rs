//! Cases 16 to 30: what becomes of the values that nodes write.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Code, Compat, Compiled, Record, Result};

use super::PROFILES;
use super::stores::Paper;
use super::turns::Turns;
use crate::engine::{field, graph};
use crate::support::{dynamic, log, log_field, only_question, refused, stored};

/// `z`, `a` and `m`, added in this order, write one field in one superstep; `m` finishes first, `a` last.
async fn together(compat: Compat, name: &'static str, values: [Value; 3]) -> Result<Value> {
    let (mut g, turns) = (graph("g"), Turns::new());
    for ((node, turn), value) in [("z", 1), ("a", 2), ("m", 0)].into_iter().zip(values) {
        let turns = turns.clone();
        let write = g.node(node, move || {
            let (turns, value) = (turns.clone(), value.clone());
            async move {
                turns.take(turn).await;
                json!({ name: value })
            }
        });
        g.edge(START, write).edge(write, END);
    }
    let done = g.compat(compat).compile()?.run(json!({ "n": 0 })).await?;
    Ok(field(&done, name))
}

/// R-REF-16: two writers of a field without a reducer fail by its name in both profiles; equal values are let pass,
/// which the reference does not do.
#[tokio::test]
async fn two_writers_of_a_single_value_are_refused() {
    for compat in PROFILES {
        let error = refused(together(compat, "title", [json!("x"), json!("y"), json!("x")]).await);
        assert_eq!(error.code(), Code::ConcurrentUpdate);
        for word in ["`title`", "`z`", "`a`", "`m`"] {
            assert!(error.message().contains(word), "{word} in {error}");
        }
        assert_eq!(together(compat, "title", [json!("x"), json!("x"), json!("x")]).await.unwrap(), json!("x"));
    }
}

/// R-REF-17: parallel writes are folded in the order nodes were added, or by name; never as they finish.
#[tokio::test]
async fn parallel_writes_fold_in_the_order_of_tasks() {
    let values = || [json!("z"), json!("a"), json!("m")];
    assert_eq!(together(Compat::Strict, "text", values()).await.unwrap(), json!("zam"));
    assert_eq!(together(Compat::LangGraph, "text", values()).await.unwrap(), json!("amz"));
    let lists = || [json!(["z"]), json!(["a"]), json!(["m"])];
    assert_eq!(together(Compat::Strict, "log", lists()).await.unwrap(), json!(["z", "a", "m"]));
    assert_eq!(together(Compat::LangGraph, "log", lists()).await.unwrap(), json!(["a", "m", "z"]));
}

/// R-REF-18: the first node sees an input that has been through the reducers, on a new thread and on an old one.
#[tokio::test]
async fn the_first_node_sees_a_folded_input() {
    for compat in PROFILES {
        let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 5 }, "log": log_field() }));
        let look = graph.node("look", |state: View<Record>| json!({ "log": state.get("n").to_string() }));
        graph.edge(START, look).edge(look, END).compat(compat);
        let graph = graph.compile().unwrap();
        graph.run(json!({ "n": 3 })).thread("t").await.unwrap();
        let done = graph.run(json!({ "n": 1, "log": "in" })).thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["8", "in", "9"]);
    }
}

/// `write`, `more` and `look` in a row over a list field; each adds to it and notes what it sees.
async fn seen_in_turn(compat: Compat, options: Value) -> Vec<String> {
    let mut graph = dynamic(json!({ "log": log_field(), "news": options }));
    let mut row = vec![START];
    for (name, news) in [("write", json!("a")), ("more", json!(["b", ["c"]])), ("look", Value::Null)] {
        let look = move |state: View<Record>| {
            let seen = state.get("news").to_string();
            match &news {
                Value::Null => json!({ "log": seen }),
                news => json!({ "log": seen, "news": news }),
            }
        };
        row.push(graph.node(name, look).into());
    }
    row.push(END);
    graph.sequence(row).compat(compat);
    log(&graph.compile().unwrap().run(json!({ "news": "in" })).await.unwrap().state)
}

/// R-REF-20: a topic holds what the superstep before added, one that accumulates all of it; a list adds its items and
/// lists inside it stay lists.
#[tokio::test]
async fn a_topic_is_emptied_or_accumulates() {
    for compat in PROFILES {
        let topic = seen_in_turn(compat, json!({ "reducer": "append", "ephemeral": true, "default": [] })).await;
        assert_eq!(topic, [r#"["in"]"#, r#"["a"]"#, r#"["b",["c"]]"#]);
        let accumulates = seen_in_turn(compat, json!({ "reducer": "append", "default": [] })).await;
        assert_eq!(accumulates, [r#"["in"]"#, r#"["in","a"]"#, r#"["in","a","b",["c"]]"#]);
    }
}

/// `plan`, beside `ask`, sends the whole state it sees to `work`, which notes the topic and whether there is a token.
fn sending(compat: Compat, memory: &Memory) -> Compiled<Record> {
    let mut graph = dynamic(json!({ "log": log_field(), "token": { "untracked": true }, "topic": null }));
    let plan = graph.node("plan", || json!({ "topic": "t" }));
    let work = graph
        .node("work", |sent: Sent<Value>| json!({ "log": format!("{} {}", sent["topic"], sent["token"].is_string()) }));
    let ask = graph.node("ask", async |ask: Ask| ask.person::<bool>("ok?", ()).await.map(drop));
    graph.route(plan, move |state: &Record| Send::new(work, state.to_json()), [work]);
    graph.edge(START, plan).edge(work, END).edge(ask, END).checkpointer(memory.clone()).compat(compat);
    graph.entry_by(
        |state: &Record| if *state.get("topic") == "asks" { Go::to("ask") } else { Go::end() },
        [ask.into(), END],
    );
    graph.compile().unwrap()
}

/// R-REF-21: an untracked value goes with a send while the run lasts and is not stored with it, neither in a
/// checkpoint nor with the result of a task that waits for another: what is read back has the rest of the payload.
#[tokio::test]
async fn an_untracked_value_is_not_stored_with_a_send() {
    for compat in PROFILES {
        let memory = Memory::new();
        let graph = sending(compat, &memory);
        let run = |thread: &str| graph.run(json!({ "token": "marker-4714", "topic": thread })).thread(thread);
        assert_eq!(log(&run("whole").await.unwrap().state), [r#""t" true"#]);
        assert_eq!(run("stopped").interrupt_before(["work"]).await.unwrap().next, ["work"]);
        assert_eq!(run("asks").await.unwrap().questions().len(), 1);
        for thread in ["whole", "stopped", "asks"] {
            let text = stored(&memory, thread).await;
            assert!(text.contains(r#""payload""#) && !text.contains("marker-"), "{text}");
        }
        assert_eq!(log(&graph.go_on("stopped").await.unwrap().state), [r#""t" false"#]);
        assert_eq!(log(&graph.resume("asks", true).await.unwrap().state), [r#""t" false"#]);
    }
}

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Notes {
    #[reduce(append)]
    log: Vec<String>,
}

/// R-REF-26: an overwrite is one in its JSON forms, as an input and after it waited in a store as text.
#[tokio::test]
async fn an_overwrite_survives_being_text() {
    let mut graph = Graph::<Notes>::new("notes");
    let clear = graph.node("clear", || Notes::update().log(Overwrite(vec!["fresh".to_owned()])));
    let ask = graph.node("ask", async |ask: Ask| ask.person::<bool>("ok?", ()).await.map(drop));
    graph.edge(START, clear).edge(START, ask).edge(clear, END).edge(ask, END).checkpointer(Paper::on(&Memory::new()));
    let graph = graph.compile().unwrap();
    let asked = graph.run(Notes::input().log("old")).thread("t").await.unwrap();
    assert_eq!(asked.state.log, ["old"]);
    let answers = [(only_question(&asked).id, json!(true))].into();
    assert_eq!(graph.resume_with("t", answers).await.unwrap().state.log, ["fresh"]);
    for form in [r#"{ "__overwrite__": ["new"] }"#, r#"{ "value": ["new"], "type": "__overwrite__" }"#] {
        let mut graph = Graph::<Notes>::new("notes");
        let nothing = graph.node("nothing", || ());
        graph.edge(START, nothing).edge(nothing, END).checkpointer(Memory::new());
        let graph = graph.compile().unwrap();
        graph.run(Notes::input().log("old")).thread("t").await.unwrap();
        let input: Value = serde_json::from_str(&format!(r#"{{ "log": {form} }}"#)).unwrap();
        assert_eq!(graph.run(input).thread("t").await.unwrap().state.log, ["new"]);
    }
}

/// R-REF-27, R-REF-29, R-REF-30: several writes of one node all count, in order; nothing is a result, and so are empty
/// values, in both profiles.
#[tokio::test]
async fn results_count_however_many_and_however_small() {
    for compat in PROFILES {
        let mut g = graph("g");
        let three = || {
            let one = |word: &str| Command::<Record>::new().update(json!({ "log": [word] }));
            vec![one("x"), one("y"), one("z")]
        };
        let [three, small] = [g.node("three", three), g.node("small", || json!({ "n": 0, "title": "", "log": [] }))];
        let [nothing, last] = [g.node("nothing", || ()), g.node("last", || json!({ "log": ["last"] }))];
        g.sequence([START, three.into(), small.into(), nothing.into(), last.into(), END]).compat(compat);
        let done = g.compile().unwrap().run(json!({ "title": "t" })).await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "title")), (json!(["x", "y", "z", "last"]), json!("")));
        assert_eq!(done.supersteps, 4);
    }
}
