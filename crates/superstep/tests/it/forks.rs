//! Time travel: run again from any checkpoint, with or without changes; nothing old is ever changed.

use serde_json::json;
use superstep::core::checkpoint::Source;
use superstep::core::machine::Answers;
use superstep::prelude::*;
use superstep::{Code, Status};

use crate::support::{Calls, due_at, dynamic, history, line, log, log_field, only_question, refused, rows};

/// R-FWK-31, R-FWK-32, R-REF-91: from each checkpoint only what follows it runs, on a new line that names its parent.
#[tokio::test]
async fn a_run_from_any_checkpoint_reruns_only_what_follows() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b", "c"]).compile().unwrap();
    graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let all = ["a", "b", "c"];
    for done in 0..3 {
        let old = due_at(&graph, "t", &all[done..=done]).await;
        let before = rows(&graph, "t").await;
        calls.take();
        let ended = graph.go_on("t").at(old).await.unwrap();
        assert_eq!(
            (ended.status, log(&ended.state), calls.take()),
            (
                Status::Finished,
                all.map(str::to_owned).to_vec(),
                all[done..].iter().map(ToString::to_string).collect::<Vec<_>>()
            )
        );
        let after = rows(&graph, "t").await;
        assert_eq!(after[..before.len()], before);
        let (_, parent, _, source, next) = &after[before.len()];
        assert_eq!((*parent, *source, next.as_slice()), (Some(old), Source::Fork, &[all[done].to_owned()][..]));
    }
}

/// R-FWK-31, R-REF-93: a fork with changes leaves the old line as it was, and several forks may leave from one point.
#[tokio::test]
async fn several_forks_leave_from_one_checkpoint() {
    let graph = line(&Calls::default(), &["a", "b"]).compile().unwrap();
    let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["b"]).await;
    let mut ends = vec![(first.checkpoint.unwrap(), vec!["a", "b"])];
    for word in ["red", "blue"] {
        graph.threads().update("t", json!({ "log": word })).at(old).await.unwrap();
        let ended = graph.go_on("t").await.unwrap();
        ends.push((ended.checkpoint.unwrap(), vec!["a", word, "b"]));
    }
    for (id, expected) in ends {
        assert_eq!(log(&graph.threads().state_at("t", id).await.unwrap().state), expected);
    }
    let children = history(&graph, "t").await.iter().filter(|seen| seen.checkpoint.parent == Some(old)).count();
    assert_eq!(children, 3);
}

/// R-FWK-31: an input at an old checkpoint goes on top of the state of that checkpoint.
#[tokio::test]
async fn an_input_at_an_old_checkpoint_goes_on_top_of_its_state() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["b"]).await;
    let before = rows(&graph, "t").await;
    let ended = graph.run(json!({ "log": "in" })).thread("t").at(old).await.unwrap();
    assert_eq!(log(&ended.state), ["a", "in", "a", "b"]);
    let after = rows(&graph, "t").await;
    assert_eq!((&after[..before.len()], after[before.len()].1), (&before[..], Some(old)));
}

/// R-FWK-32, R-REF-92: replaying the last checkpoint runs nothing, also when it has long been left behind.
#[tokio::test]
async fn a_replay_of_the_last_checkpoint_runs_nothing() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let end = first.checkpoint.unwrap();
    calls.take();
    let before = rows(&graph, "t").await;
    let again = graph.go_on("t").at(end).await.unwrap();
    assert_eq!(
        (again.status, again.checkpoint, log(&again.state)),
        (Status::Finished, Some(end), vec!["a".to_owned(), "b".into()])
    );
    assert_eq!(rows(&graph, "t").await, before);
    graph.run(json!({ "log": "more" })).thread("t").await.unwrap();
    calls.take();
    assert_eq!(log(&graph.go_on("t").at(end).await.unwrap().state), ["a", "b"]);
    assert!(calls.take().is_empty());
}

