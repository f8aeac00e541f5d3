//! Cases 55 to 59: sync, async and exit durability lead to the same outcome, and a crash loses what the mode
//! documents.

mod graphs;

use serde_json::{Value, json};
use superstep::core::change::Change;
use superstep::core::checkpoint::{CheckpointNamespace, CheckpointSource};
use superstep::core::machine::MachineEvent;
use superstep::core::port::{CheckpointSelector, Checkpointer, SharedCheckpointer};
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{
    Compat, CompiledGraph, Durability, DynamicState, Error, ErrorCode, EventKind, Outcome, Retention, RunBuilder,
    RunControl, RunEnd, Schema, SubgraphPersistence, ThreadStatus,
};

use super::COMPAT_MODES;
use super::gated_checkpointer::GatedCheckpointer;
use graphs::*;

use crate::fixtures::{CallCounter, TokioClock, field, graph, log_word, schema, settle, transcript};
use crate::support::{Calls, expect_error, history, line, log, only_question, rows};

const MODES: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Exit];

fn compiled(
    draw: fn(&mut StateGraph<DynamicState>, &Calls),
    compat: Compat,
    calls: &Calls,
) -> CompiledGraph<DynamicState> {
    let mut g = graph("outer");
    draw(g.compat(compat), calls);
    g.recursion_limit(100).compile().unwrap()
}

/// Returns the result of one call: its end, and the visible state of the thread.
fn seen(ended: &Result<Outcome<DynamicState>, Error>) -> String {
    match ended {
        Err(error) => format!("{} {}", error.code(), error.message()),
        Ok(out) => {
            let interrupts: Vec<_> =
                out.interrupts().iter().map(|interrupt| format!("{} {}", interrupt.name, interrupt.value)).collect();
            let status = match &out.end {
                RunEnd::Interrupted(_) => format!("asks {interrupts:?}"),
                status => format!("{status:?}"),
            };
            format!("{status} {} {:?} {}", out.to_json().unwrap(), out.next, out.supersteps)
        }
    }
}

/// Calls a thread until it has finished, and returns the result of each call.
async fn live(
    graph: &CompiledGraph<DynamicState>,
    store: &SharedCheckpointer,
    modes: &[Durability],
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    let mut mode = modes.iter().cycle().copied();
    let threads = graph.threads().checkpointer(store.clone());
    for call in 0..40 {
        let existing = threads.get_state("t").await.ok();
        let run = match &existing {
            None => graph.invoke(json!({ "title": "x" })).thread("t"),
            Some(state) => match state.interrupts()[..] {
                [] => graph.continue_thread("t"),
                [interrupt, ..] => {
                    graph.resume_with("t", [(interrupt.id, json!(format!("answer to {}", interrupt.value)))].into())
                }
            },
        };
        let ended = run.checkpointer(store.clone()).durability(mode.next().unwrap()).await;
        if let Err(error) = &ended
            && error.code() == ErrorCode::StoreUnavailable
        {
            return Err(error.clone());
        }
        lines.push(seen(&ended));
        if let Ok(out) = &ended {
            let saved = threads.get_state("t").await?;
            assert_eq!(
                (Some(saved.id()), &*saved.state),
                (out.checkpoint, &*out.state),
                "what is saved is what was told"
            );
            let ids: Vec<_> = saved.interrupts().iter().map(|interrupt| interrupt.id).collect();
            assert_eq!(ids, out.interrupts().iter().map(|asked| asked.id).collect::<Vec<_>>());
            if out.is_finished() {
                return Ok(lines);
            }
        }
        assert!(call < 30, "no end: {lines:?}");
    }
    unreachable!("the loop ends by itself")
}

/// Returns the last result.
fn end(lines: &[String]) -> &str {
    lines.last().unwrap()
}

