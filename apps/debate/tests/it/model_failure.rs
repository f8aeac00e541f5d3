//! Tests of a model that fails during a debate.

use std::time::Duration;

use serde_json::json;
use superstep::models::ModelErrorKind;
use superstep::{MemoryCheckpointer, RetryPolicy};
use superstep_debate::{DebateContext, DebateStatus, FactCheckMode, load_debate_view, state_graph};

use crate::support::{Speaker, authors, debates, opening};

/// R-DEB-29, R-DEB-11: the run fails with an event, the messages stay, readers see an error, and the debate
/// continues with the failed turn.
#[tokio::test]
async fn a_debate_continues_with_the_turn_that_failed() {
    let graph = debates(MemoryCheckpointer::new());
    let speaker = Speaker::default().failing("skeptic 2", ModelErrorKind::InvalidApiKey);
    let context = || DebateContext::new(speaker.clone());
    let mut stream = graph.invoke(opening(3)).thread("t").context(context()).stream_events();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(serde_json::to_value(&event).unwrap());
    }
    let error = stream.finish().await.unwrap_err();
    assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::InvalidApiKey));
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["data"]["error"]["retryable"]), (&json!("on_chain_error"), &json!(false)));

    let view = load_debate_view(&graph.threads(), "t").await.unwrap();
    assert_eq!(authors(&view.state), ["user", "optimist", "skeptic", "optimist"]);
    assert_eq!(view.state.status, DebateStatus::Error);
    assert!(view.state.end_time >= view.state.start_time && view.state.end_time.is_some());
    assert!(view.failure.unwrap().message.contains("as the test asked"));
    assert_eq!(view.next, ["skeptic"]);

    let done = graph.continue_thread("t").context(context()).await.unwrap();
    assert_eq!((done.state.status, done.state.messages.len(), done.state.round), (DebateStatus::Completed, 8, 3));
    let turns = speaker.turns();
    assert_eq!(turns.len(), 8, "one turn was asked for twice: {turns:?}");
    assert_eq!(turns.iter().filter(|turn| *turn == "skeptic 2").count(), 2);
    let view = load_debate_view(&graph.threads(), "t").await.unwrap();
    assert_eq!((view.state.status, view.failure.is_none()), (DebateStatus::Completed, true));
}

/// R-DEB-29: a transient error is retried first, and then readers see no failure.
#[tokio::test]
async fn transient_errors_are_retried() {
    let mut graph = state_graph(RetryPolicy::exponential(3).initial_interval(Duration::ZERO));
    let graph = graph.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let speaker = Speaker::default()
        .failing("optimist 1", ModelErrorKind::Overloaded)
        .failing("optimist 1", ModelErrorKind::Connection);
    let done = graph.invoke(opening(1)).thread("t").context(DebateContext::new(speaker.clone())).await.unwrap();
    assert_eq!(done.state.status, DebateStatus::Completed);
    assert_eq!(speaker.turns()[..3], ["optimist 1", "optimist 1", "optimist 1"]);
    assert_eq!((authors(&done.state).len(), done.state.token_usage), (4, 45));
}

/// R-DEB-29, R-DEB-26: results of checks in parallel to a failed turn are not computed again.
#[tokio::test]
async fn results_parallel_to_a_failed_turn_are_retained() {
    let graph = debates(MemoryCheckpointer::new());
    let speaker = Speaker::default().failing("optimist 2", ModelErrorKind::Connection);
    let context = || DebateContext::new(speaker.clone()).fact_check(FactCheckMode::EachRound);
    graph.invoke(opening(2)).thread("t").context(context()).await.unwrap_err();
    let saved = graph.threads().get_state("t").await.unwrap();
    let done: Vec<_> = saved.tasks.iter().map(|task| (task.node.as_str(), task.is_finished)).collect();
    assert!(done.contains(&("fact_check", true)) && done.contains(&("optimist", false)), "{done:?}");
    let done = graph.continue_thread("t").context(context()).await.unwrap();
    assert_eq!((done.state.fact_check_results.len(), done.state.messages.len()), (4, 6));
}
