//! The process dies at every write of a debate, once with the write lost and once kept.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Compiled, Error, Memory, Outcome};
use superstep_debate::{Answer, Approval, Debate, FactCheck, Hall};

use crate::support::{Speaker, clock, debates, opening};

async fn live(
    graph: &Compiled<Debate, Hall>,
    hall: &Hall,
    store: impl Into<SharedCheckpointer>,
    has_begun: bool,
) -> Result<Outcome<Debate>, Error> {
    let store = store.into();
    let has_thread = has_begun && graph.threads().checkpointer(store.clone()).state("t").await.is_ok();
    let begun = match has_thread {
        true => graph.go_on("t"),
        false => graph.run(opening(2)).thread("t"),
    };
    let mut outcome = begun.context(hall.clone()).checkpointer(store.clone()).clock(clock()).await?;
    while !outcome.questions().is_empty() {
        let answer = Answer { approved: true, note: None };
        outcome = graph.resume("t", answer).context(hall.clone()).checkpointer(store.clone()).clock(clock()).await?;
    }
    Ok(outcome)
}

/// What must be equal; ids of messages name the task, and tasks have other ids on another thread.
fn told(debate: &Debate) -> Value {
    let messages: Vec<_> = debate.messages.iter().map(|message| (message.name.clone(), message.text())).collect();
    json!([messages, debate.round, debate.status, debate.token_usage, debate.fact_check_results, debate.end_time])
}

async fn check(hall_of: impl Fn(Speaker) -> Hall, least: usize) {
    let graph = debates(Memory::new());
    let calm = Speaker::default();
    let expected = told(&live(&graph, &hall_of(calm.clone()), Memory::new(), false).await.unwrap().state);
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0.. {
            let (disk, speaker) = (Memory::new(), Speaker::default());
            let hall = hall_of(speaker.clone());
            let survived = live(&graph, &hall, CrashAt::new(disk.clone(), at, last), false).await.is_ok();
            let outcome = live(&graph, &hall, disk.clone(), true).await.unwrap();
            assert_eq!(told(&outcome.state), expected, "crash at write {at}, {last:?}");
            let repeated = speaker.turns().len() - calm.turns().len();
            let allowed = usize::from(last == LastWrite::Lost && !survived);
            assert!(repeated <= allowed, "crash at write {at}, {last:?}: {:?}", speaker.turns());
            if survived {
                assert!(at >= least, "the sweep ended after {at} writes");
                break;
            }
        }
    }
}

/// R-DEB-29, R-DEB-46: whatever write the process dies at, going on ends in the same debate; no turn is in it twice, and
/// none whose write was kept is asked for again.
#[tokio::test]
async fn a_debate_survives_a_crash_at_any_write() {
    check(Hall::new, 6).await;
}

/// R-DEB-26, R-DEB-27, R-DEB-29: also with a person who is asked, and with claims that are looked up beside.
#[tokio::test]
async fn a_debate_with_everything_survives_a_crash_at_any_write() {
    check(|model| Hall::new(model).approval(Approval::EachRound).fact_check(FactCheck::EachRound), 10).await;
    check(|model| Hall::new(model).approval(Approval::BeforeSummary).fact_check(FactCheck::AtEnd), 8).await;
    check(|model| Hall::new(model).fact_check(FactCheck::EachRound), 8).await;
}
