//! A run that is given another context than its graph needs, and a node that takes another.
use superstep::prelude::*;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Note {
    text: String,
}

struct Keys;

async fn takes_a_text(text: RunContext<String>) -> NoteUpdate {
    Note::update().text(text.as_str())
}

fn main() {
    let mut graph = StateGraph::<Note, Keys>::new("note");
    graph.add_node("write", takes_a_text);
    let keys: std::sync::Arc<str> = "no keys".into();
    graph.compile().unwrap().invoke(Note::input().text("")).shared_context(keys);
}
