//! Cases 55 to 59: saving with each superstep, behind the run and at its end leads to one and the same end, and what
//! a crash loses is what the mode says.

use serde_json::{Value, json};
use superstep::core::change::Change;
use superstep::core::checkpoint::{Namespace, Source};
use superstep::core::machine::Event;
use superstep::core::port::{At, Checkpointer, SharedCheckpointer};
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{
    Code, Compat, Compiled, Control, Durability, Error, EventKind, Outcome, Persistence, Record, Retention, Run,
    Schema, Status, ThreadStatus,
};

use super::PROFILES;
use super::door::Door;
use crate::engine::{Count, TokioClock, field, graph, says, schema, settle, transcript};
use crate::support::{Calls, history, line, log, only_question, refused, rows};

const MODES: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Exit];

/// A drawing of the tests: its name, and what it adds to an empty graph.
type Drawing = (&'static str, fn(&mut Graph<Record>, &Calls));

fn noting(calls: &Calls, name: &'static str) -> impl Fn() -> Value + std::marker::Send + Sync + 'static {
    let calls = calls.clone();
    move || {
        calls.note(name);
        json!({ "log": [name], "n": 1 })
    }
}

/// Asks twice, with a record before.
async fn asks_twice(calls: Calls, cx: Cx) -> Result<Value, NodeError> {
    let record = async {
        calls.note("paid");
        Ok::<u64, NodeError>(7)
    };
    let paid = cx.once("pay", record).await?;
    let first: String = cx.ask().person("first", paid).await?;
    let second: String = cx.ask().person("second", &first).await?;
    Ok(json!({ "log": [first, second], "n": paid }))
}

fn draw_loop(g: &mut Graph<Record>, calls: &Calls) {
    let turn = g.node("turn", noting(calls, "turn"));
    let again = move |state: &Record| if *state.get("n") == json!(6) { Go::end() } else { Go::to(turn) };
    g.edge(START, turn).route(turn, again, [turn.into(), END]);
}

fn draw_joins(g: &mut Graph<Record>, calls: &Calls) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| g.node(name, noting(calls, name)));
    g.edge(START, a).edge(START, b).edge(b, c).join([a, c], d).edge(d, END);
}

fn draw_sends(g: &mut Graph<Record>, calls: &Calls) {
    let fan = g.node("fan", noting(calls, "fan"));
    let work = g.node("work", |n: Sent<u64>| json!({ "log": [*n], "n": *n }));
    let last = g.node("last", noting(calls, "last"));
    g.edge(START, fan).edge(work, last).edge(last, END);
    g.route(fan, move |_: &Record| (1..4).map(|n: u64| superstep::Send::new(work, n)).collect::<Vec<_>>(), [work]);
}

/// A graph that asks, between two of its nodes.
fn asking_inside(calls: &Calls, persistence: Persistence) -> Compiled<Record> {
    let mut inner = graph("inner");
    let first = inner.node("first", noting(calls, "first"));
    let noted = calls.clone();
    let ask = inner.node("ask", move |cx: Cx| asks_twice(noted.clone(), cx));
    let last = inner.node("last", noting(calls, "inner last"));
    inner.sequence([START, first.into(), ask.into(), last.into(), END]).persistence(persistence);
    inner.compile().unwrap()
}

fn draw_inside(g: &mut Graph<Record>, calls: &Calls) {
    let before = g.node("before", noting(calls, "before"));
    let inner = g.node("inner", asking_inside(calls, Persistence::Inherit));
    let beside = g.node("beside", noting(calls, "beside"));
    let after = g.node("after", noting(calls, "after"));
    g.edge(START, before).edge(before, inner).edge(before, beside).join([inner, beside], after).edge(after, END);
}

/// Visits a graph twice that grows with its thread, and asks in between.
fn draw_growing(g: &mut Graph<Record>, calls: &Calls) {
    let fields = json!({ "seen": { "reducer": "add", "default": 0 }, "title": {} });
    let mut inner = Graph::<Record>::with_schema("inner", Schema::from_json("inner", &fields).unwrap());
    let one = inner.node("one", || json!({ "seen": 1 }));
    let two = inner.node("two", |state: View<Record>| json!({ "title": format!("seen {}", state.get("seen")) }));
    inner.sequence([START, one.into(), two.into(), END]).persistence(Persistence::PerThread);
    let inner = g.node("inner", inner.compile().unwrap());
    let noted = calls.clone();
    let note = g.node("note", move |state: View<Record>, cx: Cx| {
        let noted = noted.clone();
        async move {
            noted.note("note");
            let word: String = cx.ask().person("word", 0).await?;
            Ok::<_, NodeError>(json!({ "log": [state.get("title").into_owned(), word], "n": 1 }))
        }
    });
    let again = move |state: &Record| if *state.get("n") == json!(3) { Go::end() } else { Go::to(inner) };
    g.edge(START, inner).edge(inner, note).route(note, again, [inner.into(), END]);
}

