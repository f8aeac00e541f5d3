//! Cases 47 to 65: what is stored and when, and what another process makes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use superstep::core::checkpoint::{Namespace, Source};
use superstep::core::id::{RunId, TaskId};
use superstep::core::machine::{Event, read_state};
use superstep::core::port::{At, Checkpointer};
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Code, Compat, Compiled, EventKind, Record, Run, ThreadStatus, WhenBusy};
use tokio::sync::Notify;

use super::PROFILES;
use super::stores::{Paper, Refuses};
use super::turns::Turns;
use crate::engine::{Count, field, graph, says, schema, settle};
use crate::support::{Calls, line, log, refused, rows, stored};

/// R-REF-47, R-REF-48: one checkpoint for the input and one for each superstep, each with its source and its parent;
/// the input is step 0, or step −1 with a step for the start behind it.
#[tokio::test]
async fn steps_are_counted_as_the_profile_says() {
    let strict = [(0, Source::Input, "a"), (1, Source::Loop, "b"), (2, Source::Loop, "")];
    let compat = [(-1, Source::Input, "a"), (0, Source::Loop, "a"), (1, Source::Loop, "b"), (2, Source::Loop, "")];
    for (profile, expected) in [(Compat::Strict, &strict[..]), (Compat::LangGraph, &compat[..])] {
        let graph = line(&Calls::default(), &["a", "b"]).compat(profile).compile().unwrap();
        graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        let rows = rows(&graph, "t").await;
        let shown: Vec<_> = rows.iter().map(|(.., step, source, next)| (*step, *source, next.join(" "))).collect();
        assert_eq!(shown.iter().map(|row| (row.0, row.1, &*row.2)).collect::<Vec<_>>(), expected);
        assert_eq!(rows[0].1, None);
        assert!(rows.windows(2).all(|pair| pair[1].1 == Some(pair[0].0)));
        graph.threads().update("t", json!({ "topic": "y" })).await.unwrap();
        let newest = graph.threads().state("t").await.unwrap().checkpoint;
        assert_eq!((newest.step, newest.source), (3, Source::Update));
    }
}

/// R-REF-49: the text of ids rises along each thread and from one run to the next, also when many runs go on at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ids_of_one_process_rise() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).compile().unwrap();
    let mut last = String::new();
    for round in 0..4 {
        let threads: Vec<String> = (0..16).map(|number| format!("{round}.{number}")).collect();
        let runs: Vec<_> =
            threads.iter().map(|thread| graph.run(json!({ "topic": "x" })).thread(thread.as_str()).spawn()).collect();
        for run in runs {
            run.await.unwrap();
        }
        let mut all = Vec::new();
        for thread in &threads {
            let ids: Vec<String> = rows(&graph, thread).await.iter().map(|row| row.0.to_string()).collect();
            assert!(ids.is_sorted_by(|left, right| left < right), "{ids:?}");
            all.extend(ids);
        }
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]) && all[0] > last, "round {round}");
        last = all.pop().unwrap();
    }
}

/// Sends, a join that fills in two supersteps and a deferred node: as much to remember as a drawing can ask for.
fn winding(compat: Compat) -> Compiled<Record> {
    let mut g = graph("winding");
    let last = g.node("last", node(says("last")).defer());
    let fan = g.node("fan", says("fan"));
    let [quick, slow, slower, join] = ["quick", "slow", "slower", "join"].map(|name| g.node(name, says(name)));
    let work = g.node("work", |sent: Sent<u32>| json!({ "log": [sent.0] }));
    g.edge(START, fan).edge(START, quick).edge(START, slow).edge(slow, slower).join([quick, slower], join);
    g.route(fan, move |_: &Record| (0..3u32).map(|number| Send::new(work, number)).collect::<Vec<_>>(), [work]);
    g.edge(quick, last).edge(work, END).edge(join, END).edge(last, END).compat(compat);
    g.compile().unwrap()
}

/// The tasks a run started, by node and id.
async fn started(run: Run<Record>) -> Vec<(String, TaskId)> {
    let (mut stream, mut tasks) = (run.stream(), Vec::new());
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(Event::TaskStarted { task, node, .. }) = event.kind {
            tasks.push((node.to_string(), task));
        }
    }
    stream.finish().await.unwrap();
    tasks
}

