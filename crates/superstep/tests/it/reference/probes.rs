//! Probes of other frameworks with small programs, applied to this engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::port::{Checkpointer, HistoryQuery, Retention};
use superstep::prelude::*;
use superstep::{Compat, CompiledGraph, DynamicState, ErrorCode, OnLimit, RunEnd, Schema};

use super::COMPAT_MODES;
use super::recording_checkpointer::{CheckpointerCall as Request, RecordingCheckpointer};
use crate::fixtures::{CallCounter, field, graph, log_of, log_word};
use crate::support::{dynamic, expect_error, history, stored};

/// R-PRB-2: a list merged from parallel nodes is in the order in which they were added, whichever ends first. In
/// compatibility mode it is in the order of their names.
#[tokio::test]
async fn a_merged_list_has_one_order() {
    for (compat, expected) in
        [(Compat::Strict, json!(["d", "b", "a", "c"])), (Compat::LangGraph, json!(["a", "b", "c", "d"]))]
    {
        for turn in 0..8_usize {
            let log = log_of(|g| {
                for (index, name) in ["d", "b", "a", "c"].into_iter().enumerate() {
                    let waits = ((index + turn) % 4) * 5;
                    let node = g.add_node(name, move || async move {
                        for _ in 0..waits {
                            tokio::task::yield_now().await;
                        }
                        json!({ "log": [name] })
                    });
                    g.add_edge(START, node).add_edge(node, END);
                }
                g.compat(compat);
            });
            assert_eq!(log.await, expected, "{compat:?}");
        }
    }
}

/// Signals its start and checks, for a while, whether the other has started: a computation never yields its core.
fn meets(started: &AtomicUsize) -> bool {
    started.fetch_add(1, Ordering::SeqCst);
    (0..20_000_000).any(|_| {
        std::thread::yield_now();
        started.load(Ordering::SeqCst) == 2
    })
}

/// R-PRB-3: two computing nodes run concurrently on two worker threads, whether or not they are marked as blocking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_computations_overlap() {
    for is_blocking in [false, true] {
        let (mut g, started) = (graph("g"), Arc::new(AtomicUsize::new(0)));
        for name in ["left", "right"] {
            let started = started.clone();
            let work = move || json!({ "log": [meets(&started)] });
            let node = if is_blocking { g.add_node(name, blocking(work)) } else { g.add_node(name, work) };
            g.add_edge(START, node).add_edge(node, END);
        }
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
        assert_eq!(field(&done, "log"), json!([true, true]), "blocking: {is_blocking}");
    }
}

/// R-PRB-4: an endless loop ends with an error in both modes, never successfully with a partial state.
#[tokio::test]
async fn an_endless_loop_is_an_error() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let a = g.add_node("a", || json!({ "n": 1 }));
        g.add_edge(START, a)
            .add_conditional_edges(a, move |_: &DynamicState| Goto::node(a), [a.into(), END])
            .compat(compat);
        let error = expect_error(g.compile().unwrap().invoke(json!({ "n": 0 })).recursion_limit(25).await);
        assert_eq!(error.code(), ErrorCode::RecursionLimit, "{compat:?}");
        assert_eq!(error.partial_state::<DynamicState>().unwrap().get("n").into_owned(), json!(25), "{compat:?}");
    }
}

/// R-PRB-5: two writers of a field without a reducer are rejected by name in both modes; neither write is applied.
#[tokio::test]
async fn two_writers_of_a_plain_field_are_rejected() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        for name in ["a", "b"] {
            let node = g.add_node(name, move || json!({ "title": name }));
            g.add_edge(START, node).add_edge(node, END);
        }
        g.compat(compat).checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        let error = expect_error(graph.invoke(json!({ "title": "in" })).thread("t").await);
        assert_eq!(error.code(), ErrorCode::ConcurrentUpdate, "{compat:?}");
        assert!(["`title`", "`a`", "`b`"].iter().all(|word| error.to_string().contains(word)), "{error}");
        assert_eq!(*graph.threads().get_state("t").await.unwrap().state.get("title"), json!("in"), "{compat:?}");
    }
}

