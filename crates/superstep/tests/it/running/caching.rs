//! Caching: equal calls do not run again.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Cache, CachePolicy, CompiledGraph, DynamicState};

use crate::fixtures::{CallCounter, SettableClock, field, graph, transcript};

/// A graph whose one node counts its runs and is cached by this policy.
fn cached(policy: CachePolicy, cache: &Cache) -> (CompiledGraph<DynamicState>, CallCounter) {
    let (mut g, runs) = (graph("g"), CallCounter::default());
    let counted = runs.clone();
    let a = g.add_node("a", node(move || json!({ "log": [counted.up()] })).cache(policy));
    g.add_edge(START, a).add_edge(a, END).cache(cache.clone()).checkpointer(MemoryCheckpointer::new());
    (g.compile().unwrap(), runs)
}

async fn log(graph: &CompiledGraph<DynamicState>, input: Value) -> Value {
    field(&graph.invoke(input).await.unwrap(), "log")
}

/// R-FWK-16, R-REF-138: a call with the same key returns the same update without running, on every thread; another
/// key runs.
#[tokio::test]
async fn equal_calls_run_once_over_all_threads() {
    let (graph, runs) = cached(CachePolicy::by_input(), &Cache::new());
    for thread in ["t1", "t2"] {
        let done = graph.invoke(json!({ "n": 1 })).thread(thread).await.unwrap();
        assert_eq!(field(&done, "log"), json!([1]));
    }
    assert_eq!((log(&graph, json!({ "n": 2 })).await, runs.get()), (json!([2]), 2));
}

/// R-FWK-16, R-REF-137: a cache hit is marked in the events.
#[tokio::test]
async fn a_hit_is_marked_in_the_events() {
    let (graph, _) = cached(CachePolicy::by_input(), &Cache::new());
    let mut marks = Vec::new();
    for _ in 0..2 {
        let (lines, _) = transcript(graph.invoke(json!({ "n": 1 }))).await;
        marks.extend(lines.into_iter().filter(|line| line.starts_with("1 a ") && !line.ends_with("started")));
    }
    assert_eq!(marks, ["1 a done", "1 a cached"]);
}

/// R-FWK-16, R-REF-137: a result is valid for its TTL, by the clock of the run, and not longer.
#[tokio::test]
async fn a_result_counts_for_its_time() {
    let (graph, runs) = cached(CachePolicy::by_input().ttl(Duration::from_secs(10)), &Cache::new());
    let clock = SettableClock::at(100);
    for (pass, expected) in [(0, 1), (9_999, 1), (1, 2), (9_999, 2)] {
        clock.pass(Duration::from_millis(pass));
        graph.invoke(json!({ "n": 1 })).clock(clock.clone()).await.unwrap();
        assert_eq!(runs.get(), expected, "after {pass} ms more");
    }
}

/// R-FWK-16, R-REF-138: a custom key decides which calls are equal.
#[tokio::test]
async fn a_key_function_decides_which_calls_are_equal() {
    let policy = CachePolicy::with_key(|s: &DynamicState| s.get("title").to_string());
    let (graph, runs) = cached(policy, &Cache::new());
    for input in [json!({ "title": "x", "n": 1 }), json!({ "title": "x", "n": 2 }), json!({ "title": "y", "n": 2 })] {
        graph.invoke(input).await.unwrap();
    }
    assert_eq!(runs.get(), 2);
}

/// R-FWK-16: a cached command has the same goto.
#[tokio::test]
async fn a_cached_command_has_the_same_goto() {
    let (mut g, runs) = (graph("g"), CallCounter::default());
    let counted = runs.clone();
    let b = g.add_node("b", |sent: SendPayload<u32>| json!({ "log": [sent.0] }));
    let command = move || {
        counted.up();
        Command::<DynamicState>::new().send(SendTo::new("b", 7u32)).update(json!({ "log": ["a"] }))
    };
    let a = g.add_node("a", node(command).cache(CachePolicy::by_input()).goto_targets([b]));
    g.add_edge(START, a).add_edge(b, END).cache(Cache::new());
    let graph = g.compile().unwrap();
    for _ in 0..3 {
        assert_eq!(log(&graph, json!({ "n": 1 })).await, json!(["a", 7]));
    }
    assert_eq!(runs.get(), 1);
}

