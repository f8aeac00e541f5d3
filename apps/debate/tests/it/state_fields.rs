//! Tests of the state fields: names, defaults, reducers, validation.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{CompiledGraph, Error, ErrorCode};
use superstep_debate::{DebateContext, DebateState, DebateStateUpdate, DebateStatus};

use crate::support::{Speaker, TOPIC, debates, morning, opening};

/// Creates a graph over the debate state whose only node returns these updates.
fn graph_returning(
    updates: impl Fn(&DebateState) -> Vec<Value> + std::marker::Send + Sync + 'static,
) -> CompiledGraph<DebateState> {
    let mut graph = StateGraph::<DebateState>::new("fields");
    let node = graph.add_node("node", move |debate: View<DebateState>| {
        updates(&debate).into_iter().fold(Command::<DebateState>::new(), |command, update| command.update(update))
    });
    graph.add_edge(START, node).add_edge(node, END).checkpointer(MemoryCheckpointer::new());
    graph.compile().unwrap()
}

async fn state_after(input: DebateStateUpdate, update: Value) -> Result<DebateState, Error> {
    let done = graph_returning(move |_| vec![update.clone()]).invoke(input).thread("t").await?;
    Ok(DebateState::clone(&done.state))
}

/// R-DEB-1, R-DEB-2, R-DEB-3, R-DEB-4, R-DEB-5, R-DEB-6, R-DEB-7, R-DEB-8, R-DEB-9, R-DEB-10, R-DEB-11: names and
/// defaults of a new thread.
#[test]
fn a_new_debate_has_these_fields() {
    let schema = DebateState::schema().unwrap();
    let initial = schema.to_json(&*schema.initial_state()).unwrap();
    let expected = json!({
        "messages": [], "round": 0, "topic": "", "maxRounds": 3, "status": "running",
        "awaitingApproval": false, "userApproved": null, "factCheckResults": [], "tokenUsage": 0,
        "startTime": null, "endTime": null,
    });
    assert_eq!(initial, expected);
    let reducer = |name: &str| schema.field(schema.find(name).unwrap()).reducer.clone();
    assert_eq!(reducer("messages").as_deref(), Some("add_messages"));
    assert_eq!(reducer("factCheckResults").as_deref(), Some("append"));
    assert_eq!(reducer("tokenUsage").as_deref(), Some("add"));
    let set_once: Vec<_> =
        schema.fields().iter().filter(|field| field.flags.set_once).map(|field| field.name.to_string()).collect();
    assert_eq!(set_once, ["topic", "maxRounds", "startTime"]);
}

/// R-DEB-12: the first topic and the first number of rounds stay; a node that writes other values causes a warning.
#[tokio::test]
async fn later_topics_and_rounds_are_ignored() {
    let graph = graph_returning(|_| vec![json!({ "topic": "Different topic", "maxRounds": 9 })]);
    let mut stream = graph.invoke(opening(1)).thread("t").stream_events();
    let mut warned = Vec::new();
    while let Some(event) = stream.next().await {
        let event = serde_json::to_value(&event).unwrap();
        if event["event"] == "on_warning" {
            warned.push([event["data"]["code"].clone(), event["data"]["field"].clone()]);
        }
    }
    assert_eq!(json!(warned), json!([["set_once_ignored", "topic"], ["set_once_ignored", "maxRounds"]]));
    let done = stream.finish().await.unwrap();
    assert_eq!((done.state.topic.as_str(), done.state.max_rounds), (TOPIC, 1));
}

/// R-DEB-12: in a strict graph the second value of a node is an error.
#[tokio::test]
async fn a_strict_graph_rejects_a_second_value() {
    let mut graph = StateGraph::<DebateState>::new("strict");
    let node = graph.add_node("node", || DebateState::update().topic("Different topic"));
    graph.add_edge(START, node).add_edge(node, END).strict_set_once();
    let error = graph.compile().unwrap().invoke(opening(1)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::SetOnceViolation);
}

