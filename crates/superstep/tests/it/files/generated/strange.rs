//! The graph `fn`, written from a graph file.

use serde_json::json;
use superstep::file::*;
use superstep::model::Prompt;
use superstep::prelude::*;
use superstep::{Compiled, Record, Result, Schema};

const GRAPH_FN_1ST_PROMPT: &str =
    r#"a very long prompt that needs a constant of its own because it does not fit on one line, and "quotes" too"#;

/// The graph, with the parts it calls by name.
///
/// # Errors
/// When a part is missing.
pub fn build(parts: &Parts) -> Result<Compiled<Record>> {
    let mut graph = graph_fn(parts)?;
    parts.equip(&mut graph);
    graph.compile()
}

fn graph_fn(parts: &Parts) -> Result<Graph<Record>> {
    let schema = graph_fn_state()?;
    let mut graph = Graph::<Record>::with_schema("fn", schema);
    graph_fn_1st(&mut graph)?;
    graph_fn_2(&mut graph)?;
    graph_fn_self(&mut graph)?;
    graph_fn_wide(&mut graph)?;
    graph_fn_none(&mut graph)?;
    graph_fn_rust(&mut graph, parts)?;
    graph.edge(START, "1st");
    graph.edge(START, "!?");
    graph.edge(START, "self");
    graph.edge(START, "wide");
    graph.join(["1st", "!?", "self", "wide"], "none");
    Ok(graph)
}

fn graph_fn_state() -> Result<std::sync::Arc<Schema>> {
    Schema::builder("fn")
        .version(1)
        .fields_from_json(&json!({ "a b": { "reducer": "append" } }))
        .fields_from_json(&json!({ "big": { "default": 9007199254740993_i64 } }))
        .fields_from_json(&json!({ "r#": { "type": "string" } }))
        .build()
}

fn graph_fn_1st(graph: &mut Graph<Record>) -> Result<()> {
    let question = Prompt::new("1st", "1", GRAPH_FN_1ST_PROMPT)?;
    let step = AskNode::new(question, "r#");
    graph.node("1st", step);
    Ok(())
}

fn graph_fn_2(graph: &mut Graph<Record>) -> Result<()> {
    let step = SetNode::new().value("a b", json!(["tab\tand \u{1} and \"#"]));
    graph.node("!?", step);
    Ok(())
}

fn graph_fn_self(graph: &mut Graph<Record>) -> Result<()> {
    let value_1 = json!({
        "value": [
            {
                "k\n": [
                    1.5,
                    1e+300,
                    9007199254740993_i64,
                    -3000000000_i64,
                    -9223372036854775808_i64,
                    18446744073709551615_u64
                ]
            }
        ]
    })["value"]
        .clone();
    let step = SetNode::new().value("a b", value_1).value("big", 18446744073709551615_u64);
    graph.node("self", step);
    Ok(())
}

fn graph_fn_wide(graph: &mut Graph<Record>) -> Result<()> {
    let value_1 = json!({
        "value": [
            {
                "a key of some length, 0": 5000000000_i64,
                "a key of some length, 1": 5000000001_i64,
                "a key of some length, 2": 5000000002_i64,
                "a key of some length, 3": 5000000003_i64,
                "a key of some length, 4": 5000000004_i64,
                "a key of some length, 5": 5000000005_i64,
                "a key of some length, 6": 5000000006_i64,
                "a key of some length, 7": 5000000007_i64,
                "a key of some length, 8": 5000000008_i64
            }
        ]
    })["value"]
        .clone();
    let step = SetNode::new().value("a b", value_1);
    graph.node("wide", step);
    Ok(())
}

fn graph_fn_none(graph: &mut Graph<Record>) -> Result<()> {
    let step = ConditionNode::otherwise("rust")
        .when(Test::one_of("big", [""; 0]), END)
        .when(Test::any([]), END)
        .when(Test::one_of("big", [json!(4000000000_i64), json!(-4000000000_i64)]), END);
    let step = node(step).goto([END, "rust".into()]);
    graph.node("none", step);
    Ok(())
}

fn graph_fn_rust(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let step = parts.find_node("send")?;
    let step = node(step).goto([""; 0]).reads([""; 0]).writes([""; 0]);
    graph.node("rust", step);
    Ok(())
}
