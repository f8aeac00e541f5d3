//! Cases 47 to 65: stored data, the time of storing, and recovery in another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use superstep::core::checkpoint::{CheckpointNamespace, CheckpointSource};
use superstep::core::id::{RunId, TaskId};
use superstep::core::machine::{MachineEvent, restore_state};
use superstep::core::port::{CheckpointSelector, Checkpointer};
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{
    Compat, CompiledGraph, DynamicState, ErrorCode, EventKind, MultitaskStrategy, RunBuilder, ThreadStatus,
};
use tokio::sync::Notify;

use super::COMPAT_MODES;
use super::completion_order::CompletionOrder;
use super::json_checkpointer::{JsonCheckpointer, RejectedOperation};
use crate::fixtures::{CallCounter, field, graph, log_word, schema, settle};
use crate::support::{Calls, expect_error, line, log, rows, stored};

/// R-REF-47, R-REF-48: one checkpoint for the input and one per superstep, each with its source and its parent; the
/// input is step 0, or step −1 followed by a step for the start.
#[tokio::test]
async fn steps_are_counted_by_profile() {
    let strict = [(0, CheckpointSource::Input, "a"), (1, CheckpointSource::Loop, "b"), (2, CheckpointSource::Loop, "")];
    let compat = [
        (-1, CheckpointSource::Input, "a"),
        (0, CheckpointSource::Loop, "a"),
        (1, CheckpointSource::Loop, "b"),
        (2, CheckpointSource::Loop, ""),
    ];
    for (compat_mode, expected) in [(Compat::Strict, &strict[..]), (Compat::LangGraph, &compat[..])] {
        let graph = line(&Calls::default(), &["a", "b"]).compat(compat_mode).compile().unwrap();
        graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        let rows = rows(&graph, "t").await;
        let summary: Vec<_> = rows.iter().map(|(.., step, source, next)| (*step, *source, next.join(" "))).collect();
        assert_eq!(summary.iter().map(|row| (row.0, row.1, &*row.2)).collect::<Vec<_>>(), expected);
        assert_eq!(rows[0].1, None);
        assert!(rows.windows(2).all(|pair| pair[1].1 == Some(pair[0].0)));
        graph.threads().update_state("t", json!({ "topic": "y" })).await.unwrap();
        let newest = graph.threads().get_state("t").await.unwrap().checkpoint;
        assert_eq!((newest.step, newest.source), (3, CheckpointSource::Update));
    }
}

/// R-REF-49: the text of ids ascends along each thread and from one run to the next, also with many concurrent runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ids_of_one_process_rise() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).compile().unwrap();
    let mut last = String::new();
    for round in 0..4 {
        let threads: Vec<String> = (0..16).map(|number| format!("{round}.{number}")).collect();
        let runs: Vec<_> = threads
            .iter()
            .map(|thread| graph.invoke(json!({ "topic": "x" })).thread(thread.as_str()).spawn())
            .collect();
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

/// A graph with sends, a join that completes in two supersteps, and a deferred node: all kinds of scheduling state.
fn graph_with_all_triggers(compat: Compat) -> CompiledGraph<DynamicState> {
    let mut g = graph("winding");
    let last = g.add_node("last", node(log_word("last")).defer());
    let fan = g.add_node("fan", log_word("fan"));
    let [quick, slow, slower, join] = ["quick", "slow", "slower", "join"].map(|name| g.add_node(name, log_word(name)));
    let work = g.add_node("work", |sent: SendPayload<u32>| json!({ "log": [sent.0] }));
    g.add_edge(START, fan)
        .add_edge(START, quick)
        .add_edge(START, slow)
        .add_edge(slow, slower)
        .add_join([quick, slower], join);
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| (0..3u32).map(|number| SendTo::new(work, number)).collect::<Vec<_>>(),
        [work],
    );
    g.add_edge(quick, last).add_edge(work, END).add_edge(join, END).add_edge(last, END).compat(compat);
    g.compile().unwrap()
}