/// Fails once beside a sibling that finishes; then breakpoints before and after.
fn draw_stops(g: &mut Graph<Record>, calls: &Calls) {
    let (a, fine) = (g.node("a", noting(calls, "a")), g.node("fine", noting(calls, "fine")));
    let (noted, runs) = (calls.clone(), Count::default());
    let fails = g.node("fails", move || {
        noted.note("fails");
        match runs.up() {
            1 => Err(NodeError::new("not yet")),
            _ => Ok(json!({ "log": ["fails"], "n": 1 })),
        }
    });
    let (b, c) = (g.node("b", noting(calls, "b")), g.node("c", noting(calls, "c")));
    g.edge(START, a).edge(a, fine).edge(a, fails).join([fine, fails], b).edge(b, c).edge(c, END);
    g.interrupt_before(["b"]).interrupt_after(["c"]).on_failure(superstep::BranchPolicy::SettleAll);
}

const DRAWINGS: [Drawing; 6] = [
    ("loop", draw_loop),
    ("joins", draw_joins),
    ("sends", draw_sends),
    ("inside", draw_inside),
    ("growing", draw_growing),
    ("stops", draw_stops),
];

fn compiled(draw: fn(&mut Graph<Record>, &Calls), compat: Compat, calls: &Calls) -> Compiled<Record> {
    let mut g = graph("outer");
    draw(g.compat(compat), calls);
    g.recursion_limit(100).compile().unwrap()
}

/// What happened at one call: how it ended, and what could be seen of the thread.
fn seen(ended: &Result<Outcome<Record>, Error>) -> String {
    match ended {
        Err(error) => format!("{} {}", error.code(), error.message()),
        Ok(out) => {
            let asked: Vec<_> = out.questions().iter().map(|asked| format!("{} {}", asked.name, asked.value)).collect();
            let status = match &out.status {
                Status::Interrupted(_) => format!("asks {asked:?}"),
                status => format!("{status:?}"),
            };
            format!("{status} {} {:?} {}", out.to_json().unwrap(), out.next, out.supersteps)
        }
    }
}

/// Calls a thread until it has finished, and says what each call gave.
async fn live(
    graph: &Compiled<Record>,
    store: &SharedCheckpointer,
    modes: &[Durability],
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    let mut mode = modes.iter().cycle().copied();
    let threads = graph.threads().checkpointer(store.clone());
    for call in 0..40 {
        let known = threads.state("t").await.ok();
        let run = match &known {
            None => graph.run(json!({ "title": "x" })).thread("t"),
            Some(state) => match state.questions()[..] {
                [] => graph.go_on("t"),
                [asked, ..] => graph.resume_with("t", [(asked.id, json!(format!("answer to {}", asked.value)))].into()),
            },
        };
        let ended = run.checkpointer(store.clone()).durability(mode.next().unwrap()).await;
        if let Err(error) = &ended
            && error.code() == Code::StoreUnavailable
        {
            return Err(error.clone());
        }
        lines.push(seen(&ended));
        if let Ok(out) = &ended {
            let saved = threads.state("t").await?;
            assert_eq!(
                (Some(saved.id()), &*saved.state),
                (out.checkpoint, &*out.state),
                "what is saved is what was told"
            );
            let ids: Vec<_> = saved.questions().iter().map(|asked| asked.id).collect();
            assert_eq!(ids, out.questions().iter().map(|asked| asked.id).collect::<Vec<_>>());
            if out.is_finished() {
                return Ok(lines);
            }
        }
        assert!(call < 30, "no end: {lines:?}");
    }
    unreachable!("the loop ends by itself")
}

/// The end of a life.
fn end(lines: &[String]) -> &str {
    lines.last().unwrap()
}

/// R-REF-55, R-FWK-44: every call of a thread gives the same in all three modes and in all mixtures of them: states,
/// questions with their ids, breakpoints, failures; and no node runs more often.
#[tokio::test]
async fn all_modes_lead_to_the_same_end() {
    let mixtures: [&[Durability]; 5] = [
        &MODES[1..2],
        &MODES[2..],
        &MODES,
        &[Durability::Exit, Durability::Sync],
        &[Durability::Exit, Durability::Async],
    ];
    for compat in PROFILES {
        for (name, draw) in DRAWINGS {
            let calls = Calls::default();
            let expected = live(&compiled(draw, compat, &calls), &Memory::new().into(), &MODES[..1]).await.unwrap();
            let mut called = calls.take();
            called.sort();
            assert!(!called.is_empty() && end(&expected).starts_with("Finished"), "{name}: {expected:?}");
            for modes in mixtures {
                let given = live(&compiled(draw, compat, &calls), &Memory::new().into(), modes).await.unwrap();
                assert_eq!(given, expected, "{name} {compat:?} {modes:?}");
                let mut called_now = calls.take();
                called_now.sort();
                assert_eq!(called_now, called, "{name} {compat:?} {modes:?}");
            }
        }
    }
}

