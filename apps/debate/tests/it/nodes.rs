//! What each voice is asked, and what it returns.

use serde_json::Value;
use superstep::core::message::Role;
use superstep::model::{Request, Scripted};
use superstep::{Memory, StreamMode};
use superstep_debate::prompt::{Cue, Role as Voice};
use superstep_debate::{Debate, Hall, Status};

use crate::support::{TOPIC, clock, debates, morning, opening, speakers};

/// What each superstep changed: the node, and the fields it returned.
async fn changes(rounds: u32, model: Scripted) -> Vec<(String, Vec<String>)> {
    let graph = debates(Memory::new());
    let mut parts = graph.run(opening(rounds)).context(Hall::new(model)).stream_mode([StreamMode::Updates]);
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

/// R-DEB-20, R-DEB-21, R-DEB-22, R-DEB-23: each returns only what it changes: its message and what it used, the skeptic
/// the round, the moderator the end.
#[tokio::test]
async fn a_node_returns_only_what_it_changes() {
    let changed = changes(1, Scripted::new(["Yes.", "No.", "So."])).await;
    let row = |node: &str, fields: &[&str]| (node.to_owned(), fields.iter().map(|&field| field.to_owned()).collect());
    let expected: Vec<(String, Vec<String>)> = vec![
        row("optimist", &["messages", "tokenUsage"]),
        row("skeptic", &["messages", "round", "tokenUsage"]),
        row("moderator", &["endTime", "messages", "status", "tokenUsage"]),
    ];
    assert_eq!(changed, expected);
}

fn texts(request: &Request) -> Vec<String> {
    request.messages.iter().map(|message| message.text().into_owned()).collect()
}

/// R-DEB-21, R-DEB-22, R-DEB-23: every voice is sent all that was said, and then what it is to do.
#[tokio::test]
async fn a_voice_is_sent_everything_and_its_task() {
    let model = Scripted::new(["Yes.", "No.", "So."]);
    debates(Memory::new()).run(opening(1)).context(Hall::new(model.clone())).await.unwrap();
    let line = format!("Debate topic: {TOPIC}");
    let mut said = vec![line, "Yes.".to_owned(), "No.".to_owned()];
    for (place, (request, role)) in model.requests().iter().zip(Voice::ALL).enumerate() {
        assert_eq!(texts(request)[..=place], said[..=place]);
        assert_eq!(request.messages.len(), place + 2);
        let expected = Cue { role, round: 1, rounds: 1, topic: TOPIC.to_owned(), notes: Vec::new() };
        assert_eq!(Cue::read(request), Some(expected));
    }
    said.clear();
    let instruction = texts(&model.requests()[0]).pop().unwrap();
    assert!(instruction.contains("positive side") && instruction.contains("two or three sentences"), "{instruction}");
}

/// R-DEB-56, R-DEB-21, R-DEB-16: without a topic the debate ends in an error of its own, and the run well.
#[tokio::test]
async fn without_a_topic_the_debate_ends_at_once() {
    for input in [Debate::input().messages("Hello."), Debate::input().topic("  ")] {
        let (graph, model) = (debates(Memory::new()), Scripted::new(["never"]));
        let done = graph.run(input).thread("t").context(Hall::new(model.clone())).clock(clock()).await.unwrap();
        assert!(done.is_finished() && model.left() == 1);
        let last = done.state.messages.last().unwrap();
        assert_eq!((last.role, last.text().as_ref()), (Role::Assistant, "Error: No topic provided"));
        assert_eq!((done.state.status, done.state.round), (Status::Error, 0));
        assert_eq!((done.state.start_time, done.state.end_time), (Some(morning()), Some(morning())));
    }
}

/// R-DEB-16, R-DEB-24: `error` leads to the end from wherever it comes.
#[tokio::test]
async fn an_error_ends_the_debate_after_any_node() {
    for node in ["optimist", "skeptic"] {
        let (graph, model) = (debates(Memory::new()), Scripted::new(["never"]));
        graph.threads().update("t", opening(3)).await.unwrap();
        let failed = Debate::update().status(Status::Error);
        graph.threads().update("t", failed).as_node(node).await.unwrap();
        assert!(graph.threads().state("t").await.unwrap().next.is_empty(), "after {node}");
        assert_eq!(model.left(), 1);
    }
}

/// R-DEB-10: an input that does not say when it was given was given when the first voice speaks.
#[tokio::test]
async fn the_time_of_the_input_is_the_run_s() {
    let model = Scripted::new(["Yes.", "No.", "So."]);
    let input = Debate::input().topic(TOPIC).max_rounds(1_u32);
    let done = debates(Memory::new()).run(input).context(Hall::new(model)).clock(clock()).await.unwrap();
    assert_eq!(done.state.start_time, Some(morning()));
    assert_eq!(speakers(&done.state), ["optimist", "skeptic", "moderator"]);
}

/// R-DEB-22: an answer without a word is none.
#[tokio::test]
async fn an_empty_answer_is_a_failure() {
    let model = Scripted::new([" "]);
    let error = debates(Memory::new()).run(opening(1)).context(Hall::new(model)).await.unwrap_err();
    assert!(error.message().contains("no text"), "{error}");
}
