//! Time travel: runs from any checkpoint, with or without changes; existing checkpoints are never changed.

use serde_json::json;
use superstep::core::checkpoint::CheckpointSource;
use superstep::core::machine::ResumeValues;
use superstep::prelude::*;
use superstep::{ErrorCode, RunEnd};

use crate::support::{Calls, due_at, dynamic, expect_error, history, line, log, log_field, only_question, rows};

/// R-FWK-31, R-FWK-32, R-REF-91: a run from a checkpoint runs only what follows it, on a new branch that names its
/// parent.
#[tokio::test]
async fn a_run_from_a_checkpoint_runs_only_later_tasks() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b", "c"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let all = ["a", "b", "c"];
    for done in 0..3 {
        let old = due_at(&graph, "t", &all[done..=done]).await;
        let before = rows(&graph, "t").await;
        calls.take();
        let ended = graph.continue_thread("t").from_checkpoint(old).await.unwrap();
        assert_eq!(
            (ended.end, log(&ended.state), calls.take()),
            (
                RunEnd::Finished,
                all.map(str::to_owned).to_vec(),
                all[done..].iter().map(ToString::to_string).collect::<Vec<_>>()
            )
        );
        let after = rows(&graph, "t").await;
        assert_eq!(after[..before.len()], before);
        let (_, parent, _, source, next) = &after[before.len()];
        assert_eq!(
            (*parent, *source, next.as_slice()),
            (Some(old), CheckpointSource::Fork, &[all[done].to_owned()][..])
        );
    }
}

/// R-FWK-31, R-REF-93: a fork with changes leaves the old branch unchanged, and several forks may start at one
/// checkpoint.
#[tokio::test]
async fn several_forks_start_at_one_checkpoint() {
    let graph = line(&Calls::default(), &["a", "b"]).compile().unwrap();
    let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["b"]).await;
    let mut ends = vec![(first.checkpoint.unwrap(), vec!["a", "b"])];
    for word in ["red", "blue"] {
        graph.threads().update_state("t", json!({ "log": word })).from_checkpoint(old).await.unwrap();
        let ended = graph.continue_thread("t").await.unwrap();
        ends.push((ended.checkpoint.unwrap(), vec!["a", word, "b"]));
    }
    for (id, expected) in ends {
        assert_eq!(log(&graph.threads().get_state_at("t", id).await.unwrap().state), expected);
    }
    let children = history(&graph, "t").await.iter().filter(|seen| seen.checkpoint.parent == Some(old)).count();
    assert_eq!(children, 3);
}

/// R-FWK-31: an input at an old checkpoint is applied to the state of that checkpoint.
#[tokio::test]
async fn an_input_at_an_old_checkpoint_is_applied_to_its_state() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["b"]).await;
    let before = rows(&graph, "t").await;
    let ended = graph.invoke(json!({ "log": "in" })).thread("t").from_checkpoint(old).await.unwrap();
    assert_eq!(log(&ended.state), ["a", "in", "a", "b"]);
    let after = rows(&graph, "t").await;
    assert_eq!((&after[..before.len()], after[before.len()].1), (&before[..], Some(old)));
}

/// R-FWK-32, R-REF-92: replaying the last checkpoint runs nothing, also if newer checkpoints exist.
#[tokio::test]
async fn a_replay_of_the_last_checkpoint_runs_nothing() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let end = first.checkpoint.unwrap();
    calls.take();
    let before = rows(&graph, "t").await;
    let rerun = graph.continue_thread("t").from_checkpoint(end).await.unwrap();
    assert_eq!(
        (rerun.end, rerun.checkpoint, log(&rerun.state)),
        (RunEnd::Finished, Some(end), vec!["a".to_owned(), "b".into()])
    );
    assert_eq!(rows(&graph, "t").await, before);
    graph.invoke(json!({ "log": "more" })).thread("t").await.unwrap();
    calls.take();
    assert_eq!(log(&graph.continue_thread("t").from_checkpoint(end).await.unwrap().state), ["a", "b"]);
    assert!(calls.take().is_empty());
}