/// A node that says whether anything is stored.
fn looks(
    memory: &Memory,
) -> impl Fn(Cx) -> superstep::core::port::BoxFuture<'static, Result<Value, NodeError>> + use<> {
    let memory = memory.clone();
    move |cx: Cx| {
        let memory = memory.clone();
        Box::pin(async move {
            let thread = cx.thread().unwrap().clone();
            let found = memory.load(&thread, &Namespace::root(), At::Latest).await?.is_some();
            let inside = memory.namespaces(&thread).await?.len();
            let status = memory.status(&thread).await?;
            Ok(json!({ "log": [format!("{found} {inside} {status:?}")] }))
        })
    }
}

/// R-REF-55, R-FWK-44: saving at the end stores nothing before, inside or out; then one transaction with the state and
/// what waits, as one checkpoint of the outermost graph.
#[tokio::test]
async fn saving_at_the_end_stores_nothing_before() {
    for compat in PROFILES {
        let memory = Memory::new();
        let door = Door::open(&memory);
        let (mut g, mut inner) = (graph("outer"), graph("inner"));
        let look = inner.node("look", looks(&memory));
        inner.edge(START, look).edge(look, END);
        let inner = g.node("inner", inner.compile().unwrap());
        let (a, b) = (g.node("a", looks(&memory)), g.node("b", looks(&memory)));
        let ask = g.node("ask", async |ask: Ask| {
            let name: String = ask.person("name", 1).await?;
            Ok::<_, NodeError>(json!({ "log": [name] }))
        });
        g.sequence([START, a.into(), inner.into(), b.into(), ask.into(), END])
            .checkpointer(door.clone())
            .compat(compat);
        let graph = g.durability(Durability::Exit).compile().unwrap();
        let asked = graph.run(json!({ "n": 5 })).thread("t").await.unwrap();
        assert!(log(&asked.state).iter().all(|seen| seen == "false 0 None"), "{:?}", asked.state);
        let commits = door.take_asked();
        assert_eq!(commits.len(), 1, "one transaction");
        assert!(!commits[0].inside.is_empty() && commits[0].pending.len() == 1);
        let saved = graph.threads().state("t").await.unwrap();
        assert_eq!((&*saved.state, saved.next.clone()), (&*asked.state, vec!["ask".to_owned()]));
        assert_eq!((saved.checkpoint.parent, saved.checkpoint.step, saved.checkpoint.source), (None, 3, Source::Loop));
        assert_eq!(saved.questions()[0].id, only_question(&asked).id);
        assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
        let done = graph.resume("t", "ann").await.unwrap();
        assert_eq!((log(&done.state).pop().unwrap(), rows(&graph, "t").await.len()), ("ann".to_owned(), 2));
        assert_eq!(door.begun(), 1);
        let again = graph.resume_with("t", [(only_question(&asked).id, json!("bob"))].into()).await;
        assert!(refused(again).message().contains("already answered"));
    }
}

/// R-REF-69: what a run of many supersteps adds is saved as what it added, not as the whole; and reads as it should.
#[tokio::test]
async fn saving_at_the_end_writes_what_changed() {
    let (memory, calls) = (Memory::new(), Calls::default());
    let door = Door::open(&memory);
    let mut g = line(&calls, &["a", "b", "c"]);
    let graph = g.checkpointer(door.clone()).durability(Durability::Exit).compile().unwrap();
    for round in 0..40 {
        graph.run(json!({ "topic": round })).thread("t").await.unwrap();
        let [commit] = &door.take_asked()[..] else { panic!("one commit for each run") };
        let grown = commit.changes.iter().find(|change| &*change.field == "log").unwrap();
        match round {
            0 => assert_eq!(grown.change, Change::Set),
            _ => assert_eq!(grown.change, Change::Appended { from: 3 * round }),
        }
        assert_eq!(grown.part.to_json().unwrap().as_array().unwrap().len(), 3);
    }
    let lengths: Vec<_> = history(&graph, "t").await.iter().map(|seen| log(&seen.state).len()).collect();
    assert_eq!(lengths, (1..=40).rev().map(|round| 3 * round).collect::<Vec<_>>());
}

