//! An interrupt with a typed resume value: the run stops, the value is validated, the reservation is made once.

use schemars::JsonSchema;
use superstep::prelude::*;

#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct Order {
    item: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// Resume value of the approval. Its JSON Schema is part of the interrupt.
#[derive(Deserialize, JsonSchema)]
struct ApprovalAnswer {
    approve: bool,
    note: Option<String>,
}

async fn reserve(order: View<Order>) -> Result<u64, NodeError> {
    println!("reserving {}", order.item);
    Ok(4711)
}

async fn confirm(order: View<Order>, interrupts: Interrupts, cx: TaskContext) -> Result<OrderUpdate, NodeError> {
    // When the run is resumed, the node starts again; `once` returns the recorded result.
    let number = cx.once("reserve", reserve(order.clone())).await?;
    let answer: ApprovalAnswer = interrupts.raise("buy it?", &order.item).await?;
    let word = if answer.approve { "bought" } else { "cancelled" };
    Ok(Order::update().log(format!("{number} {word}: {}", answer.note.unwrap_or_default())))
}

#[tokio::main]
async fn main() -> superstep::Result<()> {
    let mut graph = StateGraph::<Order>::new("order");
    let confirm = graph.add_node("confirm", confirm);
    graph.add_edge(START, confirm).add_edge(confirm, END).checkpointer(MemoryCheckpointer::new());
    let order = graph.compile()?;

    let interrupted = order.invoke(Order::input().item("a lamp")).thread("o-1").await?;
    let interrupt = &interrupted.interrupts()[0];
    println!("{} {}", interrupt.name, interrupt.value);

    let result = order.resume("o-1", "yes, please").await;
    println!("{}", result.expect_err("a resume value of another type"));

    let answer = serde_json::json!({ "approve": true, "note": "the blue one" });
    println!("{:?}", order.resume("o-1", answer).await?.state.log);
    Ok(())
}