/// R-DEB-12: another topic in an input for the same thread is always rejected.
#[tokio::test]
async fn another_topic_on_the_same_thread_is_rejected() {
    let graph = debates(MemoryCheckpointer::new());
    let context = || DebateContext::new(Speaker::default());
    graph.invoke(opening(1)).thread("t").context(context()).await.unwrap();
    let other = DebateState::initial_state("Different topic", 1, morning()).unwrap();
    let error = graph.invoke(other).thread("t").context(context()).await.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (ErrorCode::SetOnceViolation, 409));
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.topic, TOPIC);
}

/// R-DEB-13: messages are appended, and a node that returns all of them duplicates none.
#[tokio::test]
async fn messages_are_appended_and_never_doubled() {
    let two = || DebateState::input().messages(vec![Message::user("m1"), Message::user("m2")]);
    let texts =
        |debate: &DebateState| debate.messages.iter().map(|message| message.text().into_owned()).collect::<Vec<_>>();
    let debate = state_after(two(), json!({ "messages": [{ "role": "assistant", "content": "m3" }] })).await.unwrap();
    assert_eq!(texts(&debate), ["m1", "m2", "m3"]);
    let graph = graph_returning(|debate| vec![json!({ "messages": debate.messages, "round": debate.round + 1 })]);
    let done = graph.invoke(two()).await.unwrap();
    assert_eq!((texts(&done.state), done.state.round), (vec!["m1".to_owned(), "m2".to_owned()], 1));
}

/// R-DEB-14, R-DEB-2: the last written round stays.
#[tokio::test]
async fn the_round_is_overwritten() {
    assert_eq!(state_after(DebateState::input().round(2_u32), json!({ "round": 3 })).await.unwrap().round, 3);
}

/// R-DEB-8, R-DEB-9, R-DEB-17: results are appended in order, tokens are added.
#[tokio::test]
async fn results_are_appended_and_tokens_added() {
    let result =
        |claim: &str, verdict: &str| json!({ "claim": claim, "verdict": verdict, "sources": ["facts.md#one"] });
    let graph = graph_returning(move |_| {
        vec![
            json!({ "factCheckResults": [result("a", "true")], "tokenUsage": 5 }),
            json!({ "factCheckResults": [result("b", "false"), result("c", "unverifiable")], "tokenUsage": 7 }),
        ]
    });
    let done = graph.invoke(DebateState::input().token_usage(30_u64)).await.unwrap();
    assert_eq!(done.state.token_usage, 42);
    let written = json!(done.state.fact_check_results);
    assert_eq!(written, json!([result("a", "true"), result("b", "false"), result("c", "unverifiable")]));
    let other = json!({ "factCheckResults": [result("a", "perhaps")] });
    assert!(state_after(DebateState::input().round(0_u32), other).await.is_err());
}

/// R-DEB-15: an unknown status is rejected by name, and nothing of that superstep is saved.
#[tokio::test]
async fn an_unknown_status_is_rejected() {
    let graph = graph_returning(|_| vec![json!({ "round": 7, "status": "paused" })]);
    let error = graph.invoke(opening(3)).thread("t").await.unwrap_err();
    assert!(format!("{error:?} {:?}", error.diagnostics()).contains("Invalid status: paused"), "{error:?}");
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((saved.state.round, saved.state.status), (0, DebateStatus::Running));
    for status in ["running", "completed", "error"] {
        assert_eq!(state_after(opening(3), json!({ "status": status })).await.unwrap().status.name(), status);
    }
    let parsed: Result<DebateStatus, _> = serde_json::from_value(json!(3));
    assert_eq!(parsed.unwrap_err().to_string(), "Invalid status: 3");
}

