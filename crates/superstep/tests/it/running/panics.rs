//! A panic is a failure of its task, never the end of the process.

use serde_json::json;
use superstep::prelude::*;
use superstep::{Cache, CachePolicy, Code, IntoNode, Record};

use crate::engine::{Count, graph};

type Draw = Box<dyn FnOnce(&mut Graph<Record>)>;

/// Draws a graph in which `a` panics, once beside a sound node and once alone, and runs it.
async fn check(draw: impl Fn() -> Draw) {
    for alone in [false, true] {
        let (mut g, sound) = (graph("g"), Count::default());
        draw()(&mut g);
        let counted = sound.clone();
        if !alone {
            let sound = g.node("sound", move || _ = counted.up());
            g.edge(START, sound).edge(sound, END);
        }
        g.checkpointer(Memory::new());
        let graph = g.compile().unwrap();
        let error = graph.run(json!({ "n": 0 })).thread("t").await.unwrap_err();
        assert_eq!((error.code(), error.place().node.as_deref()), (Code::NodeFailed, Some("a")), "{error}");
        assert!(error.to_string().contains("boom"), "{error}");
        // The sibling ran to its end, is kept, and does not run again; the process lives.
        graph.go_on("t").await.unwrap_err();
        assert_eq!(sound.get(), usize::from(!alone));
    }
}

/// Draws `a` as this node.
fn drawn<M>(node: impl IntoNode<Record, (), M> + 'static) -> Draw {
    Box::new(move |g| {
        let a = g.node("a", node);
        g.edge(START, a).edge(a, END);
    })
}

/// R-FWK-19: a panic in a node of any kind is `NodeFailed` with its text; siblings and process live.
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

/// R-FWK-19: so is a panic in a route of the node.
#[tokio::test]
async fn a_panic_in_a_route_fails_its_node() {
    check(|| {
        Box::new(|g| {
            let a = g.node("a", || ());
            g.edge(START, a).route(a, |_: &Record| -> Go { panic!("boom") }, [END]);
        })
    })
    .await;
}

/// R-FWK-19: so is a panic in what was said about the node: its cache key, its retry rule, its handler.
#[tokio::test]
async fn a_panic_in_a_policy_fails_its_node() {
    fn failing() -> Result<(), NodeError> {
        Err(NodeError::new("no"))
    }
    check(|| {
        Box::new(|g| {
            drawn(node(|| ()).cache(CachePolicy::by(|_: &Record| panic!("boom"))))(g);
            g.cache(Cache::new());
        })
    })
    .await;
    check(|| drawn(node(failing).retry(Retry::default().retry_on(|_| panic!("boom"))))).await;
    check(|| drawn(node(failing).on_error(|| -> serde_json::Value { panic!("boom") }))).await;
}
