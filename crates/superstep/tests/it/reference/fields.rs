//! Cases 16 to 30: the values that nodes write.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Compat, CompiledGraph, DynamicState, ErrorCode, Result};

use super::COMPAT_MODES;
use super::completion_order::CompletionOrder;
use super::json_checkpointer::JsonCheckpointer;
use crate::fixtures::{field, graph};
use crate::support::{dynamic, expect_error, log, log_field, only_question, stored};

/// `z`, `a` and `m`, added in this order, write one field in one superstep; `m` finishes first, `a` last.
async fn write_in_parallel(compat: Compat, name: &'static str, values: [Value; 3]) -> Result<Value> {
    let (mut g, turns) = (graph("g"), CompletionOrder::new());
    for ((node, turn), value) in [("z", 1), ("a", 2), ("m", 0)].into_iter().zip(values) {
        let turns = turns.clone();
        let write = g.add_node(node, move || {
            let (turns, value) = (turns.clone(), value.clone());
            async move {
                turns.take(turn).await;
                json!({ name: value })
            }
        });
        g.add_edge(START, write).add_edge(write, END);
    }
    let done = g.compat(compat).compile()?.invoke(json!({ "n": 0 })).await?;
    Ok(field(&done, name))
}

/// R-REF-16: two writers of a field without a reducer fail with its name in both modes; equal values are accepted,
/// which LangGraph does not do.
#[tokio::test]
async fn two_writers_of_a_single_value_are_rejected() {
    for compat in COMPAT_MODES {
        let error = expect_error(write_in_parallel(compat, "title", [json!("x"), json!("y"), json!("x")]).await);
        assert_eq!(error.code(), ErrorCode::ConcurrentUpdate);
        for word in ["`title`", "`z`", "`a`", "`m`"] {
            assert!(error.message().contains(word), "{word} in {error}");
        }
        assert_eq!(write_in_parallel(compat, "title", [json!("x"), json!("x"), json!("x")]).await.unwrap(), json!("x"));
    }
}

/// R-REF-17: parallel writes are reduced in the order nodes were added, or by name; never in completion order.
#[tokio::test]
async fn parallel_writes_fold_in_the_order_of_tasks() {
    let values = || [json!("z"), json!("a"), json!("m")];
    assert_eq!(write_in_parallel(Compat::Strict, "text", values()).await.unwrap(), json!("zam"));
    assert_eq!(write_in_parallel(Compat::LangGraph, "text", values()).await.unwrap(), json!("amz"));
    let lists = || [json!(["z"]), json!(["a"]), json!(["m"])];
    assert_eq!(write_in_parallel(Compat::Strict, "log", lists()).await.unwrap(), json!(["z", "a", "m"]));
    assert_eq!(write_in_parallel(Compat::LangGraph, "log", lists()).await.unwrap(), json!(["a", "m", "z"]));
}

/// R-REF-18: the first node sees an input after the reducers, on a new thread and on an existing one.
#[tokio::test]
async fn the_first_node_sees_a_folded_input() {
    for compat in COMPAT_MODES {
        let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 5 }, "log": log_field() }));
        let observe = graph.add_node("look", |state: View<DynamicState>| json!({ "log": state.get("n").to_string() }));
        graph.add_edge(START, observe).add_edge(observe, END).compat(compat);
        let graph = graph.compile().unwrap();
        graph.invoke(json!({ "n": 3 })).thread("t").await.unwrap();
        let done = graph.invoke(json!({ "n": 1, "log": "in" })).thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["8", "in", "9"]);
    }
}

/// `write`, `more` and `observe` in sequence over a list field; each adds to it and records the value that it sees.
async fn seen_in_turn(compat: Compat, options: Value) -> Vec<String> {
    let mut graph = dynamic(json!({ "log": log_field(), "news": options }));
    let mut row = vec![START];
    for (name, news) in [("write", json!("a")), ("more", json!(["b", ["c"]])), ("look", Value::Null)] {
        let observe = move |state: View<DynamicState>| {
            let seen = state.get("news").to_string();
            match &news {
                Value::Null => json!({ "log": seen }),
                news => json!({ "log": seen, "news": news }),
            }
        };
        row.push(graph.add_node(name, observe).into());
    }
    row.push(END);
    graph.add_sequence(row).compat(compat);
    log(&graph.compile().unwrap().invoke(json!({ "news": "in" })).await.unwrap().state)
}

