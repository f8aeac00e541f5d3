//! Caching: equal calls do not run again.

use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Cache, CachePolicy, Compiled, Record};

use crate::engine::{Count, HandClock, field, graph, transcript};

/// A graph whose one node counts its runs and is cached by this policy.
fn cached(policy: CachePolicy, cache: &Cache) -> (Compiled<Record>, Count) {
    let (mut g, runs) = (graph("g"), Count::default());
    let counted = runs.clone();
    let a = g.node("a", node(move || json!({ "log": [counted.up()] })).cache(policy));
    g.edge(START, a).edge(a, END).cache(cache.clone()).checkpointer(Memory::new());
    (g.compile().unwrap(), runs)
}

async fn log(graph: &Compiled<Record>, input: Value) -> Value {
    field(&graph.run(input).await.unwrap(), "log")
}

/// R-FWK-16, R-REF-138: the same key gives the same update without running, on every thread; another key runs.
#[tokio::test]
async fn equal_calls_run_once_over_all_threads() {
    let (graph, runs) = cached(CachePolicy::by_input(), &Cache::new());
    for thread in ["t1", "t2"] {
        let done = graph.run(json!({ "n": 1 })).thread(thread).await.unwrap();
        assert_eq!(field(&done, "log"), json!([1]));
    }
    assert_eq!((log(&graph, json!({ "n": 2 })).await, runs.get()), (json!([2]), 2));
}

/// R-FWK-16, R-REF-137: a hit is marked in the events.
#[tokio::test]
async fn a_hit_is_marked_in_the_events() {
    let (graph, _) = cached(CachePolicy::by_input(), &Cache::new());
    let mut marks = Vec::new();
    for _ in 0..2 {
        let (lines, _) = transcript(graph.run(json!({ "n": 1 }))).await;
        marks.extend(lines.into_iter().filter(|line| line.starts_with("1 a ") && !line.ends_with("started")));
    }
    assert_eq!(marks, ["1 a done", "1 a cached"]);
}

/// R-FWK-16, R-REF-137: a result counts for its time to live, by the run's clock, and no longer.
#[tokio::test]
async fn a_result_counts_for_its_time() {
    let (graph, runs) = cached(CachePolicy::by_input().ttl(Duration::from_secs(10)), &Cache::new());
    let clock = HandClock::at(100);
    for (pass, expected) in [(0, 1), (9_999, 1), (1, 2), (9_999, 2)] {
        clock.pass(Duration::from_millis(pass));
        graph.run(json!({ "n": 1 })).clock(clock.clone()).await.unwrap();
        assert_eq!(runs.get(), expected, "after {pass} ms more");
    }
}

/// R-FWK-16, R-REF-138: a key of one's own decides which calls are equal.
#[tokio::test]
async fn a_key_function_decides_which_calls_are_equal() {
    let policy = CachePolicy::by(|s: &Record| s.get("title").to_string());
    let (graph, runs) = cached(policy, &Cache::new());
    for input in [json!({ "title": "x", "n": 1 }), json!({ "title": "x", "n": 2 }), json!({ "title": "y", "n": 2 })] {
        graph.run(input).await.unwrap();
    }
    assert_eq!(runs.get(), 2);
}

/// R-FWK-16: a cached command leads where it led.
#[tokio::test]
async fn a_cached_command_leads_where_it_led() {
    let (mut g, runs) = (graph("g"), Count::default());
    let counted = runs.clone();
    let b = g.node("b", |sent: Sent<u32>| json!({ "log": [sent.0] }));
    let command = move || {
        counted.up();
        Command::<Record>::new().send(Send::new("b", 7u32)).update(json!({ "log": ["a"] }))
    };
    let a = g.node("a", node(command).cache(CachePolicy::by_input()).goto([b]));
    g.edge(START, a).edge(b, END).cache(Cache::new());
    let graph = g.compile().unwrap();
    for _ in 0..3 {
        assert_eq!(log(&graph, json!({ "n": 1 })).await, json!(["a", 7]));
    }
    assert_eq!(runs.get(), 1);
}

/// R-FWK-16: for sends the payload is the key.
#[tokio::test]
async fn the_key_of_a_send_is_its_payload() {
    let (mut g, runs) = (graph("g"), Count::default());
    let counted = runs.clone();
    let fan = g.node("fan", || ());
    let work = move |sent: Sent<u32>| {
        counted.up();
        json!({ "log": [sent.0] })
    };
    let work = g.node("work", node(work).cache(CachePolicy::by_input()));
    g.edge(START, fan).edge(work, END).cache(Cache::new());
    g.route(fan, move |_: &Record| [5, 6, 5].map(|i| Send::new(work, i)).to_vec(), [work]);
    let done = g.compile().unwrap().run(json!({ "n": 0 })).max_concurrency(1).await.unwrap();
    assert_eq!((field(&done, "log"), runs.get()), (json!([5, 6, 5]), 2));
}

/// R-FWK-16, R-REF-137: what is cleared runs again: one node, another node, or all.
#[tokio::test]
async fn a_cleared_result_runs_again() {
    let cache = Cache::new();
    let (graph, runs) = cached(CachePolicy::by_input(), &cache);
    for (clear, expected) in [(None, 1), (Some("other"), 1), (Some("a"), 2)] {
        cache.clear(clear);
        graph.run(json!({ "n": 1 })).await.unwrap();
        assert_eq!(runs.get(), expected, "{clear:?}");
    }
    cache.clear(None);
    graph.run(json!({ "n": 1 })).await.unwrap();
    assert_eq!(runs.get(), 3);
}

/// R-FWK-16, R-REF-137: a failure is never cached, also not the answer of the handler that took over.
#[tokio::test]
async fn a_failure_is_never_cached() {
    for handled in [false, true] {
        let (mut g, runs) = (graph("g"), Count::default());
        let counted = runs.clone();
        let flaky = move || if counted.up() < 2 { Err(NodeError::new("no")) } else { Ok(json!({ "log": ["well"] })) };
        let flaky = node(flaky).cache(CachePolicy::by_input());
        let a = match handled {
            true => g.node("a", flaky.on_error(|| json!({ "log": ["handled"] }))),
            false => g.node("a", flaky),
        };
        g.edge(START, a).edge(a, END).cache(Cache::new());
        let graph = g.compile().unwrap();
        let first = graph.run(json!({ "n": 1 })).await;
        assert_eq!(first.ok().map(|done| field(&done, "log")), handled.then(|| json!(["handled"])));
        assert_eq!(log(&graph, json!({ "n": 1 })).await, json!(["well"]));
        assert_eq!((log(&graph, json!({ "n": 1 })).await, runs.get()), (json!(["well"]), 2));
    }
}

/// R-FWK-16, R-REF-137: a question is never cached: each thread is asked.
#[tokio::test]
async fn a_question_is_never_cached() {
    let mut g = graph("g");
    let ask = async |ask: Ask| Ok::<_, NodeError>(json!({ "title": ask.person::<bool>("sure?", ()).await? }));
    let a = g.node("a", node(ask).cache(CachePolicy::by(|_: &Record| "same".to_owned())));
    g.edge(START, a).edge(a, END).cache(Cache::new()).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    for thread in ["t1", "t2"] {
        assert_eq!(graph.run(json!({ "n": 1 })).thread(thread).await.unwrap().questions().len(), 1, "{thread}");
    }
}
