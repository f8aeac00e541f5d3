//! Sends: tasks with an input of their own.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Code, Error, IntoNode, Record};
use tokio::sync::Barrier;

use crate::engine::{field, graph, log_of, outcome, says};

#[derive(Clone, Serialize, Deserialize)]
struct Page {
    number: u32,
    text: String,
}

fn page(number: u32) -> Page {
    Page { number, text: "x".repeat(number as usize) }
}

/// Draws `fan` that sends pages to `read`, and `read` that leads to `sum`.
fn map_reduce<M>(g: &mut Graph<Record>, pages: u32, read: impl IntoNode<Record, (), M>) {
    let fan = g.node("fan", says("fan"));
    let read = g.node("read", read);
    let sum = g.node("sum", |s: View<Record>| json!({ "title": s.get("n") }));
    g.edge(START, fan).edge(read, sum).edge(sum, END);
    g.route(fan, move |_: &Record| (0..pages).map(|number| Send::new(read, page(number))).collect::<Vec<_>>(), [read]);
}

/// R-FWK-6, R-REF-35: each send is a task with its own typed input; their edges are followed, to one later task.
#[tokio::test]
async fn each_send_has_its_own_input_and_its_edges_are_followed() {
    let read = |page: Sent<Page>| json!({ "log": [page.number], "n": page.text.len() });
    let done = outcome(|g| map_reduce(g, 4, read), json!({ "n": 0 })).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["fan", 0, 1, 2, 3]));
    assert_eq!((field(&done, "title"), done.supersteps), (json!(6), 3));
}

/// R-FWK-6, R-REF-34: the updates of twelve sends are applied in the order of the sends, whoever ends first.
#[tokio::test]
async fn twelve_sends_keep_their_order() {
    let read = async |page: Sent<Page>| {
        for _ in 0..(12 - page.number) * 3 {
            tokio::task::yield_now().await;
        }
        json!({ "log": [page.number] })
    };
    let log = field(&outcome(|g| map_reduce(g, 12, read), json!({ "n": 0 })).await.unwrap(), "log");
    let expected: Vec<Value> = [json!("fan")].into_iter().chain((0..12).map(Value::from)).collect();
    assert_eq!(log, Value::from(expected));
}

/// R-FWK-6: sends of one superstep run at the same time.
#[tokio::test(start_paused = true)]
async fn sends_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(5));
    let mut g = graph("g");
    map_reduce(&mut g, 5, move |page: Sent<Page>| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            json!({ "log": [page.number] })
        }
    });
    let done = g.compile().unwrap().run(json!({ "n": 0 })).timeout(Duration::from_secs(5)).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["fan", 0, 1, 2, 3, 4]));
}

/// R-FWK-6: a send comes back from a store as the type it was sent as.
#[tokio::test]
async fn a_send_survives_the_store() {
    let mut g = graph("g");
    map_reduce(&mut g, 2, |page: Sent<Page>| json!({ "log": [page.text.len()] }));
    g.checkpointer(Memory::new()).interrupt_before(["read"]);
    let graph = g.compile().unwrap();
    assert_eq!(graph.run(json!({ "n": 0 })).thread("t").await.unwrap().next, ["read"]);
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "log"), json!(["fan", 0, 1]));
}

async fn refused<M>(
    node: impl IntoNode<Record, (), M>,
    go: impl Fn() -> Go + std::marker::Send + Sync + 'static,
) -> Error {
    let drawn = outcome(
        |g| {
            let (a, b) = (g.node("a", says("a")), g.node("b", node));
            g.edge(START, a).edge(b, END).route(a, move |_: &Record| go(), [b]);
        },
        json!({ "n": 0 }),
    );
    drawn.await.unwrap_err()
}

/// R-FWK-6: a node that takes a payload and is reached by an edge says so, and how to mend it.
#[tokio::test]
async fn a_node_that_wants_a_payload_refuses_an_edge() {
    let error = refused(|page: Sent<Page>| json!({ "log": [page.number] }), || Go::to("b")).await;
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::InvalidRoute, Some("b")));
    assert!(error.to_string().contains("Send::new"), "{error}");
}

/// R-FWK-6: a payload of another type is `TypeMismatch` with the type that was expected.
#[tokio::test]
async fn a_payload_of_another_type_is_refused() {
    let error = refused(|page: Sent<Page>| json!({ "log": [page.number] }), || Send::new("b", "text").into()).await;
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::TypeMismatch, Some("b")));
    assert!(error.to_string().contains("Page"), "{error}");
}

/// R-FWK-6: a task reached by a send still sees the shared state when it takes it.
#[tokio::test]
async fn a_sent_task_may_take_the_state_too() {
    let log = log_of(|g| {
        let (a, b) = (g.node("a", || json!({ "log": ["a"], "n": 3 })), g.reserve("b"));
        g.define(b, |s: View<Record>, sent: Sent<i64>| json!({ "log": [s.get("n").as_i64().unwrap_or(0) + sent.0] }));
        g.edge(START, a).edge(b, END).route(a, move |_: &Record| Send::new(b, 4), [b]);
    });
    assert_eq!(log.await, json!(["a", 7]));
}
