//! Threads are kept by a checkpointer, not by anything else.
use superstep::prelude::*;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    turns: u64,
}

struct Notebook;

fn main() {
    let mut graph = StateGraph::<Chat>::new("chat");
    graph.checkpointer(Notebook);
}
