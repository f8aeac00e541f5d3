//! A dynamic state through the whole engine.
use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{DynamicState, RunEnd, Schema};

fn schema() -> std::sync::Arc<Schema> {
    Schema::from_json("s", &json!({"log": {"type":"array","reducer":"append","default":[]}, "n": {"type":"integer","reducer":"add","default":0}, "title": {}})).unwrap()
}

#[tokio::test]
async fn a_loop_runs_until_its_route_ends_it() {
    let mut g = StateGraph::<DynamicState>::with_schema("loop", schema());
    let a = g.add_node("a", |_s: View<DynamicState>| json!({"n": 1, "log": "a"}));
    let b = g.add_node("b", async |_s: View<DynamicState>| json!({"n": 1, "log": "b"}));
    g.add_edge(START, a);
    g.add_conditional_edges(
        a,
        move |s: &DynamicState| if s.get("n").as_i64().unwrap() < 5 { Goto::node(b) } else { Goto::end() },
        [b.into(), END],
    );
    g.add_edge(b, a);
    let memory = MemoryCheckpointer::new();
    g.checkpointer(memory.clone());
    let graph = g.compile().unwrap();
    let done = graph.invoke(json!({"n": 0})).thread("t").await.unwrap();
    assert_eq!(done.to_json().unwrap(), json!({"log":["a","b","a","b","a"],"n":5,"title":null}));
    assert_eq!(done.end, RunEnd::Finished);
    let history = graph.threads().get_state_history("t", &Default::default()).await.unwrap();
    assert_eq!(history.len(), 6);
    let ns: Vec<Value> = history.iter().map(|h| h.state.get("n").into_owned()).collect();
    assert_eq!(ns, [5, 4, 3, 2, 1, 0].map(Value::from));
}

#[tokio::test]
async fn a_question_stops_and_an_answer_continues() {
    let mut g = StateGraph::<DynamicState>::with_schema("ask", schema());
    let a = g.add_node("a", async |interrupts: Interrupts| -> Result<Value, NodeError> {
        let first: String = interrupts.raise("first?", "x").await?;
        let second: String = interrupts.raise("second?", "y").await?;
        Ok(json!({"log": [first, second]}))
    });
    let b = g.add_node("b", || json!({"n": 1}));
    g.add_edge(START, a).add_edge(START, b).add_edge(a, END).add_edge(b, END);
    g.checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let out = graph.invoke(json!({"n": 0})).thread("t").await.unwrap();
    assert_eq!(out.interrupts().len(), 1);
    assert_eq!(out.interrupts()[0].name, "first?");
    let out = graph.resume("t", "A").await.unwrap();
    assert_eq!(out.interrupts()[0].name, "second?");
    assert!(graph.resume("t", 7).await.is_err());
    let out = graph.resume("t", "B").await.unwrap();
    assert_eq!(out.to_json().unwrap(), json!({"log":["A","B"],"n":1,"title":null}));
}

/// R-FWK-7, R-FWK-30: an external update keeps open interrupts and their ids; a resume may include a command.
#[tokio::test]
async fn a_question_keeps_its_id_through_an_update() {
    let mut g = StateGraph::<DynamicState>::with_schema("ask", schema());
    let a = g.add_node("a", async |s: View<DynamicState>, interrupts: Interrupts| -> Result<Value, NodeError> {
        let yes: bool = interrupts.raise("sure?", s.get("n").into_owned()).await?;
        Ok(json!({ "log": [yes, s.get("n").into_owned()] }))
    });
    g.add_edge(START, a).add_edge(a, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let question = graph.invoke(json!({ "n": 1 })).thread("t").await.unwrap().interrupts()[0].id;
    graph.threads().update_state("t", json!({ "n": 10 })).await.unwrap();
    let state = graph.threads().get_state("t").await.unwrap();
    assert_eq!(state.interrupts()[0].id, question);
    let more = superstep::Command::new().update(json!({ "n": 100 }));
    let done = graph.resume_with("t", [(question, json!(true))].into()).command(more).await.unwrap();
    assert_eq!(done.to_json().unwrap(), json!({ "log": [true, 111], "n": 111, "title": null }));
}

/// R-GRA-47, R-REF-28, R-DEF-10: unknown fields are handled as in LangGraph only if this is selected.
#[tokio::test]
async fn unknown_fields_are_dropped_in_the_reference_profile_only() {
    let build = |compat| {
        let mut g = StateGraph::<DynamicState>::with_schema("compat", schema());
        let a = g.add_node("a", || json!({ "n": 1, "nope": 2 }));
        g.add_edge(START, a).add_edge(a, END).compat(compat).recursion_limit(3);
        g.compile().unwrap()
    };
    let dropped = build(superstep::Compat::LangGraph).invoke(json!({ "n": 1, "neither": 0 })).await.unwrap();
    assert_eq!(dropped.state.get("n").as_i64(), Some(2));
    let error = build(superstep::Compat::Strict).invoke(json!({ "n": 1 })).await.unwrap_err();
    assert_eq!(error.code(), superstep::ErrorCode::UnknownField);
}
