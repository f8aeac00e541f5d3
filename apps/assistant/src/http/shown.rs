//! A conversation as JSON for pages and programs.

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::core::message::{Role, ToolCall, ToolStatus};
use superstep::{Code, Error, Message};
use superstep_server::{Desk, Problem, RunFailure, RunStatus, Shown, ThreadRecord};

use super::{Options, TALKS};
use crate::app::Office;
use crate::plan::PlannedCall;
use crate::state::Assistant;
use crate::turn::is_said;

/// A conversation whole.
pub(super) async fn shown(desk: &Desk, office: &Office, record: &ThreadRecord) -> Result<Value, Problem> {
    let state = TALKS.state(desk, &record.thread).await?;
    let talk = state.as_ref().map(conversation).transpose()?;
    let messages = talk.as_ref().map(|talk| messages(talk, office)).unwrap_or_default();
    let options = Options::read(&TALKS.options(desk, record).await?);
    Ok(json!({
        "sessionId": record.thread,
        "userId": options.user_id,
        "title": record.title,
        "status": status(record),
        "messages": messages,
        "plan": talk.as_ref().map(plan).unwrap_or_default(),
        "waiting": waiting(record, state.as_ref()),
        "summary": talk.as_ref().map_or("", |talk| talk.summary.as_str()),
        "safetyCheck": talk.as_ref().and_then(|talk| talk.safety_check),
        "retries": talk.as_ref().map_or(0, |talk| talk.retry_count),
        "verdict": talk.as_ref().and_then(|talk| talk.verdict.as_ref()),
        "tokensUsed": talk.as_ref().map_or(0, |talk| talk.tokens_used),
        "model": office.model_described(&options),
        "failure": record.failure,
        "lastEventId": desk.last_event(&record.thread).await?,
    }))
}

/// What a turn gave: the answer, or what is asked back.
pub(super) async fn answered(desk: &Desk, office: &Office, record: &ThreadRecord) -> Result<Value, Problem> {
    let mut whole = shown(desk, office, record).await?;
    let last = whole["messages"].as_array().and_then(|messages| messages.last());
    let last = last.filter(|message| message["role"] == "assistant").cloned();
    whole["answer"] = last.as_ref().map_or(Value::Null, |message| message["text"].clone());
    whole["references"] = last.map_or_else(|| json!([]), |message| message["references"].clone());
    if let Value::Object(whole) = &mut whole {
        whole.remove("messages");
        whole.remove("summary");
    }
    Ok(whole)
}

/// A conversation in a list.
pub(super) fn listed(record: &ThreadRecord) -> Value {
    json!({
        "sessionId": record.thread,
        "title": record.title,
        "status": status(record),
        "createdAt": record.created_at,
        "updatedAt": record.updated_at,
    })
}

/// Why a turn failed, for somebody who waited for its end.
pub(super) fn failed(failure: &RunFailure, thread: &ThreadId) -> Problem {
    let code = Code::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(Code::NodeFailed);
    // What lies in the request is the status of its code; whatever else went wrong did so behind this server.
    let status = Some(Error::new(code, "").http_status()).filter(|status| *status < 500).unwrap_or(502);
    let problem = Problem::new(status, code, failure.message.clone()).on_thread(thread);
    match &failure.hint {
        Some(hint) => problem.hint(hint.as_str()),
        None => problem,
    }
}

fn conversation(state: &Shown) -> Result<Assistant, Problem> {
    serde_json::from_value(state.values.clone()).map_err(|error| Error::internal(error.to_string()).into())
}

/// How a conversation stands.
fn status(record: &ThreadRecord) -> &'static str {
    match record.status {
        RunStatus::Running | RunStatus::Suspended => "running",
        RunStatus::Waiting => "waiting",
        RunStatus::Failed => "error",
        RunStatus::Stopped | RunStatus::Interrupted => "stopped",
        _ => "completed",
    }
}

/// What is asked back, with the id that an answer names.
fn waiting(record: &ThreadRecord, state: Option<&Shown>) -> Option<Value> {
    let asked = state?.questions().next().filter(|_| record.status == RunStatus::Waiting)?;
    let mut waiting = asked.value.as_object().cloned().unwrap_or_default();
    waiting.insert("id".to_owned(), json!(asked.id.to_string()));
    Some(waiting.into())
}

/// What was said, without the work of tools.
fn messages(talk: &Assistant, office: &Office) -> Vec<Value> {
    let said = talk.messages.iter().filter(|message| is_said(message));
    said.map(|message| {
        let role = if message.role == Role::User { "user" } else { "assistant" };
        json!({
            "id": message.id, "role": role, "text": message.text(), "references": references(message, talk, office),
        })
    })
    .collect()
}

/// What the numbers in an answer stand for.
fn references(message: &Message, talk: &Assistant, office: &Office) -> Vec<Value> {
    let kept = message.metadata.get("references").and_then(Value::as_array);
    kept.into_iter().flatten().map(|reference| shown_reference(reference, talk, office)).collect()
}

fn shown_reference(kept: &Value, talk: &Assistant, office: &Office) -> Value {
    let is_it = |call: &&ToolCall| kept["call"] == call.id.as_str();
    let call = talk.messages.iter().flat_map(|message| &message.tool_calls).find(is_it);
    let asked = |name: &str| call.and_then(|call| call.args.get(name)).and_then(Value::as_str);
    let source = kept["source"].as_str().unwrap_or_default();
    let (source, query) = match kept["tool"].as_str() {
        // A query says nothing about where it was asked.
        Some("bq_query") => (asked("dataset").unwrap_or(office.data_name()), Some(source)),
        // A tool that was asked nothing, such as a clock, is a source by itself.
        Some(tool) if source.is_empty() => (tool, None),
        _ => (source, asked("query").filter(|query| *query != source)),
    };
    json!({ "n": kept["number"], "tool": kept["tool"], "source": source, "query": query })
}

/// The calls of the last plan, with what became of them.
fn plan(talk: &Assistant) -> Vec<Value> {
    let of = |call: &PlannedCall| {
        let mut shown = json!(call);
        let is_its = |message: &&Message| message.tool_call_id.as_deref() == Some(call.id.as_str());
        if let Some(message) = talk.tool_outputs.iter().find(is_its) {
            shown["status"] = json!(if message.status == ToolStatus::Success { "success" } else { "error" });
            shown["output"] = json!(message.text());
        }
        shown
    };
    talk.tool_calls.iter().map(of).collect()
}
