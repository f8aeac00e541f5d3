//! Retries, timeouts, handlers and stops: cases 102 to 116 of the reference that no other test asserts whole.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::testing::ManualClock;
use superstep::{Code, Compat, Compiled, Control, Failure, Record, Status, ToParent};
use tokio::sync::Notify;

use super::PROFILES;
use crate::engine::{Count, field, graph, says, settle};

/// R-REF-105: what a failed attempt did to the state is gone with it; what a graph inside it had finished and saved is
/// not done again.
#[tokio::test(start_paused = true)]
async fn a_failed_attempt_leaves_nothing_in_the_state() {
    for (compat, saves) in PROFILES.into_iter().flat_map(|compat| [(compat, true), (compat, false)]) {
        let (mut inner, first, second) = (graph("inner"), Count::default(), Count::default());
        let (firsts, seconds) = (first.clone(), second.clone());
        let one = inner.node("one", move || json!({ "log": [format!("one {}", firsts.up())] }));
        let two = inner.node("two", move || match seconds.up() {
            1 => Err(NodeError::new("busy").retryable()),
            _ => Ok(json!({ "log": ["two"] })),
        });
        inner.sequence([START, one.into(), two.into(), END]);
        let mut g = graph("outer");
        let child = g.node("child", node(inner.compile().unwrap()).retry(Retry::default()));
        g.edge(START, child).edge(child, END).compat(compat);
        if saves {
            g.checkpointer(Memory::new());
        }
        let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
        let runs = if saves { 1 } else { 2 };
        assert_eq!(field(&done, "log"), json!([format!("one {runs}"), "two"]), "{compat:?}, saves: {saves}");
        assert_eq!((first.get(), second.get()), (runs, 2), "{compat:?}, saves: {saves}");
    }
}

/// R-REF-107: a node that is over its time is stopped, and what blocking work that cannot be stopped gives later is
/// thrown away.
#[tokio::test]
async fn what_comes_after_a_timeout_is_thrown_away() {
    let (mut g, clock, memory) = (graph("g"), ManualClock::new(), Memory::new());
    let (open, gate) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let late = blocking(move || {
        let opened = gate.lock().unwrap().recv_timeout(Duration::from_secs(20)).is_ok();
        let _ = tell.send(());
        json!({ "log": [if opened { "late" } else { "never" }] })
    });
    let late = g.node("late", late.timeout(Duration::from_secs(2)).on_error(says("too late")));
    let after = g.node("after", says("after"));
    g.sequence([START, late.into(), after.into(), END]).checkpointer(memory.clone());
    let graph = g.compile().unwrap();
    let run = graph.run(json!({ "n": 0 })).thread("t").clock(clock.clone()).spawn();
    while clock.sleepers() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(2));
    assert_eq!(field(&run.await.unwrap(), "log"), json!(["too late", "after"]));
    open.send(()).unwrap();
    told.recv_timeout(Duration::from_secs(20)).unwrap();
    settle().await;
    assert_eq!(graph.threads().state("t").await.unwrap().state.get("log").into_owned(), json!(["too late", "after"]));
    assert!(!crate::support::stored(&memory, "t").await.contains("\"late\"]"));
}

/// R-REF-109: a handler that names no way: the edges of its node are followed. In the reference's profile they are not,
/// so that a handler must say where to go on.
#[tokio::test]
async fn a_handler_that_names_no_way_follows_the_edges_or_ends() {
    for (compat, expected) in [(Compat::Strict, json!(["handled", "b"])), (Compat::LangGraph, json!(["handled"]))] {
        let mut g = graph("g");
        let a = g.node("a", node(|| Err::<(), _>(NodeError::new("broken"))).on_error(says("handled")));
        let b = g.node("b", says("b"));
        g.sequence([START, a.into(), b.into(), END]).compat(compat);
        let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
        assert_eq!((done.status.clone(), field(&done, "log")), (Status::Finished, expected), "{compat:?}");
    }
}