/// R-FWK-44: a run that saves at its end saves also when it is cancelled or takes too long: whole supersteps, finished
/// siblings and records.
#[tokio::test(start_paused = true)]
async fn a_stopped_run_saves_what_it_has_done() {
    for by_time in [false, true] {
        let (mut g, runs, control) = (graph("g"), [(); 3].map(|()| Count::default()), Control::new());
        let [quick, slow, paid] = runs.clone();
        let first = g.node("first", says("first"));
        let quick = g.node("quick", move || json!({ "log": [format!("quick {}", quick.up())] }));
        let slow = g.node("slow", move |cx: Cx| {
            let (run, paid) = (slow.up(), paid.clone());
            async move {
                cx.once("pay", async { Ok::<_, NodeError>(paid.up()) }).await?;
                if run == 1 {
                    std::future::pending::<()>().await;
                }
                Ok::<_, NodeError>(json!({ "log": ["slow"] }))
            }
        });
        g.edge(START, first).edge(first, quick).edge(first, slow).edge(quick, END).edge(slow, END);
        let graph = g.checkpointer(Memory::new()).compile().unwrap();
        let run = graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Exit);
        let ended = match by_time {
            true => run.clock(TokioClock::new()).timeout(std::time::Duration::from_secs(5)).await,
            false => {
                let run = run.control(control.clone()).spawn();
                settle().await;
                control.cancel();
                run.await
            }
        };
        let expected = if by_time { Code::Timeout } else { Code::Cancelled };
        assert_eq!(refused(ended).code(), expected);
        let saved = graph.threads().state("t").await.unwrap();
        assert_eq!((log(&saved.state), saved.next.len(), rows(&graph, "t").await.len()), (vec!["first".into()], 2, 1));
        let done = graph.go_on("t").await.unwrap();
        assert_eq!(log(&done.state), ["first", "quick 1", "slow"]);
        assert_eq!(runs.map(|runs| runs.get()), [1, 2, 1], "neither the sibling nor the record was made again");
    }
}

/// A graph whose second superstep has a quick task and one that pays once and waits on its first run.
fn interruptible(runs: &[Count; 4]) -> Compiled<Record> {
    let (mut g, [first, quick, slow, paid]) = (graph("inner"), runs.clone());
    let first = g.node("first", move || json!({ "log": [format!("first {}", first.up())] }));
    let quick = g.node("quick", move || json!({ "log": [format!("quick {}", quick.up())] }));
    let slow = g.node("slow", move |cx: Cx| {
        let (run, paid) = (slow.up(), paid.clone());
        async move {
            cx.once("pay", async { Ok::<_, NodeError>(paid.up()) }).await?;
            if run == 1 {
                std::future::pending::<()>().await;
            }
            Ok::<_, NodeError>(json!({ "log": ["slow"] }))
        }
    });
    g.edge(START, first).edge(first, quick).edge(first, slow).edge(quick, END).edge(slow, END);
    g.compile().unwrap()
}

/// R-FWK-44: a graph inside that is stopped in the middle of its call keeps what it has done, in every mode: whole
/// supersteps, finished siblings and records; alone in its superstep, beside another task, and two graphs deep.
#[tokio::test(start_paused = true)]
async fn a_graph_inside_that_is_stopped_keeps_what_it_has_done() {
    for (mode, (is_beside, is_deep)) in
        MODES.into_iter().flat_map(|mode| [(false, false), (true, false), (false, true)].map(|how| (mode, how)))
    {
        let (mut g, runs, control) = (graph("g"), [(); 4].map(|()| Count::default()), Control::new());
        let mut inner = interruptible(&runs);
        if is_deep {
            let mut middle = graph("middle");
            let node = middle.node("inner", inner);
            inner = middle.edge(START, node).edge(node, END).compile().unwrap();
        }
        let inner = g.node("inner", inner);
        g.edge(START, inner).edge(inner, END);
        if is_beside {
            let beside = g.node("beside", says("beside"));
            g.edge(START, beside).edge(beside, END);
        }
        let graph = g.checkpointer(Memory::new()).compile().unwrap();
        let run = graph.run(json!({ "n": 0 })).thread("t").durability(mode).control(control.clone()).spawn();
        settle().await;
        control.cancel();
        assert_eq!(refused(run.await).code(), Code::Cancelled, "{mode:?}");
        let done = graph.go_on("t").await.unwrap();
        let made = log(&done.state).into_iter().filter(|said| said != "beside").collect::<Vec<_>>();
        assert_eq!(made, ["first 1", "quick 1", "slow"], "{mode:?}, beside: {is_beside}, deep: {is_deep}");
        assert_eq!(runs.map(|runs| runs.get()), [1, 1, 2, 1], "{mode:?}, beside: {is_beside}, deep: {is_deep}");
    }
}

