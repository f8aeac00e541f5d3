//! Crash tests: the process dies at every write of a debate, once with the write lost and once persisted.

use serde_json::{Value, json};
use superstep::core::port::SharedCheckpointer;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{CompiledGraph, Error, MemoryCheckpointer, Outcome};
use superstep_debate::{ApprovalAnswer, ApprovalMode, DebateContext, DebateState, FactCheckMode};

use crate::support::{Speaker, clock, debates, opening};

async fn run_debate(
    graph: &CompiledGraph<DebateState, DebateContext>,
    context: &DebateContext,
    store: impl Into<SharedCheckpointer>,
    has_started: bool,
) -> Result<Outcome<DebateState>, Error> {
    let store = store.into();
    let has_thread = has_started && graph.threads().checkpointer(store.clone()).get_state("t").await.is_ok();
    let run = match has_thread {
        true => graph.continue_thread("t"),
        false => graph.invoke(opening(2)).thread("t"),
    };
    let mut outcome = run.context(context.clone()).checkpointer(store.clone()).clock(clock()).await?;
    while !outcome.interrupts().is_empty() {
        let answer = ApprovalAnswer { approved: true, note: None };
        outcome = graph.resume("t", answer).context(context.clone()).checkpointer(store.clone()).clock(clock()).await?;
    }
    Ok(outcome)
}

/// Returns the data that must be equal; message ids contain the task id, which differs between threads.
fn comparable_data(debate: &DebateState) -> Value {
    let messages: Vec<_> = debate.messages.iter().map(|message| (message.name.clone(), message.text())).collect();
    json!([messages, debate.round, debate.status, debate.token_usage, debate.fact_check_results, debate.end_time])
}

async fn check(context_of: impl Fn(Speaker) -> DebateContext, min_writes: usize) {
    let graph = debates(MemoryCheckpointer::new());
    let undisturbed = Speaker::default();
    let expected = comparable_data(
        &run_debate(&graph, &context_of(undisturbed.clone()), MemoryCheckpointer::new(), false).await.unwrap().state,
    );
    for crashed_write in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for write in 0.. {
            let (store, speaker) = (MemoryCheckpointer::new(), Speaker::default());
            let context = context_of(speaker.clone());
            let survived =
                run_debate(&graph, &context, CrashingCheckpointer::new(store.clone(), write, crashed_write), false)
                    .await
                    .is_ok();
            let outcome = run_debate(&graph, &context, store.clone(), true).await.unwrap();
            assert_eq!(comparable_data(&outcome.state), expected, "crash at write {write}, {crashed_write:?}");
            let repeated = speaker.turns().len() - undisturbed.turns().len();
            let allowed = usize::from(crashed_write == CrashedWrite::Lost && !survived);
            assert!(repeated <= allowed, "crash at write {write}, {crashed_write:?}: {:?}", speaker.turns());
            if survived {
                assert!(write >= min_writes, "the sweep ended after {write} writes");
                break;
            }
        }
    }
}

/// R-DEB-29, R-DEB-46: whatever write the process dies at, the resumed debate ends the same; no turn occurs twice,
/// and no persisted turn is requested again.
#[tokio::test]
async fn a_debate_survives_a_crash_at_any_write() {
    check(DebateContext::new, 6).await;
}

/// R-DEB-26, R-DEB-27, R-DEB-29: the same with approvals, and with claims checked in parallel.
#[tokio::test]
async fn a_debate_with_everything_survives_a_crash_at_any_write() {
    check(|model| DebateContext::new(model).approval(ApprovalMode::EachRound).fact_check(FactCheckMode::EachRound), 10)
        .await;
    check(|model| DebateContext::new(model).approval(ApprovalMode::BeforeSummary).fact_check(FactCheckMode::AtEnd), 8)
        .await;
    check(|model| DebateContext::new(model).fact_check(FactCheckMode::EachRound), 8).await;
}
