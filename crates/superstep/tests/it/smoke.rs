//! A dynamic state through the whole engine.
use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Record, Schema, Status};

fn schema() -> std::sync::Arc<Schema> {
    Schema::from_json("s", &json!({"log": {"type":"array","reducer":"append","default":[]}, "n": {"type":"integer","reducer":"add","default":0}, "title": {}})).unwrap()
}

#[tokio::test]
async fn a_loop_runs_until_its_route_ends_it() {
    let mut g = Graph::<Record>::with_schema("loop", schema());
    let a = g.node("a", |_s: View<Record>| json!({"n": 1, "log": "a"}));
    let b = g.node("b", async |_s: View<Record>| json!({"n": 1, "log": "b"}));
    g.edge(START, a);
    g.route(a, move |s: &Record| if s.get("n").as_i64().unwrap() < 5 { Go::to(b) } else { Go::end() }, [b.into(), END]);
    g.edge(b, a);
    let memory = Memory::new();
    g.checkpointer(memory.clone());
    let graph = g.compile().unwrap();
    let done = graph.run(json!({"n": 0})).thread("t").await.unwrap();
    assert_eq!(done.to_json().unwrap(), json!({"log":["a","b","a","b","a"],"n":5,"title":null}));
    assert_eq!(done.status, Status::Finished);
    let history = graph.threads().history("t", &Default::default()).await.unwrap();
    assert_eq!(history.len(), 6);
    let ns: Vec<Value> = history.iter().map(|h| h.state.get("n").into_owned()).collect();
    assert_eq!(ns, [5, 4, 3, 2, 1, 0].map(Value::from));
}

#[tokio::test]
async fn a_question_stops_and_an_answer_goes_on() {
    let mut g = Graph::<Record>::with_schema("ask", schema());
    let a = g.node("a", async |ask: Ask| -> Result<Value, NodeError> {
        let first: String = ask.person("first?", "x").await?;
        let second: String = ask.person("second?", "y").await?;
        Ok(json!({"log": [first, second]}))
    });
    let b = g.node("b", || json!({"n": 1}));
    g.edge(START, a).edge(START, b).edge(a, END).edge(b, END);
    g.checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let out = graph.run(json!({"n": 0})).thread("t").await.unwrap();
    assert_eq!(out.questions().len(), 1);
    assert_eq!(out.questions()[0].name, "first?");
    let out = graph.resume("t", "A").await.unwrap();
    assert_eq!(out.questions()[0].name, "second?");
    assert!(graph.resume("t", 7).await.is_err());
    let out = graph.resume("t", "B").await.unwrap();
    assert_eq!(out.to_json().unwrap(), json!({"log":["A","B"],"n":1,"title":null}));
}

/// R-FWK-7, R-FWK-30: an update from outside keeps open questions, ids and all; an answer may bring a command along.
#[tokio::test]
async fn a_question_keeps_its_id_through_an_update() {
    let mut g = Graph::<Record>::with_schema("ask", schema());
    let a = g.node("a", async |s: View<Record>, ask: Ask| -> Result<Value, NodeError> {
        let yes: bool = ask.person("sure?", s.get("n").into_owned()).await?;
        Ok(json!({ "log": [yes, s.get("n").into_owned()] }))
    });
    g.edge(START, a).edge(a, END).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let asked = graph.run(json!({ "n": 1 })).thread("t").await.unwrap().questions()[0].id;
    graph.threads().update("t", json!({ "n": 10 })).await.unwrap();
    let state = graph.threads().state("t").await.unwrap();
    assert_eq!(state.questions()[0].id, asked);
    let more = superstep::Command::new().update(json!({ "n": 100 }));
    let done = graph.resume_with("t", [(asked, json!(true))].into()).with(more).await.unwrap();
    assert_eq!(done.to_json().unwrap(), json!({ "log": [true, 111], "n": 111, "title": null }));
}

/// R-GRA-47, R-REF-28, R-DEF-10: the reference's habit for names the state lacks, by choice only.
#[tokio::test]
async fn unknown_fields_are_dropped_in_the_reference_profile_only() {
    let build = |compat| {
        let mut g = Graph::<Record>::with_schema("compat", schema());
        let a = g.node("a", || json!({ "n": 1, "nope": 2 }));
        g.edge(START, a).edge(a, END).compat(compat).recursion_limit(3);
        g.compile().unwrap()
    };
    let dropped = build(superstep::Compat::LangGraph).run(json!({ "n": 1, "neither": 0 })).await.unwrap();
    assert_eq!(dropped.state.get("n").as_i64(), Some(2));
    let error = build(superstep::Compat::Strict).run(json!({ "n": 1 })).await.unwrap_err();
    assert_eq!(error.code(), superstep::Code::UnknownField);
}
