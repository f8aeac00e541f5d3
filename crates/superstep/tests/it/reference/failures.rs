//! Retries, timeouts, handlers and stops: LangGraph cases 102 to 116 that no other test covers completely.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::testing::ManualClock;
use superstep::{Compat, CompiledGraph, DynamicState, ErrorCode, NodeFailure, RunControl, RunEnd, ToParent};
use tokio::sync::Notify;

use super::COMPAT_MODES;
use crate::fixtures::{CallCounter, field, graph, log_word, settle};

/// R-REF-105: the updates of a failed attempt are discarded; finished and saved work of a subgraph is not repeated.
#[tokio::test(start_paused = true)]
async fn a_failed_attempt_leaves_nothing_in_the_state() {
    for (compat, saves) in COMPAT_MODES.into_iter().flat_map(|compat| [(compat, true), (compat, false)]) {
        let (mut inner, first, second) = (graph("inner"), CallCounter::default(), CallCounter::default());
        let (firsts, seconds) = (first.clone(), second.clone());
        let one = inner.add_node("one", move || json!({ "log": [format!("one {}", firsts.up())] }));
        let two = inner.add_node("two", move || match seconds.up() {
            1 => Err(NodeError::new("busy").retryable()),
            _ => Ok(json!({ "log": ["two"] })),
        });
        inner.add_sequence([START, one.into(), two.into(), END]);
        let mut g = graph("outer");
        let child = g.add_node("child", node(inner.compile().unwrap()).retry(RetryPolicy::default()));
        g.add_edge(START, child).add_edge(child, END).compat(compat);
        if saves {
            g.checkpointer(MemoryCheckpointer::new());
        }
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
        let runs = if saves { 1 } else { 2 };
        assert_eq!(field(&done, "log"), json!([format!("one {runs}"), "two"]), "{compat:?}, saves: {saves}");
        assert_eq!((first.get(), second.get()), (runs, 2), "{compat:?}, saves: {saves}");
    }
}

/// R-REF-107: a node that exceeds its timeout is stopped, and the late result of a blocking node is discarded.
#[tokio::test]
async fn results_after_a_timeout_are_discarded() {
    let (mut g, clock, memory) = (graph("g"), ManualClock::new(), MemoryCheckpointer::new());
    let (open, gate) = mpsc::channel::<()>();
    let (sender, receiver) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let late = blocking(move || {
        let opened = gate.lock().unwrap().recv_timeout(Duration::from_secs(20)).is_ok();
        let _ = sender.send(());
        json!({ "log": [if opened { "late" } else { "never" }] })
    });
    let late = g.add_node("late", late.timeout(Duration::from_secs(2)).error_handler(log_word("too late")));
    let after = g.add_node("after", log_word("after"));
    g.add_sequence([START, late.into(), after.into(), END]).checkpointer(memory.clone());
    let graph = g.compile().unwrap();
    let run = graph.invoke(json!({ "n": 0 })).thread("t").clock(clock.clone()).spawn();
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(2));
    assert_eq!(field(&run.await.unwrap(), "log"), json!(["too late", "after"]));
    open.send(()).unwrap();
    receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    settle().await;
    assert_eq!(
        graph.threads().get_state("t").await.unwrap().state.get("log").into_owned(),
        json!(["too late", "after"])
    );
    assert!(!crate::support::stored(&memory, "t").await.contains("\"late\"]"));
}

/// R-REF-109: after a handler without a goto, the edges of its node are followed. In compatibility mode they are
/// not, so that a handler must return a goto.
#[tokio::test]
async fn handler_without_goto_follows_edges() {
    for (compat, expected) in [(Compat::Strict, json!(["handled", "b"])), (Compat::LangGraph, json!(["handled"]))] {
        let mut g = graph("g");
        let a = g.add_node("a", node(|| Err::<(), _>(NodeError::new("broken"))).error_handler(log_word("handled")));
        let b = g.add_node("b", log_word("b"));
        g.add_sequence([START, a.into(), b.into(), END]).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
        assert_eq!((done.end.clone(), field(&done, "log")), (RunEnd::Finished, expected), "{compat:?}");
    }
}

