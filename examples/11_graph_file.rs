//! A graph in a file, `11_graph_file.toml`: read, drawn and run. With `--format rust` it is written as Rust instead.

use serde_json::json;
use superstep::Record;
use superstep::file::{GraphFile, Parts};
use superstep::model::Scripted;
use superstep::prelude::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/11_graph_file.toml");

/// A node in Rust, which the file names.
fn post(card: View<Record>) -> serde_json::Value {
    json!({ "log": [format!("posted from {}", card.get("place"))] })
}

fn main() -> superstep::Result<()> {
    let file = GraphFile::open(FILE)?;
    if std::env::args().skip(1).eq(["--format", "rust"].map(String::from)) {
        println!("{}", file.to_rust());
        return Ok(());
    }
    // The file names what it needs; the program has it.
    let writer = Scripted::new(["It rains.", "The sea is warm and the days are long."]);
    let parts = Parts::new().model("writer", writer).node("post", post).checkpointer(Memory::new());
    let postcard = file.build(&parts)?;
    println!("{}", postcard.drawing().to_mermaid());

    let mut card = postcard.run(json!({ "place": "Bari" })).thread("ann").wait()?;
    for answer in [false, true] {
        let question = &card.questions()[0];
        println!("{} {} {answer}", question.text.as_deref().unwrap_or_default(), question.value);
        card = postcard.resume("ann", answer).wait()?;
    }
    println!("{}", card.to_json()?);
    Ok(())
}
