//! How many supersteps a run may have, and what happens when they are used up.

use serde_json::json;
use superstep::prelude::*;
use superstep::{Code, Compiled, OnLimit, Record, Status};

use crate::engine::{field, graph};

/// `a` and `b` take turns until `n` is `rounds`.
fn turns(rounds: i64) -> Compiled<Record> {
    let mut g = graph("g");
    let step = |cx: Cx| json!({ "n": 1, "log": [cx.remaining_steps(), cx.is_last_step()] });
    let (a, b) = (g.node("a", step), g.node("b", step));
    g.edge(START, a).checkpointer(Memory::new());
    let on = move |s: &Record| s.get("n").as_i64() < Some(rounds);
    g.route(a, move |s: &Record| if on(s) { Go::to(b) } else { Go::end() }, [b.into(), END]);
    g.route(b, move |s: &Record| if on(s) { Go::to(a) } else { Go::end() }, [a.into(), END]);
    g.compile().unwrap()
}

/// R-FWK-14, R-PRB-4: the limit is 25 supersteps unless told; a run of exactly 25 is well.
#[tokio::test]
async fn the_limit_is_25_unless_told() {
    assert_eq!(turns(25).run(json!({ "n": 0 })).await.unwrap().supersteps, 25);
    let error = turns(26).run(json!({ "n": 0 })).await.unwrap_err();
    assert_eq!((error.code(), error.code().to_string()), (Code::RecursionLimit, "SS-010".to_owned()));
    assert_eq!(field(&turns(26).run(json!({ "n": 0 })).recursion_limit(26).await.unwrap(), "n"), json!(26));
    assert_eq!(turns(1).run(json!({ "n": 0 })).recursion_limit(0).await.unwrap_err().code(), Code::InputInvalid);
}

/// R-FWK-14: the error has the limit, the nodes due, the last ten nodes, the checkpoint and the state so far.
#[tokio::test]
async fn the_error_has_all_there_is_of_the_run() {
    let graph = turns(99);
    let error = graph.run(json!({ "n": 0 })).thread("t").recursion_limit(13).await.unwrap_err();
    insta::assert_snapshot!(error, @"
    error[SS-010]: 13 supersteps ran and `b` is still due; the last nodes were b, a, b, a, b, a, b, a, b, a
    help: check the route that should end the loop, or raise `recursion_limit`
    ");
    let partial = error.partial().unwrap();
    assert_eq!((partial.next.as_slice(), partial.recent.len()), (["b".to_owned()].as_slice(), 10));
    assert_eq!(partial.checkpoint, Some(graph.threads().state("t").await.unwrap().id()));
    assert_eq!(error.partial_state::<Record>().unwrap().get("n").into_owned(), json!(13));
    assert_eq!(error.place().thread.as_ref().unwrap().as_str(), "t");
}

/// R-FWK-14: the thread of a run that reached its limit goes on with a new count.
#[tokio::test]
async fn a_thread_goes_on_after_its_limit() {
    let graph = turns(30);
    graph.run(json!({ "n": 0 })).thread("t").await.unwrap_err();
    let done = graph.go_on("t").await.unwrap();
    assert_eq!((field(&done, "n"), done.supersteps), (json!(30), 5));
}

/// R-FWK-14: a node reads how many supersteps may still run; in the last one it is 1.
#[tokio::test]
async fn a_node_sees_the_supersteps_that_remain() {
    let done = turns(3).run(json!({ "n": 0 })).recursion_limit(3).await.unwrap();
    assert_eq!(field(&done, "log"), json!([3, false, 2, false, 1, true]));
}

/// R-FWK-14: told to return what there is, a run ends normally and is marked as truncated.
#[tokio::test]
async fn a_run_may_return_what_there_is() {
    let graph = turns(99);
    let run = graph.run(json!({ "n": 0 })).thread("t").recursion_limit(4).on_limit(OnLimit::ReturnPartial);
    let done = run.await.unwrap();
    assert_eq!(
        (done.status.clone(), field(&done, "n"), done.next.clone()),
        (Status::Truncated, json!(4), vec!["a".to_owned()])
    );
    assert!(done.warnings.iter().any(|text| text.contains("4 supersteps")), "{:?}", done.warnings);
    let whole = turns(4).run(json!({ "n": 0 })).recursion_limit(4).on_limit(OnLimit::ReturnPartial).await.unwrap();
    assert_eq!(whole.status, Status::Finished);
}