/// `one` and `two` fail, and one handler for both sees that; it never ends unless told so.
fn handled(compat: Compat, nodes: &Count, handlers: &Count, ends: bool) -> Compiled<Record> {
    let (mut g, handlers) = (graph("g"), handlers.clone());
    g.default_on_error(move |failure: Failure| {
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
        let fails = g.node(name, move || {
            nodes.up();
            Err::<(), _>(NodeError::new("broken"))
        });
        g.edge(START, fails).edge(fails, END);
    }
    g.compat(compat);
    g.compile().unwrap()
}

/// R-REF-110: when the process dies in a handler, the handler runs again and not the node, for both of two failures.
#[tokio::test]
async fn after_a_crash_the_handler_runs_again_and_not_the_node() {
    for compat in PROFILES {
        let (disk, nodes, handlers) = (Memory::new(), Count::default(), Count::default());
        let run = handled(compat, &nodes, &handlers, false).run(json!({ "n": 0 }));
        let run = run.thread("t").checkpointer(disk.clone());
        tokio::select! {
            biased;
            ended = run.into_future() => panic!("{:?}", ended.map(|done| done.status)),
            () = settle() => {}
        }
        assert_eq!((nodes.get(), handlers.get()), (2, 2), "{compat:?}");
        let done = handled(compat, &nodes, &handlers, true).go_on("t").checkpointer(disk).await.unwrap();
        assert_eq!(field(&done, "log"), json!(["one", "broken", "two", "broken"]), "{compat:?}");
        assert_eq!((nodes.get(), handlers.get()), (2, 4), "{compat:?}");
    }
}

/// R-REF-111: a handler never sees a command for the graph around, nor a question, inside or out.
#[tokio::test]
async fn handlers_see_neither_questions_nor_commands() {
    for compat in PROFILES {
        let seen = Count::default();
        let note = |seen: &Count| {
            let seen = seen.clone();
            move |_: Failure| _ = seen.up()
        };
        let mut inner = graph("inner");
        let ask = inner.node("ask", async |ask: Ask| {
            let who: String = ask.person("who", ()).await?;
            Ok::<_, NodeError>(ToParent(Command::<Record>::goto("other").update(json!({ "log": [who] }))))
        });
        inner.edge(START, ask).edge(ask, END).default_on_error(note(&seen));
        let mut g = graph("outer");
        let other = g.node("other", says("other"));
        let child = g.node("child", node(inner.compile().unwrap()).on_error(note(&seen)).goto([other]));
        g.edge(START, child).edge(other, END).compat(compat).checkpointer(Memory::new());
        let graph = g.compile().unwrap();
        assert_eq!(graph.run(json!({ "n": 0 })).thread("t").await.unwrap().questions().len(), 1);
        let done = graph.resume("t", "Ann").await.unwrap();
        assert_eq!((field(&done, "log"), seen.get()), (json!(["Ann", "other"]), 0), "{compat:?}");
    }
}

/// Counts the futures that are dropped before they have ended.
struct Unfinished(Option<Count>);

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

/// `slow`, which waits at a gate the first time, beside `other`.
struct Pair {
    graph: Compiled<Record>,
    gate: Arc<Notify>,
    runs: Count,
    dropped: Count,
}

fn pair<M>(compat: Compat, other: impl superstep::IntoNode<Record, (), M>) -> Pair {
    let (mut g, gate, runs, dropped) = (graph("g"), Arc::new(Notify::new()), Count::default(), Count::default());
    let (waits, counted, lost) = (gate.clone(), runs.clone(), dropped.clone());
    let slow = g.node("slow", move || {
        let (gate, first, guard) = (waits.clone(), counted.up() == 1, Unfinished(Some(lost.clone())));
        async move {
            if first {
                gate.notified().await;
            }
            guard.end();
            json!({ "log": ["slow"] })
        }
    });
    let other = g.node("other", other);
    g.edge(START, slow).edge(START, other).edge(slow, END).edge(other, END);
    g.compat(compat).checkpointer(Memory::new());
    Pair { graph: g.compile().unwrap(), gate, runs, dropped }
}

/// R-REF-114, R-DEF-12: a failure lets its siblings end, and what they did is kept. In the reference's profile it stops
/// them, and they run again.
#[tokio::test]
async fn a_failure_lets_its_siblings_end_or_stops_them() {
    for compat in PROFILES {
        let fails = |tries: Count| {
            move || {
                let first = tries.up() == 1;
                async move {
                    settle().await;
                    if first { Err(NodeError::new("no")) } else { Ok(json!({ "log": ["other"] })) }
                }
            }
        };
        let Pair { graph, gate, runs, dropped } = pair(compat, fails(Count::default()));
        let run = graph.run(json!({ "n": 0 })).thread("t").spawn();
        settle().await;
        settle().await;
        if compat == Compat::Strict {
            assert_eq!(dropped.get(), 0);
            gate.notify_one();
        }
        assert_eq!(run.await.unwrap_err().code(), Code::NodeFailed);
        let stopped = usize::from(compat == Compat::LangGraph);
        assert_eq!((runs.get(), dropped.get()), (1, stopped), "{compat:?}");
        let done = graph.go_on("t").await.unwrap();
        let log = if stopped == 0 { json!(["slow", "other"]) } else { json!(["other", "slow"]) };
        assert_eq!((field(&done, "log"), runs.get()), (log, 1 + stopped), "{compat:?}");
    }
}

/// R-REF-114: a question stops no sibling, in neither profile: it ends, is kept, and does not run again.
#[tokio::test]
async fn a_question_stops_no_sibling() {
    for compat in PROFILES {
        let asks = async |ask: Ask| Ok::<_, NodeError>(json!({ "title": ask.person::<String>("who", ()).await? }));
        let Pair { graph, gate, runs, dropped } = pair(compat, asks);
        let run = graph.run(json!({ "n": 0 })).thread("t").spawn();
        settle().await;
        gate.notify_one();
        assert_eq!(run.await.unwrap().questions().len(), 1, "{compat:?}");
        let done = graph.resume("t", "Ann").await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "title")), (json!(["slow"]), json!("Ann")), "{compat:?}");
        assert_eq!((runs.get(), dropped.get()), (1, 0), "{compat:?}");
    }
}