/// R-REF-55, R-FWK-44: every call of a thread has the same result in all three modes and in all mixtures of them:
/// states, interrupts with their ids, breakpoints, failures; and no node runs more often.
#[tokio::test]
async fn all_durability_modes_produce_the_same_result() {
    let mixtures: [&[Durability]; 5] = [
        &MODES[1..2],
        &MODES[2..],
        &MODES,
        &[Durability::Exit, Durability::Sync],
        &[Durability::Exit, Durability::Async],
    ];
    for compat in COMPAT_MODES {
        for (name, draw) in DRAWINGS {
            let calls = Calls::default();
            let expected =
                live(&compiled(draw, compat, &calls), &MemoryCheckpointer::new().into(), &MODES[..1]).await.unwrap();
            let mut called = calls.take();
            called.sort();
            assert!(!called.is_empty() && end(&expected).starts_with("Finished"), "{name}: {expected:?}");
            for modes in mixtures {
                let actual =
                    live(&compiled(draw, compat, &calls), &MemoryCheckpointer::new().into(), modes).await.unwrap();
                assert_eq!(actual, expected, "{name} {compat:?} {modes:?}");
                let mut called_now = calls.take();
                called_now.sort();
                assert_eq!(called_now, called, "{name} {compat:?} {modes:?}");
            }
        }
    }
}

/// A node that checks whether anything is stored.
fn storage_probe(
    memory: &MemoryCheckpointer,
) -> impl Fn(TaskContext) -> superstep::core::port::BoxFuture<'static, Result<Value, NodeError>> + use<> {
    let memory = memory.clone();
    move |cx: TaskContext| {
        let memory = memory.clone();
        Box::pin(async move {
            let thread = cx.thread_id().unwrap().clone();
            let is_stored =
                memory.load(&thread, &CheckpointNamespace::root(), CheckpointSelector::Latest).await?.is_some();
            let namespaces = memory.namespaces(&thread).await?.len();
            let status = memory.status(&thread).await?;
            Ok(json!({ "log": [format!("{is_stored} {namespaces} {status:?}")] }))
        })
    }
}

/// R-REF-55, R-FWK-44: with exit durability nothing is stored before the end, in the root graph or in subgraphs; then
/// one transaction contains the state and the pending entries, as one checkpoint of the root graph.
#[tokio::test]
async fn saving_at_the_end_stores_nothing_before() {
    for compat in COMPAT_MODES {
        let memory = MemoryCheckpointer::new();
        let gate = GatedCheckpointer::open(&memory);
        let (mut g, mut inner) = (graph("outer"), graph("inner"));
        let probe = inner.add_node("look", storage_probe(&memory));
        inner.add_edge(START, probe).add_edge(probe, END);
        let inner = g.add_node("inner", inner.compile().unwrap());
        let (a, b) = (g.add_node("a", storage_probe(&memory)), g.add_node("b", storage_probe(&memory)));
        let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
            let name: String = interrupt.raise("name", 1).await?;
            Ok::<_, NodeError>(json!({ "log": [name] }))
        });
        g.add_sequence([START, a.into(), inner.into(), b.into(), interrupt.into(), END])
            .checkpointer(gate.clone())
            .compat(compat);
        let graph = g.durability(Durability::Exit).compile().unwrap();
        let paused = graph.invoke(json!({ "n": 5 })).thread("t").await.unwrap();
        assert!(log(&paused.state).iter().all(|seen| seen == "false 0 None"), "{:?}", paused.state);
        let commits = gate.take_requested();
        assert_eq!(commits.len(), 1, "one transaction");
        assert!(!commits[0].subgraph_commits.is_empty() && commits[0].pending.len() == 1);
        let saved = graph.threads().get_state("t").await.unwrap();
        assert_eq!((&*saved.state, saved.next.clone()), (&*paused.state, vec!["ask".to_owned()]));
        assert_eq!(
            (saved.checkpoint.parent, saved.checkpoint.step, saved.checkpoint.source),
            (None, 3, CheckpointSource::Loop)
        );
        assert_eq!(saved.interrupts()[0].id, only_question(&paused).id);
        assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
        let done = graph.resume("t", "ann").await.unwrap();
        assert_eq!((log(&done.state).pop().unwrap(), rows(&graph, "t").await.len()), ("ann".to_owned(), 2));
        assert_eq!(gate.started(), 1);
        let repeated = graph.resume_with("t", [(only_question(&paused).id, json!("bob"))].into()).await;
        assert!(expect_error(repeated).message().contains("already resumed"));
    }
}

