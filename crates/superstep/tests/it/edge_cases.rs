//! Edge cases in which work could be lost or repeated: updates that crash, handlers that interrupt, races that are
//! cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{BranchPolicy, CompiledGraph, ErrorCode};

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct TestState {
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(messages)]
    talk: Messages,
    #[reduce(with = fragile)]
    fragile: u64,
}

fn fragile(current: &mut u64, input: u64) {
    assert!(input < 100, "too large for me");
    *current += input;
}

/// One task that finishes and counts, one that interrupts.
fn half_done(runs: &Arc<AtomicUsize>) -> CompiledGraph<TestState> {
    let mut graph = StateGraph::<TestState>::new("half");
    let counted = runs.clone();
    let done = graph.add_node("done", move || {
        counted.fetch_add(1, Ordering::SeqCst);
        TestState::update().log("done")
    });
    let interrupted = graph.add_node("asks", async |interrupts: Interrupts| -> Result<TestStateUpdate, NodeError> {
        let word: String = interrupts.raise("word?", ()).await?;
        Ok(TestState::update().log(word))
    });
    graph.add_edge(START, done).add_edge(START, interrupted).add_edge(done, END).add_edge(interrupted, END);
    graph.compile().unwrap()
}

/// R-FWK-30, R-GRA-45: an external update is one write: at whatever write it dies, finished tasks stay finished and
/// the interrupt stays open.
#[tokio::test]
async fn an_update_that_crashes_loses_nothing() {
    for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
        for at in 0..3 {
            let (runs, disk) = (Arc::default(), MemoryCheckpointer::new());
            let graph = half_done(&runs);
            let paused =
                graph.invoke(TestState::input().log("in")).thread("t").checkpointer(disk.clone()).await.unwrap();
            let store = CrashingCheckpointer::new(disk.clone(), at, last);
            let _ = graph.threads().checkpointer(store).update_state("t", TestState::update().log("more")).await;
            let state = graph.threads().checkpointer(disk.clone()).get_state("t").await.unwrap();
            assert_eq!(state.interrupts(), paused.interrupts().iter().collect::<Vec<_>>(), "{last:?} at {at}");
            let out = graph.resume("t", "word").checkpointer(disk).await.unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), 1, "{last:?} at {at}: {:?}", out.state.log);
            assert!(out.is_finished());
        }
    }
}

/// R-FWK-28: an error handler has its own interrupts, and never gets the resume values of its node.
#[tokio::test]
async fn an_error_handler_does_not_receive_resume_values_of_its_node() {
    let mut graph = StateGraph::<TestState>::new("handled");
    let fails = async |interrupts: Interrupts| -> Result<(), NodeError> {
        let yes: bool = interrupts.raise("approve?", ()).await?;
        Err(NodeError::new(format!("approved: {yes}, and failed all the same")))
    };
    let refund = async |interrupts: Interrupts| -> Result<TestStateUpdate, NodeError> {
        let refund: bool = interrupts.raise("refund?", ()).await?;
        Ok(TestState::update().log(format!("refund: {refund}")))
    };
    let pay = graph.add_node("pay", node(fails).error_handler(refund));
    graph.add_edge(START, pay).add_edge(pay, END).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    graph.invoke(TestState::input().log("in")).thread("t").await.unwrap();
    let second = graph.resume("t", true).await.unwrap();
    assert_eq!(second.interrupts()[0].name, "refund?");
    let done = graph.resume("t", false).await.unwrap();
    assert_eq!(done.state.log, ["in", "refund: false"]);
}

