//! Fields of the state: defaults and reducers.

use serde_json::{Value, json};
use superstep::models::{ScriptedModel, ScriptedReply};
use superstep::{ErrorCode, Overwrite, RemoveMessage};
use superstep_assistant::{AgentState, Phase, state_graph};

use crate::support::{TestHarness, no_tools, test_context};

/// R-PLN-1, R-PLN-2, R-PLN-3, R-PLN-4, R-PLN-5, R-PLN-6, R-PLN-7, R-PLN-8, R-PLN-9, R-PLN-10, R-PLN-11, R-PLN-12,
/// R-PLN-13, R-PLN-14, R-PLN-15, R-PLN-16: every field has its default, and there are no other fields.
#[tokio::test]
async fn a_new_conversation_has_defaults() {
    let harness = TestHarness::new();
    harness.graph.threads().update_state("t", AgentState::update().user_id("ana")).await.unwrap();
    let state = harness.graph.threads().get_state("t").await.unwrap().state;
    let expected = json!({
        "messages": [], "session_id": "", "user_id": "ana", "user_context": {}, "phase": "plan", "scratchpad": {},
        "retry_count": 0, "tokens_used": 0, "start_time": 0.0, "safety_check": null, "next_step": null,
        "tool_calls": [], "tool_outputs": [], "summary": "", "verdict": null,
    });
    assert_eq!(serde_json::to_value(&*state).unwrap(), expected);
}

/// R-PLN-1, R-PLN-4, R-PLN-6, R-PLN-8, R-PLN-17: reducers of the fields.
#[tokio::test]
async fn every_field_uses_its_reducer() {
    let harness = TestHarness::new();
    let threads = harness.graph.threads();
    let pair = |key: &str, value: Value| (key.to_owned(), value);
    let first = AgentState::update()
        .messages(superstep::Message::user("a").with_id("1"))
        .messages("b")
        .user_context(pair("role", json!("x")))
        .scratchpad(pair("p", json!(1)))
        .tokens_used(5_u64)
        .retry_count(2_u32)
        .summary("one");
    threads.update_state("t", first).await.unwrap();
    let second = AgentState::update()
        .messages(RemoveMessage::new("1"))
        .user_context(pair("zone", json!("y")))
        .scratchpad(pair("q", json!(2)))
        .tokens_used(7_u64)
        .retry_count(0_u32)
        .phase(Phase::Verify)
        .summary("two");
    threads.update_state("t", second).await.unwrap();
    let state = threads.get_state("t").await.unwrap().state;
    assert_eq!(state.messages.len(), 1);
    assert_eq!(json!(state.user_context), json!({ "role": "x", "zone": "y" }));
    assert_eq!(json!(state.scratchpad), json!({ "p": 1, "q": 2 }));
    assert_eq!(
        (state.tokens_used, state.retry_count, state.phase, state.summary.as_str()),
        (12, 0, Phase::Verify, "two")
    );
    threads.update_state("t", AgentState::update().scratchpad(Overwrite(Default::default()))).await.unwrap();
    assert!(threads.get_state("t").await.unwrap().state.scratchpad.is_empty());
}

/// R-PLN-2, R-PLN-3: session and user are set once.
#[tokio::test]
async fn session_and_user_are_set_once() {
    let harness = TestHarness::new();
    let context = test_context(ScriptedModel::new([no_tools(), ScriptedReply::text("Hi.")]), []);
    let input = AgentState::turn_input(&context, "ana", "Hello").unwrap().session_id("mine");
    let state = harness.graph.invoke(input).thread("t").context(context.clone()).await.unwrap().state;
    assert_eq!(state.session_id, "mine");
    for other in [
        AgentState::turn_input(&context, "ana", "x").unwrap().session_id("other"),
        AgentState::turn_input(&context, "sam", "x").unwrap(),
    ] {
        let error = harness.graph.invoke(other).thread("t").context(context.clone()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::SetOnceViolation);
    }
}

/// R-PLN-16, R-PLN-18: unknown fields and phases are rejected.
#[test]
fn unknown_fields_and_phases_are_rejected() {
    let full_state = json!({ "messages": [], "session_id": "", "user_id": "ana", "user_context": {}, "phase": "plan",
        "scratchpad": {}, "retry_count": 0, "tokens_used": 0, "start_time": 0.0, "safety_check": null, "next_step": null,
        "tool_calls": [], "tool_outputs": [], "summary": "", "verdict": null });
    assert!(serde_json::from_value::<AgentState>(full_state.clone()).is_ok());
    for (field, value) in [("phase", json!("ingress")), ("mood", json!(1)), ("retry_count", json!(-1))] {
        let mut invalid = full_state.clone();
        invalid[field] = value;
        assert!(serde_json::from_value::<AgentState>(invalid).is_err(), "{field}");
    }
}

/// R-PLN-19, R-PLN-20, R-PLN-21: the graph has exactly these nodes and edges.
#[test]
fn the_graph_has_the_specified_nodes_and_edges() {
    insta::assert_snapshot!(state_graph().compile().unwrap().diagram().to_mermaid(), @r##"
    graph TD;
      n0(["#95;#95;start#95;#95;"]);
      n1["ingress"];
      n2["planner"];
      n3["tool_router"];
      n4["tool_executor"];
      n5["verifier"];
      n6["generator"];
      n7["summarizer"];
      n8(["#95;#95;end#95;#95;"]);
      n0 --> n1;
      n1 -.-> n2;
      n1 -.-> n6;
      n2 -.-> n3;
      n2 -.-> n6;
      n3 --> n4;
      n4 --> n5;
      n5 -.-> n2;
      n5 -.-> n6;
      n6 --> n7;
      n7 --> n8;
    "##);
}