/// R-REF-69: a run of many supersteps is saved as deltas, not as full values; and reads correctly.
#[tokio::test]
async fn exit_durability_writes_deltas() {
    let (memory, calls) = (MemoryCheckpointer::new(), Calls::default());
    let gate = GatedCheckpointer::open(&memory);
    let mut g = line(&calls, &["a", "b", "c"]);
    let graph = g.checkpointer(gate.clone()).durability(Durability::Exit).compile().unwrap();
    for round in 0..40 {
        graph.invoke(json!({ "topic": round })).thread("t").await.unwrap();
        let [commit] = &gate.take_requested()[..] else { panic!("one commit for each run") };
        let grown = commit.changes.iter().find(|change| &*change.field == "log").unwrap();
        match round {
            0 => assert_eq!(grown.change, Change::Set),
            _ => assert_eq!(grown.change, Change::Appended { from: 3 * round }),
        }
        assert_eq!(grown.delta.to_json().unwrap().as_array().unwrap().len(), 3);
    }
    let lengths: Vec<_> = history(&graph, "t").await.iter().map(|seen| log(&seen.state).len()).collect();
    assert_eq!(lengths, (1..=40).rev().map(|round| 3 * round).collect::<Vec<_>>());
}

/// R-FWK-44: with exit durability a run also saves if it is cancelled or times out: complete supersteps, finished
/// siblings and recorded results.
#[tokio::test(start_paused = true)]
async fn a_stopped_run_saves_its_finished_work() {
    for by_time in [false, true] {
        let (mut g, runs, control) = (graph("g"), [(); 3].map(|()| CallCounter::default()), RunControl::new());
        let [quick, slow, paid] = runs.clone();
        let first = g.add_node("first", log_word("first"));
        let quick = g.add_node("quick", move || json!({ "log": [format!("quick {}", quick.up())] }));
        let slow = g.add_node("slow", move |cx: TaskContext| {
            let (run, paid) = (slow.up(), paid.clone());
            async move {
                cx.once("pay", async { Ok::<_, NodeError>(paid.up()) }).await?;
                if run == 1 {
                    std::future::pending::<()>().await;
                }
                Ok::<_, NodeError>(json!({ "log": ["slow"] }))
            }
        });
        g.add_edge(START, first).add_edge(first, quick).add_edge(first, slow).add_edge(quick, END).add_edge(slow, END);
        let graph = g.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
        let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Exit);
        let ended = match by_time {
            true => run.clock(TokioClock::new()).timeout(std::time::Duration::from_secs(5)).await,
            false => {
                let run = run.control(control.clone()).spawn();
                settle().await;
                control.cancel();
                run.await
            }
        };
        let expected = if by_time { ErrorCode::Timeout } else { ErrorCode::Cancelled };
        assert_eq!(expect_error(ended).code(), expected);
        let saved = graph.threads().get_state("t").await.unwrap();
        assert_eq!((log(&saved.state), saved.next.len(), rows(&graph, "t").await.len()), (vec!["first".into()], 2, 1));
        let done = graph.continue_thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["first", "quick 1", "slow"]);
        assert_eq!(runs.map(|runs| runs.get()), [1, 2, 1], "neither the sibling nor the record was made again");
    }
}

/// A graph whose second superstep has a quick task and one that records a result once and waits on its first run.
fn interruptible(runs: &[CallCounter; 4]) -> CompiledGraph<DynamicState> {
    let (mut g, [first, quick, slow, paid]) = (graph("inner"), runs.clone());
    let first = g.add_node("first", move || json!({ "log": [format!("first {}", first.up())] }));
    let quick = g.add_node("quick", move || json!({ "log": [format!("quick {}", quick.up())] }));
    let slow = g.add_node("slow", move |cx: TaskContext| {
        let (run, paid) = (slow.up(), paid.clone());
        async move {
            cx.once("pay", async { Ok::<_, NodeError>(paid.up()) }).await?;
            if run == 1 {
                std::future::pending::<()>().await;
            }
            Ok::<_, NodeError>(json!({ "log": ["slow"] }))
        }
    });
    g.add_edge(START, first).add_edge(first, quick).add_edge(first, slow).add_edge(quick, END).add_edge(slow, END);
    g.compile().unwrap()
}

