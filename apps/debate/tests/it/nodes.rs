//! Tests of the prompt and the update of each agent.

use serde_json::Value;
use superstep::core::message::Role;
use superstep::models::{ChatRequest, ScriptedModel};
use superstep::{MemoryCheckpointer, StreamMode};
use superstep_debate::prompt::{DebateAgent, TurnPrompt};
use superstep_debate::{DebateContext, DebateState, DebateStatus};

use crate::support::{TOPIC, authors, clock, debates, morning, opening};

/// Returns the node and the updated fields of each superstep.
async fn changes(rounds: u32, model: ScriptedModel) -> Vec<(String, Vec<String>)> {
    let graph = debates(MemoryCheckpointer::new());
    let mut parts = graph.invoke(opening(rounds)).context(DebateContext::new(model)).stream_mode([StreamMode::Updates]);
    let mut seen = Vec::new();
    while let Some(part) = parts.next().await {
        let Value::Object(update) = part.data.to_json() else { panic!("an update is an object") };
        let (node, fields) = update.into_iter().next().unwrap();
        let mut fields: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
        fields.sort();
        seen.push((node, fields));
    }
    seen
}

/// R-DEB-20, R-DEB-21, R-DEB-22, R-DEB-23: each node returns only what it changes: its message and token usage, the
/// skeptic the round, the moderator the end.
#[tokio::test]
async fn a_node_returns_only_what_it_changes() {
    let changed = changes(1, ScriptedModel::new(["Yes.", "No.", "So."])).await;
    let row = |node: &str, fields: &[&str]| (node.to_owned(), fields.iter().map(|&field| field.to_owned()).collect());
    let expected: Vec<(String, Vec<String>)> = vec![
        row("optimist", &["messages", "tokenUsage"]),
        row("skeptic", &["messages", "round", "tokenUsage"]),
        row("moderator", &["endTime", "messages", "status", "tokenUsage"]),
    ];
    assert_eq!(changed, expected);
}

fn texts(request: &ChatRequest) -> Vec<String> {
    request.messages.iter().map(|message| message.text().into_owned()).collect()
}

/// R-DEB-21, R-DEB-22, R-DEB-23: every agent receives all messages, then its turn prompt.
#[tokio::test]
async fn an_agent_receives_all_messages_and_its_prompt() {
    let model = ScriptedModel::new(["Yes.", "No.", "So."]);
    let done =
        debates(MemoryCheckpointer::new()).invoke(opening(1)).context(DebateContext::new(model.clone())).await.unwrap();
    let last = done.state.messages.last().unwrap();
    assert_eq!(
        (last.name.as_deref(), last.text().as_ref(), done.state.status),
        (Some("moderator"), "So.", DebateStatus::Completed)
    );
    let first_message = format!("Debate topic: {TOPIC}");
    let mut expected_texts = vec![first_message, "Yes.".to_owned(), "No.".to_owned()];
    for (index, (request, role)) in model.requests().iter().zip(DebateAgent::ALL).enumerate() {
        assert_eq!(texts(request)[..=index], expected_texts[..=index]);
        assert_eq!(request.messages.len(), index + 2);
        let expected = TurnPrompt { role, round: 1, max_rounds: 1, topic: TOPIC.to_owned(), notes: Vec::new() };
        assert_eq!(TurnPrompt::from_request(request), Some(expected));
    }
    expected_texts.clear();
    let instruction = texts(&model.requests()[0]).pop().unwrap();
    assert!(instruction.contains("positive side") && instruction.contains("two or three sentences"), "{instruction}");
    let summary = texts(&model.requests()[2]).pop().unwrap();
    assert!(summary.contains("Sum up both sides"), "{summary}");
}

/// R-DEB-56, R-DEB-21, R-DEB-16: without a topic the debate ends with status `error`, and the run succeeds.
#[tokio::test]
async fn without_a_topic_the_debate_ends_at_once() {
    for input in [DebateState::input().messages("Hello."), DebateState::input().topic("  ")] {
        let (graph, model) = (debates(MemoryCheckpointer::new()), ScriptedModel::new(["never"]));
        let done =
            graph.invoke(input).thread("t").context(DebateContext::new(model.clone())).clock(clock()).await.unwrap();
        assert!(done.is_finished() && model.remaining() == 1);
        let last = done.state.messages.last().unwrap();
        assert_eq!((last.role, last.text().as_ref()), (Role::Assistant, "Error: No topic provided"));
        assert_eq!((done.state.status, done.state.round), (DebateStatus::Error, 0));
        assert_eq!((done.state.start_time, done.state.end_time), (Some(morning()), Some(morning())));
    }
}

/// R-DEB-16, R-DEB-24: status `error` leads to the end after any node.
#[tokio::test]
async fn an_error_ends_the_debate_after_any_node() {
    for node in ["optimist", "skeptic"] {
        let (graph, model) = (debates(MemoryCheckpointer::new()), ScriptedModel::new(["never"]));
        graph.threads().update_state("t", opening(3)).await.unwrap();
        let failed = DebateState::update().status(DebateStatus::Error);
        graph.threads().update_state("t", failed).as_node(node).await.unwrap();
        assert!(graph.threads().get_state("t").await.unwrap().next.is_empty(), "after {node}");
        assert_eq!(model.remaining(), 1);
    }
}

/// R-DEB-10: if the input has no start time, the first turn sets it.
#[tokio::test]
async fn the_first_turn_sets_a_missing_start_time() {
    let model = ScriptedModel::new(["Yes.", "No.", "So."]);
    let input = DebateState::input().topic(TOPIC).max_rounds(1_u32);
    let done = debates(MemoryCheckpointer::new())
        .invoke(input)
        .context(DebateContext::new(model))
        .clock(clock())
        .await
        .unwrap();
    assert_eq!(done.state.start_time, Some(morning()));
    assert_eq!(authors(&done.state), ["optimist", "skeptic", "moderator"]);
}

/// R-DEB-22: an empty response is an error.
#[tokio::test]
async fn an_empty_answer_is_a_failure() {
    let model = ScriptedModel::new([" "]);
    let error =
        debates(MemoryCheckpointer::new()).invoke(opening(1)).context(DebateContext::new(model)).await.unwrap_err();
    assert!(error.message().contains("no text"), "{error}");
}