/// R-GRA-45: tasks that lost a race do not run when the process dies before the superstep is complete.
#[tokio::test(start_paused = true)]
async fn a_lost_race_is_not_run_after_a_crash() {
    let (gate, runs) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicUsize::new(0)));
    let build = |slow_ends: bool| {
        let mut graph = StateGraph::<TestState>::new("race");
        let (opened, counted) = (gate.clone(), runs.clone());
        let race = move |racer: SendPayload<u64>| {
            let (opened, counted) = (opened.clone(), counted.clone());
            async move {
                if *racer > 0 {
                    opened.notified().await;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                TestState::update().log(format!("racer {}", *racer))
            }
        };
        let race = graph.add_node("race", node(race).branch_policy(BranchPolicy::Race));
        let slow = graph.add_node("slow", move || async move {
            if !slow_ends {
                std::future::pending::<()>().await;
            }
        });
        graph.set_conditional_entry_point(
            move |_| Goto::sends([SendTo::new(race, 0u64), SendTo::new(race, 1u64)]).and_node(slow),
            [race, slow],
        );
        graph.add_edge(race, END).add_edge(slow, END);
        graph.compile().unwrap()
    };
    let disk = MemoryCheckpointer::new();
    let run = build(false).invoke(TestState::input().log("in")).thread("t").checkpointer(disk.clone());
    // The clock is paused: the time passes only when no task can continue.
    let _ = tokio::time::timeout(std::time::Duration::from_millis(50), run.into_future()).await;
    gate.notify_waiters();
    gate.notify_one();
    let done = build(true).continue_thread("t").checkpointer(disk).await.unwrap();
    assert_eq!((done.state.log.clone(), runs.load(Ordering::SeqCst)), (vec!["in".to_owned(), "racer 0".to_owned()], 1));
}

/// R-FWK-19, R-GRA-34: a reducer that panics fails the superstep, not the process, and other runs of a batch
/// continue.
#[tokio::test]
async fn a_reducer_that_panics_fails_its_superstep_only() {
    let mut graph = StateGraph::<TestState>::new("fragile");
    let write =
        graph.add_node("write", |work: View<TestState>| TestState::update().fragile(work.log.len() as u64 * 50));
    graph.add_edge(START, write).add_edge(write, END);
    let graph = graph.compile().unwrap();
    let input = |lines: usize| TestState::input().log(vec!["x".to_owned(); lines]);
    let results = graph.batch([input(1), input(2), input(1)], 2).await;
    let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(superstep::Error::code)).collect();
    assert_eq!(codes, [None, Some(ErrorCode::ReducerFailed), None]);
}

/// R-GRA-26: messages get ids also if the caller still holds their input.
#[tokio::test]
async fn messages_of_a_shared_input_get_ids() {
    let mut graph = StateGraph::<TestState>::new("talk");
    let nothing = graph.add_node("nothing", || ());
    graph.add_edge(START, nothing).add_edge(nothing, END);
    let input = TestState::input().talk([Message::user("hi"), Message::user("hi")]);
    let done = graph.compile().unwrap().invoke(input.clone()).await.unwrap();
    let ids: Vec<_> = done.state.talk.iter().map(|message| message.id.clone()).collect();
    assert!(ids.len() == 2 && !ids.contains(&None) && ids[0] < ids[1], "{ids:?}");
    drop(input);
}

/// R-GRA-26: messages without ids get fresh, time-ordered ids in every run, and equal texts are appended.
#[tokio::test]
async fn message_ids_are_distinct_and_rising_across_runs() {
    let mut graph = StateGraph::<TestState>::new("talk");
    let nothing = graph.add_node("nothing", || ());
    graph.add_edge(START, nothing).add_edge(nothing, END).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let mut ids = Vec::new();
    for (added, total) in [(2, 2), (3, 5)] {
        let input = TestState::input().talk(vec![Message::user("hi"); added]);
        let done = graph.invoke(input).thread("t").await.unwrap();
        let all: Vec<_> = done.state.talk.iter().map(|message| message.id.clone().expect("an id")).collect();
        assert_eq!(all.len(), total);
        assert!(all.starts_with(&ids), "{ids:?}, then {all:?}");
        ids = all;
    }
    // Strictly rising ids are also distinct.
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
}