/// `one` and `two` fail, and one handler for both records that; it never ends unless `ends` is set.
fn handled(compat: Compat, nodes: &CallCounter, handlers: &CallCounter, ends: bool) -> CompiledGraph<DynamicState> {
    let (mut g, handlers) = (graph("g"), handlers.clone());
    g.default_error_handler(move |failure: NodeFailure| {
        handlers.up();
        async move {
            if !ends {
                std::future::pending::<()>().await;
            }
            json!({ "log": [&*failure.node, failure.error.message()] })
        }
    });
    for name in ["one", "two"] {
        let nodes = nodes.clone();
        let fails = g.add_node(name, move || {
            nodes.up();
            Err::<(), _>(NodeError::new("broken"))
        });
        g.add_edge(START, fails).add_edge(fails, END);
    }
    g.compat(compat);
    g.compile().unwrap()
}

/// R-REF-110: if the process dies in a handler, the handler runs again and not the node, for both of two failures.
#[tokio::test]
async fn after_a_crash_the_handler_runs_again_and_not_the_node() {
    for compat in COMPAT_MODES {
        let (disk, nodes, handlers) = (MemoryCheckpointer::new(), CallCounter::default(), CallCounter::default());
        let run = handled(compat, &nodes, &handlers, false).invoke(json!({ "n": 0 }));
        let run = run.thread("t").checkpointer(disk.clone());
        tokio::select! {
            biased;
            ended = run.into_future() => panic!("{:?}", ended.map(|done| done.end)),
            () = settle() => {}
        }
        assert_eq!((nodes.get(), handlers.get()), (2, 2), "{compat:?}");
        let done = handled(compat, &nodes, &handlers, true).continue_thread("t").checkpointer(disk).await.unwrap();
        assert_eq!(field(&done, "log"), json!(["one", "broken", "two", "broken"]), "{compat:?}");
        assert_eq!((nodes.get(), handlers.get()), (2, 4), "{compat:?}");
    }
}

/// R-REF-111: a handler never sees a command for a parent graph, nor an interrupt, in the root graph or in a
/// subgraph.
#[tokio::test]
async fn handlers_see_neither_questions_nor_commands() {
    for compat in COMPAT_MODES {
        let seen = CallCounter::default();
        let note = |seen: &CallCounter| {
            let seen = seen.clone();
            move |_: NodeFailure| _ = seen.up()
        };
        let mut inner = graph("inner");
        let interrupt = inner.add_node("ask", async |interrupt: Interrupts| {
            let name: String = interrupt.raise("who", ()).await?;
            Ok::<_, NodeError>(ToParent(Command::<DynamicState>::goto("other").update(json!({ "log": [name] }))))
        });
        inner.add_edge(START, interrupt).add_edge(interrupt, END).default_error_handler(note(&seen));
        let mut g = graph("outer");
        let other = g.add_node("other", log_word("other"));
        let child =
            g.add_node("child", node(inner.compile().unwrap()).error_handler(note(&seen)).goto_targets([other]));
        g.add_edge(START, child).add_edge(other, END).compat(compat).checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        assert_eq!(graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap().interrupts().len(), 1);
        let done = graph.resume("t", "Ann").await.unwrap();
        assert_eq!((field(&done, "log"), seen.get()), (json!(["Ann", "other"]), 0), "{compat:?}");
    }
}

/// Counts the futures that are dropped before they have ended.
struct Unfinished(Option<CallCounter>);

impl Unfinished {
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.iter().for_each(|count| _ = count.up());
    }
}

/// `slow`, which waits at a gate the first time, in parallel with `other`.
struct Pair {
    graph: CompiledGraph<DynamicState>,
    gate: Arc<Notify>,
    runs: CallCounter,
    dropped: CallCounter,
}

fn pair<M>(compat: Compat, other: impl superstep::IntoNode<DynamicState, (), M>) -> Pair {
    let (mut g, gate, runs, dropped) =
        (graph("g"), Arc::new(Notify::new()), CallCounter::default(), CallCounter::default());
    let (waits, counted, lost) = (gate.clone(), runs.clone(), dropped.clone());
    let slow = g.add_node("slow", move || {
        let (gate, first, guard) = (waits.clone(), counted.up() == 1, Unfinished(Some(lost.clone())));
        async move {
            if first {
                gate.notified().await;
            }
            guard.end();
            json!({ "log": ["slow"] })
        }
    });
    let other = g.add_node("other", other);
    g.add_edge(START, slow).add_edge(START, other).add_edge(slow, END).add_edge(other, END);
    g.compat(compat).checkpointer(MemoryCheckpointer::new());
    Pair { graph: g.compile().unwrap(), gate, runs, dropped }
}