/// R-FWK-32, R-REF-99: naming the newest checkpoint is the same as naming none.
#[tokio::test]
async fn the_newest_checkpoint_named_equals_none_named() {
    let mut seen = Vec::new();
    for names_it in [false, true] {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b"]).interrupt_before(["b"]).compile().unwrap();
        let stopped = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        let run = graph.go_on("t");
        let run = if names_it { run.at(stopped.checkpoint.unwrap()) } else { run };
        let ended = run.await.unwrap();
        let steps: Vec<_> =
            rows(&graph, "t").await.into_iter().map(|(.., step, source, next)| (step, source, next)).collect();
        seen.push((log(&ended.state), calls.take(), steps));
    }
    assert_eq!(seen[0], seen[1]);
}

/// R-FWK-29, R-FWK-32, R-REF-99: resuming with the newest checkpoint named is a plain resume.
#[tokio::test]
async fn an_answer_at_the_newest_checkpoint_does_not_fork() {
    let graph = asking(&Calls::default());
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    let ended = graph.resume("t", "Ann").at(stopped.checkpoint.unwrap()).await.unwrap();
    assert_eq!(log(&ended.state), ["in", "before", "Ann"]);
    assert!(rows(&graph, "t").await.iter().all(|row| row.3 != Source::Fork));
}

/// before → ask, where `ask` logs the answer.
fn asking(calls: &Calls) -> superstep::Compiled<superstep::Record> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let before = graph.node("before", calls.step("before"));
    let noted = calls.clone();
    let ask = graph.node("ask", move |ask: Ask| {
        noted.note("ask");
        async move { Ok::<_, NodeError>(json!({ "log": ask.person::<String>("name", 1).await? })) }
    });
    graph.sequence([START, before.into(), ask.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-32, R-REF-94, R-REF-95: a replay from before a question asks it again; old answers do not count on the new
/// line.
#[tokio::test]
async fn a_replay_asks_again() {
    let calls = Calls::default();
    let graph = asking(&calls);
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    let first = graph.resume("t", "Ann").await.unwrap();
    for (from, expected) in [(due_at(&graph, "t", &["before"]).await, 2), (stopped.checkpoint.unwrap(), 1)] {
        calls.take();
        let asked = graph.go_on("t").at(from).await.unwrap();
        let question = only_question(&asked);
        assert_ne!(question.id, only_question(&stopped).id);
        assert_eq!(calls.take().len(), expected);
        let ended = graph.resume_with("t", Answers::from([(question.id, json!("Bob"))])).await.unwrap();
        assert_eq!(
            (log(&ended.state), calls.take()),
            (vec!["in".to_owned(), "before".into(), "Bob".into()], vec!["ask".to_owned()])
        );
    }
    let old = graph.threads().state_at("t", first.checkpoint.unwrap()).await.unwrap();
    assert_eq!(log(&old.state), ["in", "before", "Ann"]);
}

/// R-FWK-32: a replay runs every task of the superstep again, also those that had finished before their siblings.
#[tokio::test]
async fn a_replay_runs_finished_siblings_again() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let plain = graph.node("plain", calls.step("plain"));
    let ask = graph.node("ask", |ask: Ask| async move {
        Ok::<_, NodeError>(json!({ "log": ask.person::<String>("name", 1).await? }))
    });
    graph.edge(START, plain).edge(START, ask).edge(plain, END).edge(ask, END);
    let graph = graph.compile().unwrap();
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    graph.resume("t", "Ann").await.unwrap();
    assert_eq!(calls.take(), ["plain"]);
    let ended = graph.resume("t", "Bob").at(stopped.checkpoint.unwrap()).await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take()),
        (vec!["in".to_owned(), "plain".into(), "Bob".into()], vec!["plain".to_owned()])
    );
}

/// R-FWK-32: any checkpoint can be shown again from what is stored, without running anything.
#[tokio::test]
async fn an_old_state_is_shown_without_running_anything() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    calls.take();
    let shown: Vec<Vec<String>> = history(&graph, "t").await.iter().map(|seen| log(&seen.state)).collect();
    assert_eq!(shown, [vec!["a", "b"], vec!["a"], vec![]]);
    assert!(calls.take().is_empty());
}

