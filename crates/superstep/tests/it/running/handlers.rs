//! Error handlers, and policies for all nodes of a graph.

use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::{Code, Compat, Failure, Record};
use tokio::time::sleep;

use crate::engine::{Count, field, graph, outcome, says, transcript};

fn broken() -> Result<(), NodeError> {
    Err(NodeError::new("broken").retryable())
}

/// R-REF-109: a handler runs once, after the last attempt, sees node and error, and counts in place of the node.
#[tokio::test(start_paused = true)]
async fn a_handler_takes_over_after_the_last_attempt() {
    let mut g = graph("g");
    let tries = Count::default();
    let counted = tries.clone();
    let failing = move || {
        counted.up();
        broken()
    };
    let handler = |failure: Failure| json!({ "log": [&*failure.node, failure.error.message()] });
    let a = g.node("a", node(failing).retry(Retry::exponential(3)).on_error(handler));
    let b = g.node("b", says("b"));
    g.sequence([START, a.into(), b.into(), END]);
    let (lines, done) = transcript(g.compile().unwrap().run(json!({ "n": 0 }))).await;
    assert_eq!(field(&done.unwrap(), "log"), json!(["a", "broken", "b"]));
    assert_eq!((tries.get(), lines.iter().filter(|line| line.contains("retry")).count()), (3, 2));
}

/// R-REF-109: a handler routes with a command.
#[tokio::test]
async fn a_handler_may_route() {
    for compat in [Compat::Strict, Compat::LangGraph] {
        let done = outcome(
            |g| {
                let (edge, mend) = (g.node("edge", says("edge")), g.node("mend", says("mend")));
                let handler = |_: Failure| Command::<Record>::goto("mend").update(json!({ "n": 1 }));
                let a = g.node("a", node(broken).on_error(handler).goto([mend]));
                g.edge(START, a).edge(a, edge).edge(edge, END).edge(mend, END).compat(compat);
            },
            json!({ "n": 0 }),
        );
        let done = done.await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n")), (json!(["mend"]), json!(1)), "{compat:?}");
    }
}

/// R-REF-109: a handler that fails fails the run with its own error.
#[tokio::test]
async fn a_handler_that_fails_fails_the_run() {
    let done = outcome(
        |g| {
            let handler = |_: Failure| Err::<(), _>(NodeError::new("the handler too"));
            let a = g.node("a", node(broken).on_error(handler));
            g.edge(START, a).edge(a, END);
        },
        json!({ "n": 0 }),
    );
    let error = done.await.unwrap_err();
    assert_eq!((error.message(), error.place().node.as_deref()), ("the handler too", Some("a")));
}

/// R-REF-110, R-REF-111: a handler never sees a question, and two nodes that fail in one superstep are both handled.
#[tokio::test]
async fn handlers_see_failures_only_and_all_of_them() {
    let mut g = graph("g");
    g.default_on_error(|failure: Failure| json!({ "log": [&*failure.node] }));
    let asks = g
        .node("asks", async |ask: Ask| Ok::<_, NodeError>(json!({ "title": ask.person::<String>("who?", ()).await? })));
    let (one, two) = (g.node("one", broken), g.node("two", broken));
    for task in [asks, one, two] {
        g.edge(START, task).edge(task, END);
    }
    g.checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    assert_eq!(graph.run(json!({ "n": 0 })).thread("t").await.unwrap().questions().len(), 1);
    let done = graph.resume("t", "me").await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "title")), (json!(["one", "two"]), json!("me")));
}

/// R-REF-112: a default retry holds for nodes without their own; a node's own wins.
#[tokio::test(start_paused = true)]
async fn a_default_retry_holds_unless_a_node_says_otherwise() {
    for (own, expected) in [(None, 4), (Some(Retry::exponential(2)), 2), (Some(Retry::exponential(1)), 1)] {
        let (mut g, tries) = (graph("g"), Count::default());
        let counted = tries.clone();
        let failing = node(move || {
            counted.up();
            broken()
        });
        g.default_retry(Retry::exponential(4));
        let a = g.node("a", own.into_iter().fold(failing, superstep::NodeWith::retry));
        g.edge(START, a).edge(a, END);
        g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap_err();
        assert_eq!(tries.get(), expected);
    }
}

/// R-REF-112: a default timeout and a default handler hold for nodes without their own, too.
#[tokio::test(start_paused = true)]
async fn default_timeouts_and_handlers_hold_unless_a_node_says_otherwise() {
    let slow = || sleep(Duration::from_secs(5));
    let mut g = graph("g");
    g.default_timeout(Duration::from_secs(3))
        .default_on_error(|failure: Failure| json!({ "log": [&*failure.node, failure.error.code().to_string()] }));
    let hasty = g.node("hasty", slow);
    let patient = g.node("patient", node(slow).timeout(Duration::from_secs(9)));
    let own = g.node("own", node(slow).on_error(says("own")));
    g.sequence([START, hasty.into(), patient.into(), own.into(), END]);
    let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["hasty", Code::Timeout.to_string(), "own"]));
}
