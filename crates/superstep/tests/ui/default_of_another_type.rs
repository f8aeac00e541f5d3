use serde::{Deserialize, Serialize};
use superstep::State;

#[derive(State, Clone, Serialize, Deserialize)]
struct Chat {
    #[state(default = "hello")]
    greeting: String,
}

fn main() {}