/// R-FWK-44: a node that is out of time is tried again; the graph inside it goes on where it was, in every mode.
#[tokio::test(start_paused = true)]
async fn a_graph_inside_goes_on_when_its_node_is_tried_again() {
    for mode in MODES {
        let (mut g, runs) = (graph("g"), [(); 4].map(|()| Count::default()));
        let second = std::time::Duration::from_secs(1);
        let retry = Retry::exponential(2).initial_interval(std::time::Duration::ZERO);
        let inner = g.node("inner", node(interruptible(&runs)).timeout(second).retry(retry));
        g.edge(START, inner).edge(inner, END);
        let graph = g.checkpointer(Memory::new()).compile().unwrap();
        let run = graph.run(json!({ "n": 0 })).thread("t").durability(mode).clock(TokioClock::new());
        assert_eq!(log(&run.await.unwrap().state), ["first 1", "quick 1", "slow"], "{mode:?}");
        assert_eq!(runs.map(|runs| runs.get()), [1, 1, 2, 1], "{mode:?}");
    }
}

/// R-REF-55, R-GRA-45: whatever a crash meets, a run that saves at its end leaves the thread as it was, and can be
/// given the same input or answer again; a save that got through is whole.
#[tokio::test]
async fn a_crash_before_the_end_leaves_the_thread_as_it_was() {
    for (name, draw) in DRAWINGS {
        let calls = Calls::default();
        let build = || compiled(draw, Compat::Strict, &calls);
        let disk = Memory::new();
        let expected = live(&build(), &disk.into(), &MODES[2..]).await.unwrap();
        for at in 0..expected.len() {
            for last in [LastWrite::Lost, LastWrite::Kept] {
                let (disk, before) = (Memory::new(), Memory::new());
                let store = CrashAt::new(disk.clone(), at, last);
                refused(live(&build(), &store.into(), &MODES[2..]).await);
                let lives = at + usize::from(last == LastWrite::Kept);
                let until = CrashAt::new(before.clone(), lives, LastWrite::Lost).into();
                let _ = live(&build(), &until, &MODES[2..]).await;
                assert_eq!(shape(&disk).await, shape(&before).await, "{name}: crash at {at}, {last:?}");
                let given = live(&build(), &disk.into(), &MODES[2..]).await.unwrap();
                assert_eq!(end_state(&given), end_state(&expected), "{name}: crash at {at}, {last:?}");
            }
        }
    }
}

/// What is stored of the thread, but for ids and times.
async fn shape(memory: &Memory) -> Vec<(String, Vec<(i64, Vec<String>, Vec<String>, usize)>)> {
    let (thread, mut all) = ("t".into(), Vec::new());
    for namespace in memory.namespaces(&thread).await.unwrap() {
        let listed = memory.history(&thread, &namespace, &Default::default()).await.unwrap();
        let row = |loaded: &superstep::core::port::Loaded| {
            let due = loaded.checkpoint.due.iter().map(|due| due.node.to_string()).collect();
            let fields = loaded.fields.iter().map(|(name, log)| format!("{name} {}", json!(log))).collect();
            (loaded.checkpoint.step, due, fields, loaded.pending.len())
        };
        let path = namespace.as_str().split('|').map(|part| part.split(':').next().unwrap_or_default().to_owned());
        all.push((path.collect::<Vec<_>>().join("/"), listed.iter().map(row).collect()));
    }
    all
}

/// R-FWK-44, R-REF-58: whatever save fails in the background, what is stored is the beginning of what would be stored
/// with each superstep; going on from there ends in the same state.
#[tokio::test]
async fn a_crash_behind_the_run_leaves_a_beginning_of_the_history() {
    for (name, draw) in DRAWINGS {
        let calls = Calls::default();
        let build = || compiled(draw, Compat::Strict, &calls);
        let expected = live(&build(), &Memory::new().into(), &MODES[..1]).await.unwrap();
        for last in [LastWrite::Lost, LastWrite::Kept] {
            for at in 0.. {
                let (disk, calm) = (Memory::new(), Memory::new());
                let ended = live(&build(), &CrashAt::new(disk.clone(), at, last).into(), &MODES[1..2]).await;
                let _ = live(&build(), &CrashAt::new(calm.clone(), at, last).into(), &MODES[..1]).await;
                if name != "inside" {
                    // Two graphs side by side save in the order they get there.
                    assert_eq!(values(&disk).await, values(&calm).await, "{name}: crash at {at}, {last:?}");
                }
                let given = live(&build(), &disk.into(), &MODES[1..2]).await.unwrap();
                assert_eq!(end_state(&given), end_state(&expected), "{name}: crash at {at}, {last:?}");
                if ended.is_ok() {
                    assert!(at > 3, "{name}: the sweep ended after {at} saves");
                    break;
                }
            }
        }
    }
}

/// The state at the end of a life, however many calls it took.
fn end_state(lines: &[String]) -> String {
    let end = end(lines);
    end[..end.rfind('}').unwrap()].to_owned()
}