/// R-PRB-10: a plain run with a checkpointer creates a checkpoint for the input and one per superstep, awaited or
/// streamed. In compatibility mode the start is a superstep too.
#[tokio::test]
async fn a_plain_run_leaves_its_checkpoints() {
    for (compat, expected) in [(Compat::Strict, vec![0, 1]), (Compat::LangGraph, vec![-1, 0, 1])] {
        for streams in [false, true] {
            let mut g = graph("g");
            let a = g.add_node("a", log_word("a"));
            g.add_edge(START, a).add_edge(a, END).compat(compat).checkpointer(MemoryCheckpointer::new());
            let graph = g.compile().unwrap();
            let run = graph.invoke(json!({ "n": 0 })).thread("t");
            let done = if streams { run.stream().finish().await } else { run.await };
            assert_eq!(done.unwrap().end, RunEnd::Finished);
            let steps: Vec<i64> = history(&graph, "t").await.iter().rev().map(|seen| seen.checkpoint.step).collect();
            assert_eq!(steps, expected, "{compat:?}, streams: {streams}");
        }
    }
}

/// Returns the allocations of a run of this many saved supersteps: count and bytes.
fn cost_of(compat: Compat, supersteps: u32) -> (u64, u64) {
    let mut g =
        dynamic(json!({ "log": { "reducer": "append", "default": [] }, "n": { "reducer": "add", "default": 0 } }));
    let grow = g.add_node("grow", |state: View<DynamicState>| json!({ "log": [state.get("n")], "n": 1 }));
    g.add_edge(START, grow)
        .add_conditional_edges(grow, move |_: &DynamicState| Goto::node(grow), [grow.into(), END])
        .compat(compat);
    let graph = g.compile().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let run = graph.invoke(json!({ "n": 0 })).thread("t").recursion_limit(supersteps).on_limit(OnLimit::ReturnPartial);
    let measured = allocation_counter::measure(|| {
        let done = runtime.block_on(run.into_future()).unwrap();
        assert_eq!(done.state.get("n").as_u64(), Some(u64::from(supersteps)));
    });
    (measured.count_total, measured.bytes_total)
}

/// R-PRB-12: a saved superstep costs the same after ten thousand others as after a hundred, counted in allocations.
#[test]
fn the_cost_of_a_saved_superstep_does_not_grow() {
    for compat in COMPAT_MODES {
        let each = |from: u32, to: u32| {
            let ((few, small), (many, large)) = (cost_of(compat, from), cost_of(compat, to));
            let steps = f64::from(to - from);
            ((many - few) as f64 / steps, (large - small) as f64 / steps)
        };
        let (early, late) = (each(128, 256), each(8_192, 10_240));
        assert!(late.0 < early.0 * 1.1 + 1.0, "{compat:?}: {early:?} early, {late:?} late");
        assert!(late.1 < early.1 * 1.5 + 512.0, "{compat:?}: {early:?} early, {late:?} late");
    }
}

/// R-PRB-12: an append is undone without a copy if the following conditional edge fails: the list is as it was.
#[tokio::test]
async fn an_append_is_undone_when_the_route_after_it_fails() {
    for kind in [json!({ "reducer": "append", "default": [] }), json!({ "reducer": "capped:9", "default": [] })] {
        let (mut g, broken) = (dynamic(json!({ "log": kind })), CallCounter::default());
        let grow = g.add_node("grow", || json!({ "log": ["more", "and more"] }));
        let decide = move |state: &DynamicState| match state.get("log").as_array().map_or(0, Vec::len) {
            7 if broken.up() == 1 => Err(NodeError::new("the router is tired")),
            7 => Ok(Goto::end()),
            _ => Ok(Goto::node(grow)),
        };
        g.add_edge(START, grow).add_conditional_edges(grow, decide, [grow.into(), END]);
        let graph = g.compile().unwrap();
        let error = expect_error(graph.invoke(json!({ "log": ["in"] })).thread("t").await);
        let left = json!(["in", "more", "and more", "more", "and more"]);
        assert_eq!(error.partial_state::<DynamicState>().unwrap().get("log").into_owned(), left);
        assert_eq!(graph.threads().get_state("t").await.unwrap().state.get("log").into_owned(), left);
        assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log").as_array().unwrap().len(), 7);
    }
}

/// Returns the first program of the README.
fn first_program() -> &'static str {
    let readme = include_str!("../../../../../README.md");
    let (_, program) = readme.split_once("```rust\n").expect("a program");
    program.split_once("```").expect("its end").0
}

/// Returns the latest build of the library in the folder of this test, the only crate that a program gets.
fn library() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let files = exe.parent().unwrap().read_dir().unwrap().map(|file| file.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let builds = files.filter(|path| name(path).starts_with("libsuperstep-") && name(path).ends_with(".rlib"));
    builds.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("the library was built")
}

