//! The graph `everything`, generated from a graph file.
//!
//! Every kind of node and every key, for tests.

use serde_json::json;
use superstep::files::*;
use superstep::models::Prompt;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, Result, Schema};

const EVERYTHING_SAY_HELLO_TEXT_1_PROMPT: &str = r#"Say "hello" to:
{{text}} {{secret}} and \{{braces}}, which is a text of some length; it is "quoted" too"#;

/// Builds the graph from the components that it refers to by name.
///
/// # Errors
/// Returns an error if a component is missing.
pub fn build(parts: &Components) -> Result<CompiledGraph<DynamicState>> {
    let mut graph = everything(parts)?;
    parts.apply_storage(&mut graph);
    graph.compile()
}

fn everything(parts: &Components) -> Result<StateGraph<DynamicState>> {
    let schema = everything_state()?;
    let mut graph = StateGraph::<DynamicState>::with_schema("everything", schema);
    everything_say_hello(&mut graph)?;
    everything_ask(&mut graph, parts)?;
    everything_wants(&mut graph)?;
    everything_tools(&mut graph, parts)?;
    everything_each(&mut graph)?;
    everything_look(&mut graph)?;
    everything_both(&mut graph)?;
    everything_left(&mut graph, parts)?;
    everything_right(&mut graph, parts)?;
    everything_question(&mut graph)?;
    everything_count(&mut graph, parts)?;
    graph.add_edge(START, "say hello");
    graph.add_edge("say hello", "ask");
    graph.add_edge("ask", "wants");
    graph.add_edge("tools", "ask");
    graph.add_edge("look", "both");
    graph.add_edge("both", "left");
    graph.add_edge("both", "right");
    graph.add_join(["left", "right"], "question");
    graph.add_edge("question", "count");
    graph.input_fields(["text", "items", "score"]);
    graph.output_fields(["title", "found", "score", "words", "notes"]);
    graph.interrupt_before(["count"]);
    graph.interrupt_after(["count"]);
    graph.recursion_limit(30);
    let retry = RetryPolicy::exponential(2)
        .initial_interval(std::time::Duration::from_secs_f64(0.001))
        .backoff_factor(1.5)
        .max_interval(std::time::Duration::from_secs_f64(2.0))
        .without_jitter();
    graph.default_retry(retry);
    let migration = superstep::Migration::to_version(2)
        .rename("heading", "title")
        .add("score", 1)
        .remove("old")
        .rename_node("counter", "count");
    graph.add_migration(1, migration);
    Ok(graph)
}

fn everything_state() -> Result<std::sync::Arc<Schema>> {
    Schema::builder("everything")
        .version(2)
        .fields_from_json(&json!({
            "answer": {
                "type": {
                    "schema": {
                        "properties": {
                            "why": { "type": "string" },
                            "yes": { "type": "boolean" }
                        },
                        "required": ["yes"],
                        "type": "object"
                    }
                }
            }
        }))
        .fields_from_json(&json!({ "chat": { "type": "messages" } }))
        .fields_from_json(&json!({ "found": { "default": [], "reducer": "append", "type": "array" } }))
        .fields_from_json(&json!({ "items": { "default": [], "type": "array" } }))
        .fields_from_json(&json!({ "notes": { "default": {}, "reducer": "merge", "type": "object" } }))
        .fields_from_json(&json!({ "score": { "default": 0, "max": 100, "min": 0, "type": "integer" } }))
        .fields_from_json(&json!({ "secret": { "default": "quiet", "private": true, "type": "string" } }))
        .fields_from_json(&json!({ "text": { "required": true, "type": "string" } }))
        .fields_from_json(&json!({ "title": { "type": "string?" } }))
        .fields_from_json(&json!({ "words": { "default": 0, "reducer": "add", "type": "integer" } }))
        .build()
}

fn everything_say_hello(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let value_1 = json!({
        "a list of things that is long enough to need several lines": ["one", "two", "three"],
        "deep": { "er": [1, 2.5, true, null] }
    });
    let text_1 = Prompt::new("say_hello", "2", EVERYTHING_SAY_HELLO_TEXT_1_PROMPT)?;
    let step =
        SetNode::new().value("notes", value_1).value("score", 7).template("chat", text_1).copy("title", "secret");
    let step = node(step).metadata("description", "the first node").reads(["secret"]);
    graph.add_node("say hello", step);
    Ok(())
}

