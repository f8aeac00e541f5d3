//! Recursion limit of a run, and the behavior when it is reached.

use serde_json::json;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, OnLimit, RunEnd};

use crate::fixtures::{field, graph};

/// `a` and `b` alternate until `n` is `rounds`.
fn turns(rounds: i64) -> CompiledGraph<DynamicState> {
    let mut g = graph("g");
    let step = |cx: TaskContext| json!({ "n": 1, "log": [cx.remaining_steps(), cx.is_last_step()] });
    let (a, b) = (g.add_node("a", step), g.add_node("b", step));
    g.add_edge(START, a).checkpointer(MemoryCheckpointer::new());
    let on = move |s: &DynamicState| s.get("n").as_i64() < Some(rounds);
    g.add_conditional_edges(
        a,
        move |s: &DynamicState| if on(s) { Goto::node(b) } else { Goto::end() },
        [b.into(), END],
    );
    g.add_conditional_edges(
        b,
        move |s: &DynamicState| if on(s) { Goto::node(a) } else { Goto::end() },
        [a.into(), END],
    );
    g.compile().unwrap()
}

/// R-FWK-14, R-PRB-4: the default limit is 25 supersteps; a run of exactly 25 succeeds.
#[tokio::test]
async fn the_default_limit_is_25() {
    assert_eq!(turns(25).invoke(json!({ "n": 0 })).await.unwrap().supersteps, 25);
    let error = turns(26).invoke(json!({ "n": 0 })).await.unwrap_err();
    assert_eq!((error.code(), error.code().to_string()), (ErrorCode::RecursionLimit, "SS-010".to_owned()));
    assert_eq!(field(&turns(26).invoke(json!({ "n": 0 })).recursion_limit(26).await.unwrap(), "n"), json!(26));
    assert_eq!(
        turns(1).invoke(json!({ "n": 0 })).recursion_limit(0).await.unwrap_err().code(),
        ErrorCode::InputInvalid
    );
}

/// R-FWK-14: the error contains the limit, the next nodes, the last ten nodes, the checkpoint and the state so far.
#[tokio::test]
async fn the_error_has_all_there_is_of_the_run() {
    let graph = turns(99);
    let error = graph.invoke(json!({ "n": 0 })).thread("t").recursion_limit(13).await.unwrap_err();
    insta::assert_snapshot!(error, @"
    error[SS-010]: recursion limit reached after 13 supersteps; next: `b`; last nodes: b, a, b, a, b, a, b, a, b, a
    help: check the conditional edge that should end the loop, or raise `recursion_limit`
    ");
    let partial = error.partial().unwrap();
    assert_eq!((partial.next.as_slice(), partial.recent.len()), (["b".to_owned()].as_slice(), 10));
    assert_eq!(partial.checkpoint, Some(graph.threads().get_state("t").await.unwrap().id()));
    assert_eq!(error.partial_state::<DynamicState>().unwrap().get("n").into_owned(), json!(13));
    assert_eq!(error.location().thread.as_ref().unwrap().as_str(), "t");
}

/// R-FWK-14: the thread of a run that reached its limit continues with a new count.
#[tokio::test]
async fn a_thread_continues_after_its_limit() {
    let graph = turns(30);
    graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap_err();
    let done = graph.continue_thread("t").await.unwrap();
    assert_eq!((field(&done, "n"), done.supersteps), (json!(30), 5));
}

/// R-FWK-14: a node reads the number of remaining supersteps; in the last one it is 1.
#[tokio::test]
async fn a_node_sees_the_supersteps_that_remain() {
    let done = turns(3).invoke(json!({ "n": 0 })).recursion_limit(3).await.unwrap();
    assert_eq!(field(&done, "log"), json!([3, false, 2, false, 1, true]));
}

/// R-FWK-14: with a partial result, a run ends normally and is marked as truncated.
#[tokio::test]
async fn a_run_may_return_a_partial_result() {
    let graph = turns(99);
    let run = graph.invoke(json!({ "n": 0 })).thread("t").recursion_limit(4).on_limit(OnLimit::ReturnPartial);
    let done = run.await.unwrap();
    assert_eq!(
        (done.end.clone(), field(&done, "n"), done.next.clone()),
        (RunEnd::Truncated, json!(4), vec!["a".to_owned()])
    );
    assert!(done.warnings.iter().any(|text| text.contains("4 supersteps")), "{:?}", done.warnings);
    let complete =
        turns(4).invoke(json!({ "n": 0 })).recursion_limit(4).on_limit(OnLimit::ReturnPartial).await.unwrap();
    assert_eq!(complete.end, RunEnd::Finished);
}
