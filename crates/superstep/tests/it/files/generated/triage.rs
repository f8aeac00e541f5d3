//! The graph `support triage`, written from a graph file.
//!
//! Sorts a ticket, looks things up, answers, and asks a person before anything is sent.

use serde_json::json;
use superstep::file::*;
use superstep::model::Prompt;
use superstep::prelude::*;
use superstep::{Compiled, Record, Result, Schema};

const SUPPORT_TRIAGE_WRITE_PROMPT: &str = "Write a short answer to this ticket.

Ticket: {{ticket}}
What was found: {{findings}}
What was said: {{messages}}";

/// The graph, with the parts it calls by name.
///
/// # Errors
/// When a part is missing.
pub fn build(parts: &Parts) -> Result<Compiled<Record>> {
    let mut graph = support_triage(parts)?;
    parts.equip(&mut graph);
    graph.compile()
}

fn support_triage(parts: &Parts) -> Result<Graph<Record>> {
    let schema = support_triage_state()?;
    let mut graph = Graph::<Record>::with_schema("support triage", schema);
    support_triage_sort(&mut graph, parts)?;
    support_triage_desk(&mut graph)?;
    support_triage_page(&mut graph)?;
    support_triage_begin(&mut graph)?;
    support_triage_agent(&mut graph, parts)?;
    support_triage_next(&mut graph)?;
    support_triage_tools(&mut graph, parts)?;
    support_triage_split(&mut graph, parts)?;
    support_triage_each(&mut graph)?;
    support_triage_research(&mut graph, parts)?;
    support_triage_write(&mut graph, parts)?;
    support_triage_review(&mut graph)?;
    support_triage_decide(&mut graph)?;
    support_triage_send(&mut graph, parts)?;
    support_triage_refuse(&mut graph)?;
    graph.edge(START, "sort");
    graph.edge("sort", "desk");
    graph.edge("begin", "agent");
    graph.edge("agent", "next");
    graph.edge("tools", "agent");
    graph.edge("split", "each");
    graph.edge("research", "write");
    graph.edge("write", "review");
    graph.edge("review", "decide");
    graph.edge("page", END);
    graph.edge("send", END);
    graph.edge("refuse", END);
    graph.output(["findings", "draft", "status"]);
    graph.recursion_limit(40);
    Ok(graph)
}

fn support_triage_state() -> Result<std::sync::Arc<Schema>> {
    Schema::builder("support triage")
        .version(1)
        .fields_from_json(&json!({ "approved": { "type": "boolean" } }))
        .fields_from_json(&json!({ "draft": { "type": "string" } }))
        .fields_from_json(&json!({ "findings": { "default": [], "reducer": "append", "type": "array" } }))
        .fields_from_json(&json!({ "messages": { "type": "messages" } }))
        .fields_from_json(&json!({ "questions": { "default": [], "type": "array" } }))
        .fields_from_json(&json!({
            "status": {
                "default": "open",
                "type": { "enum": ["open", "paged", "sent", "refused"] }
            }
        }))
        .fields_from_json(&json!({ "ticket": { "required": true, "type": "string" } }))
        .fields_from_json(&json!({ "triage": { "type": "object" } }))
        .build()
}

fn support_triage_sort(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("sort", "1", "Sort this ticket, with its urgency from 1 to 10: {{ticket}}")?;
    let schema = json!({
        "properties": {
            "category": { "type": "string" },
            "urgency": { "type": "integer" }
        },
        "required": ["category", "urgency"],
        "type": "object"
    });
    let format = superstep::model::AnswerFormat::new("sort", schema);
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("triage").format(format);
    let retry = Retry::exponential(3);
    let step = node(step).retry(retry);
    graph.node("sort", step);
    Ok(())
}

fn support_triage_desk(graph: &mut Graph<Record>) -> Result<()> {
    let step = ConditionNode::otherwise("split")
        .when(Test::at_least("triage", 9).at("/urgency"), "page")
        .when(Test::one_of("triage", [json!("order"), json!("billing")]).at("/category"), "begin");
    let step = node(step).goto(["page", "begin", "split"]);
    graph.node("desk", step);
    Ok(())
}

fn support_triage_page(graph: &mut Graph<Record>) -> Result<()> {
    let text_1 = Prompt::new("page", "1", "Somebody is on the way: {{ticket}}")?;
    let step = SetNode::new().value("status", "paged").template("draft", text_1);
    graph.node("page", step);
    Ok(())
}

fn support_triage_begin(graph: &mut Graph<Record>) -> Result<()> {
    let text_1 = Prompt::new("begin", "1", "{{ticket}}")?;
    let step = SetNode::new().template("messages", text_1);
    graph.node("begin", step);
    Ok(())
}

fn support_triage_agent(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("agent", "1", "You help customers with orders.")?;
    let step = ModelNode::new(parts.find_model("small")?)
        .tools(parts.find_tools(["find_order", "refund"])?)
        .prompt(prompt)
        .messages("messages");
    let step = node(step).timeout(std::time::Duration::from_secs_f64(60.0));
    graph.node("agent", step);
    Ok(())
}

fn support_triage_next(graph: &mut Graph<Record>) -> Result<()> {
    let step = ConditionNode::otherwise("write").when(Test::wants_tools("messages"), "tools");
    let step = node(step).goto(["tools", "write"]);
    graph.node("next", step);
    Ok(())
}

fn support_triage_tools(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let policy = superstep::tool::Policy::default().and_ask(["refund"]);
    let tools = parts.find_tools(["find_order", "refund"])?;
    let step = ToolNode::new(tools).messages("messages").policy(policy);
    graph.node("tools", step);
    Ok(())
}

fn support_triage_split(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("split", "1", "Which questions does this ticket ask? {{ticket}}")?;
    let schema = json!({ "items": { "type": "string" }, "type": "array" });
    let format = superstep::model::AnswerFormat::new("split", schema);
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("questions").format(format);
    graph.node("split", step);
    Ok(())
}

fn support_triage_each(graph: &mut Graph<Record>) -> Result<()> {
    let step = MapNode::new("questions", "research").item("question").otherwise("write");
    let step = node(step).goto(["research", "write"]);
    graph.node("each", step);
    Ok(())
}

fn support_triage_research(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("research", "1", "Answer in a sentence: {{question}}")?;
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("findings");
    graph.node("research", step);
    Ok(())
}

fn support_triage_write(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let prompt = Prompt::new("write", "1", SUPPORT_TRIAGE_WRITE_PROMPT)?;
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("draft");
    graph.node("write", step);
    Ok(())
}

fn support_triage_review(graph: &mut Graph<Record>) -> Result<()> {
    let question = Prompt::new("review", "1", "Send this answer?")?;
    let answer = json!({ "type": "boolean" });
    let step = AskNode::new(question, "approved").answer(answer).show(["ticket", "draft"]);
    graph.node("review", step);
    Ok(())
}

fn support_triage_decide(graph: &mut Graph<Record>) -> Result<()> {
    let step = ConditionNode::otherwise("refuse").when(Test::equals("approved", true), "send");
    let step = node(step).goto(["send", "refuse"]);
    graph.node("decide", step);
    Ok(())
}

fn support_triage_send(graph: &mut Graph<Record>, parts: &Parts) -> Result<()> {
    let step = parts.find_node("send")?;
    graph.node("send", step);
    Ok(())
}

fn support_triage_refuse(graph: &mut Graph<Record>) -> Result<()> {
    let step = SetNode::new().value("status", "refused");
    graph.node("refuse", step);
    Ok(())
}
