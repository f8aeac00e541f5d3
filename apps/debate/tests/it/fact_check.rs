//! Claims that are looked up beside the debate.

use std::time::Duration;

use superstep::Memory;
use superstep::core::port::{BoxFuture, Clock};
use superstep_debate::fact::Verdict;
use superstep_debate::{FactCheck, Hall};

use crate::support::{Speaker, clock, debates, due, history, morning, opening, said, speakers};

fn claim(role: &str, round: u32) -> String {
    said(role, round).split_once(". ").unwrap().1.to_owned()
}

fn all_claims() -> Vec<String> {
    (1..=3).flat_map(|round| [claim("optimist", round), claim("skeptic", round)]).collect()
}

/// R-DEB-26, R-DEB-17: each round's claims are looked up in the superstep of the next speaker, which is due as soon as
/// without; the moderator comes after the last of them.
#[tokio::test]
async fn claims_are_looked_up_beside_the_next_speaker() {
    let (graph, speaker) = (debates(Memory::new()), Speaker::default());
    let hall = Hall::new(speaker.clone()).fact_check(FactCheck::EachRound);
    // By this clock the time beside a speaker is never up, however busy the machine is.
    let done = graph.run(opening(3)).thread("t").context(hall).clock(clock()).await.unwrap();
    let steps = due(&graph, "t").await;
    let beside = "optimist+fact_check";
    assert_eq!(steps, ["optimist", "skeptic", beside, "skeptic", beside, "skeptic", "fact_check", "moderator", ""]);
    let found: Vec<_> = done.state.fact_check_results.iter().map(|result| result.claim.clone()).collect();
    assert_eq!(found, all_claims());
    for result in &done.state.fact_check_results {
        assert_eq!((result.verdict, result.sources.len()), (Verdict::Unverifiable, 0), "there is no evidence");
    }
    let notes: Vec<_> = found.iter().map(|claim| format!("the claim \"{claim}\" is unverifiable")).collect();
    assert_eq!(speaker.last_cue().notes, notes);
    assert_eq!(speakers(&done.state).len(), 8);
    let counts: Vec<_> = history(&graph, "t").await.iter().map(|saved| saved.state.fact_check_results.len()).collect();
    assert_eq!(counts, [0, 0, 0, 2, 2, 4, 4, 6, 6]);
}

/// R-DEB-26: at the end, everything that was said is looked up once.
#[tokio::test]
async fn at_the_end_everything_is_looked_up() {
    let (graph, speaker) = (debates(Memory::new()), Speaker::default());
    let hall = Hall::new(speaker.clone()).fact_check(FactCheck::AtEnd);
    let done = graph.run(opening(3)).thread("t").context(hall).await.unwrap();
    assert_eq!(due(&graph, "t").await[5..], ["skeptic", "fact_check", "moderator", ""]);
    let found: Vec<_> = done.state.fact_check_results.iter().map(|result| result.claim.clone()).collect();
    assert_eq!(found, all_claims());
    assert_eq!(speaker.last_cue().notes.len(), 6);
}

/// A clock by which every wait is over at once.
struct Impatient;

impl Clock for Impatient {
    fn now(&self) -> i64 {
        morning().as_unix_micros()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// R-DEB-26: a search that takes longer than there is time for holds no speaker: what is left is looked up later, and
/// nothing is left when the moderator speaks.
#[tokio::test]
async fn a_slow_search_holds_nobody_up() {
    let (graph, speaker) = (debates(Memory::new()), Speaker::default());
    let hall = Hall::new(speaker.clone()).fact_check(FactCheck::EachRound);
    let done = graph.run(opening(3)).thread("t").context(hall).clock(Impatient).await.unwrap();
    let counts: Vec<_> = history(&graph, "t").await.iter().map(|saved| saved.state.fact_check_results.len()).collect();
    assert_eq!(counts, [0, 0, 0, 0, 0, 0, 0, 6, 6]);
    let found: Vec<_> = done.state.fact_check_results.iter().map(|result| result.claim.clone()).collect();
    assert_eq!(found, all_claims());
    assert_eq!(speaker.last_cue().notes.len(), 6);
}

/// R-DEB-26: without it nothing is looked up.
#[tokio::test]
async fn nothing_is_looked_up_unless_asked() {
    let graph = debates(Memory::new());
    let done = graph.run(opening(2)).thread("t").context(Hall::new(Speaker::default())).await.unwrap();
    assert!(done.state.fact_check_results.is_empty());
    assert!(!due(&graph, "t").await.iter().any(|next| next.contains("fact_check")));
}
