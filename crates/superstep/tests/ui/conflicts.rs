use serde::{Deserialize, Serialize};
use superstep::GraphState;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(append)]
    #[state(set_once)]
    log: Vec<String>,
    #[reduce(append, add)]
    twice: Vec<String>,
    #[state(required, private)]
    secret: String,
    #[state(min = 3, max = 1)]
    level: u8,
    #[state(rename = "log")]
    other: String,
    __reserved: u8,
}

fn main() {}
