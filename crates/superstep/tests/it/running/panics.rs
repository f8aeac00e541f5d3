//! A panic is a failure of its task, never the end of the process.

use serde_json::json;
use superstep::prelude::*;
use superstep::{Cache, CachePolicy, DynamicState, ErrorCode, IntoNode};

use crate::fixtures::{CallCounter, graph};

type Draw = Box<dyn FnOnce(&mut StateGraph<DynamicState>)>;

/// Builds a graph in which `a` panics, once in parallel with a working node and once alone, and runs it.
async fn check(draw: impl Fn() -> Draw) {
    for alone in [false, true] {
        let (mut g, sound) = (graph("g"), CallCounter::default());
        draw()(&mut g);
        let counted = sound.clone();
        if !alone {
            let sound = g.add_node("sound", move || _ = counted.up());
            g.add_edge(START, sound).add_edge(sound, END);
        }
        g.checkpointer(MemoryCheckpointer::new());
        let graph = g.compile().unwrap();
        let error = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap_err();
        assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::NodeFailed, Some("a")), "{error}");
        assert!(error.to_string().contains("boom"), "{error}");
        // The sibling has ended, is saved, and does not run again; the process continues.
        graph.continue_thread("t").await.unwrap_err();
        assert_eq!(sound.get(), usize::from(!alone));
    }
}

/// Builds a graph with `a` as this node.
fn drawn<M>(node: impl IntoNode<DynamicState, (), M> + 'static) -> Draw {
    Box::new(move |g| {
        let a = g.add_node("a", node);
        g.add_edge(START, a).add_edge(a, END);
    })
}

/// R-FWK-19: a panic in a node of any kind is `NodeFailed` with its text; siblings and process continue.
#[tokio::test]
async fn a_panic_in_a_node_fails_its_task_only() {
    fn boom() -> serde_json::Value {
        panic!("boom")
    }
    check(|| drawn(boom)).await;
    check(|| drawn(async || boom())).await;
    check(|| {
        drawn(async || {
            tokio::task::yield_now().await;
            boom()
        })
    })
    .await;
    check(|| drawn(blocking(boom))).await;
}

/// R-FWK-19: so is a panic in a conditional edge of the node.
#[tokio::test]
async fn a_panic_in_a_route_fails_its_node() {
    check(|| {
        Box::new(|g| {
            let a = g.add_node("a", || ());
            g.add_edge(START, a).add_conditional_edges(a, |_: &DynamicState| -> Goto { panic!("boom") }, [END]);
        })
    })
    .await;
}

/// R-FWK-19: so is a panic in a policy of the node: its cache key, its retry predicate, its handler.
#[tokio::test]
async fn a_panic_in_a_policy_fails_its_node() {
    fn failing() -> Result<(), NodeError> {
        Err(NodeError::new("no"))
    }
    check(|| {
        Box::new(|g| {
            drawn(node(|| ()).cache(CachePolicy::with_key(|_: &DynamicState| panic!("boom"))))(g);
            g.cache(Cache::new());
        })
    })
    .await;
    check(|| drawn(node(failing).retry(RetryPolicy::default().retry_on(|_| panic!("boom"))))).await;
    check(|| drawn(node(failing).error_handler(|| -> serde_json::Value { panic!("boom") }))).await;
}
