//! Branch policies: the effect of the failure or success of one task on the others of its superstep.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::BoxFuture;
use superstep::prelude::*;
use superstep::{BranchPolicy, Compat, CompiledGraph, DynamicState, ErrorCode, Result};
use tokio::time::{Instant, sleep};

use crate::fixtures::{CallCounter, field, graph, log_word};

/// Sends one task for each number of seconds; a negative one fails after that time.
fn fan(policy: BranchPolicy, seconds: &'static [i64], finished: &CallCounter) -> CompiledGraph<DynamicState> {
    let (mut g, finished) = (graph("g"), finished.clone());
    let fan = g.add_node("fan", || ());
    let work = move |sent: SendPayload<i64>| {
        let finished = finished.clone();
        async move {
            sleep(Duration::from_secs(sent.unsigned_abs())).await;
            finished.up();
            if sent.0 < 0 {
                Err(NodeError::new(format!("task {} failed", sent.0)))
            } else {
                Ok(json!({ "log": [sent.0] }))
            }
        }
    };
    let work = g.add_node("work", node(work).branch_policy(policy));
    let (left, right) = (g.add_node("left", delayed_log_word("left")), g.add_node("right", delayed_log_word("right")));
    g.add_edge(START, fan)
        .add_edge(work, left)
        .add_edge(work, right)
        .add_edge(left, END)
        .add_edge(right, END)
        .checkpointer(MemoryCheckpointer::new());
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| seconds.iter().map(|i| SendTo::new(work, *i)).collect::<Vec<_>>(),
        [work],
    );
    g.compile().unwrap()
}

/// A node that takes ten minutes, so that remaining tasks of the previous superstep would be noticed.
fn delayed_log_word(word: &'static str) -> impl Fn() -> BoxFuture<'static, Value> + std::marker::Send + Sync {
    move || {
        Box::pin(async move {
            sleep(Duration::from_secs(600)).await;
            json!({ "log": [word] })
        })
    }
}

/// Returns the log or the error, the number of tasks that ended, and the seconds that passed.
async fn fanned(policy: BranchPolicy, seconds: &'static [i64]) -> (Result<Value>, usize, u64) {
    let (finished, started) = (CallCounter::default(), Instant::now());
    let done = fan(policy, seconds, &finished).invoke(json!({ "n": 0 })).thread("t").await;
    let log = done.map(|done| field(&done, "log"));
    (log, finished.get(), started.elapsed().as_secs())
}

/// Branch policy (no id): by default the other tasks run to their end, then the run fails.
#[tokio::test(start_paused = true)]
async fn by_default_other_tasks_run_to_their_end() {
    for policy in [BranchPolicy::Inherit, BranchPolicy::SettleAll] {
        let (log, finished, after) = fanned(policy, &[-1, 3, 5]).await;
        assert_eq!((log.unwrap_err().code(), finished, after), (ErrorCode::NodeFailed, 3, 5));
    }
}

/// Branch policy (no id): with fail-fast, the first failure stops the others.
#[tokio::test(start_paused = true)]
async fn fail_fast_stops_the_other_tasks() {
    let (log, finished, after) = fanned(BranchPolicy::FailFast, &[5, -1, 3]).await;
    assert!(log.unwrap_err().to_string().contains("task -1 failed"));
    assert_eq!((finished, after), (1, 1));
}

/// Branch policy (no id): with a quorum enough successes end the superstep; failures before and after do not matter.
#[tokio::test(start_paused = true)]
async fn a_quorum_needs_some_to_succeed() {
    let rows: [(&'static [i64], Option<Value>, usize, u64); 4] = [
        (&[1, 2, 9], Some(json!([1, 2, "left", "right"])), 2, 602),
        (&[3, -1, 2], Some(json!([3, 2, "left", "right"])), 3, 603),
        (&[9, 1, 1, -8], Some(json!([1, 1, "left", "right"])), 2, 601),
        (&[-1, 3, -2], None, 3, 3),
    ];
    for (seconds, expected, finished, after) in rows {
        let (log, ended, took) = fanned(BranchPolicy::Quorum(2), seconds).await;
        assert_eq!((log.ok(), ended, took), (expected, finished, after), "{seconds:?}");
    }
}

/// Branch policy (no id): in a race only the first success applies, and stopped tasks never appear in a later
/// superstep.
#[tokio::test(start_paused = true)]
async fn a_race_applies_only_the_first_success() {
    let rows: [(&'static [i64], Option<Value>); 4] = [
        (&[9, 2, 5], Some(json!([2, "left", "right"]))),
        (&[1, 5, 9], Some(json!([1, "left", "right"]))),
        (&[9, -1, 4], Some(json!([4, "left", "right"]))),
        (&[-1, -2], None),
    ];
    for (seconds, expected) in rows {
        let (log, ..) = fanned(BranchPolicy::Race, seconds).await;
        let text = format!("{log:?}");
        assert_eq!(log.ok(), expected, "{seconds:?}: {text}");
    }
}

/// Branch policy (no id): tasks that end at the same moment as the winner of a race have no effect either.
#[tokio::test(start_paused = true)]
async fn a_race_of_equals_has_one_winner() {
    for _ in 0..20 {
        let (log, ..) = fanned(BranchPolicy::Race, &[1, 1, 1, 1]).await;
        assert_eq!(log.unwrap(), json!([1, "left", "right"]));
    }
}

/// R-GRA-45, R-REF-52, R-PRB-9: one of three tasks fails: nothing of the superstep is applied, and after continuing
/// only that task runs again.
#[tokio::test]
async fn a_failed_superstep_applies_nothing_and_finished_tasks_do_not_run_again() {
    for compat in [Compat::Strict, Compat::LangGraph] {
        let (mut g, runs) = (graph("g"), [CallCounter::default(), CallCounter::default(), CallCounter::default()]);
        let before = g.add_node("before", log_word("before"));
        g.add_edge(START, before).compat(compat).branch_policy(BranchPolicy::SettleAll);
        for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
            let count = runs[index].clone();
            let task = g.add_node(name, move || match (index, count.up()) {
                (1, 1) => Err(NodeError::new("the first time")),
                _ => Ok(json!({ "log": [name], "n": 1 })),
            });
            g.add_edge(before, task).add_edge(task, END);
        }
        g.checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        let error = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap_err();
        assert_eq!(error.partial_state::<DynamicState>().unwrap().get("log").into_owned(), json!(["before"]));
        let saved = graph.threads().get_state("t").await.unwrap();
        assert_eq!((saved.state.get("n").into_owned(), saved.next.len()), (json!(0), 3));
        let failed: Vec<&str> =
            saved.tasks.iter().filter(|task| task.error.is_some()).map(|task| &*task.node).collect();
        assert_eq!(failed, ["b"]);
        let done = graph.continue_thread("t").await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["before", "a", "b", "c"]), json!(3)));
        assert_eq!(runs.map(|count| count.get()), [1, 2, 1]);
    }
}