/// Returns the compiler errors of a program that has this library as its only crate.
fn compiled_alone(name: &str, program: &str) -> String {
    let (directory, library) = (Path::new(env!("CARGO_TARGET_TMPDIR")), library());
    let source = directory.join(format!("{name}.rs"));
    std::fs::write(&source, program).unwrap();
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["--edition", "2024", "--crate-type", "bin", "--emit", "metadata", "--out-dir"]).arg(directory);
    rustc.arg("-L").arg(format!("dependency={}", library.parent().unwrap().display()));
    rustc.arg("--extern").arg(format!("superstep={}", library.display())).arg(&source);
    let output = rustc.output().expect("a compiler");
    if output.status.success() { String::new() } else { String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// R-PRB-14, R-PRB-15: the first program of the README compiles unchanged, with this crate and no other.
#[test]
fn the_first_program_of_the_readme_compiles_with_one_crate() {
    assert!(first_program().contains("fn main()"));
    assert_eq!(compiled_alone("first_program", first_program()), "");
    let other = compiled_alone("other_crate", "use serde_json::json; fn main() { let _ = json!(1); }");
    assert!(other.contains("serde_json"), "the programs here must not see other crates: {other}");
}

/// R-PRB-15: so does one with fields of custom types, for which serde is taken from this crate.
#[test]
fn custom_types_need_no_other_crate() {
    let program = r#"
        use superstep::prelude::*;
        #[derive(Clone, Default, Serialize, Deserialize)]
        #[serde(crate = "superstep::serde")]
        struct Place { name: String }
        #[derive(GraphState, Clone)]
        struct Trip { #[reduce(append)] places: Vec<Place>, next: Option<Place> }
        fn main() {
            let mut graph = StateGraph::<Trip>::new("trip");
            let go = graph.add_node("go", |trip: View<Trip>| Trip::update().places(trip.next.clone().unwrap_or_default()));
            graph.add_edge(START, go);
            graph.add_conditional_edges(go, |trip: &Trip| if trip.places.len() < 3 { "go" } else { "__end__" }, ["go", "__end__"]);
            let trip = graph.compile().unwrap();
            let trip = trip.invoke(Trip::input().next(Place { name: "Rome".into() })).wait_blocking().unwrap();
            assert_eq!(trip.state.places.len(), 3);
        }
    "#;
    assert_eq!(compiled_alone("own_types", program), "");
}

/// R-PRB-14: a conditional edge takes any closure over the state: one that returns a text, one that captures, a named
/// function.
#[tokio::test]
async fn a_route_is_a_plain_closure() {
    fn by_name(state: &DynamicState) -> &'static str {
        if state.get("n").as_i64() == Some(1) { "b" } else { "c" }
    }
    let word = "c".to_owned();
    for (n, expected) in [(1, json!(["a", "b", "c"])), (2, json!(["a", "c"]))] {
        let (mut g, word) = (graph("g"), word.clone());
        let [a, b, c] = ["a", "b", "c"].map(|name| g.add_node(name, log_word(name)));
        g.add_conditional_edges(START, |_: &DynamicState| "a", ["a"]);
        g.add_conditional_edges(a, by_name, [b, c]);
        g.add_conditional_edges(b, move |_: &DynamicState| word.clone(), [c]);
        g.add_conditional_edges(
            c,
            |state: &DynamicState| if state.get("n").is_null() { Goto::node("a") } else { Goto::end() },
            ["a", "__end__"],
        );
        assert_eq!(field(&g.compile().unwrap().invoke(json!({ "n": n })).await.unwrap(), "log"), expected);
    }
}

/// R-PRB-16: a join in a loop keeps no copies of the state: state and checkpoints have the same size after many
/// iterations as after one.
#[tokio::test]
async fn a_join_in_a_loop_does_not_grow_the_state() {
    for compat in COMPAT_MODES {
        let (memory, mut g) =
            (MemoryCheckpointer::new(), dynamic(json!({ "n": { "reducer": "add", "default": 10 }, "last": {} })));
        let begin = g.add_node("begin", || ());
        let workers = ["x", "y", "z"].map(|name| g.add_node(name, || json!({ "n": 1 })));
        let join = g.add_node("join", || json!({ "last": "joined" }));
        g.add_edge(START, begin).add_join(workers, join);
        workers.into_iter().for_each(|worker| _ = g.add_edge(begin, worker));
        let route = move |state: &DynamicState| {
            if state.get("n").as_i64() < Some(94) { Goto::node(begin) } else { Goto::end() }
        };
        g.add_conditional_edges(join, route, [begin.into(), END])
            .compat(compat)
            .checkpointer(memory.clone())
            .recursion_limit(200);
        let graph = g.compile().unwrap();
        let done = graph.invoke(json!({ "last": "in" })).thread("t").await.unwrap();
        assert_eq!(done.to_json().unwrap(), json!({ "n": 94, "last": "joined" }), "{compat:?}");
        let rounds: Vec<_> =
            history(&graph, "t").await.into_iter().rev().filter(|seen| seen.next == ["begin"]).collect();
        let size = |seen: &superstep::StateSnapshot<DynamicState>| {
            seen.state.to_json().to_string().len() + serde_json::to_string(&*seen.checkpoint).unwrap().len()
        };
        let (early, late) = (size(&rounds[2]), size(rounds.last().unwrap()));
        assert!(rounds.len() > 26 && late <= early + 4, "{compat:?}: {early} bytes early, {late} late");
        assert!(!stored(&memory, "t").await.contains("fan_in"));
    }
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Counters {
    #[reduce(add)]
    signed: i64,
    #[reduce(add)]
    unsigned: u64,
}

/// R-PRB-17: counters are exact where a float would round: typed and dynamic, through a checkpointer, and out of
/// subgraphs.
#[tokio::test]
async fn counters_are_exact_beyond_the_range_of_floats() {
    const FLOAT: i64 = 1 << 53;
    for is_nested in [false, true] {
        let mut g = StateGraph::<Counters>::new("counters");
        let one = g.add_node("one", || Counters::update().signed(1_i64).unsigned(1_u64));
        g.add_edge(START, one).add_edge(one, END).checkpointer(MemoryCheckpointer::new());
        let mut graph = g.compile().unwrap();
        if is_nested {
            let mut outer = StateGraph::<Counters>::new("outer");
            let child = outer.add_node("child", graph);
            outer.add_edge(START, child).add_edge(child, END).checkpointer(MemoryCheckpointer::new());
            graph = outer.compile().unwrap();
        }
        let large = u64::MAX - 5;
        graph.invoke(Counters::input().signed(FLOAT).unsigned(large)).thread("t").await.unwrap();
        graph.invoke(json!({ "signed": 0, "unsigned": 0 })).thread("t").await.unwrap();
        let state = graph.threads().get_state("t").await.unwrap().state;
        assert_eq!((state.signed, state.unsigned), (FLOAT + 2, large + 2), "inside: {is_nested}");
    }
    let schema =
        Schema::from_json("sum", &json!({ "n": { "type": "integer", "reducer": "add", "default": 0 } })).unwrap();
    let mut g = StateGraph::<DynamicState>::with_schema("sum", schema);
    let one = g.add_node("one", || json!({ "n": 1 }));
    g.add_edge(START, one).add_edge(one, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    graph.invoke(json!({ "n": FLOAT })).thread("t").await.unwrap();
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.to_json(), json!({ "n": FLOAT + 1 }));
}

/// `once` records a step, then `end` follows; both count.
fn recording(store: &RecordingCheckpointer, runs: &CallCounter) -> CompiledGraph<DynamicState> {
    let (mut g, counted) = (graph("g"), runs.clone());
    let once = g.add_node("once", move |cx: TaskContext| {
        let runs = counted.clone();
        async move {
            let value = cx.once("step", async { Ok::<_, NodeError>(1) }).await?;
            runs.up();
            Ok::<_, NodeError>(json!({ "log": ["once"], "n": value }))
        }
    });
    let sibling = g.add_node("beside", log_word("beside"));
    let end = g.add_node("end", log_word("end"));
    g.add_edge(START, once)
        .add_edge(START, sibling)
        .add_join([once, sibling], end)
        .add_edge(end, END)
        .checkpointer(store.clone());
    g.compile().unwrap()
}

/// R-PRB-18: whichever commit fails, the run fails with the error of the checkpointer, reports nothing that is not
/// saved, and continues from the saved state once the checkpointer works.
#[tokio::test]
async fn a_failed_save_is_never_swallowed() {
    for works in 0.. {
        let (store, runs) = (RecordingCheckpointer::default(), CallCounter::default());
        let graph = recording(&store, &runs);
        store.break_at(Some((Request::Commit, works)));
        let ended = graph.invoke(json!({ "n": 0 })).thread("t").await;
        store.break_at(None);
        let Err(error) = ended else {
            assert!(works > 4, "only {works} commits");
            break;
        };
        assert_eq!(error.code(), ErrorCode::StoreUnavailable, "after {works}: {error}");
        let rerun = match graph.threads().status("t").await.unwrap() {
            None => graph.invoke(json!({ "n": 0 })).thread("t").await,
            Some(_) => graph.continue_thread("t").await,
        };
        let done = rerun.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["once", "beside", "end"]), json!(1)), "{works}");
    }
}

