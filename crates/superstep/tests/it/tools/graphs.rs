//! Compiled graphs as tools.

use serde_json::{Value, json};
use superstep::core::port::ToolInvocation;
use superstep::prelude::*;
use superstep::tools::ToolErrorHandling;
use superstep::{CompiledGraph, RunEnd};

use super::{Chat, answers, call_message, called, graph};
use crate::support::expect_error;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Order {
    #[state(required)]
    item: String,
    price: Option<u64>,
    #[state(private)]
    secret: String,
}

/// price → approve (interrupts above 100).
fn shop() -> CompiledGraph<Order> {
    let mut g = StateGraph::<Order>::new("shop");
    let price = g.add_node("price", |order: View<Order>| Order::update().price(order.item.len() as u64 * 10));
    let approve = g.add_node("approve", async |order: View<Order>, interrupts: Interrupts| {
        let price = order.price.unwrap_or(0);
        if price > 100 && !interrupts.raise::<bool>("so much?", price).await? {
            return Err(NodeError::new("too expensive"));
        }
        Ok::<_, NodeError>(())
    });
    g.add_sequence([START, price.into(), approve.into(), END]);
    g.compile().unwrap()
}

/// R-FWK-83: a graph is a tool: its input schema takes the arguments, its output is the result, as text and as
/// artifact.
#[tokio::test]
async fn a_graph_is_a_tool() {
    let tool = shop().as_tool("shop", "Orders something.");
    let schema = &tool.spec().input_schema;
    assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["item"]), &json!(false)));
    assert!(schema["properties"].get("secret").is_none(), "{schema}");
    let calls =
        [("shop", json!({ "item": "pen" })), ("shop", json!({ "itme": "pen" })), ("shop", json!({ "item": "ink" }))];
    let done = called(ToolNode::new([tool.clone()]), &calls).await.unwrap();
    let message = done.state.messages.get(1).unwrap();
    let expected = json!({ "item": "pen", "price": 30 });
    assert_eq!(serde_json::from_str::<Value>(&message.text()).unwrap(), expected);
    assert_eq!(message.metadata["artifact"], expected);
    assert!(answers(&done.state.messages)[1].1.contains("unknown argument `itme`; did you mean `item`?"));
    let alone =
        tool.call(ToolInvocation::new("c", json!({ "item": "pen" }).as_object().unwrap().clone())).await.unwrap();
    assert_eq!(alone.artifact, Some(expected));
}

/// R-FWK-83: interrupts of a graph that is a tool are reported by the root run, and two calls of it have separate
/// ones; outside a run, an interrupt is an error.
#[tokio::test]
async fn questions_of_a_graph_reach_the_run_around() {
    let tool = shop().as_tool("shop", "Orders something.");
    let outer = graph(ToolNode::new([tool.clone()]));
    let calls = ["a large table", "a chair", "a larger table"].map(|item| ("shop", json!({ "item": item })));
    let paused = outer.invoke(Chat::input().messages(call_message(&calls))).thread("t").await.unwrap();
    let [first, second] = paused.interrupts() else { panic!("{:?}", paused.end) };
    assert_eq!((&first.value, &second.value), (&json!(130), &json!(140)));
    let yes = [(first.id, json!(true)), (second.id, json!(false))].into();
    let done = outer.resume_with("t", yes).await.unwrap();
    let results = answers(&done.state.messages);
    assert!(done.end == RunEnd::Finished && results[0].1.contains("130") && results[1].1.contains("70"), "{results:?}");
    assert_eq!((results[2].1.as_str(), results[2].2), ("`shop` failed: too expensive", false));
    let alone = tool.call(ToolInvocation::new("c", json!({ "item": "a large table" }).as_object().unwrap().clone()));
    assert_eq!(alone.await.unwrap_err().message, "the graph was interrupted, and no caller can resume it");
}

/// R-FWK-83: a graph that fails is a tool that fails.
#[tokio::test]
async fn a_graph_that_fails_is_a_tool_that_fails() {
    let mut g = StateGraph::<Order>::new("closed");
    let node = g.add_node("node", || Err::<(), _>(NodeError::new("closed today")));
    g.add_edge(START, node).add_edge(node, END);
    let closed = g.compile().unwrap().as_tool("closed", "Is closed.");
    let node = || ToolNode::new([closed.clone()]);
    let calls = [("closed", json!({ "item": "pen" }))];
    let done = called(node(), &calls).await.unwrap();
    assert_eq!(answers(&done.state.messages)[0].1, "`closed` failed: closed today");
    let error = expect_error(called(node().error_handling(ToolErrorHandling::Propagate), &calls).await);
    assert!(error.message().contains("closed today"), "{error}");
}
