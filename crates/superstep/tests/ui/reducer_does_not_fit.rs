use serde::{Deserialize, Serialize};
use superstep::GraphState;

fn merge_scores(current: u32) -> u32 {
    current
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(append)]
    count: u32,
    #[reduce(merge)]
    names: Vec<String>,
    #[reduce(add)]
    done: bool,
    #[reduce(with = merge_scores)]
    scores: u32,
}

fn main() {}
