//! A value that is not a checkpointer, passed as one.
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
