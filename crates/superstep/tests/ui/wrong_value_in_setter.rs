use serde::{Deserialize, Serialize};
use superstep::GraphState;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(append)]
    log: Vec<String>,
    topic: Option<String>,
    spent: u64,
}

fn main() {
    let _ = Chat::update().log(1);
    let _ = Chat::update().topic(vec!["a"]);
    let _ = Chat::update().spent("much");
    let _ = Chat::update().lgo("x");
}