/// R-FWK-44: a subgraph that is stopped during its call keeps its work, in every mode: complete supersteps, finished
/// siblings and recorded results; alone in its superstep, with another task, and nested twice.
#[tokio::test(start_paused = true)]
async fn a_stopped_subgraph_keeps_its_finished_work() {
    for (mode, (is_beside, is_deep)) in
        MODES.into_iter().flat_map(|mode| [(false, false), (true, false), (false, true)].map(|how| (mode, how)))
    {
        let (mut g, runs, control) = (graph("g"), [(); 4].map(|()| CallCounter::default()), RunControl::new());
        let mut inner = interruptible(&runs);
        if is_deep {
            let mut middle = graph("middle");
            let node = middle.add_node("inner", inner);
            inner = middle.add_edge(START, node).add_edge(node, END).compile().unwrap();
        }
        let inner = g.add_node("inner", inner);
        g.add_edge(START, inner).add_edge(inner, END);
        if is_beside {
            let sibling = g.add_node("beside", log_word("beside"));
            g.add_edge(START, sibling).add_edge(sibling, END);
        }
        let graph = g.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
        let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(mode).control(control.clone()).spawn();
        settle().await;
        control.cancel();
        assert_eq!(expect_error(run.await).code(), ErrorCode::Cancelled, "{mode:?}");
        let done = graph.continue_thread("t").await.unwrap();
        let logged = log(&done.state).into_iter().filter(|entry| entry != "beside").collect::<Vec<_>>();
        assert_eq!(logged, ["first 1", "quick 1", "slow"], "{mode:?}, beside: {is_beside}, deep: {is_deep}");
        assert_eq!(runs.map(|runs| runs.get()), [1, 1, 2, 1], "{mode:?}, beside: {is_beside}, deep: {is_deep}");
    }
}

/// R-FWK-44: a node that times out is retried; its subgraph continues where it was, in every mode.
#[tokio::test(start_paused = true)]
async fn a_subgraph_continues_when_its_node_is_retried() {
    for mode in MODES {
        let (mut g, runs) = (graph("g"), [(); 4].map(|()| CallCounter::default()));
        let second = std::time::Duration::from_secs(1);
        let retry = RetryPolicy::exponential(2).initial_interval(std::time::Duration::ZERO);
        let inner = g.add_node("inner", node(interruptible(&runs)).timeout(second).retry(retry));
        g.add_edge(START, inner).add_edge(inner, END);
        let graph = g.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
        let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(mode).clock(TokioClock::new());
        assert_eq!(log(&run.await.unwrap().state), ["first 1", "quick 1", "slow"], "{mode:?}");
        assert_eq!(runs.map(|runs| runs.get()), [1, 1, 2, 1], "{mode:?}");
    }
}

/// R-REF-55, R-GRA-45: at whatever write it crashes, a run with exit durability leaves the thread as it was, and
/// accepts the same input or resume value again; a commit that succeeded is complete.
#[tokio::test]
async fn a_crash_before_the_end_leaves_the_thread_unchanged() {
    for (name, draw) in DRAWINGS {
        let calls = Calls::default();
        let build = || compiled(draw, Compat::Strict, &calls);
        let disk = MemoryCheckpointer::new();
        let expected = live(&build(), &disk.into(), &MODES[2..]).await.unwrap();
        for at in 0..expected.len() {
            for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
                let (disk, before) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
                let store = CrashingCheckpointer::new(disk.clone(), at, last);
                expect_error(live(&build(), &store.into(), &MODES[2..]).await);
                let lives = at + usize::from(last == CrashedWrite::Persisted);
                let until = CrashingCheckpointer::new(before.clone(), lives, CrashedWrite::Lost).into();
                let _ = live(&build(), &until, &MODES[2..]).await;
                assert_eq!(shape(&disk).await, shape(&before).await, "{name}: crash at {at}, {last:?}");
                let actual = live(&build(), &disk.into(), &MODES[2..]).await.unwrap();
                assert_eq!(end_state(&actual), end_state(&expected), "{name}: crash at {at}, {last:?}");
            }
        }
    }
}

/// Returns the stored data of the thread, without ids and times.
async fn shape(memory: &MemoryCheckpointer) -> Vec<(String, Vec<(i64, Vec<String>, Vec<String>, usize)>)> {
    let (thread, mut all) = ("t".into(), Vec::new());
    for namespace in memory.namespaces(&thread).await.unwrap() {
        let listed = memory.history(&thread, &namespace, &Default::default()).await.unwrap();
        let row = |loaded: &superstep::core::port::CheckpointTuple| {
            let next = loaded.checkpoint.next_tasks.iter().map(|next| next.node.to_string()).collect();
            let fields = loaded.fields.iter().map(|(name, log)| format!("{name} {}", json!(log))).collect();
            (loaded.checkpoint.step, next, fields, loaded.pending.len())
        };
        let path = namespace.as_str().split('|').map(|part| part.split(':').next().unwrap_or_default().to_owned());
        all.push((path.collect::<Vec<_>>().join("/"), listed.iter().map(row).collect()));
    }
    all
}