/// R-PRB-18: a thread that cannot be loaded is an error and not treated as new: nothing runs, and nothing is
/// overwritten.
#[tokio::test]
async fn a_failed_load_does_not_start_a_fresh_thread() {
    let (store, runs) = (RecordingCheckpointer::default(), CallCounter::default());
    let graph = recording(&store, &runs);
    graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    let saved = stored(store.disk(), "t").await;
    for request in [Request::Load, Request::Acquire] {
        store.break_at(Some((request, 0)));
        let starts = [
            graph.invoke(json!({ "n": 0 })).thread("t"),
            graph.continue_thread("t"),
            graph.resume("t", 1),
            graph.command("t", Command::goto("end")),
        ];
        for start in starts {
            assert_eq!(expect_error(start.await).code(), ErrorCode::StoreUnavailable, "{request:?}");
        }
        assert_eq!(
            expect_error(graph.threads().update_state("t", json!({ "n": 1 })).await).code(),
            ErrorCode::StoreUnavailable
        );
        assert_eq!((stored(store.disk(), "t").await, runs.get()), (saved.clone(), 1), "{request:?}");
    }
    store.break_at(None);
    let done = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    assert_eq!((field(&done, "n"), runs.get()), (json!(2), 2));
}

/// R-PRB-18: a failed checkpointer operation is never replaced by a default: states, histories, namespaces, copies,
/// deletions.
#[tokio::test]
async fn no_answer_of_a_store_is_made_up() {
    let store = RecordingCheckpointer::default();
    let graph = recording(&store, &CallCounter::default());
    graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    let threads = graph.threads();
    let broken = |request: Request| store.break_at(Some((request, 0)));
    let mut codes = Vec::new();
    broken(Request::Load);
    codes.push(threads.get_state("t").await.err());
    broken(Request::History);
    codes.push(threads.get_state_history("t", &HistoryQuery::default()).await.err());
    broken(Request::Status);
    codes.push(threads.status("t").await.err());
    broken(Request::Namespaces);
    codes.push(threads.namespaces("t").await.err());
    broken(Request::Copy);
    codes.push(threads.copy("t", "u").await.err());
    broken(Request::Prune);
    codes.push(threads.prune("t", &Retention::keep_last(1)).await.err());
    broken(Request::Delete);
    codes.push(threads.delete("t").await.err());
    broken(Request::Stats);
    codes.push(store.stats().await.err());
    let codes: Vec<_> = codes.into_iter().map(|error| error.map(|error| error.code())).collect();
    assert_eq!(codes, vec![Some(ErrorCode::StoreUnavailable); 8]);
    store.break_at(None);
    assert_eq!(history(&graph, "t").await.len(), 3);
}