/// R-REF-20: a topic contains the values of the previous superstep, an accumulating one all values; a list adds its
/// items, and nested lists stay lists.
#[tokio::test]
async fn a_topic_is_emptied_or_accumulates() {
    for compat in COMPAT_MODES {
        let topic = seen_in_turn(compat, json!({ "reducer": "append", "ephemeral": true, "default": [] })).await;
        assert_eq!(topic, [r#"["in"]"#, r#"["a"]"#, r#"["b",["c"]]"#]);
        let accumulates = seen_in_turn(compat, json!({ "reducer": "append", "default": [] })).await;
        assert_eq!(accumulates, [r#"["in"]"#, r#"["in","a"]"#, r#"["in","a","b",["c"]]"#]);
    }
}

/// `plan`, in parallel with `interrupt`, sends the state that it sees to `work`, which records the topic and whether
/// there is a token.
fn sending(compat: Compat, memory: &MemoryCheckpointer) -> CompiledGraph<DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field(), "token": { "untracked": true }, "topic": null }));
    let plan = graph.add_node("plan", || json!({ "topic": "t" }));
    let work = graph.add_node(
        "work",
        |sent: SendPayload<Value>| json!({ "log": format!("{} {}", sent["topic"], sent["token"].is_string()) }),
    );
    let interrupt =
        graph.add_node("ask", async |interrupt: Interrupts| interrupt.raise::<bool>("ok?", ()).await.map(drop));
    graph.add_conditional_edges(plan, move |state: &DynamicState| SendTo::new(work, state.to_json()), [work]);
    graph
        .add_edge(START, plan)
        .add_edge(work, END)
        .add_edge(interrupt, END)
        .checkpointer(memory.clone())
        .compat(compat);
    graph.set_conditional_entry_point(
        |state: &DynamicState| if *state.get("topic") == "asks" { Goto::node("ask") } else { Goto::end() },
        [interrupt.into(), END],
    );
    graph.compile().unwrap()
}

/// R-REF-21: an untracked value is part of a send during the run and is not stored with it, neither in a checkpoint
/// nor with the result of a task that waits for another: a loaded payload has the other fields.
#[tokio::test]
async fn an_untracked_value_is_not_stored_with_a_send() {
    for compat in COMPAT_MODES {
        let memory = MemoryCheckpointer::new();
        let graph = sending(compat, &memory);
        let run = |thread: &str| graph.invoke(json!({ "token": "marker-4714", "topic": thread })).thread(thread);
        assert_eq!(log(&run("whole").await.unwrap().state), [r#""t" true"#]);
        assert_eq!(run("stopped").interrupt_before(["work"]).await.unwrap().next, ["work"]);
        assert_eq!(run("asks").await.unwrap().interrupts().len(), 1);
        for thread in ["whole", "stopped", "asks"] {
            let text = stored(&memory, thread).await;
            assert!(text.contains(r#""payload""#) && !text.contains("marker-"), "{text}");
        }
        assert_eq!(log(&graph.continue_thread("stopped").await.unwrap().state), [r#""t" false"#]);
        assert_eq!(log(&graph.resume("asks", true).await.unwrap().state), [r#""t" false"#]);
    }
}

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Notes {
    #[reduce(append)]
    log: Vec<String>,
}

/// R-REF-26: an overwrite is recognized in its JSON forms, as an input and after it was stored as text.
#[tokio::test]
async fn overwrite_round_trips_json() {
    let mut graph = StateGraph::<Notes>::new("notes");
    let clear = graph.add_node("clear", || Notes::update().log(Overwrite(vec!["fresh".to_owned()])));
    let interrupt =
        graph.add_node("ask", async |interrupt: Interrupts| interrupt.raise::<bool>("ok?", ()).await.map(drop));
    graph
        .add_edge(START, clear)
        .add_edge(START, interrupt)
        .add_edge(clear, END)
        .add_edge(interrupt, END)
        .checkpointer(JsonCheckpointer::on(&MemoryCheckpointer::new()));
    let graph = graph.compile().unwrap();
    let paused = graph.invoke(Notes::input().log("old")).thread("t").await.unwrap();
    assert_eq!(paused.state.log, ["old"]);
    let answers = [(only_question(&paused).id, json!(true))].into();
    assert_eq!(graph.resume_with("t", answers).await.unwrap().state.log, ["fresh"]);
    for form in [r#"{ "__overwrite__": ["new"] }"#, r#"{ "value": ["new"], "type": "__overwrite__" }"#] {
        let mut graph = StateGraph::<Notes>::new("notes");
        let nothing = graph.add_node("nothing", || ());
        graph.add_edge(START, nothing).add_edge(nothing, END).checkpointer(MemoryCheckpointer::new());
        let graph = graph.compile().unwrap();
        graph.invoke(Notes::input().log("old")).thread("t").await.unwrap();
        let input: Value = serde_json::from_str(&format!(r#"{{ "log": {form} }}"#)).unwrap();
        assert_eq!(graph.invoke(input).thread("t").await.unwrap().state.log, ["new"]);
    }
}

/// R-REF-27, R-REF-29, R-REF-30: several writes of one node all apply, in order; null and empty values are valid
/// results, in both modes.
#[tokio::test]
async fn every_task_result_is_applied() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let three = || {
            let one = |word: &str| Command::<DynamicState>::new().update(json!({ "log": [word] }));
            vec![one("x"), one("y"), one("z")]
        };
        let [three, small] =
            [g.add_node("three", three), g.add_node("small", || json!({ "n": 0, "title": "", "log": [] }))];
        let [nothing, last] = [g.add_node("nothing", || ()), g.add_node("last", || json!({ "log": ["last"] }))];
        g.add_sequence([START, three.into(), small.into(), nothing.into(), last.into(), END]).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "title": "t" })).await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "title")), (json!(["x", "y", "z", "last"]), json!("")));
        assert_eq!(done.supersteps, 4);
    }
}
