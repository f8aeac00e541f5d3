//! External updates of a thread's state: without a node, as a node, as the start or the end, one or many.

use serde_json::json;
use superstep::core::checkpoint::CheckpointSource;
use superstep::core::machine::{AsNode, StateUpdate};
use superstep::core::port::ThreadStatus;
use superstep::core::state::IntoUpdate;
use superstep::prelude::*;
use superstep::{DynamicState, ErrorCode};

use crate::support::{Calls, due_at, dynamic, expect_error, history, line, log, log_field, only_question, rows};

/// R-FWK-30: an update goes through the reducers, creates a checkpoint with source `update`, and keeps the next
/// tasks.
#[tokio::test]
async fn an_update_is_reduced_and_keeps_next_tasks() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).interrupt_before(["b"]).compile().unwrap();
    let stopped = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let id = graph.threads().update_state("t", json!({ "log": ["edited"], "topic": "y" })).await.unwrap();
    let seen = graph.threads().get_state("t").await.unwrap();
    assert_eq!(
        (seen.id(), seen.checkpoint.parent, seen.checkpoint.source),
        (id, stopped.checkpoint, CheckpointSource::Update)
    );
    assert_eq!((log(&seen.state), &*seen.state.get("topic")), (vec!["a".to_owned(), "edited".into()], &json!("y")));
    assert_eq!((seen.next, seen.checkpoint.step), (vec!["b".to_owned()], 2));
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["a", "edited", "b"]);
    assert_eq!(calls.take(), ["a", "b"]);
}

/// R-FWK-30, R-REF-100: for an update as a node, the edges of the node are followed as if it had just returned the
/// update.
#[tokio::test]
async fn an_update_as_a_node_follows_its_edges() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b", "c"]).interrupt_before(["b"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    graph.threads().update_state("t", json!({ "log": "by hand" })).as_node("b").await.unwrap();
    assert_eq!(graph.threads().get_state("t").await.unwrap().next, ["c"]);
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["a", "by hand", "c"]);
    assert_eq!(calls.take(), ["a", "c"]);
}

/// R-FWK-30, R-REF-100: for an update as a node, the conditional edges of the node read the updated state.
#[tokio::test]
async fn an_update_as_a_node_takes_its_routes() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field(), "way": null }));
    let [choose, up, down] = ["choose", "up", "down"].map(|name| graph.add_node(name, calls.step(name)));
    graph.add_edge(START, choose).add_edge(up, END).add_edge(down, END);
    let decide = |state: &DynamicState| state.get("way").as_str().unwrap_or("down").to_owned();
    graph.add_conditional_edges(choose, decide, [up, down]);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "way": "down" })).thread("t").await.unwrap();
    graph.threads().update_state("t", json!({ "way": "up" })).as_node("choose").await.unwrap();
    assert_eq!(graph.threads().get_state("t").await.unwrap().next, ["up"]);
    calls.take();
    graph.continue_thread("t").await.unwrap();
    assert_eq!(calls.take(), ["up"]);
    let error = expect_error(graph.threads().update_state("t", json!({ "way": "sideways" })).as_node("choose").await);
    assert_eq!(error.code(), ErrorCode::InvalidRoute);
    assert_eq!(*graph.threads().get_state("t").await.unwrap().state.get("way"), json!("up"));
}