/// R-PRB-18: a subgraph that cannot be loaded fails the run; it does not restart.
#[tokio::test]
async fn a_failed_load_of_a_subgraph_does_not_restart_it() {
    let (store, runs) = (RecordingCheckpointer::default(), CallCounter::default());
    let mut g = graph("inner");
    let counted = runs.clone();
    let first = g.add_node("first", move || json!({ "n": counted.up() }));
    let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
        Ok::<_, NodeError>(json!({ "title": interrupt.raise::<String>("who", ()).await? }))
    });
    g.add_sequence([START, first.into(), interrupt.into(), END]);
    let mut outer = graph("outer");
    let child = outer.add_node("child", g.compile().unwrap());
    outer.add_edge(START, child).add_edge(child, END).checkpointer(store.clone());
    let graph = outer.compile().unwrap();
    graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    // The first load is that of the thread, the second that of the subgraph.
    store.break_at(Some((Request::Load, 1)));
    assert_eq!(expect_error(graph.resume("t", "Ann").await).code(), ErrorCode::StoreUnavailable);
    store.break_at(None);
    let done = graph.continue_thread("t").await.unwrap();
    assert_eq!((field(&done, "title"), runs.get()), (json!("Ann"), 1));
    assert_ne!(field(&done, "n"), Value::Null);
}
