use serde::{Deserialize, Serialize};
use superstep::GraphState;

#[derive(GraphState, Clone, Serialize, Deserialize)]
#[state(verison = 2)]
struct Chat {
    #[reduce(apend)]
    log: Vec<String>,
    #[reduce(add_messages)]
    messages: Vec<String>,
    #[reduce(set_once)]
    topic: String,
    #[state(privat)]
    secret: String,
    #[state(append)]
    other: Vec<String>,
    #[reduce(keep_last)]
    recent: Vec<String>,
}

fn main() {}
