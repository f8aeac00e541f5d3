//! Starting runs: awaited, streamed, in batches, without a runtime, with a test environment.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, EventKind, RunEnd};

use crate::fixtures::{DeterministicEnvironment, SettableClock, field, graph, log_word, transcript};

/// `a`, then `b` and `c` together, then the end.
fn fork() -> CompiledGraph<DynamicState> {
    let mut g = graph("g");
    let a = g.add_node("a", async |writer: StreamWriter| {
        writer.send("hello").await?;
        tokio::task::yield_now().await;
        Ok::<_, NodeError>(json!({ "log": ["a"] }))
    });
    let (b, c) = (g.add_node("b", log_word("b")), g.add_node("c", log_word("c")));
    g.add_edge(START, a)
        .add_edge(a, b)
        .add_edge(a, c)
        .add_edge(b, END)
        .add_edge(c, END)
        .checkpointer(MemoryCheckpointer::new());
    g.compile().unwrap()
}

/// R-FWK-12: a run is awaited for its outcome.
#[tokio::test]
async fn a_run_is_awaited() {
    let done = fork().invoke(json!({ "n": 1 })).thread("t").await.unwrap();
    assert_eq!((done.end.clone(), done.supersteps, done.next.len()), (RunEnd::Finished, 2, 0));
    assert_eq!(done.to_json().unwrap(), json!({ "log": ["a", "b", "c"], "n": 1, "text": "", "title": null }));
}

/// R-FWK-12: a run is streamed: starts before ends, values and checkpoint of a superstep after its updates.
#[tokio::test]
async fn a_run_is_streamed_in_order() {
    let (lines, done) = transcript(fork().invoke(json!({ "n": 1 })).thread("t")).await;
    assert!(done.unwrap().is_finished());
    insta::assert_snapshot!(lines.join("\n"), @r#"
    begins with {"n":1}
    0 values
    0 saved, next ["a"]
    1 a started
    a says "hello"
    1 a done
    1 values
    1 saved, next ["b", "c"]
    2 b started
    2 c started
    2 b done
    2 c done
    2 values
    2 saved, next []
    ends
    "#);
}

/// R-FWK-12: dropping a stream stops its run; the thread stays at its last checkpoint.
#[tokio::test]
async fn a_dropped_stream_stops_its_run() {
    let graph = fork();
    let mut stream = graph.invoke(json!({ "n": 1 })).thread("t").stream();
    while !matches!(stream.next().await.unwrap().kind, EventKind::Custom { .. }) {}
    drop(stream);
    assert_eq!(graph.threads().get_state("t").await.unwrap().next, ["a"]);
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["a", "b", "c"]));
}

/// R-FWK-12: a batch returns results in the order of inputs, and an invalid input fails only its own run.
#[tokio::test]
async fn a_batch_keeps_the_order_of_its_inputs() {
    let mut g = graph("g");
    let a = g.add_node("a", async |s: View<DynamicState>| {
        for _ in 0..20 - s.get("n").as_i64().unwrap_or(0) {
            tokio::task::yield_now().await;
        }
        json!({ "n": 100 })
    });
    g.add_edge(START, a).add_edge(a, END);
    let mut inputs: Vec<Value> = (0..20).map(|n| json!({ "n": n })).collect();
    inputs[7] = json!({ "unknown": 1 });
    let results = g.compile().unwrap().batch(inputs, 6).await;
    let sums: Vec<Option<i64>> =
        results.iter().map(|run| run.as_ref().ok().and_then(|run| field(run, "n").as_i64())).collect();
    let expected: Vec<Option<i64>> = (0..20).map(|n| (n != 7).then_some(n + 100)).collect();
    assert_eq!(sums, expected);
}

/// R-FWK-12: a batch passes the default context to each run.
#[tokio::test]
async fn a_batch_has_the_default_context() {
    let mut g = StateGraph::<DynamicState, Vec<u8>>::with_schema("g", crate::fixtures::schema());
    let a = g.add_node("a", |c: RunContext<Vec<u8>>| json!({ "n": c.len() }));
    g.add_edge(START, a).add_edge(a, END);
    let results = g.compile().unwrap().batch([json!({ "n": 1 }), json!({ "n": 2 })], 2).await;
    assert_eq!(results.into_iter().map(|run| field(&run.unwrap(), "n")).collect::<Vec<_>>(), [1, 2]);
}

/// R-FWK-12: without a runtime a run is awaited by blocking, also one with timers and blocking nodes.
#[test]
fn a_run_is_waited_for_without_a_runtime() {
    let mut g = graph("g");
    let a = g.add_node("a", blocking(log_word("a")));
    let b = g.add_node("b", async |cx: TaskContext| {
        cx.sleep(std::time::Duration::from_millis(1)).await;
        json!({ "log": ["b"] })
    });
    g.add_sequence([START, a.into(), b.into(), END]);
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).wait_blocking().unwrap();
    assert_eq!(field(&done, "log"), json!(["a", "b"]));
}

/// R-FWK-12: inside a runtime blocking is rejected with help, in place of a deadlock.
#[tokio::test]
async fn blocking_wait_in_a_runtime_is_rejected() {
    let error = fork().invoke(json!({ "n": 0 })).wait_blocking().unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConfigInvalid);
    assert!(error.to_string().contains("await the run instead"), "{error}");
}

/// R-FWK-12: a spawned run continues on its own, and its result can be awaited later.
#[tokio::test]
async fn a_spawned_run_continues_by_itself() {
    let graph = fork();
    drop(graph.invoke(json!({ "n": 1 })).thread("t").spawn());
    let second = graph.invoke(json!({ "n": 1 })).thread("t").spawn();
    assert_eq!(field(&second.await.unwrap(), "n"), json!(2));
}

/// R-FWK-22: with the same clock and the same id source two runs create the same ids and times.
#[tokio::test]
async fn equal_environments_give_equal_checkpoints() {
    let mut all = Vec::new();
    for _ in 0..2 {
        let graph = fork();
        let run = graph
            .invoke(json!({ "n": 0 }))
            .thread("t")
            .environment(Arc::new(DeterministicEnvironment::default()))
            .clock(SettableClock::at(7));
        let done = run.await.unwrap();
        let history = graph.threads().get_state_history("t", &Default::default()).await.unwrap();
        let ids: Vec<_> =
            history.iter().map(|state| (state.id(), state.checkpoint.time, state.checkpoint.parent)).collect();
        all.push((done.run_id, done.checkpoint, ids));
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0].2.len(), 3);
    assert_eq!(all[0].2[0].1, 42);
}

/// R-FWK-22: nodes also read time and ids from the environment of the run.
#[tokio::test]
async fn nodes_see_the_time_and_ids_of_the_run() {
    let mut g = graph("g");
    let a = g.add_node("a", |cx: TaskContext| json!({ "log": [cx.now(), cx.new_id(), cx.first_attempt_time()] }));
    g.add_edge(START, a).add_edge(a, END);
    let run = g
        .compile()
        .unwrap()
        .invoke(json!({ "n": 0 }))
        .clock(SettableClock::at(7))
        .environment(Arc::new(DeterministicEnvironment::default()));
    let id = "00000000-0000-0000-0000-000000000002";
    assert_eq!(field(&run.await.unwrap(), "log"), json!([7_000_000, id, 7_000_000]));
}
