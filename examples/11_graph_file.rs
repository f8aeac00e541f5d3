//! A graph in a file, `11_graph_file.toml`: loaded, drawn and run. `--format rust` prints the graph as Rust
//! instead.

use serde_json::json;
use superstep::DynamicState;
use superstep::files::{Components, GraphFile};
use superstep::models::ScriptedModel;
use superstep::prelude::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/11_graph_file.toml");

/// A node in Rust, to which the file refers by name.
fn post(card: View<DynamicState>) -> serde_json::Value {
    json!({ "log": [format!("posted from {}", card.get("place"))] })
}

fn main() -> superstep::Result<()> {
    let file = GraphFile::open(FILE)?;
    if std::env::args().skip(1).eq(["--format", "rust"].map(String::from)) {
        println!("{}", file.to_rust());
        return Ok(());
    }
    // The components that the file refers to by name.
    let writer = ScriptedModel::new(["It rains.", "The sea is warm and the days are long."]);
    let parts = Components::new().model("writer", writer).node("post", post).checkpointer(MemoryCheckpointer::new());
    let postcard = file.build(&parts)?;
    println!("{}", postcard.diagram().to_mermaid());

    let mut card = postcard.invoke(json!({ "place": "Bari" })).thread("ann").wait_blocking()?;
    for answer in [false, true] {
        let interrupt = &card.interrupts()[0];
        println!("{} {} {answer}", interrupt.prompt.as_deref().unwrap_or_default(), interrupt.value);
        card = postcard.resume("ann", answer).wait_blocking()?;
    }
    println!("{}", card.to_json()?);
    Ok(())
}