/// The states of the thread, oldest first.
async fn values(memory: &Memory) -> Vec<(i64, String)> {
    let listed = memory.history(&"t".into(), &Namespace::root(), &Default::default()).await.unwrap();
    let value = |loaded: &superstep::core::port::Loaded| {
        let (state, _) = superstep::core::machine::read_state(&schema(), loaded).unwrap();
        (loaded.checkpoint.step, state.downcast_ref::<Record>().unwrap().to_json().to_string())
    };
    listed.iter().rev().map(value).collect()
}

/// A row of this many nodes that count their runs.
fn long_row(nodes: usize, runs: &Count) -> Graph<Record> {
    let (mut g, mut row) = (graph("g"), vec![START]);
    for number in 0..nodes {
        let runs = runs.clone();
        row.push(g.node(&format!("n{number}"), move || json!({ "n": i64::from(runs.up() > 0) })).into());
    }
    row.push(END);
    g.sequence(row).recursion_limit(200);
    g
}

/// R-REF-59, R-DEF-3: a slow store holds a run of 100 nodes back: at most as many supersteps are unsaved as were
/// allowed, and the one that waits; the run ends when all of them are saved.
#[tokio::test]
async fn a_slow_store_holds_the_run_back() {
    for most in [1, 4, 16] {
        let (memory, runs) = (Memory::new(), Count::default());
        let door = Door::closed(&memory);
        let mut g = long_row(100, &runs);
        g.checkpointer(door.clone()).durability(Durability::Async);
        // 16 is what holds without a word.
        let graph = if most == 16 { g.compile().unwrap() } else { g.backlog(most).compile().unwrap() };
        let run = graph.run(json!({ "n": 0 })).thread("t").spawn();
        for passed in 0..60 {
            settle().await;
            let saved = memory.history(&"t".into(), &Namespace::root(), &Default::default()).await.unwrap().len();
            assert_eq!((saved, door.begun()), (passed, passed + 1), "one is written at a time, in order");
            // The input is the first of those that are unsaved.
            assert_eq!(runs.get() + 1 - saved, most + 1);
            door.let_pass(1);
        }
        door.let_pass(1_000);
        let done = run.await.unwrap();
        assert_eq!((field(&done, "n"), rows(&graph, "t").await.len()), (json!(100), 101));
    }
}

/// R-FWK-44: a run that saves behind itself gives nothing back before everything is saved: no result, no question, no
/// thread; and reading inside it sees what was handed over.
#[tokio::test]
async fn what_is_returned_is_saved() {
    for asks in [false, true] {
        let memory = Memory::new();
        let door = Door::closed(&memory);
        let mut g = graph("g");
        let (a, b) = (g.node("a", says("a")), g.node("b", says("b")));
        let ask = g.node("ask", move |ask: Ask| async move {
            if asks {
                ask.person::<String>("name", 1).await?;
            }
            Ok::<_, NodeError>(json!({ "log": ["asked"] }))
        });
        g.sequence([START, a.into(), b.into(), ask.into(), END]).checkpointer(door.clone());
        let graph = g.compile().unwrap();
        let mut run =
            tokio::spawn(graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Async).into_future());
        for _ in 0..4 {
            settle().await;
            assert!(!run.is_finished() && door.released() == 0);
            door.let_pass(1);
        }
        let out = (&mut run).await.unwrap().unwrap();
        let saved = graph.threads().state("t").await.unwrap();
        assert_eq!((saved.id(), &*saved.state, door.released()), (out.checkpoint.unwrap(), &*out.state, 1));
        assert_eq!((out.questions().len(), saved.questions().len()), (usize::from(asks), usize::from(asks)));
    }
}

/// R-REF-58: after a save in the background has failed nothing is saved that builds on it: the run fails at its next
/// save, with the error of the store, and goes on from what is whole.
#[tokio::test]
async fn nothing_is_saved_after_a_gap() {
    for at in [0, 1, 50, 99] {
        let (memory, runs) = (Memory::new(), Count::default());
        let door = Door::closed(&memory);
        door.fail_at(at);
        let graph = long_row(99, &runs).checkpointer(door.clone()).compile().unwrap();
        let run = graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Async).spawn();
        settle().await;
        door.let_pass(1_000);
        let error = refused(run.await);
        assert_eq!((error.code(), error.partial().unwrap().checkpoint), (Code::StoreUnavailable, None), "{error}");
        assert_eq!((door.begun(), door.released()), (at + 1, 1), "the store was not asked again");
        assert!(runs.get() <= at + 17);
        if at > 0 {
            let chain = rows(&graph, "t").await;
            assert_eq!(chain.len(), at);
            assert!(chain.windows(2).all(|pair| pair[1].1 == Some(pair[0].0)));
            let done = graph.go_on("t").durability(Durability::Async).await.unwrap();
            assert_eq!(field(&done, "n"), json!(99));
        }
    }
}