/// R-REF-114, R-DEF-12: after a failure the siblings finish, and their results are kept. In compatibility mode
/// they are stopped, and run again.
#[tokio::test]
async fn a_failure_lets_its_siblings_end_or_stops_them() {
    for compat in COMPAT_MODES {
        let fails = |attempts: CallCounter| {
            move || {
                let first = attempts.up() == 1;
                async move {
                    settle().await;
                    if first { Err(NodeError::new("no")) } else { Ok(json!({ "log": ["other"] })) }
                }
            }
        };
        let Pair { graph, gate, runs, dropped } = pair(compat, fails(CallCounter::default()));
        let run = graph.invoke(json!({ "n": 0 })).thread("t").spawn();
        settle().await;
        settle().await;
        if compat == Compat::Strict {
            assert_eq!(dropped.get(), 0);
            gate.notify_one();
        }
        assert_eq!(run.await.unwrap_err().code(), ErrorCode::NodeFailed);
        let stopped = usize::from(compat == Compat::LangGraph);
        assert_eq!((runs.get(), dropped.get()), (1, stopped), "{compat:?}");
        let done = graph.continue_thread("t").await.unwrap();
        let log = if stopped == 0 { json!(["slow", "other"]) } else { json!(["other", "slow"]) };
        assert_eq!((field(&done, "log"), runs.get()), (log, 1 + stopped), "{compat:?}");
    }
}

/// R-REF-114: an interrupt stops no sibling, in neither mode: the sibling ends, is saved, and does not run again.
#[tokio::test]
async fn an_interrupt_stops_no_sibling() {
    for compat in COMPAT_MODES {
        let interrupting = async |interrupts: Interrupts| {
            Ok::<_, NodeError>(json!({ "title": interrupts.raise::<String>("who", ()).await? }))
        };
        let Pair { graph, gate, runs, dropped } = pair(compat, interrupting);
        let run = graph.invoke(json!({ "n": 0 })).thread("t").spawn();
        settle().await;
        gate.notify_one();
        assert_eq!(run.await.unwrap().interrupts().len(), 1, "{compat:?}");
        let done = graph.resume("t", "Ann").await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "title")), (json!(["slow"]), json!("Ann")), "{compat:?}");
        assert_eq!((runs.get(), dropped.get()), (1, 0), "{compat:?}");
    }
}

/// `a`, which drains the run, and then `b` if `names` contains it.
fn draining(compat: Compat, names: &[&str]) -> (CompiledGraph<DynamicState>, RunControl) {
    let (mut g, control) = (graph("g"), RunControl::new());
    let handle = control.clone();
    let a = g.add_node("a", move || {
        handle.drain();
        json!({ "log": ["a"] })
    });
    let mut row = vec![START, a.into()];
    row.extend(names.iter().map(|name| g.add_node(name, log_word(name)).into()));
    row.push(END);
    g.add_sequence(row).compat(compat).checkpointer(MemoryCheckpointer::new());
    (g.compile().unwrap(), control)
}

/// R-REF-115: a run that is drained in its last superstep finishes normally.
#[tokio::test]
async fn a_drain_in_the_last_superstep_lets_the_run_finish() {
    for compat in COMPAT_MODES {
        let (graph, control) = draining(compat, &[]);
        let done = graph.invoke(json!({ "n": 0 })).thread("t").control(control).await.unwrap();
        assert_eq!((done.end.clone(), field(&done, "log")), (RunEnd::Finished, json!(["a"])), "{compat:?}");
    }
}

/// R-REF-115: if a drain and a breakpoint coincide, the breakpoint is reported; a control that is still draining
/// stops the next run before anything runs, and a new control lets it continue.
#[tokio::test]
async fn a_breakpoint_comes_before_a_drain() {
    for compat in COMPAT_MODES {
        let (graph, control) = draining(compat, &["b"]);
        let run = graph.invoke(json!({ "n": 0 })).thread("t").control(control.clone()).interrupt_before(["b"]);
        assert_eq!(run.await.unwrap().end, RunEnd::Paused(vec!["b".to_owned()]), "{compat:?}");
        assert_eq!(graph.continue_thread("t").control(control).await.unwrap().end, RunEnd::Drained, "{compat:?}");
        let ended = graph.continue_thread("t").control(RunControl::new()).await.unwrap();
        assert_eq!((ended.end.clone(), field(&ended, "log")), (RunEnd::Finished, json!(["a", "b"])), "{compat:?}");
    }
}