/// R-FWK-32, R-REF-99: naming the latest checkpoint is the same as naming none.
#[tokio::test]
async fn the_newest_checkpoint_named_equals_none_named() {
    let mut seen = Vec::new();
    for names_it in [false, true] {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b"]).interrupt_before(["b"]).compile().unwrap();
        let stopped = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        let run = graph.continue_thread("t");
        let run = if names_it { run.from_checkpoint(stopped.checkpoint.unwrap()) } else { run };
        let ended = run.await.unwrap();
        let steps: Vec<_> =
            rows(&graph, "t").await.into_iter().map(|(.., step, source, next)| (step, source, next)).collect();
        seen.push((log(&ended.state), calls.take(), steps));
    }
    assert_eq!(seen[0], seen[1]);
}

/// R-FWK-29, R-FWK-32, R-REF-99: resuming with the latest checkpoint named is a plain resume.
#[tokio::test]
async fn an_answer_at_the_newest_checkpoint_does_not_fork() {
    let graph = interrupting_graph(&Calls::default());
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    let ended = graph.resume("t", "Ann").from_checkpoint(stopped.checkpoint.unwrap()).await.unwrap();
    assert_eq!(log(&ended.state), ["in", "before", "Ann"]);
    assert!(rows(&graph, "t").await.iter().all(|row| row.3 != CheckpointSource::Fork));
}

/// before → ask, where `interrupt` logs the resume value.
fn interrupting_graph(calls: &Calls) -> superstep::CompiledGraph<superstep::DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let before = graph.add_node("before", calls.step("before"));
    let node_calls = calls.clone();
    let interrupt = graph.add_node("ask", move |interrupt: Interrupts| {
        node_calls.note("ask");
        async move { Ok::<_, NodeError>(json!({ "log": interrupt.raise::<String>("name", 1).await? })) }
    });
    graph.add_sequence([START, before.into(), interrupt.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-32, R-REF-94, R-REF-95: a replay from before an interrupt raises it again; old resume values do not apply on
/// the new branch.
#[tokio::test]
async fn a_replay_asks_again() {
    let calls = Calls::default();
    let graph = interrupting_graph(&calls);
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    let first = graph.resume("t", "Ann").await.unwrap();
    for (from, expected) in [(due_at(&graph, "t", &["before"]).await, 2), (stopped.checkpoint.unwrap(), 1)] {
        calls.take();
        let paused = graph.continue_thread("t").from_checkpoint(from).await.unwrap();
        let question = only_question(&paused);
        assert_ne!(question.id, only_question(&stopped).id);
        assert_eq!(calls.take().len(), expected);
        let ended = graph.resume_with("t", ResumeValues::from([(question.id, json!("Bob"))])).await.unwrap();
        assert_eq!(
            (log(&ended.state), calls.take()),
            (vec!["in".to_owned(), "before".into(), "Bob".into()], vec!["ask".to_owned()])
        );
    }
    let old = graph.threads().get_state_at("t", first.checkpoint.unwrap()).await.unwrap();
    assert_eq!(log(&old.state), ["in", "before", "Ann"]);
}

/// R-FWK-32: a replay runs every task of the superstep again, also those that had finished before their siblings.
#[tokio::test]
async fn a_replay_runs_finished_siblings_again() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let plain = graph.add_node("plain", calls.step("plain"));
    let interrupt = graph.add_node("ask", |interrupt: Interrupts| async move {
        Ok::<_, NodeError>(json!({ "log": interrupt.raise::<String>("name", 1).await? }))
    });
    graph.add_edge(START, plain).add_edge(START, interrupt).add_edge(plain, END).add_edge(interrupt, END);
    let graph = graph.compile().unwrap();
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    graph.resume("t", "Ann").await.unwrap();
    assert_eq!(calls.take(), ["plain"]);
    let ended = graph.resume("t", "Bob").from_checkpoint(stopped.checkpoint.unwrap()).await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take()),
        (vec!["in".to_owned(), "plain".into(), "Bob".into()], vec!["plain".to_owned()])
    );
}

/// R-FWK-32: any stored checkpoint can be read again, without running anything.
#[tokio::test]
async fn an_old_state_is_read_without_running_anything() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    calls.take();
    let logs: Vec<Vec<String>> = history(&graph, "t").await.iter().map(|seen| log(&seen.state)).collect();
    assert_eq!(logs, [vec!["a", "b"], vec!["a"], vec![]]);
    assert!(calls.take().is_empty());
}