/// R-REF-50: from the text of what is stored a process that has just started finds the same tasks due, with the same
/// ids, at every superstep.
#[tokio::test]
async fn another_process_finds_the_same_tasks() {
    for compat in PROFILES {
        let (here, disk) = (winding(compat), Memory::new());
        here.run(json!({ "n": 0 })).thread("t").checkpointer(disk.clone()).interrupt_before(["*"]).await.unwrap();
        let mut supersteps = Vec::new();
        loop {
            let twin = format!("twin{}", supersteps.len());
            here.threads().checkpointer(disk.clone()).copy("t", twin.as_str()).await.unwrap();
            let go_on = |graph: &Compiled<Record>, thread: &str| graph.go_on(thread).interrupt_before(["*"]);
            let there = started(go_on(&winding(compat), &twin).checkpointer(Paper::on(&disk))).await;
            assert_eq!(there, started(go_on(&here, "t").checkpointer(disk.clone())).await);
            if there.is_empty() {
                break;
            }
            supersteps.push(there.into_iter().map(|(node, _)| node).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(supersteps, ["fan quick slow", "slower work work work", "join", "last"]);
    }
}

/// `quick` finishes while `slow` is at work.
fn quick_and_slow(compat: Compat, runs: &[Count; 2]) -> Compiled<Record> {
    let (mut g, turns) = (graph("g"), Turns::new());
    for (turn, name) in ["quick", "slow"].into_iter().enumerate() {
        let (turns, runs) = (turns.clone(), runs[turn].clone());
        let task = g.node(name, move || {
            let (turns, is_first) = (turns.clone(), runs.up() == 1);
            async move {
                if is_first {
                    turns.take(turn).await;
                }
                json!({ "log": [name] })
            }
        });
        g.edge(START, task).edge(task, END);
    }
    g.compat(compat).compile().unwrap()
}

/// R-REF-51: the process dies when a task has finished and its superstep is not saved: that task does not run again.
#[tokio::test]
async fn a_task_that_finished_before_a_crash_is_not_run_again() {
    for (compat, before) in [(Compat::Strict, 1), (Compat::LangGraph, 2)] {
        let (runs, disk) = ([Count::default(), Count::default()], Memory::new());
        let graph = quick_and_slow(compat, &runs);
        // After the checkpoints of the input the result of `quick` is kept; the write after that never happens.
        let store = CrashAt::new(disk.clone(), before + 1, LastWrite::Lost);
        refused(graph.run(json!({ "n": 0 })).thread("t").checkpointer(store.clone()).await);
        assert!(store.has_crashed());
        let saved = graph.threads().checkpointer(disk.clone()).state("t").await.unwrap();
        assert_eq!((log(&saved.state).len(), saved.next.len(), saved.tasks.len()), (0, 2, 1));
        assert!(saved.tasks[0].is_done && saved.tasks[0].node == "quick");
        let done = graph.go_on("t").checkpointer(disk).await.unwrap();
        assert_eq!((log(&done.state), runs.map(|runs| runs.get())), (vec!["quick".to_owned(), "slow".into()], [1, 2]));
    }
}

/// Four tasks of one superstep: `done` and `silent` finish, then `fails` fails once; `slow` is still at work and
/// finishes unless it hangs.
fn one_of_four_fails(compat: Compat, runs: &[Count; 4], hangs: &Arc<AtomicBool>) -> Compiled<Record> {
    let (mut g, turns) = (graph("g"), Turns::new());
    for (turn, name) in ["done", "silent", "fails", "slow"].into_iter().enumerate() {
        let (turns, runs, hangs) = (turns.clone(), runs[turn].clone(), hangs.clone());
        let task = g.node(name, move || {
            let (turns, is_first, hangs) = (turns.clone(), runs.up() == 1, hangs.load(Ordering::SeqCst));
            async move {
                if name == "slow" && hangs {
                    std::future::pending::<()>().await;
                }
                if is_first {
                    turns.take(turn).await;
                }
                match name {
                    "fails" if is_first => Err(NodeError::new("the first time")),
                    "silent" => Ok(json!({})),
                    _ => Ok(json!({ "log": [name] })),
                }
            }
        });
        g.edge(START, task).edge(task, END);
    }
    g.checkpointer(Memory::new()).compat(compat);
    g.compile().unwrap()
}

/// R-REF-52, R-REF-53, R-REF-54: after a failure only what has not finished runs again, also when it had nothing to
/// write; what was still at work has finished by then, or was stopped as the reference does. The error is shown until
/// the task succeeds.
#[tokio::test]
async fn after_a_failure_only_the_unfinished_run_again() {
    for (compat, expected) in [(Compat::Strict, [1, 1, 2, 1]), (Compat::LangGraph, [1, 1, 2, 2])] {
        let hangs = Arc::new(AtomicBool::new(compat == Compat::LangGraph));
        let runs: [Count; 4] = std::array::from_fn(|_| Count::default());
        let graph = one_of_four_fails(compat, &runs, &hangs);
        let error = refused(graph.run(json!({ "n": 0 })).thread("t").await);
        assert_eq!((error.code(), error.place().node.as_deref()), (Code::NodeFailed, Some("fails")));
        let saved = graph.threads().state("t").await.unwrap();
        let failed =
            saved.tasks.iter().find_map(|task| task.error.as_ref().map(|error| (&*task.node, &*error.message)));
        assert_eq!((failed, log(&saved.state).len()), (Some(("fails", "the first time")), 0));
        hangs.store(false, Ordering::SeqCst);
        let done = graph.go_on("t").await.unwrap();
        assert_eq!((field(&done, "log").as_array().unwrap().len(), runs.map(|runs| runs.get())), (3, expected));
        let saved = graph.threads().state("t").await.unwrap();
        assert_eq!((saved.tasks.len(), graph.threads().status("t").await.unwrap()), (0, Some(ThreadStatus::Idle)));
    }
}

/// R-REF-56: when a node begins, the checkpoint before it is stored, with the writes that made it.
#[tokio::test]
async fn what_a_superstep_builds_on_is_stored_when_it_begins() {
    for compat in PROFILES {
        let (mut g, memory) = (graph("g"), Memory::new());
        let mut row = vec![START];
        for name in ["a", "b", "c"] {
            let memory = memory.clone();
            let look = move |cx: Cx| {
                let memory = memory.clone();
                async move {
                    let newest = memory.load(cx.thread().unwrap(), &Namespace::root(), At::Latest).await?.unwrap();
                    let (state, _) = read_state(&schema(), &newest)?;
                    let stored = log(state.downcast_ref::<Record>().unwrap()).len();
                    let is_mine = Some(newest.checkpoint.id) == cx.checkpoint();
                    let behind = cx.step() - newest.checkpoint.step;
                    Ok::<_, NodeError>(json!({ "log": [format!("{stored} {behind} {is_mine}")] }))
                }
            };
            row.push(g.node(name, look).into());
        }
        row.push(END);
        g.sequence(row).checkpointer(memory).compat(compat);
        let done = g.compile().unwrap().run(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["0 1 true", "1 1 true", "2 1 true"]);
    }
}

/// R-REF-57: a store that does not save, does not keep or does not load fails the run, with its own error; nothing is
/// begun anew, and the thread goes on once the store is well.
#[tokio::test]
async fn a_failing_store_fails_the_run() {
    for compat in PROFILES {
        for what in [Refuses::Checkpoints, Refuses::Results, Refuses::Loads] {
            let (runs, store) = ([Count::default(), Count::default()], Paper::on(&Memory::new()));
            let graph = quick_and_slow(compat, &runs);
            let state = async || graph.threads().checkpointer(store.clone()).state("t").await;
            graph.threads().checkpointer(store.clone()).update("t", json!({ "log": ["before"] })).await.unwrap();
            store.refuse(what);
            let error = refused(graph.run(json!({ "n": 1 })).thread("t").checkpointer(store.clone()).await);
            assert_eq!(error.code(), Code::StoreUnavailable, "{what:?}: {error}");
            assert!(error.message().contains(&format!("{what:?} are refused")), "{error}");
            assert_eq!(state().await.is_err(), what == Refuses::Loads);
            store.refuse(Refuses::Nothing);
            assert_eq!(log(&state().await.unwrap().state), ["before"], "{what:?}");
            let done = graph.run(json!({ "n": 1 })).thread("t").checkpointer(store.clone()).await.unwrap();
            assert_eq!(log(&done.state), ["before", "quick", "slow"], "{what:?}");
        }
    }
}

/// A node that waits to be let go on when `n` is 1, as one process has it.
fn process(memory: &Memory, open: &Arc<Notify>) -> Compiled<Record> {
    let (mut g, open) = (graph("g"), open.clone());
    let wait = g.node("wait", move |s: View<Record>, cx: Cx| {
        let (open, waits) = (open.clone(), s.get("n").as_i64() == Some(1));
        async move {
            if waits {
                open.notified().await;
            }
            json!({ "log": [cx.run().to_string()] })
        }
    });
    let after = g.node("after", says("after"));
    g.sequence([START, wait.into(), after.into(), END]).checkpointer(memory.clone());
    g.compile().unwrap()
}

/// R-REF-60: two processes on one thread: the second is refused while the first moves it. Once it has been taken over,
/// the first can save nothing more, and the history stays one line.
#[tokio::test]
async fn a_run_that_was_overtaken_is_fenced_off() {
    let (memory, gates, run) = (Memory::new(), [Arc::default(), Arc::default()], RunId::from_bits(7));
    let [first, second] = gates.each_ref().map(|open| process(&memory, open));
    let overtaken = first.run(json!({ "n": 1 })).thread("t").run_id(run).spawn();
    settle().await;
    let busy = second.run(json!({ "n": 1 })).thread("t").when_busy(WhenBusy::Reject).await;
    assert_eq!(refused(busy).code(), Code::ThreadBusy);
    // The same run, started again elsewhere because its process was thought dead.
    gates[1].notify_one();
    let done = second.go_on("t").run_id(run).await.unwrap();
    assert_eq!(log(&done.state), [run.to_string(), "after".to_owned()]);
    gates[0].notify_one();
    let error = refused(overtaken.await);
    assert!(error.code() == Code::ThreadBusy && error.message().contains("fenced"), "{error}");
    let rows = rows(&second, "t").await;
    assert!(rows.windows(2).all(|pair| pair[1].1 == Some(pair[0].0)), "one line of history: {rows:?}");
    assert_eq!((rows.len(), second.threads().state("t").await.unwrap().id()), (3, done.checkpoint.unwrap()));
}

const MARKER: &str = "marker-5f0e";

/// R-REF-65: metadata reaches every checkpoint, inside and out; private keys reach the nodes only, and configurable
/// values and the context are not stored either.
#[tokio::test]
async fn private_keys_of_metadata_are_not_stored() {
    for compat in PROFILES {
        let memory = Memory::new();
        let tell = |cx: Cx, secret: Ctx<String>| {
            let metadata = cx.metadata();
            let known = [metadata.get("user"), metadata.get("__token"), cx.configurable("key")];
            let all = known.iter().all(Option::is_some) && secret.len() == MARKER.len();
            json!({ "log": [all] })
        };
        let mut inner = Graph::<Record, String>::with_schema("inner", schema());
        let inside = inner.node("inside", tell);
        inner.edge(START, inside).edge(inside, END).output(["text"]);
        let mut g = Graph::<Record, String>::with_schema("outer", schema());
        let (outside, inner) = (g.node("outside", tell), g.node("inner", inner.compile().unwrap()));
        g.sequence([START, outside.into(), inner.into(), END]).checkpointer(memory.clone()).compat(compat);
        let run = g.compile().unwrap().run(json!({ "n": 0 })).thread("t").context(MARKER.to_owned());
        let run = run.metadata("user", "ann").metadata("__token", MARKER).configurable("key", MARKER);
        assert_eq!(field(&run.await.unwrap(), "log"), json!([true]));
        let thread = "t".into();
        for namespace in memory.namespaces(&thread).await.unwrap() {
            for loaded in memory.history(&thread, &namespace, &Default::default()).await.unwrap() {
                assert_eq!(*loaded.checkpoint.metadata, [("user".to_owned(), json!("ann"))].into());
            }
        }
        assert_eq!(memory.namespaces(&thread).await.unwrap().len(), 2);
        assert!(!stored(&memory, "t").await.contains(MARKER));
    }
}
