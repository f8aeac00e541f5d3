//! How runs are started: awaited, streamed, in batches, without a runtime, with a world of the test's own.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Code, Compiled, EventKind, Record, Status};

use crate::engine::{CountingWorld, HandClock, field, graph, says, transcript};

/// `a`, then `b` and `c` together, then the end.
fn fork() -> Compiled<Record> {
    let mut g = graph("g");
    let a = g.node("a", async |writer: Writer| {
        writer.send("hello").await?;
        tokio::task::yield_now().await;
        Ok::<_, NodeError>(json!({ "log": ["a"] }))
    });
    let (b, c) = (g.node("b", says("b")), g.node("c", says("c")));
    g.edge(START, a).edge(a, b).edge(a, c).edge(b, END).edge(c, END).checkpointer(Memory::new());
    g.compile().unwrap()
}

/// R-FWK-12: a run is awaited for its result.
#[tokio::test]
async fn a_run_is_awaited() {
    let done = fork().run(json!({ "n": 1 })).thread("t").await.unwrap();
    assert_eq!((done.status.clone(), done.supersteps, done.next.len()), (Status::Finished, 2, 0));
    assert_eq!(done.to_json().unwrap(), json!({ "log": ["a", "b", "c"], "n": 1, "text": "", "title": null }));
}

/// R-FWK-12: a run is streamed: starts before ends, a superstep's values and checkpoint after its updates.
#[tokio::test]
async fn a_run_is_streamed_in_order() {
    let (lines, done) = transcript(fork().run(json!({ "n": 1 })).thread("t")).await;
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

/// R-FWK-12: a stream that is dropped stops its run; the thread stays where it was saved.
#[tokio::test]
async fn a_dropped_stream_stops_its_run() {
    let graph = fork();
    let mut stream = graph.run(json!({ "n": 1 })).thread("t").stream();
    while !matches!(stream.next().await.unwrap().kind, EventKind::Custom { .. }) {}
    drop(stream);
    assert_eq!(graph.threads().state("t").await.unwrap().next, ["a"]);
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "log"), json!(["a", "b", "c"]));
}

/// R-FWK-12: a batch gives results in the order of inputs, and one bad input spoils only its own.
#[tokio::test]
async fn a_batch_keeps_the_order_of_its_inputs() {
    let mut g = graph("g");
    let a = g.node("a", async |s: View<Record>| {
        for _ in 0..20 - s.get("n").as_i64().unwrap_or(0) {
            tokio::task::yield_now().await;
        }
        json!({ "n": 100 })
    });
    g.edge(START, a).edge(a, END);
    let mut inputs: Vec<Value> = (0..20).map(|n| json!({ "n": n })).collect();
    inputs[7] = json!({ "unknown": 1 });
    let results = g.compile().unwrap().batch(inputs, 6).await;
    let sums: Vec<Option<i64>> =
        results.iter().map(|run| run.as_ref().ok().and_then(|run| field(run, "n").as_i64())).collect();
    let expected: Vec<Option<i64>> = (0..20).map(|n| (n != 7).then_some(n + 100)).collect();
    assert_eq!(sums, expected);
}

/// R-FWK-12: a batch gives each run the default context.
#[tokio::test]
async fn a_batch_has_the_default_context() {
    let mut g = Graph::<Record, Vec<u8>>::with_schema("g", crate::engine::schema());
    let a = g.node("a", |c: Ctx<Vec<u8>>| json!({ "n": c.len() }));
    g.edge(START, a).edge(a, END);
    let results = g.compile().unwrap().batch([json!({ "n": 1 }), json!({ "n": 2 })], 2).await;
    assert_eq!(results.into_iter().map(|run| field(&run.unwrap(), "n")).collect::<Vec<_>>(), [1, 2]);
}

/// R-FWK-12: without a runtime a run is waited for, also one with timers and blocking nodes.
#[test]
fn a_run_is_waited_for_without_a_runtime() {
    let mut g = graph("g");
    let a = g.node("a", blocking(says("a")));
    let b = g.node("b", async |cx: Cx| {
        cx.sleep(std::time::Duration::from_millis(1)).await;
        json!({ "log": ["b"] })
    });
    g.sequence([START, a.into(), b.into(), END]);
    let done = g.compile().unwrap().run(json!({ "n": 0 })).wait().unwrap();
    assert_eq!(field(&done, "log"), json!(["a", "b"]));
}

/// R-FWK-12: inside a runtime waiting is refused, in place of a deadlock, and says what to do.
#[tokio::test]
async fn waiting_inside_a_runtime_is_refused() {
    let error = fork().run(json!({ "n": 0 })).wait().unwrap_err();
    assert_eq!(error.code(), Code::ConfigInvalid);
    assert!(error.to_string().contains("await the run instead"), "{error}");
}

/// R-FWK-12: a spawned run goes on by itself, and its result can be awaited later.
#[tokio::test]
async fn a_spawned_run_goes_on_by_itself() {
    let graph = fork();
    drop(graph.run(json!({ "n": 1 })).thread("t").spawn());
    let second = graph.run(json!({ "n": 1 })).thread("t").spawn();
    assert_eq!(field(&second.await.unwrap(), "n"), json!(2));
}

/// R-FWK-22: with the same clock and the same source of ids two runs leave the same ids and times.
#[tokio::test]
async fn equal_worlds_give_equal_checkpoints() {
    let mut all = Vec::new();
    for _ in 0..2 {
        let graph = fork();
        let run =
            graph.run(json!({ "n": 0 })).thread("t").world(Arc::new(CountingWorld::default())).clock(HandClock::at(7));
        let done = run.await.unwrap();
        let history = graph.threads().history("t", &Default::default()).await.unwrap();
        let ids: Vec<_> =
            history.iter().map(|state| (state.id(), state.checkpoint.time, state.checkpoint.parent)).collect();
        all.push((done.run, done.checkpoint, ids));
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0].2.len(), 3);
    assert_eq!(all[0].2[0].1, 42);
}

/// R-FWK-22: nodes read time and ids from the run's world too.
#[tokio::test]
async fn nodes_see_the_time_and_ids_of_the_run() {
    let mut g = graph("g");
    let a = g.node("a", |cx: Cx| json!({ "log": [cx.now(), cx.fresh_id(), cx.first_attempt_time()] }));
    g.edge(START, a).edge(a, END);
    let run =
        g.compile().unwrap().run(json!({ "n": 0 })).clock(HandClock::at(7)).world(Arc::new(CountingWorld::default()));
    let id = "00000000-0000-0000-0000-000000000002";
    assert_eq!(field(&run.await.unwrap(), "log"), json!([7_000_000, id, 7_000_000]));
}
