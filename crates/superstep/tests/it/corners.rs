//! Corners where work could be lost or repeated: updates that crash, handlers that ask, races that are cut short.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{BranchPolicy, Code, Compiled};

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Work {
    #[reduce(append)]
    log: Vec<String>,
    #[reduce(messages)]
    talk: Messages,
    #[reduce(with = fragile)]
    fragile: u64,
}

fn fragile(current: &mut u64, input: u64) {
    assert!(input < 100, "too large for me");
    *current += input;
}

/// One task that finishes and counts, one that asks.
fn half_done(runs: &Arc<AtomicUsize>) -> Compiled<Work> {
    let mut graph = Graph::<Work>::new("half");
    let counted = runs.clone();
    let done = graph.node("done", move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Work::update().log("done")
    });
    let asks = graph.node("asks", async |ask: Ask| -> Result<WorkUpdate, NodeError> {
        let word: String = ask.person("word?", ()).await?;
        Ok(Work::update().log(word))
    });
    graph.edge(START, done).edge(START, asks).edge(done, END).edge(asks, END);
    graph.compile().unwrap()
}

/// R-FWK-30, R-GRA-45: an update from outside is one write: whatever it dies at, finished tasks stay finished and the
/// question stays open.
#[tokio::test]
async fn an_update_that_crashes_loses_nothing() {
    for last in [LastWrite::Lost, LastWrite::Kept] {
        for at in 0..3 {
            let (runs, disk) = (Arc::default(), Memory::new());
            let graph = half_done(&runs);
            let asked = graph.run(Work::input().log("in")).thread("t").checkpointer(disk.clone()).await.unwrap();
            let store = CrashAt::new(disk.clone(), at, last);
            let _ = graph.threads().checkpointer(store).update("t", Work::update().log("more")).await;
            let state = graph.threads().checkpointer(disk.clone()).state("t").await.unwrap();
            assert_eq!(state.questions(), asked.questions().iter().collect::<Vec<_>>(), "{last:?} at {at}");
            let out = graph.resume("t", "word").checkpointer(disk).await.unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), 1, "{last:?} at {at}: {:?}", out.state.log);
            assert!(out.is_finished());
        }
    }
}

/// R-FWK-28: an error handler asks questions of its own, and never gets the answers of its node.
#[tokio::test]
async fn a_handler_is_not_given_the_answers_of_its_node() {
    let mut graph = Graph::<Work>::new("handled");
    let fails = async |ask: Ask| -> Result<(), NodeError> {
        let yes: bool = ask.person("approve?", ()).await?;
        Err(NodeError::new(format!("approved: {yes}, and failed all the same")))
    };
    let refund = async |ask: Ask| -> Result<WorkUpdate, NodeError> {
        let refund: bool = ask.person("refund?", ()).await?;
        Ok(Work::update().log(format!("refund: {refund}")))
    };
    let pay = graph.node("pay", node(fails).on_error(refund));
    graph.edge(START, pay).edge(pay, END).checkpointer(Memory::new());
    let graph = graph.compile().unwrap();
    graph.run(Work::input().log("in")).thread("t").await.unwrap();
    let second = graph.resume("t", true).await.unwrap();
    assert_eq!(second.questions()[0].name, "refund?");
    let done = graph.resume("t", false).await.unwrap();
    assert_eq!(done.state.log, ["in", "refund: false"]);
}

/// R-GRA-45: those who lost a race stay lost when the process dies before the superstep is whole.
#[tokio::test]
async fn a_lost_race_is_not_run_after_a_crash() {
    let (gate, runs) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicUsize::new(0)));
    let build = |slow_ends: bool| {
        let mut graph = Graph::<Work>::new("race");
        let (opened, counted) = (gate.clone(), runs.clone());
        let race = move |who: Sent<u64>| {
            let (opened, counted) = (opened.clone(), counted.clone());
            async move {
                if *who > 0 {
                    opened.notified().await;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                Work::update().log(format!("racer {}", *who))
            }
        };
        let race = graph.node("race", node(race).branches(BranchPolicy::Race));
        let slow = graph.node("slow", move || async move {
            if !slow_ends {
                std::future::pending::<()>().await;
            }
        });
        graph.entry_by(move |_| Go::sends([Send::new(race, 0u64), Send::new(race, 1u64)]).and(slow), [race, slow]);
        graph.edge(race, END).edge(slow, END);
        graph.compile().unwrap()
    };
    let disk = Memory::new();
    let run = build(false).run(Work::input().log("in")).thread("t").checkpointer(disk.clone());
    let _ = tokio::time::timeout(std::time::Duration::from_millis(50), run.into_future()).await;
    gate.notify_waiters();
    gate.notify_one();
    let done = build(true).go_on("t").checkpointer(disk).await.unwrap();
    assert_eq!((done.state.log.clone(), runs.load(Ordering::SeqCst)), (vec!["in".to_owned(), "racer 0".to_owned()], 1));
}