/// R-FWK-30, R-REF-100: an update as the end clears the next tasks; as the start it restarts the graph.
#[tokio::test]
async fn an_update_as_the_end_clears_and_as_the_start_restarts() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).interrupt_before(["b"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    graph.threads().update_state("t", json!({ "log": "stop" })).as_node("__end__").await.unwrap();
    assert!(graph.threads().get_state("t").await.unwrap().next.is_empty());
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert!(graph.continue_thread("t").await.unwrap().is_finished());
    assert_eq!(calls.take(), ["a"]);
    graph.threads().update_state("t", json!({ "log": "again" })).as_node(AsNode::Start).await.unwrap();
    assert_eq!(graph.threads().get_state("t").await.unwrap().next, ["a"]);
    let ended = graph.continue_thread("t").interrupt_before(Vec::<String>::new()).await.unwrap();
    assert_eq!(log(&ended.state), ["a", "stop", "again", "a", "b"]);
}

/// R-FWK-30: an update as an unknown node, or of an unknown field, is rejected with a suggestion; nothing is saved.
#[tokio::test]
async fn an_invalid_update_is_rejected() {
    let graph = line(&Calls::default(), &["write", "review"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let before = rows(&graph, "t").await;
    let error = expect_error(graph.threads().update_state("t", json!({ "topic": "y" })).as_node("reveiw").await);
    assert!(error.code() == ErrorCode::InputInvalid && error.help().unwrap().contains("`review`"), "{error}");
    assert_eq!(error.location().thread, Some("t".into()));
    let error = expect_error(graph.threads().update_state("t", json!({ "topc": "y", "log": 1 })).await);
    assert_eq!((error.code(), error.diagnostics()[0].pointer.as_str()), (ErrorCode::InputInvalid, "/topc"));
    assert!(error.diagnostics()[0].help.as_ref().unwrap().contains("`topic`"), "{error}");
    assert_eq!(rows(&graph, "t").await, before);
}

/// R-FWK-30, R-REF-101: several supersteps of updates equal the same number of consecutive updates.
#[tokio::test]
async fn bulk_updates_equal_single_ones() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).compile().unwrap();
    let one =
        |text: &str, node: &str| StateUpdate { update: json!({ "log": text }).into_update(), as_node: node.into() };
    graph
        .threads()
        .bulk_update_state("bulk", vec![vec![one("in", "__start__")], vec![one("x", "a")], vec![one("y", "b")]])
        .await
        .unwrap();
    graph.threads().update_state("single", json!({ "log": "in" })).as_node("__start__").await.unwrap();
    graph.threads().update_state("single", json!({ "log": "x" })).as_node("a").await.unwrap();
    graph.threads().update_state("single", json!({ "log": "y" })).as_node("b").await.unwrap();
    let mut seen = Vec::new();
    for thread in ["bulk", "single"] {
        let states = history(&graph, thread).await;
        let summaries = states
            .iter()
            .map(|state| (state.checkpoint.step, state.checkpoint.source, state.next.clone(), log(&state.state)));
        seen.push(summaries.collect::<Vec<_>>());
        assert_eq!(log(&graph.continue_thread(thread).await.unwrap().state), ["in", "x", "y", "c"]);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(
        seen[0][0],
        (2, CheckpointSource::Update, vec!["c".to_owned()], vec!["in".to_owned(), "x".into(), "y".into()])
    );
}

/// R-FWK-30, R-GRA-43: updates of one superstep are applied together, with the rules of a superstep.
#[tokio::test]
async fn updates_of_one_superstep_are_folded_together() {
    let mut graph = dynamic(json!({ "log": log_field(), "topic": null }));
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.add_node(name, Calls::default().step(name)));
    graph.add_edge(START, a).add_edge(START, b).add_join([a, b], c).add_edge(c, END);
    let graph = graph.compile().unwrap();
    let one = |value: serde_json::Value, node: &str| StateUpdate { update: value.into_update(), as_node: node.into() };
    let both = vec![one(json!({ "log": "x", "topic": 1 }), "a"), one(json!({ "log": "y", "topic": 2 }), "b")];
    let error = expect_error(graph.threads().bulk_update_state("t", vec![both]).await);
    assert_eq!(error.code(), ErrorCode::ConcurrentUpdate);
    assert_eq!(graph.threads().status("t").await.unwrap(), None);
    let both = vec![one(json!({ "log": "x" }), "a"), one(json!({ "log": "y" }), "b")];
    graph.threads().bulk_update_state("t", vec![both]).await.unwrap();
    let seen = graph.threads().get_state("t").await.unwrap();
    assert_eq!((log(&seen.state), seen.next), (vec!["x".to_owned(), "y".into()], vec!["c".to_owned()]));
}

/// R-FWK-30: a bulk update is applied completely or not at all.
#[tokio::test]
async fn a_bulk_update_with_one_bad_part_changes_nothing() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let before = rows(&graph, "t").await;
    let one = |value: serde_json::Value| vec![StateUpdate { update: value.into_update(), as_node: AsNode::None }];
    let error = expect_error(
        graph.threads().bulk_update_state("t", vec![one(json!({ "log": "ok" })), one(json!({ "nope": 1 }))]).await,
    );
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    assert_eq!(rows(&graph, "t").await, before);
}

/// R-FWK-30, R-FWK-31: an update at an old checkpoint starts a new branch there; the old one stays as it was.
#[tokio::test]
async fn an_update_at_an_old_checkpoint_forks() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["b"]).await;
    let before = rows(&graph, "t").await;
    let fork = graph.threads().update_state("t", json!({ "log": "fork" })).from_checkpoint(old).await.unwrap();
    let seen = graph.threads().get_state("t").await.unwrap();
    assert_eq!((seen.id(), seen.checkpoint.parent, seen.next.clone()), (fork, Some(old), vec!["b".to_owned()]));
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["a", "fork", "b"]);
    assert_eq!(rows(&graph, "t").await[..before.len()], before);
    let end = graph.threads().get_state_at("t", first.checkpoint.unwrap()).await.unwrap();
    assert_eq!(log(&end.state), ["a", "b"]);
    let nowhere = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    assert_eq!(
        expect_error(graph.threads().update_state("t", json!({ "log": 1 })).from_checkpoint(nowhere).await).code(),
        ErrorCode::NotFound
    );
}