/// R-FWK-44, R-FWK-18: a cancelled run saves what it had handed over, and none of it twice.
#[tokio::test]
async fn a_cancelled_run_saves_what_it_handed_over() {
    let (memory, runs, control) = (Memory::new(), Count::default(), Control::new());
    let door = Door::closed(&memory);
    let graph = long_row(99, &runs).checkpointer(door.clone()).compile().unwrap();
    let run = graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Async).backlog(8);
    let run = tokio::spawn(run.control(control.clone()).into_future());
    settle().await;
    assert_eq!(runs.get(), 8);
    control.cancel();
    settle().await;
    assert!(!run.is_finished(), "it waits for its saves");
    door.let_pass(1_000);
    assert_eq!(refused(run.await.unwrap()).code(), Code::Cancelled);
    let saved = rows(&graph, "t").await.len();
    assert!((8..=9).contains(&saved), "{saved}");
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "n"), json!(99));
}

/// R-FWK-44, R-FWK-20: a run that is dropped gives its thread back only when the save under way has ended.
#[tokio::test]
async fn a_dropped_run_gives_its_thread_back_after_the_save() {
    let (memory, runs) = (Memory::new(), Count::default());
    let door = Door::closed(&memory);
    let graph = long_row(9, &runs).checkpointer(door.clone()).compile().unwrap();
    let run = tokio::spawn(graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Async).into_future());
    settle().await;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    settle().await;
    assert_eq!(door.released(), 0);
    let busy = graph.go_on("t").when_busy(superstep::WhenBusy::Reject).await;
    assert_eq!(refused(busy).code(), Code::ThreadBusy);
    door.let_pass(1_000);
    settle().await;
    assert_eq!(door.released(), 1);
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "n"), json!(9));
}

/// R-FWK-44, R-FWK-94: where nothing can run in the background, a run that is to save there fails and says so.
#[test]
fn saving_in_the_background_needs_a_runtime() {
    let graph = long_row(2, &Count::default()).checkpointer(Memory::new()).compile().unwrap();
    let run = graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Async);
    let error = refused(superstep::core::testing::block_on(run.into_future()));
    assert!(error.code() == Code::ConfigInvalid && error.advice().unwrap().contains("wait"), "{error}");
    let run = graph.run(json!({ "n": 0 })).thread("t").durability(Durability::Async);
    assert_eq!(field(&run.wait().unwrap(), "n"), json!(2));
}

/// R-FWK-28, R-FWK-44: a record is saved before the node sees it, also when the run saves behind itself.
#[tokio::test]
async fn a_record_is_saved_before_it_is_used() {
    let memory = Memory::new();
    let (mut g, looked) = (graph("g"), memory.clone());
    let node = g.node("pay", move |cx: Cx| {
        let memory = looked.clone();
        async move {
            cx.once("pay", async { Ok::<_, NodeError>(1) }).await?;
            let newest = memory.load(cx.thread().unwrap(), &Namespace::root(), At::Latest).await?.unwrap();
            Ok::<_, NodeError>(json!({ "log": [newest.pending.len()] }))
        }
    });
    g.edge(START, node).edge(node, END).checkpointer(memory).durability(Durability::Async);
    assert_eq!(field(&g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap(), "log"), json!([1]));
}

/// R-FWK-44, R-REF-69: a field that the thread was saved without is saved whole by whichever mode meets it first.
#[tokio::test]
async fn a_new_field_of_an_old_thread_is_saved_whole() {
    for mode in MODES {
        let memory = Memory::new();
        let mut old = Graph::<Record>::with_schema("g", Schema::from_json("s", &json!({ "topic": {} })).unwrap());
        let node = old.node("old", || json!({ "topic": "old" }));
        old.edge(START, node).edge(node, END).checkpointer(memory.clone());
        old.compile().unwrap().run(json!({ "topic": "x" })).thread("t").await.unwrap();
        let new = line(&Calls::default(), &["a", "b"]).checkpointer(memory).durability(mode).compile().unwrap();
        new.run(json!({ "topic": "y" })).thread("t").await.unwrap();
        assert_eq!(log(&new.threads().state("t").await.unwrap().state), ["a", "b"], "{mode:?}");
    }
}

/// R-FWK-31, R-FWK-43: a graph that grows with its thread keeps growing when the run saves at its end: from run to run,
/// on a new line of history, and after the thread was pruned.
#[tokio::test]
async fn a_growing_graph_grows_whatever_the_mode() {
    let graph = |memory: &Memory| {
        let mut g = graph("outer");
        draw_visits(&mut g);
        g.checkpointer(memory.clone()).compile().unwrap()
    };
    let counts = async |run: Run<Record>| field(&run.await.unwrap(), "log");
    for first in MODES {
        for second in MODES {
            let memory = Memory::new();
            let graph = graph(&memory);
            let run = |mode| graph.run(json!({ "n": 1 })).thread("t").durability(mode);
            let start = run(first).await.unwrap().checkpoint.unwrap();
            assert_eq!(counts(run(second)).await, json!([1, 2, 3, 4]), "{first:?} {second:?}");
            assert_eq!(counts(run(first).at(start)).await, json!([1, 2, 3, 4]), "{first:?} {second:?} on a new line");
            assert_eq!(counts(run(second)).await, json!([1, 2, 3, 4, 5, 6]), "{first:?} {second:?} on a new line");
            graph.threads().prune("t", &Retention::last(1)).await.unwrap();
            assert_eq!(counts(run(first)).await, json!([1, 2, 3, 4, 5, 6, 7, 8]), "{first:?} {second:?} pruned");
        }
    }
}

