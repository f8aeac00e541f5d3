//! The graph `fn`, generated from a graph file.

use serde_json::json;
use superstep::files::*;
use superstep::models::Prompt;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, Result, Schema};

const GRAPH_FN_1ST_PROMPT: &str =
    r#"a very long prompt that needs a constant of its own because it does not fit on one line, and "quotes" too"#;

/// Builds the graph from the components that it refers to by name.
///
/// # Errors
/// Returns an error if a component is missing.
pub fn build(parts: &Components) -> Result<CompiledGraph<DynamicState>> {
    let mut graph = graph_fn(parts)?;
    parts.apply_storage(&mut graph);
    graph.compile()
}

fn graph_fn(parts: &Components) -> Result<StateGraph<DynamicState>> {
    let schema = graph_fn_state()?;
    let mut graph = StateGraph::<DynamicState>::with_schema("fn", schema);
    graph_fn_1st(&mut graph)?;
    graph_fn_2(&mut graph)?;
    graph_fn_self(&mut graph)?;
    graph_fn_wide(&mut graph)?;
    graph_fn_none(&mut graph)?;
    graph_fn_rust(&mut graph, parts)?;
    graph.add_edge(START, "1st");
    graph.add_edge(START, "!?");
    graph.add_edge(START, "self");
    graph.add_edge(START, "wide");
    graph.add_join(["1st", "!?", "self", "wide"], "none");
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

fn graph_fn_1st(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let question = Prompt::new("1st", "1", GRAPH_FN_1ST_PROMPT)?;
    let step = InterruptNode::new(question, "r#");
    graph.add_node("1st", step);
    Ok(())
}

fn graph_fn_2(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = SetNode::new().value("a b", json!(["tab\tand \u{1} and \"#"]));
    graph.add_node("!?", step);
    Ok(())
}

fn graph_fn_self(graph: &mut StateGraph<DynamicState>) -> Result<()> {
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
    graph.add_node("self", step);
    Ok(())
}

fn graph_fn_wide(graph: &mut StateGraph<DynamicState>) -> Result<()> {
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
    graph.add_node("wide", step);
    Ok(())
}

fn graph_fn_none(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = ConditionNode::default_to("rust")
        .when(Condition::one_of("big", [""; 0]), END)
        .when(Condition::any([]), END)
        .when(Condition::one_of("big", [json!(4000000000_i64), json!(-4000000000_i64)]), END);
    let step = node(step).goto_targets([END, "rust".into()]);
    graph.add_node("none", step);
    Ok(())
}

fn graph_fn_rust(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let step = parts.find_node("send")?;
    let step = node(step).goto_targets([""; 0]).reads([""; 0]).writes([""; 0]);
    graph.add_node("rust", step);
    Ok(())
}
