//! Pruning of old checkpoints: explicitly, of all threads, and automatically after a run.

use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer, ManualClock};
use superstep::{CompiledGraph, DynamicState, HistoryQuery, KeepRule, PruneSummary, Retention};

use crate::support::{Calls, history, line, log};

fn three(calls: &Calls) -> StateGraph<DynamicState> {
    line(calls, &["a", "b", "c"])
}

async fn steps(graph: &CompiledGraph<DynamicState>, thread: &str) -> Vec<i64> {
    history(graph, thread).await.iter().map(|seen| seen.checkpoint.step).collect()
}

/// R-FWK-43: all threads are pruned in one call, with a report for each and for all; a dry run reports the same.
#[tokio::test]
async fn all_threads_are_pruned_in_one_call() {
    let graph = three(&Calls::default()).compile().unwrap();
    for number in 0..230 {
        graph.invoke(json!({ "topic": "x" })).thread(format!("t{number:03}")).await.unwrap();
    }
    let retention = Retention::keep_last(1).keep_rule(KeepRule::First);
    let would = graph.threads().prune_all(&retention.clone().dry_run(), |_, _| {}).await.unwrap();
    let mut reports = Vec::new();
    let done =
        graph.threads().prune_all(&retention, |thread, report| reports.push((thread.clone(), *report))).await.unwrap();
    assert_eq!(done, would);
    assert_eq!((done.threads, done.checkpoints), (230, 460));
    assert!(reports.len() == 230 && reports.is_sorted_by_key(|(thread, _)| thread.clone()));
    assert_eq!(reports.iter().map(|(_, report)| report.bytes).sum::<u64>(), done.bytes);
    assert_eq!(steps(&graph, "t007").await, [3, 0]);
    let repeated = graph.threads().prune_all(&retention, |_, _| {}).await.unwrap();
    assert_eq!(repeated, PruneSummary { threads: 230, ..PruneSummary::default() });
}

/// R-FWK-43: nothing is pruned by default; with a retention of the graph, old checkpoints are removed after a run.
#[tokio::test]
async fn a_graph_may_prune_after_its_runs() {
    let silent = three(&Calls::default()).compile().unwrap();
    silent.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!(steps(&silent, "t").await, [3, 2, 1, 0]);
    let mut graph = three(&Calls::default());
    let graph = graph.retention(Retention::keep_last(2)).compile().unwrap();
    let out = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!((out.warnings.len(), steps(&graph, "t").await), (0, vec![3, 2]));
    let second = graph.invoke(json!({ "topic": "y" })).thread("t").await.unwrap();
    assert_eq!(second.state.get("log").as_array().unwrap().len(), 6, "the state is whole");
    assert_eq!(steps(&graph, "t").await, [7, 6]);
}

/// R-FWK-43: age is measured by the clock of the run.
#[tokio::test]
async fn age_counts_from_the_end_of_the_run() {
    let clock = ManualClock::new();
    let mut graph = three(&Calls::default());
    let graph = graph.retention(Retention::keep_all().max_age(Duration::from_secs(60))).compile().unwrap();
    let run = async || drop(graph.invoke(json!({ "topic": "x" })).thread("t").clock(clock.clone()).await.unwrap());
    run().await;
    clock.advance(Duration::from_secs(50));
    run().await;
    assert_eq!(history(&graph, "t").await.len(), 8, "nothing is old yet");
    clock.advance(Duration::from_secs(20));
    run().await;
    assert_eq!(steps(&graph, "t").await, [11, 10, 9, 8, 7, 6, 5, 4], "what the first run made is older than a minute");
}

/// R-FWK-43: an interrupted run keeps its interrupt with every retention, and can be resumed.
#[tokio::test]
async fn automatic_pruning_keeps_open_interrupts() {
    let mut graph = three(&Calls::default());
    let interrupt = graph.add_node("ask", |interrupt: Interrupts| async move {
        Ok::<_, NodeError>(json!({ "log": interrupt.raise::<String>("well?", ()).await? }))
    });
    let graph =
        graph.add_edge("c", interrupt).add_edge(interrupt, END).retention(Retention::keep_last(0)).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!(history(&graph, "t").await.len(), 1);
    let out = graph.resume("t", "well").await.unwrap();
    assert!(out.is_finished());
}

/// A checkpointer that cannot prune adds a warning to the outcome, which is otherwise unchanged.
#[tokio::test]
async fn a_failed_prune_is_a_warning() {
    struct NoPruning(MemoryCheckpointer);
    impl superstep::core::port::Checkpointer for NoPruning {
        superstep::core::delegate_checkpointer!(this => this.0; acquire, release, commit, load, history, threads, status);
        superstep::core::delegate_checkpointer!(this => this.0; namespaces, delete_thread, copy_thread, stats);
        superstep::core::delegate_checkpointer!(this => this.0; events, last_event_number, delete_events);
        async fn prune(
            &self,
            _: &superstep::core::id::ThreadId,
            _: &Retention,
        ) -> superstep::Result<superstep::PruneReport> {
            Err(superstep::Error::new(superstep::ErrorCode::StoreUnavailable, "not today"))
        }
    }
    let mut graph = three(&Calls::default());
    let graph =
        graph.retention(Retention::keep_last(1)).checkpointer(NoPruning(MemoryCheckpointer::new())).compile().unwrap();
    let out = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert!(out.is_finished() && out.warnings[0].contains("not today"), "{:?}", out.warnings);
    assert_eq!(graph.threads().get_state_history("t", &HistoryQuery::default()).await.unwrap().len(), 4);
}

/// R-FWK-43: a crash while pruned threads continue does not affect their outcome.
#[tokio::test]
async fn a_crash_between_runs_that_prune_changes_nothing() {
    for at in 0..8 {
        let disk = MemoryCheckpointer::new();
        let mut graph = three(&Calls::default());
        let graph = graph.retention(Retention::keep_last(1)).compile().unwrap();
        let store = CrashingCheckpointer::new(disk.clone(), at, CrashedWrite::Persisted);
        for _ in 0..2 {
            drop(graph.invoke(json!({ "topic": "x" })).thread("t").checkpointer(store.clone()).await);
        }
        let end = graph.continue_thread("t").checkpointer(disk).await.unwrap();
        // The write at which it died was kept, so the run continues to its end.
        let runs = if at < 4 { 1 } else { 2 };
        assert_eq!(log(&end.state), ["a", "b", "c"].repeat(runs), "crash at {at}");
    }
}
