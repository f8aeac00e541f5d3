//! What the failure or success of one task means for the others of its superstep.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::BoxFuture;
use superstep::prelude::*;
use superstep::{BranchPolicy, Code, Compat, Compiled, Record, Result};
use tokio::time::{Instant, sleep};

use crate::engine::{Count, field, graph, says};

/// Sends one task for each number of seconds; a negative one fails after that time.
fn fan(policy: BranchPolicy, seconds: &'static [i64], finished: &Count) -> Compiled<Record> {
    let (mut g, finished) = (graph("g"), finished.clone());
    let fan = g.node("fan", || ());
    let work = move |sent: Sent<i64>| {
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
    let work = g.node("work", node(work).branches(policy));
    let (left, right) = (g.node("left", later("left")), g.node("right", later("right")));
    g.edge(START, fan).edge(work, left).edge(work, right).edge(left, END).edge(right, END).checkpointer(Memory::new());
    g.route(fan, move |_: &Record| seconds.iter().map(|i| Send::new(work, *i)).collect::<Vec<_>>(), [work]);
    g.compile().unwrap()
}

/// A node that takes ten minutes, so that what is left of the superstep before it would show.
fn later(word: &'static str) -> impl Fn() -> BoxFuture<'static, Value> + std::marker::Send + Sync {
    move || {
        Box::pin(async move {
            sleep(Duration::from_secs(600)).await;
            json!({ "log": [word] })
        })
    }
}

/// The log or the error, how many tasks came to their end, and how many seconds it took.
async fn fanned(policy: BranchPolicy, seconds: &'static [i64]) -> (Result<Value>, usize, u64) {
    let (finished, started) = (Count::default(), Instant::now());
    let done = fan(policy, seconds, &finished).run(json!({ "n": 0 })).thread("t").await;
    let log = done.map(|done| field(&done, "log"));
    (log, finished.get(), started.elapsed().as_secs())
}

/// Branch policy (no id): by default the others run to their end, then the run fails.
#[tokio::test(start_paused = true)]
async fn by_default_the_others_run_to_their_end() {
    for policy in [BranchPolicy::Inherit, BranchPolicy::SettleAll] {
        let (log, finished, after) = fanned(policy, &[-1, 3, 5]).await;
        assert_eq!((log.unwrap_err().code(), finished, after), (Code::NodeFailed, 3, 5));
    }
}

/// Branch policy (no id): told to fail fast, the first failure stops the others.
#[tokio::test(start_paused = true)]
async fn the_first_failure_may_stop_the_others() {
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

/// Branch policy (no id): in a race the first success counts alone, and what it stopped never shows in a later superstep.
#[tokio::test(start_paused = true)]
async fn in_a_race_the_first_success_counts_alone() {
    let rows: [(&'static [i64], Option<Value>); 4] = [
        (&[9, 2, 5], Some(json!([2, "left", "right"]))),
        (&[1, 5, 9], Some(json!([1, "left", "right"]))),
        (&[9, -1, 4], Some(json!([4, "left", "right"]))),
        (&[-1, -2], None),
    ];
    for (seconds, expected) in rows {
        let (log, ..) = fanned(BranchPolicy::Race, seconds).await;
        let shown = format!("{log:?}");
        assert_eq!(log.ok(), expected, "{seconds:?}: {shown}");
    }
}

/// Branch policy (no id): tasks that end at the same moment as the winner of a race do no harm either.
#[tokio::test(start_paused = true)]
async fn a_race_of_equals_has_one_winner() {
    for _ in 0..20 {
        let (log, ..) = fanned(BranchPolicy::Race, &[1, 1, 1, 1]).await;
        assert_eq!(log.unwrap(), json!([1, "left", "right"]));
    }
}

/// R-GRA-45, R-REF-52, R-PRB-9: one of three tasks fails: nothing of the superstep is applied, and on going on only it runs
/// again.
#[tokio::test]
async fn a_failed_superstep_applies_nothing_and_finished_tasks_do_not_run_again() {
    for compat in [Compat::Strict, Compat::LangGraph] {
        let (mut g, runs) = (graph("g"), [Count::default(), Count::default(), Count::default()]);
        let before = g.node("before", says("before"));
        g.edge(START, before).compat(compat).on_failure(BranchPolicy::SettleAll);
        for (place, name) in ["a", "b", "c"].into_iter().enumerate() {
            let count = runs[place].clone();
            let task = g.node(name, move || match (place, count.up()) {
                (1, 1) => Err(NodeError::new("the first time")),
                _ => Ok(json!({ "log": [name], "n": 1 })),
            });
            g.edge(before, task).edge(task, END);
        }
        g.checkpointer(Memory::new());
        let graph = g.compile().unwrap();
        let error = graph.run(json!({ "n": 0 })).thread("t").await.unwrap_err();
        assert_eq!(error.partial_state::<Record>().unwrap().get("log").into_owned(), json!(["before"]));
        let saved = graph.threads().state("t").await.unwrap();
        assert_eq!((saved.state.get("n").into_owned(), saved.next.len()), (json!(0), 3));
        let failed: Vec<&str> =
            saved.tasks.iter().filter(|task| task.error.is_some()).map(|task| &*task.node).collect();
        assert_eq!(failed, ["b"]);
        let done = graph.go_on("t").await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["before", "a", "b", "c"]), json!(3)));
        assert_eq!(runs.map(|count| count.get()), [1, 2, 1]);
    }
}