/// R-FWK-44, R-REF-58: whichever commit fails in the background, the stored history is a prefix of that of sync
/// durability; continuing from there ends in the same state.
#[tokio::test]
async fn a_crash_with_queued_commits_leaves_a_prefix_of_the_history() {
    for (name, draw) in DRAWINGS {
        let calls = Calls::default();
        let build = || compiled(draw, Compat::Strict, &calls);
        let expected = live(&build(), &MemoryCheckpointer::new().into(), &MODES[..1]).await.unwrap();
        for last in [CrashedWrite::Lost, CrashedWrite::Persisted] {
            for at in 0.. {
                let (disk, calm) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
                let ended =
                    live(&build(), &CrashingCheckpointer::new(disk.clone(), at, last).into(), &MODES[1..2]).await;
                let _ = live(&build(), &CrashingCheckpointer::new(calm.clone(), at, last).into(), &MODES[..1]).await;
                if name != "inside" {
                    // Two parallel subgraphs save in the order in which they get there.
                    assert_eq!(values(&disk).await, values(&calm).await, "{name}: crash at {at}, {last:?}");
                }
                let actual = live(&build(), &disk.into(), &MODES[1..2]).await.unwrap();
                assert_eq!(end_state(&actual), end_state(&expected), "{name}: crash at {at}, {last:?}");
                if ended.is_ok() {
                    assert!(at > 3, "{name}: the sweep ended after {at} saves");
                    break;
                }
            }
        }
    }
}

/// Returns the final state, regardless of the number of calls.
fn end_state(lines: &[String]) -> String {
    let end = end(lines);
    end[..end.rfind('}').unwrap()].to_owned()
}

/// Returns the states of the thread, oldest first.
async fn values(memory: &MemoryCheckpointer) -> Vec<(i64, String)> {
    let listed = memory.history(&"t".into(), &CheckpointNamespace::root(), &Default::default()).await.unwrap();
    let value = |loaded: &superstep::core::port::CheckpointTuple| {
        let (state, _) = superstep::core::machine::restore_state(&schema(), loaded).unwrap();
        (loaded.checkpoint.step, state.downcast_ref::<DynamicState>().unwrap().to_json().to_string())
    };
    listed.iter().rev().map(value).collect()
}

/// A sequence of this many nodes that count their runs.
fn long_row(nodes: usize, runs: &CallCounter) -> StateGraph<DynamicState> {
    let (mut g, mut row) = (graph("g"), vec![START]);
    for number in 0..nodes {
        let runs = runs.clone();
        row.push(g.add_node(&format!("n{number}"), move || json!({ "n": i64::from(runs.up() > 0) })).into());
    }
    row.push(END);
    g.add_sequence(row).recursion_limit(200);
    g
}

/// R-REF-59, R-DEF-3: a slow checkpointer slows a run of 100 nodes down: at most the configured number of supersteps
/// is pending, plus the one that waits; the run ends when all of them are saved.
#[tokio::test]
async fn a_slow_checkpointer_slows_the_run() {
    for most in [1, 4, 16] {
        let (memory, runs) = (MemoryCheckpointer::new(), CallCounter::default());
        let gate = GatedCheckpointer::closed(&memory);
        let mut g = long_row(100, &runs);
        g.checkpointer(gate.clone()).durability(Durability::Async);
        // 16 is the default.
        let graph = if most == 16 { g.compile().unwrap() } else { g.max_pending_commits(most).compile().unwrap() };
        let run = graph.invoke(json!({ "n": 0 })).thread("t").spawn();
        for passed in 0..60 {
            settle().await;
            let saved =
                memory.history(&"t".into(), &CheckpointNamespace::root(), &Default::default()).await.unwrap().len();
            assert_eq!((saved, gate.started()), (passed, passed + 1), "one is written at a time, in order");
            // The input is the first of the pending commits.
            assert_eq!(runs.get() + 1 - saved, most + 1);
            gate.let_pass(1);
        }
        gate.let_pass(1_000);
        let done = run.await.unwrap();
        assert_eq!((field(&done, "n"), rows(&graph, "t").await.len()), (json!(100), 101));
    }
}

