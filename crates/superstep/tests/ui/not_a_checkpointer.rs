//! Threads are kept by a checkpointer, not by anything else.
use superstep::prelude::*;

#[derive(State, Clone, Serialize, Deserialize)]
struct Chat {
    turns: u64,
}

struct Notebook;

fn main() {
    let mut graph = Graph::<Chat>::new("chat");
    graph.checkpointer(Notebook);
}
