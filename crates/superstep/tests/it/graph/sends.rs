//! Sends: tasks with a separate input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{DynamicState, Error, ErrorCode, IntoNode};
use tokio::sync::Barrier;

use crate::fixtures::{field, graph, log_of, log_word, outcome};

#[derive(Clone, Serialize, Deserialize)]
struct Page {
    number: u32,
    text: String,
}

fn page(number: u32) -> Page {
    Page { number, text: "x".repeat(number as usize) }
}

/// Builds `fan` that sends pages to `read`, and `read` with an edge to `sum`.
fn map_reduce<M>(g: &mut StateGraph<DynamicState>, pages: u32, read: impl IntoNode<DynamicState, (), M>) {
    let fan = g.add_node("fan", log_word("fan"));
    let read = g.add_node("read", read);
    let sum = g.add_node("sum", |s: View<DynamicState>| json!({ "title": s.get("n") }));
    g.add_edge(START, fan).add_edge(read, sum).add_edge(sum, END);
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| (0..pages).map(|number| SendTo::new(read, page(number))).collect::<Vec<_>>(),
        [read],
    );
}

/// R-FWK-6, R-REF-35: each send is a task with its own typed input; their edges are followed, to one later task.
#[tokio::test]
async fn each_send_has_its_own_input_and_its_edges_are_followed() {
    let read = |page: SendPayload<Page>| json!({ "log": [page.number], "n": page.text.len() });
    let done = outcome(|g| map_reduce(g, 4, read), json!({ "n": 0 })).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["fan", 0, 1, 2, 3]));
    assert_eq!((field(&done, "title"), done.supersteps), (json!(6), 3));
}

/// R-FWK-6, R-REF-34: the updates of twelve sends are applied in the order of the sends, whichever ends first.
#[tokio::test]
async fn twelve_sends_keep_their_order() {
    let read = async |page: SendPayload<Page>| {
        for _ in 0..(12 - page.number) * 3 {
            tokio::task::yield_now().await;
        }
        json!({ "log": [page.number] })
    };
    let log = field(&outcome(|g| map_reduce(g, 12, read), json!({ "n": 0 })).await.unwrap(), "log");
    let expected: Vec<Value> = [json!("fan")].into_iter().chain((0..12).map(Value::from)).collect();
    assert_eq!(log, Value::from(expected));
}

/// R-FWK-6: sends of one superstep run concurrently.
#[tokio::test(start_paused = true)]
async fn sends_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(5));
    let mut g = graph("g");
    map_reduce(&mut g, 5, move |page: SendPayload<Page>| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            json!({ "log": [page.number] })
        }
    });
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).timeout(Duration::from_secs(5)).await.unwrap();
    assert_eq!(field(&done, "log"), json!(["fan", 0, 1, 2, 3, 4]));
}

/// R-FWK-6: a send that was stored has the type with which it was sent.
#[tokio::test]
async fn a_send_survives_the_store() {
    let mut g = graph("g");
    map_reduce(&mut g, 2, |page: SendPayload<Page>| json!({ "log": [page.text.len()] }));
    g.checkpointer(MemoryCheckpointer::new()).interrupt_before(["read"]);
    let graph = g.compile().unwrap();
    assert_eq!(graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap().next, ["read"]);
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["fan", 0, 1]));
}

async fn send_error<M>(
    node: impl IntoNode<DynamicState, (), M>,
    go: impl Fn() -> Goto + std::marker::Send + Sync + 'static,
) -> Error {
    let drawn = outcome(
        |g| {
            let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", node));
            g.add_edge(START, a).add_edge(b, END).add_conditional_edges(a, move |_: &DynamicState| go(), [b]);
        },
        json!({ "n": 0 }),
    );
    drawn.await.unwrap_err()
}

/// R-FWK-6: a node that takes a payload and is reached by an edge returns an error with help.
#[tokio::test]
async fn a_node_that_requires_a_payload_rejects_an_edge() {
    let error = send_error(|page: SendPayload<Page>| json!({ "log": [page.number] }), || Goto::node("b")).await;
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::InvalidRoute, Some("b")));
    assert!(error.to_string().contains("SendTo::new"), "{error}");
}

/// R-FWK-6: a payload of another type is `TypeMismatch` with the expected type.
#[tokio::test]
async fn a_payload_of_another_type_is_rejected() {
    let error =
        send_error(|page: SendPayload<Page>| json!({ "log": [page.number] }), || SendTo::new("b", "text").into()).await;
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::TypeMismatch, Some("b")));
    assert!(error.to_string().contains("Page"), "{error}");
}

/// R-FWK-6: a task that was sent can also take the shared state.
#[tokio::test]
async fn a_sent_task_may_take_the_state_too() {
    let log = log_of(|g| {
        let (a, b) = (g.add_node("a", || json!({ "log": ["a"], "n": 3 })), g.reserve_node("b"));
        g.define_node(b, |s: View<DynamicState>, sent: SendPayload<i64>| json!({ "log": [s.get("n").as_i64().unwrap_or(0) + sent.0] }));
        g.add_edge(START, a).add_edge(b, END).add_conditional_edges(a, move |_: &DynamicState| SendTo::new(b, 4), [b]);
    });
    assert_eq!(log.await, json!(["a", 7]));
}
