//! A state that is declared at run time, here as TOML: no struct, the same engine, the same checks.

use serde_json::json;
use superstep::prelude::*;
use superstep::{Record, Schema};

const FIELDS: &str = r#"
    title = { type = "string", required = true, set_once = true }
    score = { type = "integer", reducer = "max", default = 0, max = 10 }
    tags = { type = "array", reducer = "set_union", default = [] }
"#;

fn judge(page: View<Record>) -> serde_json::Value {
    let title = page.get("title");
    let words: Vec<&str> = title.as_str().unwrap_or_default().split(' ').collect();
    json!({ "score": words.len(), "tags": words })
}

fn main() -> superstep::Result<()> {
    let schema = Schema::from_toml("page", FIELDS)?;
    let mut graph = Graph::<Record>::with_schema("pages", schema);
    let judge = graph.node("judge", judge);
    graph.edge(START, judge).edge(judge, END);
    let pages = graph.compile()?;

    let done = pages.run(json!({ "title": "the fox and the goose", "tags": "animals" })).wait()?;
    println!("{}", done.to_json()?);

    let refused = pages.run(json!({ "titel": "a typing mistake", "score": "high" })).wait();
    println!("{}", refused.expect_err("two fields do not fit"));
    println!("{}", pages.input_schema());
    Ok(())
}