/// R-DEB-16: a node cannot change a failed debate to completed; an update from outside can.
#[tokio::test]
async fn a_node_cannot_complete_a_failed_debate() {
    let graph = graph_returning(|_| vec![json!({ "status": "error" }), json!({ "status": "completed" })]);
    assert!(graph.invoke(opening(3)).thread("t").await.is_err());
    let graph = graph_returning(|_| vec![json!({ "status": "error" })]);
    graph.invoke(opening(3)).thread("t").await.unwrap();
    let threads = graph.threads();
    assert!(threads.update_state("t", DebateState::update().status(DebateStatus::Completed)).await.is_err());
    threads.update_state("t", DebateState::update().status(Overwrite(DebateStatus::Completed))).await.unwrap();
    assert_eq!(threads.get_state("t").await.unwrap().state.status, DebateStatus::Completed);
}

/// R-DEB-19a: every validation error of a new debate is listed; the topic is trimmed and counted in characters.
#[test]
fn every_problem_of_an_opening_is_listed() {
    let pointers = |topic: &str, rounds| {
        let result = DebateState::initial_state(topic, rounds, morning());
        result.err().map_or_else(Vec::new, |error| {
            error.diagnostics().iter().map(|problem| problem.pointer.clone()).collect::<Vec<_>>()
        })
    };
    assert_eq!(pointers("", 0), ["/topic", "/maxRounds"]);
    assert_eq!(pointers(" \n ", 11), ["/topic", "/maxRounds"]);
    assert_eq!(pointers(&"ü".repeat(501), 1), ["/topic"]);
    assert!(pointers(&format!(" {} ", "ü".repeat(500)), 10).is_empty());
    let input = DebateState::initial_state_json(" Bees \n", 1, None).unwrap();
    assert_eq!((&input["topic"], &input["maxRounds"]), (&json!("Bees"), &json!(1)));
}

/// R-DEB-19a: invalid values are rejected as input and as update, all of them at once.
#[tokio::test]
async fn invalid_values_are_rejected() {
    let graph = debates(MemoryCheckpointer::new());
    let bad = json!({ "messages": 3, "round": -1, "topic": 5, "maxRounds": 2.5, "status": "new", "rounds": 1 });
    let error = graph.invoke(bad).thread("t").context(DebateContext::new(Speaker::default())).await.unwrap_err();
    let mut pointers: Vec<_> = error.diagnostics().iter().map(|problem| problem.pointer.clone()).collect();
    pointers.sort();
    assert_eq!(pointers, ["/maxRounds", "/messages", "/round", "/rounds", "/status", "/topic"]);
    for bad in [json!({ "maxRounds": 0 }), json!({ "maxRounds": 11 }), json!({ "topic": "x".repeat(501) })] {
        let error =
            graph.invoke(bad.clone()).thread("t").context(DebateContext::new(Speaker::default())).await.unwrap_err();
        let field = bad.as_object().unwrap().keys().next().unwrap();
        let [problem] = error.diagnostics() else { panic!("{bad}: {error}") };
        assert_eq!((error.http_status(), &problem.pointer), (422, &format!("/{field}")), "{bad}: {error}");
        assert!(problem.message.contains("expected at"), "{bad}: {error}");
    }
    assert!(state_after(opening(3), json!({ "round": -1 })).await.is_err());
    assert!(graph.threads().get_state("t").await.is_err(), "no thread was created");
}

/// R-DEB-19a: a value out of range in a node's update fails the superstep, and the error names the field.
#[tokio::test]
async fn a_node_cannot_write_values_out_of_range() {
    let rows = [("maxRounds", json!(11), "at most 10"), ("topic", json!("x".repeat(501)), "at most 500 characters")];
    for (field, value, limit) in rows {
        let error = state_after(DebateState::input().round(0_u32), json!({ (field): value })).await.unwrap_err();
        let message = error.message();
        assert!(message.contains(&format!("field `{field}`")) && message.contains(limit), "{error}");
        assert_eq!(error.location().node.as_deref(), Some("node"), "{error}");
    }
}