/// Visits a graph that counts over the whole thread twice.
fn draw_visits(g: &mut Graph<Record>) {
    let fields = json!({ "seen": { "reducer": "add", "default": 0 }, "title": {} });
    let mut inner = Graph::<Record>::with_schema("inner", Schema::from_json("inner", &fields).unwrap());
    let one = inner.node("one", || json!({ "seen": 1 }));
    let two = inner.node("two", |state: View<Record>| json!({ "title": state.get("seen").into_owned() }));
    inner.sequence([START, one.into(), two.into(), END]).persistence(Persistence::PerThread);
    let inner = g.node("inner", inner.compile().unwrap());
    let note = g.node("note", |state: View<Record>| json!({ "log": [state.get("title").into_owned()] }));
    let again = move |state: &Record| {
        let visits = state.get("log").as_array().map_or(0, Vec::len);
        if visits.is_multiple_of(2) { Go::end() } else { Go::to(inner) }
    };
    g.edge(START, inner).edge(inner, note).route(note, again, [inner.into(), END]);
}

/// R-FWK-44, R-FWK-12: with saving at the end values are told as they come, and the checkpoint once it is saved.
#[tokio::test]
async fn values_are_told_before_a_save_at_the_end() {
    let mut g = line(&Calls::default(), &["a", "b"]);
    let graph = g.compile().unwrap();
    let run = graph.run(json!({ "topic": "x" })).thread("t").durability(Durability::Exit);
    let told: Vec<String> = transcript(run).await.0.into_iter().filter(|line| !line.contains("started")).collect();
    let begins = r#"begins with {"topic":"x"}"#;
    let saved = "2 saved, next []";
    assert_eq!(told, [begins, "0 values", "1 a done", "1 values", "2 b done", "2 values", saved, "ends"]);
}

/// R-FWK-44: the rule of the run comes before the one of the graph; a graph inside follows the run and cannot be told.
#[tokio::test]
async fn the_run_decides_before_the_graph() {
    let calls = Calls::default();
    let mut g = line(&calls, &["a", "b"]);
    let graph = g.durability(Durability::Exit).compile().unwrap();
    graph.run(json!({ "topic": "x" })).thread("exit").await.unwrap();
    graph.run(json!({ "topic": "x" })).thread("sync").durability(Durability::Sync).await.unwrap();
    assert_eq!((rows(&graph, "exit").await.len(), rows(&graph, "sync").await.len()), (1, 3));
    let mut outer = line(&calls, &[]);
    let inner = graph.clone();
    let node = outer.node("call", move |cx: Cx| {
        let run = inner.run(json!({ "topic": "y" })).durability(Durability::Sync).inside(&cx);
        async move {
            run.await?;
            Ok::<_, NodeError>(json!({ "log": [] }))
        }
    });
    outer.edge(START, node).edge(node, END);
    let error = refused(outer.compile().unwrap().run(json!({ "topic": "x" })).thread("t").await);
    assert!(error.message().contains("durability"), "{error}");
}

/// R-FWK-44: a reader is shown a question only once it is saved, also where saving comes behind the run.
#[tokio::test]
async fn a_question_is_told_once_it_is_saved() {
    for durability in MODES {
        let memory = Memory::new();
        let door = Door::closed(&memory);
        let mut g = graph("g");
        let ask = g.node("ask", async |ask: Ask| ask.person::<Value>("name", 1).await);
        g.sequence([START, ask.into(), END]).checkpointer(door.clone());
        let graph = g.compile().unwrap();
        let mut run = graph.run(json!({ "n": 0 })).thread("t").durability(durability).stream();
        let reader = async {
            while let Some(event) = run.next().await {
                if matches!(event.kind, EventKind::Machine(Event::Interrupted { .. })) {
                    return memory.load(&"t".into(), &Namespace::root(), At::Latest).await.unwrap();
                }
            }
            None
        };
        let opener = async {
            for _ in 0..3 {
                settle().await;
                door.let_pass(1);
            }
        };
        let (stored, ()) = tokio::join!(reader, opener);
        assert_eq!(stored.map(|stored| stored.pending.len()), Some(1), "{durability:?}");
    }
}
