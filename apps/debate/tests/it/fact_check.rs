//! Tests of claims that are checked in parallel to the debate.

use std::time::Duration;

use superstep::MemoryCheckpointer;
use superstep::core::port::{BoxFuture, Clock};
use superstep_debate::fact_check::result::Verdict;
use superstep_debate::{DebateContext, FactCheckMode};

use crate::support::{Speaker, authors, clock, debates, history, morning, next_nodes, opening, reply_text};

fn claim(role: &str, round: u32) -> String {
    reply_text(role, round).split_once(". ").unwrap().1.to_owned()
}

fn all_claims() -> Vec<String> {
    (1..=3).flat_map(|round| [claim("optimist", round), claim("skeptic", round)]).collect()
}

/// R-DEB-26, R-DEB-17: the claims of a round are checked in the superstep of the next agent, which is not delayed;
/// the moderator comes after the last check.
#[tokio::test]
async fn claims_are_checked_in_parallel_with_the_next_agent() {
    let (graph, speaker) = (debates(MemoryCheckpointer::new()), Speaker::default());
    let context = DebateContext::new(speaker.clone()).fact_check(FactCheckMode::EachRound);
    // With this clock the time limit never passes, however busy the machine is.
    let done = graph.invoke(opening(3)).thread("t").context(context).clock(clock()).await.unwrap();
    let steps = next_nodes(&graph, "t").await;
    let parallel = "optimist+fact_check";
    assert_eq!(steps, ["optimist", "skeptic", parallel, "skeptic", parallel, "skeptic", "fact_check", "moderator", ""]);
    let checked: Vec<_> = done.state.fact_check_results.iter().map(|result| result.claim.clone()).collect();
    assert_eq!(checked, all_claims());
    for result in &done.state.fact_check_results {
        assert_eq!((result.verdict, result.sources.len()), (Verdict::Unverifiable, 0), "there is no evidence");
    }
    let notes: Vec<_> = checked.iter().map(|claim| format!("the claim \"{claim}\" is unverifiable")).collect();
    assert_eq!(speaker.last_prompt().notes, notes);
    assert_eq!(authors(&done.state).len(), 8);
    let counts: Vec<_> = history(&graph, "t").await.iter().map(|saved| saved.state.fact_check_results.len()).collect();
    assert_eq!(counts, [0, 0, 0, 2, 2, 4, 4, 6, 6]);
}

/// R-DEB-26: with `AtEnd`, every claim is checked once, before the summary.
#[tokio::test]
async fn at_the_end_every_claim_is_checked_once() {
    let (graph, speaker) = (debates(MemoryCheckpointer::new()), Speaker::default());
    let context = DebateContext::new(speaker.clone()).fact_check(FactCheckMode::AtEnd);
    let done = graph.invoke(opening(3)).thread("t").context(context).await.unwrap();
    assert_eq!(next_nodes(&graph, "t").await[5..], ["skeptic", "fact_check", "moderator", ""]);
    let checked: Vec<_> = done.state.fact_check_results.iter().map(|result| result.claim.clone()).collect();
    assert_eq!(checked, all_claims());
    assert_eq!(speaker.last_prompt().notes.len(), 6);
}

/// A clock with which every sleep ends at once.
struct InstantClock;

impl Clock for InstantClock {
    fn now(&self) -> i64 {
        morning().as_unix_micros()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// R-DEB-26: a search beyond the time limit does not delay the agent: the rest is checked later, and everything is
/// checked before the summary.
#[tokio::test]
async fn a_slow_search_does_not_delay_the_agent() {
    let (graph, speaker) = (debates(MemoryCheckpointer::new()), Speaker::default());
    let context = DebateContext::new(speaker.clone()).fact_check(FactCheckMode::EachRound);
    let done = graph.invoke(opening(3)).thread("t").context(context).clock(InstantClock).await.unwrap();
    let counts: Vec<_> = history(&graph, "t").await.iter().map(|saved| saved.state.fact_check_results.len()).collect();
    assert_eq!(counts, [0, 0, 0, 0, 0, 0, 0, 6, 6]);
    let checked: Vec<_> = done.state.fact_check_results.iter().map(|result| result.claim.clone()).collect();
    assert_eq!(checked, all_claims());
    assert_eq!(speaker.last_prompt().notes.len(), 6);
}

/// R-DEB-26: without the option nothing is checked.
#[tokio::test]
async fn nothing_is_checked_unless_requested() {
    let graph = debates(MemoryCheckpointer::new());
    let done = graph.invoke(opening(2)).thread("t").context(DebateContext::new(Speaker::default())).await.unwrap();
    assert!(done.state.fact_check_results.is_empty());
    assert!(!next_nodes(&graph, "t").await.iter().any(|next| next.contains("fact_check")));
}
