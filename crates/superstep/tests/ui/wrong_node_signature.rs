//! Nodes with unsupported parameter and return types.
use superstep::prelude::*;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    turns: u64,
}

async fn takes_a_number(turns: u64) -> ChatUpdate {
    Chat::update().turns(turns)
}

async fn returns_a_number(chat: View<Chat>) -> u64 {
    chat.turns
}

fn main() {
    let mut graph = StateGraph::<Chat>::new("chat");
    graph.add_node("takes", takes_a_number);
    graph.add_node("returns", returns_a_number);
    graph.add_node("no function", 7);
}
