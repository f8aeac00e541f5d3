//! The graph `support triage`, generated from a graph file.
//!
//! Sorts a ticket, looks things up, answers, and asks a person before anything is sent.

use serde_json::json;
use superstep::files::*;
use superstep::models::Prompt;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, Result, Schema};

const SUPPORT_TRIAGE_WRITE_PROMPT: &str = "Write a short answer to this ticket.

Ticket: {{ticket}}
What was found: {{findings}}
What was said: {{messages}}";

/// Builds the graph from the components that it refers to by name.
///
/// # Errors
/// Returns an error if a component is missing.
pub fn build(parts: &Components) -> Result<CompiledGraph<DynamicState>> {
    let mut graph = support_triage(parts)?;
    parts.apply_storage(&mut graph);
    graph.compile()
}

fn support_triage(parts: &Components) -> Result<StateGraph<DynamicState>> {
    let schema = support_triage_state()?;
    let mut graph = StateGraph::<DynamicState>::with_schema("support triage", schema);
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
    graph.add_edge(START, "sort");
    graph.add_edge("sort", "desk");
    graph.add_edge("begin", "agent");
    graph.add_edge("agent", "next");
    graph.add_edge("tools", "agent");
    graph.add_edge("split", "each");
    graph.add_edge("research", "write");
    graph.add_edge("write", "review");
    graph.add_edge("review", "decide");
    graph.add_edge("page", END);
    graph.add_edge("send", END);
    graph.add_edge("refuse", END);
    graph.output_fields(["findings", "draft", "status"]);
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

fn support_triage_sort(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("sort", "1", "Sort this ticket, with its urgency from 1 to 10: {{ticket}}")?;
    let schema = json!({
        "properties": {
            "category": { "type": "string" },
            "urgency": { "type": "integer" }
        },
        "required": ["category", "urgency"],
        "type": "object"
    });
    let format = superstep::models::ResponseFormat::new("sort", schema);
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("triage").format(format);
    let retry = RetryPolicy::exponential(3);
    let step = node(step).retry(retry);
    graph.add_node("sort", step);
    Ok(())
}

fn support_triage_desk(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = ConditionNode::default_to("split")
        .when(Condition::at_least("triage", 9).at("/urgency"), "page")
        .when(Condition::one_of("triage", [json!("order"), json!("billing")]).at("/category"), "begin");
    let step = node(step).goto_targets(["page", "begin", "split"]);
    graph.add_node("desk", step);
    Ok(())
}

fn support_triage_page(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let text_1 = Prompt::new("page", "1", "Somebody is on the way: {{ticket}}")?;
    let step = SetNode::new().value("status", "paged").template("draft", text_1);
    graph.add_node("page", step);
    Ok(())
}

fn support_triage_begin(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let text_1 = Prompt::new("begin", "1", "{{ticket}}")?;
    let step = SetNode::new().template("messages", text_1);
    graph.add_node("begin", step);
    Ok(())
}

fn support_triage_agent(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("agent", "1", "You help customers with orders.")?;
    let step = ModelNode::new(parts.find_model("small")?)
        .tools(parts.find_tools(["find_order", "refund"])?)
        .prompt(prompt)
        .messages("messages");
    let step = node(step).timeout(std::time::Duration::from_secs_f64(60.0));
    graph.add_node("agent", step);
    Ok(())
}

fn support_triage_next(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = ConditionNode::default_to("write").when(Condition::has_tool_calls("messages"), "tools");
    let step = node(step).goto_targets(["tools", "write"]);
    graph.add_node("next", step);
    Ok(())
}

fn support_triage_tools(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let policy = superstep::tools::ToolPolicy::default().and_require_approval(["refund"]);
    let tools = parts.find_tools(["find_order", "refund"])?;
    let step = ToolNode::new(tools).messages_field("messages").policy(policy);
    graph.add_node("tools", step);
    Ok(())
}

fn support_triage_split(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("split", "1", "Which questions does this ticket ask? {{ticket}}")?;
    let schema = json!({ "items": { "type": "string" }, "type": "array" });
    let format = superstep::models::ResponseFormat::new("split", schema);
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("questions").format(format);
    graph.add_node("split", step);
    Ok(())
}

fn support_triage_each(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = MapNode::new("questions", "research").item("question").when_empty("write");
    let step = node(step).goto_targets(["research", "write"]);
    graph.add_node("each", step);
    Ok(())
}

fn support_triage_research(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("research", "1", "Answer in a sentence: {{question}}")?;
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("findings");
    graph.add_node("research", step);
    Ok(())
}

fn support_triage_write(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let prompt = Prompt::new("write", "1", SUPPORT_TRIAGE_WRITE_PROMPT)?;
    let step = ModelNode::new(parts.find_model("small")?).prompt(prompt).output("draft");
    graph.add_node("write", step);
    Ok(())
}

fn support_triage_review(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let question = Prompt::new("review", "1", "Send this answer?")?;
    let schema = json!({ "type": "boolean" });
    let step = InterruptNode::new(question, "approved").resume_schema(schema).payload_fields(["ticket", "draft"]);
    graph.add_node("review", step);
    Ok(())
}

fn support_triage_decide(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = ConditionNode::default_to("refuse").when(Condition::equals("approved", true), "send");
    let step = node(step).goto_targets(["send", "refuse"]);
    graph.add_node("decide", step);
    Ok(())
}

fn support_triage_send(graph: &mut StateGraph<DynamicState>, parts: &Components) -> Result<()> {
    let step = parts.find_node("send")?;
    graph.add_node("send", step);
    Ok(())
}

fn support_triage_refuse(graph: &mut StateGraph<DynamicState>) -> Result<()> {
    let step = SetNode::new().value("status", "refused");
    graph.add_node("refuse", step);
    Ok(())
}
