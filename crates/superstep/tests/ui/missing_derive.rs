//! A state without its derive.
use superstep::prelude::*;

#[derive(Clone, Serialize, Deserialize)]
struct Chat {
    turns: u64,
}

fn main() {
    let _ = StateGraph::<Chat>::new("chat");
}
