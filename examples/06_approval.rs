//! A question with a typed answer: the run stops, the answer is checked against its type, the reservation is made once.

use schemars::JsonSchema;
use superstep::prelude::*;

#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Order {
    item: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// What the person answers. Its JSON Schema goes with the question.
#[derive(Deserialize, JsonSchema)]
struct Verdict {
    approve: bool,
    note: Option<String>,
}

async fn reserve(order: View<Order>) -> Result<u64, NodeError> {
    println!("reserving {}", order.item);
    Ok(4711)
}

async fn confirm(order: View<Order>, ask: Ask, cx: Cx) -> Result<OrderUpdate, NodeError> {
    // With the answer the node runs again from its start; what was done `once` is not done again.
    let number = cx.once("reserve", reserve(order.clone())).await?;
    let verdict: Verdict = ask.person("buy it?", &order.item).await?;
    let word = if verdict.approve { "bought" } else { "cancelled" };
    Ok(Order::update().log(format!("{number} {word}: {}", verdict.note.unwrap_or_default())))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = Graph::<Order>::new("order");
    let confirm = graph.node("confirm", confirm);
    graph.edge(START, confirm).edge(confirm, END).checkpointer(Memory::new());
    let order = graph.compile()?;

    let paused = order.run(Order::input().item("a lamp")).thread("o-1").await?;
    let question = &paused.questions()[0];
    println!("{} {}", question.name, question.value);

    let refused = order.resume("o-1", "yes, please").await;
    println!("{}", refused.expect_err("an answer of another type"));

    let answer = serde_json::json!({ "approve": true, "note": "the blue one" });
    println!("{:?}", order.resume("o-1", answer).await?.state.log);
    Ok(())
}
