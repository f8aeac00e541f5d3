//! Error handlers, and policies for all nodes of a graph.

use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::{Compat, DynamicState, ErrorCode, NodeFailure};
use tokio::time::sleep;

use crate::fixtures::{CallCounter, field, graph, log_word, outcome, transcript};

fn broken() -> Result<(), NodeError> {
    Err(NodeError::new("broken").retryable())
}

/// R-REF-109: a handler runs once, after the last attempt, receives node and error, and its output replaces that of
/// the node.
#[tokio::test(start_paused = true)]
async fn a_handler_takes_over_after_the_last_attempt() {
    let mut g = graph("g");
    let attempts = CallCounter::default();
    let counted = attempts.clone();
    let failing = move || {
        counted.up();
        broken()
    };
    let handler = |failure: NodeFailure| json!({ "log": [&*failure.node, failure.error.message()] });
    let a = g.add_node("a", node(failing).retry(RetryPolicy::exponential(3)).error_handler(handler));
    let b = g.add_node("b", log_word("b"));
    g.add_sequence([START, a.into(), b.into(), END]);
    let (lines, done) = transcript(g.compile().unwrap().invoke(json!({ "n": 0 }))).await;
    assert_eq!(field(&done.unwrap(), "log"), json!(["a", "broken", "b"]));
    assert_eq!((attempts.get(), lines.iter().filter(|line| line.contains("retry")).count()), (3, 2));
}

/// R-REF-109: a handler can return a goto with a command.
#[tokio::test]
async fn a_handler_may_route() {
    for compat in [Compat::Strict, Compat::LangGraph] {
        let done = outcome(
            |g| {
                let (edge, repair) = (g.add_node("edge", log_word("edge")), g.add_node("mend", log_word("mend")));
                let handler = |_: NodeFailure| Command::<DynamicState>::goto("mend").update(json!({ "n": 1 }));
                let a = g.add_node("a", node(broken).error_handler(handler).goto_targets([repair]));
                g.add_edge(START, a).add_edge(a, edge).add_edge(edge, END).add_edge(repair, END).compat(compat);
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
            let handler = |_: NodeFailure| Err::<(), _>(NodeError::new("the handler too"));
            let a = g.add_node("a", node(broken).error_handler(handler));
            g.add_edge(START, a).add_edge(a, END);
        },
        json!({ "n": 0 }),
    );
    let error = done.await.unwrap_err();
    assert_eq!((error.message(), error.location().node.as_deref()), ("the handler too", Some("a")));
}

/// R-REF-110, R-REF-111: a handler never sees an interrupt, and two nodes that fail in one superstep are both
/// handled.
#[tokio::test]
async fn handlers_see_failures_only_and_all_of_them() {
    let mut g = graph("g");
    g.default_error_handler(|failure: NodeFailure| json!({ "log": [&*failure.node] }));
    let interrupting = g.add_node("asks", async |interrupts: Interrupts| {
        Ok::<_, NodeError>(json!({ "title": interrupts.raise::<String>("who?", ()).await? }))
    });
    let (one, two) = (g.add_node("one", broken), g.add_node("two", broken));
    for task in [interrupting, one, two] {
        g.add_edge(START, task).add_edge(task, END);
    }
    g.checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    assert_eq!(graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap().interrupts().len(), 1);
    let done = graph.resume("t", "me").await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "title")), (json!(["one", "two"]), json!("me")));
}

/// R-REF-112: a default retry applies to nodes without their own; a node's own takes precedence.
#[tokio::test(start_paused = true)]
async fn a_default_retry_applies_unless_a_node_overrides_it() {
    for (own, expected) in [(None, 4), (Some(RetryPolicy::exponential(2)), 2), (Some(RetryPolicy::exponential(1)), 1)] {
        let (mut g, attempts) = (graph("g"), CallCounter::default());
        let counted = attempts.clone();
        let failing = node(move || {
            counted.up();
            broken()
        });
        g.default_retry(RetryPolicy::exponential(4));
        let a = g.add_node("a", own.into_iter().fold(failing, superstep::NodeBuilder::retry));
        g.add_edge(START, a).add_edge(a, END);
        g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap_err();
        assert_eq!(attempts.get(), expected);
    }
}

/// R-REF-112: a default timeout and a default handler also apply to nodes without their own.
#[tokio::test(start_paused = true)]
async fn default_timeouts_and_handlers_apply_unless_overridden() {
    let slow = || sleep(Duration::from_secs(5));
    let mut g = graph("g");
    g.default_timeout(Duration::from_secs(3)).default_error_handler(
        |failure: NodeFailure| json!({ "log": [&*failure.node, failure.error.code().to_string()] }),
    );
    let hasty = g.add_node("hasty", slow);
    let long_timeout = g.add_node("patient", node(slow).timeout(Duration::from_secs(9)));
    let own = g.add_node("own", node(slow).error_handler(log_word("own")));
    g.add_sequence([START, hasty.into(), long_timeout.into(), own.into(), END]);
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["hasty", ErrorCode::Timeout.to_string(), "own"]));
}
