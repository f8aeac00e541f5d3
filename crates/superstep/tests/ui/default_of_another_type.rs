use serde::{Deserialize, Serialize};
use superstep::GraphState;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[state(default = "hello")]
    greeting: String,
}

fn main() {}
