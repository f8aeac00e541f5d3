//! Requests that resume a session: answers to clarification questions and decisions on tool calls.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use superstep::core::validation_error::ValidationError;
use superstep_server::{Problem, RunService, RunStatus, ThreadInterrupt, ThreadRecord};
use utoipa::ToSchema;

use super::GRAPH;
use crate::nodes::{Decision, DecisionKind, MAX_ANSWER_CHARS};

/// Answer to the open interrupt of a conversation.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResumeRequest {
    /// Id of the interrupt, as in `waiting.id`. An answer that is sent twice never applies to the next interrupt.
    pub(crate) question_id: String,
    /// Answer. For a clarification question: a text. For a tool approval:
    /// `{"decision": "allow_once" | "allow_session" | "change" | "deny", "arguments": {..}}`.
    answer: Value,
}

/// Finds the interrupt that an answer belongs to.
///
/// # Errors
/// Returns a problem with status 409 if no interrupt is open, or a different one.
pub(crate) async fn pending_interrupt(
    runs: &RunService,
    record: &ThreadRecord,
    id: &str,
) -> Result<ThreadInterrupt, Problem> {
    let thread = &record.thread;
    let is_waiting = record.status == RunStatus::AwaitingInput;
    let open = runs.graph(GRAPH)?.state(thread).await?;
    let mut open = open.interrupts().filter(|_| is_waiting).peekable();
    let detail = match open.peek() {
        Some(_) => format!("conversation `{thread}` has another open question"),
        None => format!("conversation `{thread}` has no open question"),
    };
    let not_open = || {
        Problem::conflict(detail)
            .with_thread(thread)
            .with_hint("`waiting.id` of the conversation is the id of the open question")
    };
    open.find(|interrupt| interrupt.id.to_string() == id).cloned().ok_or_else(not_open)
}

/// Converts an answer into the resume value of the graph.
///
/// # Errors
/// Returns a problem with status 422 if the answer does not fit the interrupt.
pub(crate) fn resume_value(request: ResumeRequest, interrupt: &Value) -> Result<Value, Problem> {
    match (interrupt["kind"].as_str(), request.answer) {
        (Some("approval"), answer) => parse_decision(answer, &interrupt["decisions"]),
        // The error omits the text itself, because its length is not limited.
        (_, Value::String(text)) if text.chars().count() > MAX_ANSWER_CHARS => {
            let message = format!("expected at most {MAX_ANSWER_CHARS} characters, got {}", text.chars().count());
            Err(invalid("/answer", &message, "shorten the answer"))
        }
        (_, Value::String(text)) if !text.trim().is_empty() => Ok(Value::String(text)),
        _ => Err(invalid("/answer", "expected a text that is not empty", "enter an answer")),
    }
}

/// A decision on a tool call, in the vocabulary of the page; the vocabulary of the graph is accepted as well.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolDecisionInput {
    decision: DecisionInput,
    #[serde(default, alias = "args")]
    arguments: Option<Map<String, Value>>,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionInput {
    AllowOnce,
    AllowSession,
    #[serde(alias = "edit")]
    Change,
    Deny,
}

fn parse_decision(answer: Value, allowed: &Value) -> Result<Value, Problem> {
    const HELP: &str = "send `allow_once`, `allow_session`, `change` with `arguments`, or `deny`";
    let input: ToolDecisionInput =
        serde_json::from_value(answer).map_err(|error| invalid("/answer", &error.to_string(), HELP))?;
    let decision = match input.decision {
        DecisionInput::AllowOnce => DecisionKind::AllowOnce,
        DecisionInput::AllowSession => DecisionKind::AllowSession,
        DecisionInput::Change => DecisionKind::Edit,
        DecisionInput::Deny => DecisionKind::Deny,
    };
    if (decision == DecisionKind::Edit) != input.arguments.is_some() {
        return Err(invalid("/answer/arguments", "required with `change`, not allowed otherwise", HELP));
    }
    if allowed.as_array().is_some_and(|allowed| !allowed.contains(&json!(decision))) {
        return Err(invalid("/answer/decision", &format!("allowed decisions: {allowed}"), "send one of them"));
    }
    Ok(json!(Decision { decision, args: input.arguments, reason: input.reason }))
}

fn invalid(pointer: &str, message: &str, help: &str) -> Problem {
    Problem::invalid(
        "the answer does not match the question",
        [ValidationError::new(message).with_pointer(pointer).with_help(help).into()],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_answer(question: &str, answer: Value) -> Result<Value, u16> {
        resume_value(ResumeRequest { question_id: String::new(), answer }, &json!({ "kind": question }))
            .map_err(|problem| problem.status())
    }

    /// R-PLN-32, R-PLN-43: decisions of the page become resume values of the graph, and everything else is
    /// rejected.
    #[test]
    fn answers_fit_their_questions() {
        let rows = [
            ("clarification", json!("Ben Miller"), Ok(json!("Ben Miller"))),
            ("clarification", json!(" "), Err(422)),
            ("clarification", json!({ "decision": "deny" }), Err(422)),
            ("clarification", json!("é".repeat(4_000)), Ok(json!("é".repeat(4_000)))),
            ("clarification", json!("é".repeat(4_001)), Err(422)),
            ("approval", json!("yes"), Err(422)),
            ("approval", json!({ "decision": "allow_once" }), Ok(json!({ "decision": "allow_once" }))),
            ("approval", json!({ "decision": "allow_session" }), Ok(json!({ "decision": "allow_session" }))),
            (
                "approval",
                json!({ "decision": "change", "arguments": { "key": "a" } }),
                Ok(json!({ "decision": "edit", "args": { "key": "a" } })),
            ),
            ("approval", json!({ "decision": "edit", "args": {} }), Ok(json!({ "decision": "edit", "args": {} }))),
            ("approval", json!({ "decision": "change" }), Err(422)),
            ("approval", json!({ "decision": "allow_once", "arguments": {} }), Err(422)),
            (
                "approval",
                json!({ "decision": "deny", "reason": "mine" }),
                Ok(json!({ "decision": "deny", "reason": "mine" })),
            ),
            ("approval", json!({ "decision": "perhaps" }), Err(422)),
        ];
        for (question, answer, expected) in rows {
            assert_eq!(parse_answer(question, answer.clone()), expected, "{question}: {answer}");
        }
    }
}