/// Returns the tasks that a run started, by node and id.
async fn started(run: RunBuilder<DynamicState>) -> Vec<(String, TaskId)> {
    let (mut stream, mut tasks) = (run.stream(), Vec::new());
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(MachineEvent::TaskStarted { task, node, .. }) = event.kind {
            tasks.push((node.to_string(), task));
        }
    }
    stream.finish().await.unwrap();
    tasks
}

/// R-REF-50: from the stored text a new process finds the same next tasks, with the same ids, at every superstep.
#[tokio::test]
async fn another_process_finds_the_same_tasks() {
    for compat in COMPAT_MODES {
        let (here, disk) = (graph_with_all_triggers(compat), MemoryCheckpointer::new());
        here.invoke(json!({ "n": 0 })).thread("t").checkpointer(disk.clone()).interrupt_before(["*"]).await.unwrap();
        let mut supersteps = Vec::new();
        loop {
            let twin = format!("twin{}", supersteps.len());
            here.threads().checkpointer(disk.clone()).copy("t", twin.as_str()).await.unwrap();
            let continue_once = |graph: &CompiledGraph<DynamicState>, thread: &str| {
                graph.continue_thread(thread).interrupt_before(["*"])
            };
            let there = started(
                continue_once(&graph_with_all_triggers(compat), &twin).checkpointer(JsonCheckpointer::on(&disk)),
            )
            .await;
            assert_eq!(there, started(continue_once(&here, "t").checkpointer(disk.clone())).await);
            if there.is_empty() {
                break;
            }
            supersteps.push(there.into_iter().map(|(node, _)| node).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(supersteps, ["fan quick slow", "slower work work work", "join", "last"]);
    }
}

/// `quick` finishes while `slow` is running.
fn quick_and_slow(compat: Compat, runs: &[CallCounter; 2]) -> CompiledGraph<DynamicState> {
    let (mut g, turns) = (graph("g"), CompletionOrder::new());
    for (turn, name) in ["quick", "slow"].into_iter().enumerate() {
        let (turns, runs) = (turns.clone(), runs[turn].clone());
        let task = g.add_node(name, move || {
            let (turns, is_first) = (turns.clone(), runs.up() == 1);
            async move {
                if is_first {
                    turns.take(turn).await;
                }
                json!({ "log": [name] })
            }
        });
        g.add_edge(START, task).add_edge(task, END);
    }
    g.compat(compat).compile().unwrap()
}

/// R-REF-51: the process dies when a task has finished and its superstep is not saved: that task does not run again.
#[tokio::test]
async fn a_task_that_finished_before_a_crash_is_not_run_again() {
    for (compat, before) in [(Compat::Strict, 1), (Compat::LangGraph, 2)] {
        let (runs, disk) = ([CallCounter::default(), CallCounter::default()], MemoryCheckpointer::new());
        let graph = quick_and_slow(compat, &runs);
        // After the checkpoints of the input the result of `quick` is saved; the write after that never happens.
        let store = CrashingCheckpointer::new(disk.clone(), before + 1, CrashedWrite::Lost);
        expect_error(graph.invoke(json!({ "n": 0 })).thread("t").checkpointer(store.clone()).await);
        assert!(store.has_crashed());
        let saved = graph.threads().checkpointer(disk.clone()).get_state("t").await.unwrap();
        assert_eq!((log(&saved.state).len(), saved.next.len(), saved.tasks.len()), (0, 2, 1));
        assert!(saved.tasks[0].is_finished && saved.tasks[0].node == "quick");
        let done = graph.continue_thread("t").checkpointer(disk).await.unwrap();
        assert_eq!((log(&done.state), runs.map(|runs| runs.get())), (vec!["quick".to_owned(), "slow".into()], [1, 2]));
    }
}

/// Four tasks of one superstep: `done` and `silent` finish, then `fails` fails once; `slow` is still running and
/// finishes unless it hangs.
fn one_of_four_fails(compat: Compat, runs: &[CallCounter; 4], hangs: &Arc<AtomicBool>) -> CompiledGraph<DynamicState> {
    let (mut g, turns) = (graph("g"), CompletionOrder::new());
    for (turn, name) in ["done", "silent", "fails", "slow"].into_iter().enumerate() {
        let (turns, runs, hangs) = (turns.clone(), runs[turn].clone(), hangs.clone());
        let task = g.add_node(name, move || {
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
        g.add_edge(START, task).add_edge(task, END);
    }
    g.checkpointer(MemoryCheckpointer::new()).compat(compat);
    g.compile().unwrap()
}

/// R-REF-52, R-REF-53, R-REF-54: after a failure only unfinished tasks run again, a finished task without writes does
/// not; tasks that were running have finished by then, or were stopped as in LangGraph. The error is reported until
/// the task succeeds.
#[tokio::test]
async fn after_a_failure_only_the_unfinished_run_again() {
    for (compat, expected) in [(Compat::Strict, [1, 1, 2, 1]), (Compat::LangGraph, [1, 1, 2, 2])] {
        let hangs = Arc::new(AtomicBool::new(compat == Compat::LangGraph));
        let runs: [CallCounter; 4] = std::array::from_fn(|_| CallCounter::default());
        let graph = one_of_four_fails(compat, &runs, &hangs);
        let error = expect_error(graph.invoke(json!({ "n": 0 })).thread("t").await);
        assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::NodeFailed, Some("fails")));
        let saved = graph.threads().get_state("t").await.unwrap();
        let failed =
            saved.tasks.iter().find_map(|task| task.error.as_ref().map(|error| (&*task.node, &*error.message)));
        assert_eq!((failed, log(&saved.state).len()), (Some(("fails", "the first time")), 0));
        hangs.store(false, Ordering::SeqCst);
        let done = graph.continue_thread("t").await.unwrap();
        assert_eq!((field(&done, "log").as_array().unwrap().len(), runs.map(|runs| runs.get())), (3, expected));
        let saved = graph.threads().get_state("t").await.unwrap();
        assert_eq!((saved.tasks.len(), graph.threads().status("t").await.unwrap()), (0, Some(ThreadStatus::Idle)));
    }
}

/// R-REF-56: the previous checkpoint is stored, with the writes that it contains, before a node starts.
#[tokio::test]
async fn the_base_of_a_superstep_is_stored_when_it_starts() {
    for compat in COMPAT_MODES {
        let (mut g, memory) = (graph("g"), MemoryCheckpointer::new());
        let mut row = vec![START];
        for name in ["a", "b", "c"] {
            let memory = memory.clone();
            let inspect = move |cx: TaskContext| {
                let memory = memory.clone();
                async move {
                    let newest = memory
                        .load(cx.thread_id().unwrap(), &CheckpointNamespace::root(), CheckpointSelector::Latest)
                        .await?
                        .unwrap();
                    let (state, _) = restore_state(&schema(), &newest)?;
                    let stored = log(state.downcast_ref::<DynamicState>().unwrap()).len();
                    let is_mine = Some(newest.checkpoint.id) == cx.checkpoint_id();
                    let behind = cx.step() - newest.checkpoint.step;
                    Ok::<_, NodeError>(json!({ "log": [format!("{stored} {behind} {is_mine}")] }))
                }
            };
            row.push(g.add_node(name, inspect).into());
        }
        row.push(END);
        g.add_sequence(row).checkpointer(memory).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["0 1 true", "1 1 true", "2 1 true"]);
    }
}

/// R-REF-57: a checkpointer that fails to save a checkpoint, to save an entry or to load fails the run, with its own
/// error; nothing restarts, and the thread continues once the checkpointer works.
#[tokio::test]
async fn a_failing_store_fails_the_run() {
    for compat in COMPAT_MODES {
        for operation in [RejectedOperation::Checkpoints, RejectedOperation::Results, RejectedOperation::Loads] {
            let (runs, store) =
                ([CallCounter::default(), CallCounter::default()], JsonCheckpointer::on(&MemoryCheckpointer::new()));
            let graph = quick_and_slow(compat, &runs);
            let state = async || graph.threads().checkpointer(store.clone()).get_state("t").await;
            graph.threads().checkpointer(store.clone()).update_state("t", json!({ "log": ["before"] })).await.unwrap();
            store.reject(operation);
            let error = expect_error(graph.invoke(json!({ "n": 1 })).thread("t").checkpointer(store.clone()).await);
            assert_eq!(error.code(), ErrorCode::StoreUnavailable, "{operation:?}: {error}");
            assert!(error.message().contains(&format!("{operation:?} are refused")), "{error}");
            assert_eq!(state().await.is_err(), operation == RejectedOperation::Loads);
            store.reject(RejectedOperation::Nothing);
            assert_eq!(log(&state().await.unwrap().state), ["before"], "{operation:?}");
            let done = graph.invoke(json!({ "n": 1 })).thread("t").checkpointer(store.clone()).await.unwrap();
            assert_eq!(log(&done.state), ["before", "quick", "slow"], "{operation:?}");
        }
    }
}

/// A node that waits for a signal if `n` is 1, as built by one process.
fn process(memory: &MemoryCheckpointer, open: &Arc<Notify>) -> CompiledGraph<DynamicState> {
    let (mut g, open) = (graph("g"), open.clone());
    let wait = g.add_node("wait", move |s: View<DynamicState>, cx: TaskContext| {
        let (open, waits) = (open.clone(), s.get("n").as_i64() == Some(1));
        async move {
            if waits {
                open.notified().await;
            }
            json!({ "log": [cx.run_id().to_string()] })
        }
    });
    let after = g.add_node("after", log_word("after"));
    g.add_sequence([START, wait.into(), after.into(), END]).checkpointer(memory.clone());
    g.compile().unwrap()
}

/// R-REF-60: two processes on one thread: the second is rejected while the first holds the lease. Once the lease was
/// taken over, the first can save nothing more, and the history stays linear.
#[tokio::test]
async fn a_run_without_its_lease_is_fenced() {
    let (memory, gates, run) = (MemoryCheckpointer::new(), [Arc::default(), Arc::default()], RunId::from_bits(7));
    let [first, second] = gates.each_ref().map(|open| process(&memory, open));
    let overtaken = first.invoke(json!({ "n": 1 })).thread("t").run_id(run).spawn();
    settle().await;
    let busy = second.invoke(json!({ "n": 1 })).thread("t").multitask_strategy(MultitaskStrategy::Reject).await;
    assert_eq!(expect_error(busy).code(), ErrorCode::ThreadBusy);
    // The same run, started again elsewhere because its process was considered dead.
    gates[1].notify_one();
    let done = second.continue_thread("t").run_id(run).await.unwrap();
    assert_eq!(log(&done.state), [run.to_string(), "after".to_owned()]);
    gates[0].notify_one();
    let error = expect_error(overtaken.await);
    assert!(error.code() == ErrorCode::ThreadBusy && error.message().contains("fenced"), "{error}");
    let rows = rows(&second, "t").await;
    assert!(rows.windows(2).all(|pair| pair[1].1 == Some(pair[0].0)), "one line of history: {rows:?}");
    assert_eq!((rows.len(), second.threads().get_state("t").await.unwrap().id()), (3, done.checkpoint.unwrap()));
}

const MARKER: &str = "marker-5f0e";

/// R-REF-65: metadata is in every checkpoint of root graph and subgraphs; private keys reach the nodes only, and
/// configurable values and the context are not stored either.
#[tokio::test]
async fn private_keys_of_metadata_are_not_stored() {
    for compat in COMPAT_MODES {
        let memory = MemoryCheckpointer::new();
        let check = |cx: TaskContext, secret: RunContext<String>| {
            let metadata = cx.metadata();
            let values = [metadata.get("user"), metadata.get("__token"), cx.configurable("key")];
            let all = values.iter().all(Option::is_some) && secret.len() == MARKER.len();
            json!({ "log": [all] })
        };
        let mut inner = StateGraph::<DynamicState, String>::with_schema("inner", schema());
        let nested = inner.add_node("inside", check);
        inner.add_edge(START, nested).add_edge(nested, END).output_fields(["text"]);
        let mut g = StateGraph::<DynamicState, String>::with_schema("outer", schema());
        let (outside, inner) = (g.add_node("outside", check), g.add_node("inner", inner.compile().unwrap()));
        g.add_sequence([START, outside.into(), inner.into(), END]).checkpointer(memory.clone()).compat(compat);
        let run = g.compile().unwrap().invoke(json!({ "n": 0 })).thread("t").context(MARKER.to_owned());
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