/// R-FWK-31: a checkpoint that does not exist is refused, on a thread that does and on one that does not.
#[tokio::test]
async fn a_fork_from_nowhere_is_refused() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let nowhere = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    for thread in ["t", "other"] {
        let error = refused(graph.go_on(thread).at(nowhere).await);
        assert_eq!((error.code(), error.http_status()), (Code::NotFound, 404));
    }
    assert_eq!(refused(graph.threads().state_at("t", nowhere).await).code(), Code::NotFound);
}

/// R-FWK-31: a command may lead on from an old checkpoint as well.
#[tokio::test]
async fn a_command_at_an_old_checkpoint_forks() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let old = due_at(&graph, "t", &["a"]).await;
    calls.take();
    let ended = graph.command("t", Command::goto("b").update(json!({ "log": "jump" }))).at(old).await.unwrap();
    assert!(log(&ended.state).starts_with(&["jump".to_owned()]), "{:?}", ended.state);
    assert!(calls.take().contains(&"b".to_owned()));
    assert_eq!(log(&graph.threads().state_at("t", first.checkpoint.unwrap()).await.unwrap().state), ["a", "b"]);
}

/// A graph with a graph inside that counts its visits on the thread, called twice.
fn counting(persistence: superstep::Persistence) -> superstep::Compiled<superstep::Record> {
    let mut inner = dynamic(json!({ "visits": { "reducer": "add", "default": 0 }, "seen": null, "topic": null }));
    let count = inner.node(
        "count",
        |state: View<superstep::Record>| json!({ "visits": 1, "seen": state.get("visits").as_i64().unwrap_or(0) + 1 }),
    );
    inner.edge(START, count).edge(count, END).input(["topic"]).persistence(persistence);
    let inner = inner.compile().unwrap();
    let mut graph = dynamic(json!({ "log": log_field(), "seen": null, "topic": null }));
    let inner = graph.node("inner", inner);
    let note = graph.node("note", |state: View<superstep::Record>| json!({ "log": state.get("seen").to_string() }));
    graph.edge(START, inner).edge(inner, note);
    let again = move |state: &superstep::Record| if log(state).len() % 2 == 1 { Go::to(inner) } else { Go::end() };
    graph.route(note, again, [inner.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-31, R-REF-97, R-REF-98: a graph inside starts empty with each call, or grows with the thread; both on a fork
/// too.
#[tokio::test]
async fn a_graph_inside_keeps_its_state_as_it_says() {
    use superstep::Persistence;
    for (persistence, expected) in
        [(Persistence::Inherit, ["1", "1"]), (Persistence::PerThread, ["1", "2"]), (Persistence::Stateless, ["1", "1"])]
    {
        let graph = counting(persistence);
        let ended = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        assert_eq!(log(&ended.state), expected);
        let start = rows(&graph, "t").await[0].0;
        let replayed = graph.go_on("t").at(start).await.unwrap();
        assert_eq!(log(&replayed.state), expected, "{persistence:?}");
        let middle =
            history(&graph, "t").await.into_iter().rev().find(|seen| log(&seen.state).len() == 1).unwrap().id();
        let replayed = graph.go_on("t").at(middle).await.unwrap();
        assert_eq!(log(&replayed.state), expected, "{persistence:?}");
    }
}

/// R-FWK-31, R-FWK-43: a graph that grows with its thread keeps growing when old checkpoints are pruned.
#[tokio::test]
async fn a_graph_inside_keeps_its_state_when_the_thread_is_pruned() {
    let graph = counting(superstep::Persistence::PerThread);
    graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let retention = superstep::Retention::last(1);
    assert!(graph.threads().prune("t", &retention).await.unwrap().checkpoints > 0);
    let ended = graph.run(json!({ "topic": "y" })).thread("t").await.unwrap();
    assert_eq!(log(&ended.state), ["1", "2", "3", "4"]);
}