/// START → good, bad; `bad` fails until `ok` is true.
fn half_failing(calls: &Calls) -> superstep::CompiledGraph<DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field(), "ok": { "default": false } }));
    let good = graph.add_node("good", calls.step("good"));
    let node_calls = calls.clone();
    let bad = graph.add_node("bad", move |state: View<DynamicState>| {
        node_calls.note("bad");
        if *state.get("ok") == json!(true) { Ok(json!({ "log": "bad" })) } else { Err(NodeError::new("not yet")) }
    });
    graph.add_edge(START, good).add_edge(START, bad).add_edge(good, END).add_edge(bad, END);
    graph.compile().unwrap()
}

/// R-FWK-30, R-FWK-94, D9: an update after a failure keeps finished tasks; only the failed task runs again.
#[tokio::test]
async fn an_update_keeps_the_work_of_finished_tasks() {
    let calls = Calls::default();
    let graph = half_failing(&calls);
    expect_error(graph.invoke(json!({ "log": "in" })).thread("t").await);
    calls.take();
    graph.threads().update_state("t", json!({ "ok": true })).await.unwrap();
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["in", "good", "bad"]);
    assert_eq!(calls.take(), ["bad"]);
}

/// R-FWK-31: on a new branch no pending entry of the old tasks applies: all next tasks run.
#[tokio::test]
async fn an_update_at_an_old_checkpoint_runs_all_that_is_due_there() {
    let calls = Calls::default();
    let graph = half_failing(&calls);
    expect_error(graph.invoke(json!({ "log": "in" })).thread("t").await);
    graph.threads().update_state("t", json!({ "ok": true })).await.unwrap();
    graph.continue_thread("t").await.unwrap();
    calls.take();
    let start = rows(&graph, "t").await[0].0;
    graph.threads().update_state("t", json!({ "ok": true, "log": "new" })).from_checkpoint(start).await.unwrap();
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["in", "new", "good", "bad"]);
    assert_eq!(calls.take().len(), 2);
}

/// R-FWK-30: an update of a thread that does not exist creates it, based on the defaults.
#[tokio::test]
async fn an_update_may_begin_a_thread() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.threads().update_state("new", json!({ "topic": "x" })).await.unwrap();
    let seen = graph.threads().get_state("new").await.unwrap();
    assert_eq!((seen.checkpoint.step, seen.checkpoint.parent, seen.next.len()), (0, None, 0));
    assert_eq!(log(&graph.invoke(json!({ "log": "in" })).thread("new").await.unwrap().state), ["in", "a"]);
}

/// R-FWK-30, D1: an update that contradicts a `set_once` field is rejected, never ignored.
#[tokio::test]
async fn an_update_cannot_change_a_set_once_field() {
    let mut graph = dynamic(json!({ "topic": { "set_once": true } }));
    let node = graph.add_node("a", || ());
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    graph.threads().update_state("t", json!({ "topic": "x" })).await.unwrap();
    for update in [
        graph.threads().update_state("t", json!({ "topic": "y" })),
        graph.threads().update_state("t", json!({ "topic": "y" })).as_node("a"),
    ] {
        assert_eq!(expect_error(update.await).code(), ErrorCode::SetOnceViolation);
    }
    assert_eq!(*graph.threads().get_state("t").await.unwrap().state.get("topic"), json!("x"));
}

/// R-FWK-30: an open interrupt stays open over an update; its node then sees the updated state.
#[tokio::test]
async fn an_open_question_stays_open_over_an_update() {
    let mut graph = dynamic(json!({ "topic": null, "answer": null }));
    let node = graph.add_node("ask", |state: View<DynamicState>, interrupts: Interrupts| async move {
        let answer: String = interrupts.raise("answer", 1).await?;
        Ok::<_, NodeError>(json!({ "answer": format!("{answer} on {}", state.get("topic")) }))
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let question = only_question(&graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap());
    graph.threads().update_state("t", json!({ "topic": "y" })).await.unwrap();
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts()[0].id, question.id);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    let ended = graph.resume_with("t", [(question.id, json!("yes"))].into()).await.unwrap();
    assert_eq!(*ended.state.get("answer"), json!("yes on \"y\""));
}

/// R-FWK-31: on a new branch a subgraph runs again, on the changed state.
#[tokio::test]
async fn an_update_at_an_old_checkpoint_runs_subgraphs_again() {
    let calls = Calls::default();
    let mut inner = dynamic(json!({ "log": log_field(), "topic": null }));
    let node_calls = calls.clone();
    let node = inner.add_node("note", move |state: View<DynamicState>| {
        node_calls.note(state.get("topic").to_string());
        json!({ "log": state.get("topic").into_owned() })
    });
    inner.add_edge(START, node).add_edge(node, END);
    let mut graph = dynamic(json!({ "log": log_field(), "topic": null }));
    let node = graph.add_node("inner", inner.compile().unwrap());
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let start = rows(&graph, "t").await[0].0;
    for word in ["y", "z"] {
        graph.threads().update_state("t", json!({ "topic": word })).from_checkpoint(start).await.unwrap();
        assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), [word]);
    }
    assert_eq!(calls.take(), [r#""x""#, r#""y""#, r#""z""#]);
}