/// R-FWK-16: for sends the payload is the key.
#[tokio::test]
async fn the_key_of_a_send_is_its_payload() {
    let (mut g, runs) = (graph("g"), CallCounter::default());
    let counted = runs.clone();
    let fan = g.add_node("fan", || ());
    let work = move |sent: SendPayload<u32>| {
        counted.up();
        json!({ "log": [sent.0] })
    };
    let work = g.add_node("work", node(work).cache(CachePolicy::by_input()));
    g.add_edge(START, fan).add_edge(work, END).cache(Cache::new());
    g.add_conditional_edges(fan, move |_: &DynamicState| [5, 6, 5].map(|i| SendTo::new(work, i)).to_vec(), [work]);
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).max_concurrency(1).await.unwrap();
    assert_eq!((field(&done, "log"), runs.get()), (json!([5, 6, 5]), 2));
}

/// R-FWK-16, R-REF-137: cleared results are computed again: of one node, of another node, or of all.
#[tokio::test]
async fn a_cleared_result_runs_again() {
    let cache = Cache::new();
    let (graph, runs) = cached(CachePolicy::by_input(), &cache);
    for (clear, expected) in [(None, 1), (Some("other"), 1), (Some("a"), 2)] {
        cache.clear(clear);
        graph.invoke(json!({ "n": 1 })).await.unwrap();
        assert_eq!(runs.get(), expected, "{clear:?}");
    }
    cache.clear(None);
    graph.invoke(json!({ "n": 1 })).await.unwrap();
    assert_eq!(runs.get(), 3);
}

/// R-FWK-16, R-REF-137: a failure is never cached, nor is the output of its error handler.
#[tokio::test]
async fn a_failure_is_never_cached() {
    for handled in [false, true] {
        let (mut g, runs) = (graph("g"), CallCounter::default());
        let counted = runs.clone();
        let flaky = move || if counted.up() < 2 { Err(NodeError::new("no")) } else { Ok(json!({ "log": ["well"] })) };
        let flaky = node(flaky).cache(CachePolicy::by_input());
        let a = match handled {
            true => g.add_node("a", flaky.error_handler(|| json!({ "log": ["handled"] }))),
            false => g.add_node("a", flaky),
        };
        g.add_edge(START, a).add_edge(a, END).cache(Cache::new());
        let graph = g.compile().unwrap();
        let first = graph.invoke(json!({ "n": 1 })).await;
        assert_eq!(first.ok().map(|done| field(&done, "log")), handled.then(|| json!(["handled"])));
        assert_eq!(log(&graph, json!({ "n": 1 })).await, json!(["well"]));
        assert_eq!((log(&graph, json!({ "n": 1 })).await, runs.get()), (json!(["well"]), 2));
    }
}

/// R-FWK-16, R-REF-137: an interrupt is never cached: each thread is interrupted.
#[tokio::test]
async fn a_question_is_never_cached() {
    let mut g = graph("g");
    let interrupt = async |interrupt: Interrupts| {
        Ok::<_, NodeError>(json!({ "title": interrupt.raise::<bool>("sure?", ()).await? }))
    };
    let a = g.add_node("a", node(interrupt).cache(CachePolicy::with_key(|_: &DynamicState| "same".to_owned())));
    g.add_edge(START, a).add_edge(a, END).cache(Cache::new()).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    for thread in ["t1", "t2"] {
        assert_eq!(graph.invoke(json!({ "n": 1 })).thread(thread).await.unwrap().interrupts().len(), 1, "{thread}");
    }
}