/// R-FWK-31: a checkpoint that does not exist is rejected, on an existing thread and on a missing one.
#[tokio::test]
async fn a_fork_from_a_missing_checkpoint_is_rejected() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let nowhere = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    for thread in ["t", "other"] {
        let error = expect_error(graph.continue_thread(thread).from_checkpoint(nowhere).await);
        assert_eq!((error.code(), error.http_status()), (ErrorCode::NotFound, 404));
    }
    assert_eq!(expect_error(graph.threads().get_state_at("t", nowhere).await).code(), ErrorCode::NotFound);
}

/// R-FWK-31: a command may also continue from an old checkpoint.
#[tokio::test]
async fn a_command_at_an_old_checkpoint_forks() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["a"]).await;
    calls.take();
    let ended =
        graph.command("t", Command::goto("b").update(json!({ "log": "jump" }))).from_checkpoint(old).await.unwrap();
    assert!(log(&ended.state).starts_with(&["jump".to_owned()]), "{:?}", ended.state);
    assert!(calls.take().contains(&"b".to_owned()));
    assert_eq!(log(&graph.threads().get_state_at("t", first.checkpoint.unwrap()).await.unwrap().state), ["a", "b"]);
}

/// A graph with a subgraph that counts its calls on the thread, called twice.
fn counting(persistence: superstep::SubgraphPersistence) -> superstep::CompiledGraph<superstep::DynamicState> {
    let mut inner = dynamic(json!({ "visits": { "reducer": "add", "default": 0 }, "seen": null, "topic": null }));
    let count = inner.add_node(
        "count",
        |state: View<superstep::DynamicState>| json!({ "visits": 1, "seen": state.get("visits").as_i64().unwrap_or(0) + 1 }),
    );
    inner.add_edge(START, count).add_edge(count, END).input_fields(["topic"]).subgraph_persistence(persistence);
    let inner = inner.compile().unwrap();
    let mut graph = dynamic(json!({ "log": log_field(), "seen": null, "topic": null }));
    let inner = graph.add_node("inner", inner);
    let note =
        graph.add_node("note", |state: View<superstep::DynamicState>| json!({ "log": state.get("seen").to_string() }));
    graph.add_edge(START, inner).add_edge(inner, note);
    let route =
        move |state: &superstep::DynamicState| if log(state).len() % 2 == 1 { Goto::node(inner) } else { Goto::end() };
    graph.add_conditional_edges(note, route, [inner.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-31, R-REF-97, R-REF-98: a subgraph starts empty with each call, or keeps one state per thread; both also on
/// a fork.
#[tokio::test]
async fn a_subgraph_keeps_its_state_as_configured() {
    use superstep::SubgraphPersistence;
    for (persistence, expected) in [
        (SubgraphPersistence::Inherit, ["1", "1"]),
        (SubgraphPersistence::PerThread, ["1", "2"]),
        (SubgraphPersistence::Stateless, ["1", "1"]),
    ] {
        let graph = counting(persistence);
        let ended = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        assert_eq!(log(&ended.state), expected);
        let start = rows(&graph, "t").await[0].0;
        let replayed = graph.continue_thread("t").from_checkpoint(start).await.unwrap();
        assert_eq!(log(&replayed.state), expected, "{persistence:?}");
        let middle =
            history(&graph, "t").await.into_iter().rev().find(|seen| log(&seen.state).len() == 1).unwrap().id();
        let replayed = graph.continue_thread("t").from_checkpoint(middle).await.unwrap();
        assert_eq!(log(&replayed.state), expected, "{persistence:?}");
    }
}

/// R-FWK-31, R-FWK-43: a subgraph with per-thread state keeps it when old checkpoints are pruned.
#[tokio::test]
async fn a_subgraph_keeps_its_state_when_the_thread_is_pruned() {
    let graph = counting(superstep::SubgraphPersistence::PerThread);
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let retention = superstep::Retention::keep_last(1);
    assert!(graph.threads().prune("t", &retention).await.unwrap().checkpoints > 0);
    let ended = graph.invoke(json!({ "topic": "y" })).thread("t").await.unwrap();
    assert_eq!(log(&ended.state), ["1", "2", "3", "4"]);
}