/// R-FWK-44: with async durability a run returns nothing before everything is saved: no outcome, no interrupt, no
/// lease; and reads inside it see the enqueued commits.
#[tokio::test]
async fn returned_results_are_saved() {
    for has_interrupt in [false, true] {
        let memory = MemoryCheckpointer::new();
        let gate = GatedCheckpointer::closed(&memory);
        let mut g = graph("g");
        let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")));
        let interrupt = g.add_node("ask", move |interrupt: Interrupts| async move {
            if has_interrupt {
                interrupt.raise::<String>("name", 1).await?;
            }
            Ok::<_, NodeError>(json!({ "log": ["asked"] }))
        });
        g.add_sequence([START, a.into(), b.into(), interrupt.into(), END]).checkpointer(gate.clone());
        let graph = g.compile().unwrap();
        let mut run =
            tokio::spawn(graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Async).into_future());
        for _ in 0..4 {
            settle().await;
            assert!(!run.is_finished() && gate.released() == 0);
            gate.let_pass(1);
        }
        let out = (&mut run).await.unwrap().unwrap();
        let saved = graph.threads().get_state("t").await.unwrap();
        assert_eq!((saved.id(), &*saved.state, gate.released()), (out.checkpoint.unwrap(), &*out.state, 1));
        assert_eq!(
            (out.interrupts().len(), saved.interrupts().len()),
            (usize::from(has_interrupt), usize::from(has_interrupt))
        );
    }
}

/// R-REF-58: after a commit has failed in the background nothing is saved that depends on it: the run fails at its
/// next commit, with the error of the checkpointer, and continues from the complete part.
#[tokio::test]
async fn nothing_is_saved_after_a_gap() {
    for at in [0, 1, 50, 99] {
        let (memory, runs) = (MemoryCheckpointer::new(), CallCounter::default());
        let gate = GatedCheckpointer::closed(&memory);
        gate.fail_at(at);
        let graph = long_row(99, &runs).checkpointer(gate.clone()).compile().unwrap();
        let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Async).spawn();
        settle().await;
        gate.let_pass(1_000);
        let error = expect_error(run.await);
        assert_eq!((error.code(), error.partial().unwrap().checkpoint), (ErrorCode::StoreUnavailable, None), "{error}");
        assert_eq!((gate.started(), gate.released()), (at + 1, 1), "the store was not asked again");
        assert!(runs.get() <= at + 17);
        if at > 0 {
            let chain = rows(&graph, "t").await;
            assert_eq!(chain.len(), at);
            assert!(chain.windows(2).all(|pair| pair[1].1 == Some(pair[0].0)));
            let done = graph.continue_thread("t").durability(Durability::Async).await.unwrap();
            assert_eq!(field(&done, "n"), json!(99));
        }
    }
}

/// R-FWK-44, R-FWK-18: a cancelled run saves its enqueued commits, and none of them twice.
#[tokio::test]
async fn a_cancelled_run_saves_its_queued_commits() {
    let (memory, runs, control) = (MemoryCheckpointer::new(), CallCounter::default(), RunControl::new());
    let gate = GatedCheckpointer::closed(&memory);
    let graph = long_row(99, &runs).checkpointer(gate.clone()).compile().unwrap();
    let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Async).max_pending_commits(8);
    let run = tokio::spawn(run.control(control.clone()).into_future());
    settle().await;
    assert_eq!(runs.get(), 8);
    control.cancel();
    settle().await;
    assert!(!run.is_finished(), "it waits for its saves");
    gate.let_pass(1_000);
    assert_eq!(expect_error(run.await.unwrap()).code(), ErrorCode::Cancelled);
    let saved = rows(&graph, "t").await.len();
    assert!((8..=9).contains(&saved), "{saved}");
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "n"), json!(99));
}

/// R-FWK-44, R-FWK-20: a dropped run releases its thread only when the commit in flight has ended.
#[tokio::test]
async fn a_dropped_run_releases_its_thread_after_the_save() {
    let (memory, runs) = (MemoryCheckpointer::new(), CallCounter::default());
    let gate = GatedCheckpointer::closed(&memory);
    let graph = long_row(9, &runs).checkpointer(gate.clone()).compile().unwrap();
    let run = tokio::spawn(graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Async).into_future());
    settle().await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    settle().await;
    assert_eq!(gate.released(), 0);
    let busy = graph.continue_thread("t").multitask_strategy(superstep::MultitaskStrategy::Reject).await;
    assert_eq!(expect_error(busy).code(), ErrorCode::ThreadBusy);
    gate.let_pass(1_000);
    settle().await;
    assert_eq!(gate.released(), 1);
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "n"), json!(9));
}