/// `a`, which asks the run to stop at the next boundary, and then `b` where there is one.
fn draining(compat: Compat, names: &[&str]) -> (Compiled<Record>, Control) {
    let (mut g, control) = (graph("g"), Control::new());
    let hand = control.clone();
    let a = g.node("a", move || {
        hand.drain();
        json!({ "log": ["a"] })
    });
    let mut row = vec![START, a.into()];
    row.extend(names.iter().map(|name| g.node(name, says(name)).into()));
    row.push(END);
    g.sequence(row).compat(compat).checkpointer(Memory::new());
    (g.compile().unwrap(), control)
}

/// R-REF-115: a run that is drained in its last superstep finishes as if nobody had asked.
#[tokio::test]
async fn a_drain_in_the_last_superstep_lets_the_run_finish() {
    for compat in PROFILES {
        let (graph, control) = draining(compat, &[]);
        let done = graph.run(json!({ "n": 0 })).thread("t").control(control).await.unwrap();
        assert_eq!((done.status.clone(), field(&done, "log")), (Status::Finished, json!(["a"])), "{compat:?}");
    }
}

/// R-REF-115: where a drain and a breakpoint meet the breakpoint is told; a hand that still says drain stops the next
/// run before anything of it has run, and another hand lets it go on.
#[tokio::test]
async fn a_breakpoint_comes_before_a_drain() {
    for compat in PROFILES {
        let (graph, control) = draining(compat, &["b"]);
        let run = graph.run(json!({ "n": 0 })).thread("t").control(control.clone()).interrupt_before(["b"]);
        assert_eq!(run.await.unwrap().status, Status::Paused(vec!["b".to_owned()]), "{compat:?}");
        assert_eq!(graph.go_on("t").control(control).await.unwrap().status, Status::Drained, "{compat:?}");
        let ended = graph.go_on("t").control(Control::new()).await.unwrap();
        assert_eq!((ended.status.clone(), field(&ended, "log")), (Status::Finished, json!(["a", "b"])), "{compat:?}");
    }
}
