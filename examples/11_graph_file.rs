//! A graph in a file: read, drawn and run; with `--format rust` it is written as Rust instead.

use serde_json::json;
use superstep::file::{GraphFile, Parts};
use superstep::model::{Reply, Rules, after_tool, says};
use superstep::prelude::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/files/triage.toml");

/// Looks an order up.
#[tool(read_only)]
fn find_order(number: u64) -> String {
    format!("order {number} left on Monday")
}

/// Pays an order back.
#[tool(destructive)]
fn refund(number: u64) -> String {
    format!("order {number} is paid back")
}

/// Rules in place of a language model.
fn model() -> Rules {
    Rules::new("small")
        .rule(says("sort this ticket"), r#"{ "category": "order", "urgency": 3 }"#)
        .rule(says("write short answer"), "Your order left on Monday.")
        .rule(after_tool("find_order"), "It left on Monday.")
        .otherwise(Reply::call("find_order", json!({ "number": 7 })))
}

fn main() -> superstep::Result<()> {
    let file = GraphFile::open(FILE)?;
    if std::env::args().skip(1).eq(["--format", "rust"].map(String::from)) {
        println!("{}", file.to_rust());
        return Ok(());
    }
    let parts = Parts::new()
        .model("small", model())
        .tools([find_order(), refund()])
        .node("send", || json!({ "status": "sent" }))
        .checkpointer(Memory::new());
    let triage = file.build(&parts)?;
    println!("{}", triage.drawing().to_mermaid());

    let asked = triage.run(json!({ "ticket": "Where is my order 7?" })).thread("ann").wait()?;
    for question in asked.questions() {
        println!("{} {}", question.text.as_deref().unwrap_or_default(), question.value);
    }
    let done = triage.resume("ann", true).wait()?;
    println!("{}", done.to_json()?);
    Ok(())
}