/// R-FWK-44, R-FWK-94: without an async runtime, a run with async durability fails with an error that says so.
#[test]
fn saving_in_the_background_needs_a_runtime() {
    let graph = long_row(2, &CallCounter::default()).checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Async);
    let error = expect_error(superstep::core::testing::block_on(run.into_future()));
    assert!(error.code() == ErrorCode::ConfigInvalid && error.help().unwrap().contains("wait"), "{error}");
    let run = graph.invoke(json!({ "n": 0 })).thread("t").durability(Durability::Async);
    assert_eq!(field(&run.wait_blocking().unwrap(), "n"), json!(2));
}

/// R-FWK-28, R-FWK-44: a recorded result is saved before the node sees it, also with async durability.
#[tokio::test]
async fn a_record_is_saved_before_it_is_used() {
    let memory = MemoryCheckpointer::new();
    let (mut g, shared) = (graph("g"), memory.clone());
    let node = g.add_node("pay", move |cx: TaskContext| {
        let memory = shared.clone();
        async move {
            cx.once("pay", async { Ok::<_, NodeError>(1) }).await?;
            let newest = memory
                .load(cx.thread_id().unwrap(), &CheckpointNamespace::root(), CheckpointSelector::Latest)
                .await?
                .unwrap();
            Ok::<_, NodeError>(json!({ "log": [newest.pending.len()] }))
        }
    });
    g.add_edge(START, node).add_edge(node, END).checkpointer(memory).durability(Durability::Async);
    assert_eq!(field(&g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap(), "log"), json!([1]));
}

/// R-FWK-44, R-REF-69: a field that the thread does not have yet is saved as a full value, in every mode.
#[tokio::test]
async fn a_new_field_of_an_old_thread_is_saved_in_full() {
    for mode in MODES {
        let memory = MemoryCheckpointer::new();
        let mut old =
            StateGraph::<DynamicState>::with_schema("g", Schema::from_json("s", &json!({ "topic": {} })).unwrap());
        let node = old.add_node("old", || json!({ "topic": "old" }));
        old.add_edge(START, node).add_edge(node, END).checkpointer(memory.clone());
        old.compile().unwrap().invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        let new = line(&Calls::default(), &["a", "b"]).checkpointer(memory).durability(mode).compile().unwrap();
        new.invoke(json!({ "topic": "y" })).thread("t").await.unwrap();
        assert_eq!(log(&new.threads().get_state("t").await.unwrap().state), ["a", "b"], "{mode:?}");
    }
}

/// R-FWK-31, R-FWK-43: per-thread state of a subgraph is kept with exit durability: from run to run, on a new branch,
/// and after pruning.
#[tokio::test]
async fn a_growing_graph_grows_whatever_the_mode() {
    let graph = |memory: &MemoryCheckpointer| {
        let mut g = graph("outer");
        draw_visits(&mut g);
        g.checkpointer(memory.clone()).compile().unwrap()
    };
    let counts = async |run: RunBuilder<DynamicState>| field(&run.await.unwrap(), "log");
    for first in MODES {
        for second in MODES {
            let memory = MemoryCheckpointer::new();
            let graph = graph(&memory);
            let run = |mode| graph.invoke(json!({ "n": 1 })).thread("t").durability(mode);
            let start = run(first).await.unwrap().checkpoint.unwrap();
            assert_eq!(counts(run(second)).await, json!([1, 2, 3, 4]), "{first:?} {second:?}");
            assert_eq!(
                counts(run(first).from_checkpoint(start)).await,
                json!([1, 2, 3, 4]),
                "{first:?} {second:?} on a new line"
            );
            assert_eq!(counts(run(second)).await, json!([1, 2, 3, 4, 5, 6]), "{first:?} {second:?} on a new line");
            graph.threads().prune("t", &Retention::keep_last(1)).await.unwrap();
            assert_eq!(counts(run(first)).await, json!([1, 2, 3, 4, 5, 6, 7, 8]), "{first:?} {second:?} pruned");
        }
    }
}