fn everything_ask(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("ask", "2", "You are short.")?;
    let step = ModelNode::new(parts.find_model("small")?)
        .tools(parts.find_tools(["find_order", "refund"])?)
        .prompt(prompt)
        .messages("chat")
        .temperature(0.5)
        .max_tokens(100);
    let timeout = superstep::TimeoutPolicy::run_timeout(std::time::Duration::from_secs_f64(30.0))
        .and_idle_timeout(std::time::Duration::from_secs_f64(10.0));
    let step = node(step).timeout(timeout);
    graph.add_node("ask", step);
    Ok(())
}

fn everything_wants(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let test_2_2 = [Condition::is_missing("title"), Condition::contains("text", "fox")];
    let test_2 = [
        Condition::at_most("score", 3),
        Condition::any(test_2_2),
        Condition::not(Condition::one_of("title", [json!("a"), json!(1)])),
    ];
    let step = ConditionNode::default_to("each")
        .when(Condition::has_tool_calls("chat"), "tools")
        .when(Condition::all(test_2), END)
        .when(Condition::equals("notes", 2).at("/deep/er/0"), END);
    let step = node(step).goto_targets(["tools".into(), END, "each".into()]);
    graph.add_node("wants", step);
    Ok(())
}

fn everything_tools(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let policy = superstep::tools::ToolPolicy::default()
        .and_allow(["refund"])
        .and_require_approval(["*"])
        .and_deny(["find_order"]);
    let tools = parts.find_tools(["find_order", "refund"])?;
    let step = ToolNode::new(tools)
        .messages_field("chat")
        .policy(policy)
        .error_handling(superstep::tools::ToolErrorHandling::Propagate)
        .timeout(std::time::Duration::from_secs_f64(5.0))
        .max_concurrency(2)
        .batch_approvals();
    graph.add_node("tools", step);
    Ok(())
}

fn everything_each(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = MapNode::new("items", "look").item("thing").when_empty("both");
    let step = node(step).goto_targets(["look", "both"]);
    graph.add_node("each", step);
    Ok(())
}

fn everything_look(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = SetNode::new().copy("found", "thing");
    let retry = RetryPolicy::exponential(4);
    let step = node(step).retry(retry);
    graph.add_node("look", step);
    Ok(())
}

fn everything_both(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = SetNode::new().value("words", 1);
    graph.add_node("both", step);
    Ok(())
}

fn everything_left(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let step = inner(parts)?.compile()?;
    graph.add_node("left", step);
    Ok(())
}

fn inner(parts: &Components) -> Result<StateGraph<DynamicState>> {
    let schema = inner_state()?;
    let mut graph = StateGraph::<DynamicState>::with_schema("inner", schema);
    inner_look(&mut graph, parts)?;
    inner_add(&mut graph)?;
    graph.add_edge(START, "look");
    graph.add_edge("look", "add");
    graph.add_edge("add", END);
    Ok(graph)
}

fn inner_state() -> Result<std::sync::Arc<Schema>> {
    Schema::builder("inner")
        .version(1)
        .fields_from_json(&json!({ "seen": { "default": false, "type": "boolean" } }))
        .fields_from_json(&json!({ "title": { "type": "string?" } }))
        .fields_from_json(&json!({ "words": { "default": 0, "reducer": "add", "type": "integer" } }))
        .build()
}

fn inner_look(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("title", "1.3", "A title for {{title}}")?;
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("title");
    graph.add_node("look", step);
    Ok(())
}

fn inner_add(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = SetNode::new().value("seen", true).value("words", 10);
    graph.add_node("add", step);
    Ok(())
}

fn everything_right(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let step = parts.find_graph("shout")?;
    graph.add_node("right", step);
    Ok(())
}

fn everything_question(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let question = Prompt::new("question", "2", "Good, {{title}}?")?;
    let schema = json!({ "properties": { "yes": { "type": "boolean" } }, "required": ["yes"], "type": "object" });
    let step = InterruptNode::new(question, "answer").resume_schema(schema).payload_fields(["found", "secret"]);
    let step = node(step).renamed_from("inquiry").reads(["secret"]);
    graph.add_node("question", step);
    Ok(())
}

fn everything_count(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let step = parts.find_node("count")?;
    let step = node(step).defer().goto_targets([END]).reads(["secret"]).writes(["secret"]);
    graph.add_node("count", step);
    Ok(())
}
