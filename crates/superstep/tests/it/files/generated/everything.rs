//! The graph `everything`, written from a graph file.
//!
//! Every kind of node and every key, for tests.

use serde_json::json;
use superstep::file::*;
use superstep::model::Prompt;
use superstep::prelude::*;
use superstep::{Compiled, Record, Result, Schema};

const EVERYTHING_SAY_HELLO_TEXT_1_PROMPT: &str = r#"Say "hello" to:
{{text}} {{secret}} and \{{braces}}, which is a text of some length; it is "quoted" too"#;

/// The graph, with the parts it calls by name.
///
/// # Errors
/// When a part is missing.
pub fn build(parts: &Parts) -> Result<Compiled<Record>> {
    let mut graph = everything(parts)?;
    parts.equip(&mut graph);
    graph.compile()
}

fn everything(parts: &Parts) -> Result<Graph<Record>> {
    let schema = everything_state()?;
    let mut graph = Graph::<Record>::with_schema("everything", schema);
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
    graph.edge(START, "say hello");
    graph.edge("say hello", "ask");
    graph.edge("ask", "wants");
    graph.edge("tools", "ask");
    graph.edge("look", "both");
    graph.edge("both", "left");
    graph.edge("both", "right");
    graph.join(["left", "right"], "question");
    graph.edge("question", "count");
    graph.input(["text", "items", "score"]);
    graph.output(["title", "found", "score", "words", "notes"]);
    graph.interrupt_before(["count"]);
    graph.interrupt_after(["count"]);
    graph.recursion_limit(30);
    let retry = Retry::exponential(2)
        .initial_interval(std::time::Duration::from_secs_f64(0.001))
        .backoff(1.5)
        .max_interval(std::time::Duration::from_secs_f64(2.0))
        .without_jitter();
    graph.default_retry(retry);
    let migration = superstep::Migration::to(2)
        .rename("heading", "title")
        .add("score", 1)
        .remove("old")
        .rename_node("counter", "count");
    graph.migrate(1, migration);
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

fn everything_say_hello(graph: &mut Graph<Record>) -> Result<()> {
    let value_1 = json!({
        "a list of things that is long enough to need several lines": ["one", "two", "three"],
        "deep": { "er": [1, 2.5, true, null] }
    });
    let text_1 = Prompt::new("say_hello", "2", EVERYTHING_SAY_HELLO_TEXT_1_PROMPT)?;
    let step =
        SetNode::new().value("notes", value_1).value("score", 7).template("chat", text_1).copy("title", "secret");
    let step = node(step).metadata("description", "the first node").reads(["secret"]);
    graph.node("say hello", step);
    Ok(())
}

fn everything_ask(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("ask", "2", "You are short.")?;
    let step = ModelNode::new(parts.find_model("small")?)
        .tools(parts.find_tools(["find_order", "refund"])?)
        .prompt(prompt)
        .messages("chat")
        .temperature(0.5)
        .max_tokens(100);
    let timeout = superstep::Timeout::run(std::time::Duration::from_secs_f64(30.0))
        .and_idle(std::time::Duration::from_secs_f64(10.0));
    let step = node(step).timeout(timeout);
    graph.node("ask", step);
    Ok(())
}

fn everything_wants(graph: &mut Graph<Record>) -> Result<()> {
    let test_2 = [
        Test::at_most("score", 3),
        Test::any([Test::is_missing("title"), Test::contains("text", "fox")]),
        Test::not(Test::one_of("title", [json!("a"), json!(1)])),
    ];
    let step = ConditionNode::otherwise("each")
        .when(Test::wants_tools("chat"), "tools")
        .when(Test::all(test_2), END)
        .when(Test::equals("notes", 2).at("/deep/er/0"), END);
    let step = node(step).goto(["tools".into(), END, "each".into()]);
    graph.node("wants", step);
    Ok(())
}

fn everything_tools(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let policy = superstep::tool::Policy::default().and_allow(["refund"]).and_ask(["*"]).and_deny(["find_order"]);
    let tools = parts.find_tools(["find_order", "refund"])?;
    let step = ToolNode::new(tools)
        .messages("chat")
        .policy(policy)
        .errors(superstep::tool::Errors::Propagate)
        .timeout(std::time::Duration::from_secs_f64(5.0))
        .max_concurrency(2)
        .ask_together();
    graph.node("tools", step);
    Ok(())
}

fn everything_each(graph: &mut Graph<Record>) -> Result<()> {
    let step = MapNode::new("items", "look").item("thing").otherwise("both");
    let step = node(step).goto(["look", "both"]);
    graph.node("each", step);
    Ok(())
}

fn everything_look(graph: &mut Graph<Record>) -> Result<()> {
    let step = SetNode::new().copy("found", "thing");
    let retry = Retry::exponential(4);
    let step = node(step).retry(retry);
    graph.node("look", step);
    Ok(())
}

fn everything_both(graph: &mut Graph<Record>) -> Result<()> {
    let step = SetNode::new().value("words", 1);
    graph.node("both", step);
    Ok(())
}

fn everything_left(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let step = inner(parts)?.compile()?;
    graph.node("left", step);
    Ok(())
}

fn inner(parts: &Parts) -> Result<Graph<Record>> {
    let schema = inner_state()?;
    let mut graph = Graph::<Record>::with_schema("inner", schema);
    inner_look(&mut graph, parts)?;
    inner_add(&mut graph)?;
    graph.edge(START, "look");
    graph.edge("look", "add");
    graph.edge("add", END);
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

fn inner_look(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("title", "1.3", "A title for {{title}}")?;
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("title");
    graph.node("look", step);
    Ok(())
}

fn inner_add(graph: &mut Graph<Record>) -> Result<()> {
    let step = SetNode::new().value("seen", true).value("words", 10);
    graph.node("add", step);
    Ok(())
}

fn everything_right(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let step = parts.find_graph("shout")?;
    graph.node("right", step);
    Ok(())
}

fn everything_question(graph: &mut Graph<Record>) -> Result<()> {
    let question = Prompt::new("question", "2", "Good, {{title}}?")?;
    let answer = json!({ "properties": { "yes": { "type": "boolean" } }, "required": ["yes"], "type": "object" });
    let step = AskNode::new(question, "answer").answer(answer).show(["found", "secret"]);
    let step = node(step).was("inquiry").reads(["secret"]);
    graph.node("question", step);
    Ok(())
}

fn everything_count(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let step = parts.find_node("count")?;
    let step = node(step).defer().goto([END]).reads(["secret"]).writes(["secret"]);
    graph.node("count", step);
    Ok(())
}
