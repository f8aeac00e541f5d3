//! A model that fails in the middle of a debate.

use std::time::Duration;

use serde_json::json;
use superstep::model::Trouble;
use superstep::{Memory, Retry};
use superstep_debate::{FactCheck, Hall, Status, draw, read};

use crate::support::{Speaker, debates, opening, speakers};

/// R-DEB-29, R-DEB-11: the run fails with an event, the transcript stays, readers see an error, and going on begins with
/// the turn that failed.
#[tokio::test]
async fn a_debate_goes_on_with_the_turn_that_failed() {
    let graph = debates(Memory::new());
    let speaker = Speaker::default().failing("skeptic 2", Trouble::KeyRefused);
    let hall = || Hall::new(speaker.clone());
    let mut stream = graph.run(opening(3)).thread("t").context(hall()).stream_events();
    let mut told = Vec::new();
    while let Some(event) = stream.next().await {
        told.push(serde_json::to_value(&event).unwrap());
    }
    let error = stream.finish().await.unwrap_err();
    assert_eq!(Trouble::of(&error), Some(Trouble::KeyRefused));
    let last = told.last().unwrap();
    assert_eq!((&last["event"], &last["data"]["error"]["retryable"]), (&json!("on_chain_error"), &json!(false)));

    let seen = read(&graph.threads(), "t").await.unwrap();
    assert_eq!(speakers(&seen.debate), ["user", "optimist", "skeptic", "optimist"]);
    assert_eq!(seen.debate.status, Status::Error);
    assert!(seen.debate.end_time >= seen.debate.start_time && seen.debate.end_time.is_some());
    assert!(seen.failure.unwrap().message.contains("as the test asked"));
    assert_eq!(seen.next, ["skeptic"]);

    let done = graph.go_on("t").context(hall()).await.unwrap();
    assert_eq!((done.state.status, done.state.messages.len(), done.state.round), (Status::Completed, 8, 3));
    let turns = speaker.turns();
    assert_eq!(turns.len(), 8, "one turn was asked for twice: {turns:?}");
    assert_eq!(turns.iter().filter(|turn| *turn == "skeptic 2").count(), 2);
    let seen = read(&graph.threads(), "t").await.unwrap();
    assert_eq!((seen.debate.status, seen.failure.is_none()), (Status::Completed, true));
}

/// R-DEB-29: what may pass is tried again first, and then nobody sees a failure.
#[tokio::test]
async fn what_passes_is_tried_again() {
    let mut graph = draw(Retry::exponential(3).initial_interval(Duration::ZERO));
    let graph = graph.checkpointer(Memory::new()).compile().unwrap();
    let speaker =
        Speaker::default().failing("optimist 1", Trouble::Overloaded).failing("optimist 1", Trouble::NoNetwork);
    let done = graph.run(opening(1)).thread("t").context(Hall::new(speaker.clone())).await.unwrap();
    assert_eq!(done.state.status, Status::Completed);
    assert_eq!(speaker.turns()[..3], ["optimist 1", "optimist 1", "optimist 1"]);
    assert_eq!((speakers(&done.state).len(), done.state.token_usage), (4, 45));
}

/// R-DEB-29, R-DEB-26: what was looked up beside a turn that failed is not looked up again.
#[tokio::test]
async fn results_beside_a_failed_turn_are_kept() {
    let graph = debates(Memory::new());
    let speaker = Speaker::default().failing("optimist 2", Trouble::NoNetwork);
    let hall = || Hall::new(speaker.clone()).fact_check(FactCheck::EachRound);
    graph.run(opening(2)).thread("t").context(hall()).await.unwrap_err();
    let saved = graph.threads().state("t").await.unwrap();
    let done: Vec<_> = saved.tasks.iter().map(|task| (task.node.as_str(), task.is_done)).collect();
    assert!(done.contains(&("fact_check", true)) && done.contains(&("optimist", false)), "{done:?}");
    let done = graph.go_on("t").context(hall()).await.unwrap();
    assert_eq!((done.state.fact_check_results.len(), done.state.messages.len()), (4, 6));
}
