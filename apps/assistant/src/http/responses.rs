//! JSON responses about conversations.

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::core::message::{Role, ToolCall, ToolStatus};
use superstep::{Error, ErrorCode, Message};
use superstep_server::{Problem, RunError, RunService, RunStatus, ThreadRecord, ThreadState};

use super::{CONVERSATIONS, TurnOptions};
use crate::app::AssistantAppState;
use crate::current_turn::is_user_or_assistant_text;
use crate::plan::PlannedCall;
use crate::state::AgentState;

/// Returns the full session.
pub(super) async fn session_response(
    runs: &RunService,
    app_state: &AssistantAppState,
    record: &ThreadRecord,
) -> Result<Value, Problem> {
    let thread_state = CONVERSATIONS.state(runs, &record.thread).await?;
    let state = thread_state.as_ref().map(agent_state).transpose()?;
    let messages = state.as_ref().map(|state| messages(state, app_state)).unwrap_or_default();
    let options = TurnOptions::from_json(&CONVERSATIONS.latest_context(runs, record).await?);
    Ok(json!({
        "sessionId": record.thread,
        "userId": options.user_id,
        "title": record.title,
        "status": status(record),
        "messages": messages,
        "plan": state.as_ref().map(plan).unwrap_or_default(),
        "waiting": pending_interrupt_json(record, thread_state.as_ref()),
        "summary": state.as_ref().map_or("", |state| state.summary.as_str()),
        "safetyCheck": state.as_ref().and_then(|state| state.safety_check),
        "retries": state.as_ref().map_or(0, |state| state.retry_count),
        "verdict": state.as_ref().and_then(|state| state.verdict.as_ref()),
        "tokensUsed": state.as_ref().map_or(0, |state| state.tokens_used),
        "model": app_state.model_json(&options),
        "failure": record.error,
        "lastEventId": runs.last_event_number(&record.thread).await?,
    }))
}

/// Returns the result of a turn: the answer or the open interrupt.
pub(super) async fn turn_response(
    runs: &RunService,
    app_state: &AssistantAppState,
    record: &ThreadRecord,
) -> Result<Value, Problem> {
    let mut response = session_response(runs, app_state, record).await?;
    let last = response["messages"].as_array().and_then(|messages| messages.last());
    let last = last.filter(|message| message["role"] == "assistant").cloned();
    response["answer"] = last.as_ref().map_or(Value::Null, |message| message["text"].clone());
    response["references"] = last.map_or_else(|| json!([]), |message| message["references"].clone());
    if let Value::Object(fields) = &mut response {
        fields.remove("messages");
        fields.remove("summary");
    }
    Ok(response)
}

/// Returns a session as an entry of a list.
pub(super) fn session_list_item(record: &ThreadRecord) -> Value {
    json!({
        "sessionId": record.thread,
        "title": record.title,
        "status": status(record),
        "createdAt": record.created_at,
        "updatedAt": record.updated_at,
    })
}

/// Converts the failure of a run into a problem for a client that waited for the result.
pub(super) fn run_error_problem(failure: &RunError, thread: &ThreadId) -> Problem {
    let code =
        ErrorCode::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(ErrorCode::NodeFailed);
    // An error in the request has the status of its code. Every other error occurred behind this server, which is
    // status 502.
    let status = Some(Error::new(code, "").http_status()).filter(|status| *status < 500).unwrap_or(502);
    let problem = Problem::new(status, code, failure.message.clone()).with_thread(thread);
    match &failure.hint {
        Some(hint) => problem.with_hint(hint.as_str()),
        None => problem,
    }
}

fn agent_state(state: &ThreadState) -> Result<AgentState, Problem> {
    serde_json::from_value(state.values.clone()).map_err(|error| Error::internal(error.to_string()).into())
}

/// Returns the status of a session.
fn status(record: &ThreadRecord) -> &'static str {
    match record.status {
        RunStatus::Running | RunStatus::Suspended => "running",
        RunStatus::AwaitingInput => "waiting",
        RunStatus::Failed => "error",
        RunStatus::Cancelled | RunStatus::Orphaned => "stopped",
        _ => "completed",
    }
}

/// Returns the open interrupt with the id that an answer must name.
fn pending_interrupt_json(record: &ThreadRecord, state: Option<&ThreadState>) -> Option<Value> {
    let interrupt = state?.interrupts().next().filter(|_| record.status == RunStatus::AwaitingInput)?;
    let mut waiting = interrupt.value.as_object().cloned().unwrap_or_default();
    waiting.insert("id".to_owned(), json!(interrupt.id.to_string()));
    Some(waiting.into())
}

/// Returns the messages of user and assistant, without tool calls and their results.
fn messages(state: &AgentState, app_state: &AssistantAppState) -> Vec<Value> {
    let visible_messages = state.messages.iter().filter(|message| is_user_or_assistant_text(message));
    visible_messages.map(|message| {
        let role = if message.role == Role::User { "user" } else { "assistant" };
        json!({
            "id": message.id, "role": role, "text": message.text(), "references": references(message, state, app_state),
        })
    })
    .collect()
}

/// Returns the sources behind the reference numbers of an answer.
fn references(message: &Message, state: &AgentState, app_state: &AssistantAppState) -> Vec<Value> {
    let saved = message.metadata.get("references").and_then(Value::as_array);
    saved.into_iter().flatten().map(|reference| reference_json(reference, state, app_state)).collect()
}

fn reference_json(reference: &Value, state: &AgentState, app_state: &AssistantAppState) -> Value {
    let is_call = |call: &&ToolCall| reference["call"] == call.id.as_str();
    let call = state.messages.iter().flat_map(|message| &message.tool_calls).find(is_call);
    let argument = |name: &str| call.and_then(|call| call.args.get(name)).and_then(Value::as_str);
    let source = reference["source"].as_str().unwrap_or_default();
    let (source, query) = match reference["tool"].as_str() {
        // A query does not contain the dataset, so the dataset is shown as the source.
        Some("bq_query") => (argument("dataset").unwrap_or(app_state.data_name()), Some(source)),
        // A tool without arguments, such as a clock, is its own source.
        Some(tool) if source.is_empty() => (tool, None),
        _ => (source, argument("query").filter(|query| *query != source)),
    };
    json!({ "n": reference["number"], "tool": reference["tool"], "source": source, "query": query })
}

/// Returns the calls of the last plan with their outcomes.
fn plan(state: &AgentState) -> Vec<Value> {
    let call_json = |call: &PlannedCall| {
        let mut entry = json!(call);
        let is_result = |message: &&Message| message.tool_call_id.as_deref() == Some(call.id.as_str());
        if let Some(message) = state.tool_outputs.iter().find(is_result) {
            entry["status"] = json!(if message.status == ToolStatus::Success { "success" } else { "error" });
            entry["output"] = json!(message.text());
        }
        entry
    };
    state.tool_calls.iter().map(call_json).collect()
}