/// Adds two calls of a subgraph that counts over the whole thread.
fn draw_visits(g: &mut StateGraph<DynamicState>) {
    let fields = json!({ "seen": { "reducer": "add", "default": 0 }, "title": {} });
    let mut inner = StateGraph::<DynamicState>::with_schema("inner", Schema::from_json("inner", &fields).unwrap());
    let one = inner.add_node("one", || json!({ "seen": 1 }));
    let two = inner.add_node("two", |state: View<DynamicState>| json!({ "title": state.get("seen").into_owned() }));
    inner.add_sequence([START, one.into(), two.into(), END]).subgraph_persistence(SubgraphPersistence::PerThread);
    let inner = g.add_node("inner", inner.compile().unwrap());
    let note = g.add_node("note", |state: View<DynamicState>| json!({ "log": [state.get("title").into_owned()] }));
    let route = move |state: &DynamicState| {
        let visits = state.get("log").as_array().map_or(0, Vec::len);
        if visits.is_multiple_of(2) { Goto::end() } else { Goto::node(inner) }
    };
    g.add_edge(START, inner).add_edge(inner, note).add_conditional_edges(note, route, [inner.into(), END]);
}

/// R-FWK-44, R-FWK-12: with exit durability values are published immediately, and the checkpoint once it is saved.
#[tokio::test]
async fn values_are_published_before_a_save_at_the_end() {
    let mut g = line(&Calls::default(), &["a", "b"]);
    let graph = g.compile().unwrap();
    let run = graph.invoke(json!({ "topic": "x" })).thread("t").durability(Durability::Exit);
    let lines: Vec<String> = transcript(run).await.0.into_iter().filter(|line| !line.contains("started")).collect();
    let start = r#"begins with {"topic":"x"}"#;
    let saved = "2 saved, next []";
    assert_eq!(lines, [start, "0 values", "1 a done", "1 values", "2 b done", "2 values", saved, "ends"]);
}

/// R-FWK-44: the durability of the run takes precedence over that of the graph; a subgraph uses that of the run and
/// ignores its own.
#[tokio::test]
async fn the_run_decides_before_the_graph() {
    let calls = Calls::default();
    let mut g = line(&calls, &["a", "b"]);
    let graph = g.durability(Durability::Exit).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("exit").await.unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("sync").durability(Durability::Sync).await.unwrap();
    assert_eq!((rows(&graph, "exit").await.len(), rows(&graph, "sync").await.len()), (1, 3));
    let mut outer = line(&calls, &[]);
    let inner = graph.clone();
    let node = outer.add_node("call", move |cx: TaskContext| {
        let run = inner.invoke(json!({ "topic": "y" })).durability(Durability::Sync).nested_in(&cx);
        async move {
            run.await?;
            Ok::<_, NodeError>(json!({ "log": [] }))
        }
    });
    outer.add_edge(START, node).add_edge(node, END);
    let error = expect_error(outer.compile().unwrap().invoke(json!({ "topic": "x" })).thread("t").await);
    assert!(error.message().contains("durability"), "{error}");
}

/// R-FWK-44: an interrupt is published only after it is saved, also with async durability.
#[tokio::test]
async fn a_question_is_published_once_it_is_saved() {
    for durability in MODES {
        let memory = MemoryCheckpointer::new();
        let gate = GatedCheckpointer::closed(&memory);
        let mut g = graph("g");
        let interrupt = g.add_node("ask", async |interrupt: Interrupts| interrupt.raise::<Value>("name", 1).await);
        g.add_sequence([START, interrupt.into(), END]).checkpointer(gate.clone());
        let graph = g.compile().unwrap();
        let mut run = graph.invoke(json!({ "n": 0 })).thread("t").durability(durability).stream();
        let reader = async {
            while let Some(event) = run.next().await {
                if matches!(event.kind, EventKind::Machine(MachineEvent::Interrupted { .. })) {
                    return memory
                        .load(&"t".into(), &CheckpointNamespace::root(), CheckpointSelector::Latest)
                        .await
                        .unwrap();
                }
            }
            None
        };
        let opener = async {
            for _ in 0..3 {
                settle().await;
                gate.let_pass(1);
            }
        };
        let (stored, ()) = tokio::join!(reader, opener);
        assert_eq!(stored.map(|stored| stored.pending.len()), Some(1), "{durability:?}");
    }
}
