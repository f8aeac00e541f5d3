//! A run and a node with a context of another type than that of the graph.
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