/// R-FWK-19, R-GRA-34: a reducer that panics fails the superstep, not the program, and other runs of a batch go on.
#[tokio::test]
async fn a_reducer_that_panics_fails_its_superstep_only() {
    let mut graph = Graph::<Work>::new("fragile");
    let write = graph.node("write", |work: View<Work>| Work::update().fragile(work.log.len() as u64 * 50));
    graph.edge(START, write).edge(write, END);
    let graph = graph.compile().unwrap();
    let input = |lines: usize| Work::input().log(vec!["x".to_owned(); lines]);
    let results = graph.batch([input(1), input(2), input(1)], 2).await;
    let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(superstep::Error::code)).collect();
    assert_eq!(codes, [None, Some(Code::ReducerFailed), None]);
}

/// R-GRA-26: messages get ids also when the caller still holds the input they came in.
#[tokio::test]
async fn messages_of_a_shared_input_get_ids() {
    let mut graph = Graph::<Work>::new("talk");
    let nothing = graph.node("nothing", || ());
    graph.edge(START, nothing).edge(nothing, END);
    let input = Work::input().talk([Message::user("hi"), Message::user("hi")]);
    let done = graph.compile().unwrap().run(input.clone()).await.unwrap();
    let ids: std::collections::BTreeSet<_> = done.state.talk.iter().map(|message| message.id.clone()).collect();
    assert_eq!((ids.len(), ids.contains(&None)), (2, false));
    drop(input);
}

/// R-FWK-9: a handle of another graph is refused, not taken for whatever has its number here.
#[test]
fn a_handle_of_another_graph_is_refused() {
    let mut other = Graph::<Work>::new("other");
    let foreign = other.node("foreign", || ());
    let mut graph = Graph::<Work>::new("mine");
    let mine = graph.node("mine", || ());
    graph.edge(START, mine).edge(mine, foreign).edge(mine, END);
    let error = graph.compile().err().expect("a foreign handle");
    assert!(error.to_string().contains("another graph"), "{error}");
}

/// R-FWK-8: what a graph inside hands out is the same whether it ran in one go or was asked in between.
#[tokio::test]
async fn a_resumed_inner_graph_hands_out_what_an_unbroken_one_does() {
    let outcome = |asks: bool| async move {
        #[derive(State, Clone, Serialize, Deserialize)]
        struct Plain {
            log: Vec<String>,
            votes: BTreeMap<String, u64>,
        }
        let mut inner = Graph::<Plain>::new("inner");
        let set = inner.node("set", |plain: View<Plain>| {
            let mut log = plain.log.clone();
            log.push("set".to_owned());
            Plain::update().log(log)
        });
        let asking = inner.node("asks", move |ask: Ask| async move {
            if asks {
                let _: bool = ask.person("go on?", ()).await?;
            }
            Ok::<(), NodeError>(())
        });
        inner.sequence([START, set.into(), asking.into(), END]);
        let mut graph = Graph::<Work>::new("outer");
        let inside = graph.node("inside", inner.compile().unwrap());
        graph.edge(START, inside).edge(inside, END).checkpointer(Memory::new());
        let graph = graph.compile().unwrap();
        let mut out = graph.run(Work::input().log("in")).thread("t").await.unwrap();
        if asks {
            out = graph.resume("t", true).await.unwrap();
        }
        json!(out.state.log)
    };
    assert_eq!(outcome(false).await, outcome(true).await);
}

/// R-FWK-17: the time a run may take covers the wait for its thread.
#[tokio::test(start_paused = true)]
async fn a_run_does_not_wait_for_its_thread_for_ever() {
    let mut graph = Graph::<Work>::new("busy");
    let waits = graph.node("waits", std::future::pending::<()>);
    graph.edge(START, waits).edge(waits, END).checkpointer(Memory::new());
    let graph = graph.compile().unwrap();
    let mut first = graph.run(Work::input().log("first")).thread("t").stream();
    first.next().await.expect("the first run has begun");
    let time = std::time::Duration::from_secs(5);
    let error = graph.run(Work::input().log("second")).thread("t").timeout(time).await.expect_err("a busy thread");
    assert_eq!(error.code(), Code::Timeout, "{error}");
}

/// R-GRA-45: failing fast throws away what is unfinished, never what has finished already.
#[tokio::test]
async fn failing_fast_keeps_what_has_finished() {
    for _ in 0..20 {
        let runs = Arc::new(AtomicUsize::new(0));
        let mut graph = Graph::<Work>::new("fast");
        let counted = runs.clone();
        let fails = graph.node("fails", || Err::<(), _>(NodeError::new("at once")));
        let done = graph.node("done", move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        graph.edge(START, fails).edge(START, done).edge(fails, END).edge(done, END);
        graph.on_failure(BranchPolicy::FailFast).checkpointer(Memory::new());
        let graph = graph.compile().unwrap();
        for _ in 0..2 {
            let failed = match graph.threads().status("t").await.unwrap() {
                None => graph.run(Work::input().log("in")).thread("t").await,
                Some(_) => graph.go_on("t").await,
            };
            assert_eq!(failed.expect_err("one task fails").code(), Code::NodeFailed);
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}