/// R-FWK-9: a handle of another graph is rejected; its number is not used in this graph.
#[test]
fn a_handle_of_another_graph_is_rejected() {
    let mut other = StateGraph::<TestState>::new("other");
    let foreign = other.add_node("foreign", || ());
    let mut graph = StateGraph::<TestState>::new("mine");
    let mine = graph.add_node("mine", || ());
    graph.add_edge(START, mine).add_edge(mine, foreign).add_edge(mine, END);
    let error = graph.compile().err().expect("a foreign handle");
    assert!(error.to_string().contains("another graph"), "{error}");
}

/// R-FWK-8: the output of a subgraph is the same whether it ran without a break or was interrupted.
#[tokio::test]
async fn a_resumed_subgraph_has_the_output_of_an_uninterrupted_one() {
    let outcome = |is_interrupted: bool| async move {
        #[derive(GraphState, Clone, Serialize, Deserialize)]
        struct Plain {
            log: Vec<String>,
            votes: BTreeMap<String, u64>,
        }
        let mut inner = StateGraph::<Plain>::new("inner");
        let set = inner.add_node("set", |plain: View<Plain>| {
            let mut log = plain.log.clone();
            log.push("set".to_owned());
            Plain::update().log(log)
        });
        let interrupting = inner.add_node("asks", move |interrupts: Interrupts| async move {
            if is_interrupted {
                let _: bool = interrupts.raise("go on?", ()).await?;
            }
            Ok::<(), NodeError>(())
        });
        inner.add_sequence([START, set.into(), interrupting.into(), END]);
        let mut graph = StateGraph::<TestState>::new("outer");
        let subgraph = graph.add_node("inside", inner.compile().unwrap());
        graph.add_edge(START, subgraph).add_edge(subgraph, END).checkpointer(MemoryCheckpointer::new());
        let graph = graph.compile().unwrap();
        let mut out = graph.invoke(TestState::input().log("in")).thread("t").await.unwrap();
        if is_interrupted {
            out = graph.resume("t", true).await.unwrap();
        }
        json!(out.state.log)
    };
    assert_eq!(outcome(false).await, outcome(true).await);
}

/// R-FWK-17: the timeout of a run includes the wait for its thread.
#[tokio::test(start_paused = true)]
async fn a_run_does_not_wait_for_its_thread_for_ever() {
    let mut graph = StateGraph::<TestState>::new("busy");
    let waits = graph.add_node("waits", std::future::pending::<()>);
    graph.add_edge(START, waits).add_edge(waits, END).checkpointer(MemoryCheckpointer::new());
    let graph = graph.compile().unwrap();
    let mut first = graph.invoke(TestState::input().log("first")).thread("t").stream();
    first.next().await.expect("the first run has begun");
    let time = std::time::Duration::from_secs(5);
    let error =
        graph.invoke(TestState::input().log("second")).thread("t").timeout(time).await.expect_err("a busy thread");
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
}

/// R-GRA-45: failing fast discards unfinished tasks, never finished ones.
#[tokio::test]
async fn failing_fast_keeps_finished_tasks() {
    for _ in 0..20 {
        let runs = Arc::new(AtomicUsize::new(0));
        let mut graph = StateGraph::<TestState>::new("fast");
        let counted = runs.clone();
        let fails = graph.add_node("fails", || Err::<(), _>(NodeError::new("at once")));
        let done = graph.add_node("done", move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        graph.add_edge(START, fails).add_edge(START, done).add_edge(fails, END).add_edge(done, END);
        graph.branch_policy(BranchPolicy::FailFast).checkpointer(MemoryCheckpointer::new());
        let graph = graph.compile().unwrap();
        for _ in 0..2 {
            let failed = match graph.threads().status("t").await.unwrap() {
                None => graph.invoke(TestState::input().log("in")).thread("t").await,
                Some(_) => graph.continue_thread("t").await,
            };
            assert_eq!(failed.expect_err("one task fails").code(), ErrorCode::NodeFailed);
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
