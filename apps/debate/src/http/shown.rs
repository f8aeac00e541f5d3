//! A debate as JSON for pages and programs.

use serde_json::{Value, json};
use superstep::Code;
use superstep::core::id::ThreadId;
use superstep::core::time::Time;
use superstep_server::{Desk, Problem, RunFailure, RunStatus, Shown, ThreadRecord};

use super::{GRAPH, Options};
use crate::app::Platform;
use crate::state::{Debate, Status};

/// A debate whole.
pub(super) async fn shown(desk: &Desk, platform: &Platform, record: &ThreadRecord) -> Result<Value, Problem> {
    let state = state(desk, &record.thread).await?;
    let values = state.as_ref().map_or(&Value::Null, |state| &state.values);
    let mut whole = heading(record, platform);
    // What the state says of itself counts more than what the run was asked.
    for key in ["topic", "maxRounds"] {
        if let Some(value) = values.get(key) {
            whole[key] = value.clone();
        }
    }
    let messages: Vec<Value> = values["messages"].as_array().into_iter().flatten().map(message).collect();
    let added = json!({
        "round": values["round"].as_u64().unwrap_or(0),
        "status": status(record, values["status"].as_str()),
        "messages": messages,
        "awaitingApproval": values["awaitingApproval"].as_bool().unwrap_or(false),
        "userApproved": values["userApproved"],
        "factCheckResults": values.get("factCheckResults").cloned().unwrap_or_else(|| json!([])),
        "tokenUsage": values["tokenUsage"].as_u64().unwrap_or(0),
        "startTime": values["startTime"],
        "endTime": if record.status == RunStatus::Failed { json!(record.updated_at) } else { values["endTime"].clone() },
        "failure": record.failure,
        "lastEventId": desk.last_event(&record.thread).await?,
    });
    if let (Value::Object(whole), Value::Object(added)) = (&mut whole, added) {
        whole.extend(added);
        if let Some(question) = state.as_ref().and_then(|state| question(record, state)) {
            whole.insert("question".to_owned(), question);
        }
    }
    Ok(whole)
}

/// What is known of a debate before it has said anything.
pub(super) fn heading(record: &ThreadRecord, platform: &Platform) -> Value {
    let options = Options::read(&record.options);
    json!({
        "id": record.thread,
        "topic": record.title,
        "maxRounds": options.max_rounds,
        "model": platform.model_described(&options),
        "approval": options.approval,
        "factCheck": options.fact_check,
    })
}

/// A debate in a list.
pub(super) fn listed(record: &ThreadRecord) -> Value {
    json!({
        "id": record.thread,
        "topic": record.title,
        "status": status(record, None),
        "maxRounds": Options::read(&record.options).max_rounds,
        "startTime": record.created_at,
        "updatedTime": record.updated_at,
    })
}

/// How a debate stands: what its run is known to do, and once that has ended, what the state says.
pub(super) fn status<'a>(record: &ThreadRecord, in_state: Option<&'a str>) -> &'a str {
    match record.status {
        RunStatus::Running | RunStatus::Suspended => "running",
        RunStatus::Waiting => "waiting",
        RunStatus::Failed => "error",
        RunStatus::Stopped | RunStatus::Interrupted => "stopped",
        _ => in_state.unwrap_or("completed"),
    }
}

/// Lays over a state what only its run is known to have done: a turn that failed is no part of it.
pub(super) fn lay_over(record: &ThreadRecord, debate: &mut Debate) {
    if record.status == RunStatus::Failed {
        debate.status = Status::Error;
        debate.end_time = Time::parse(&record.updated_at).ok();
    }
}

/// Why a debate failed, for somebody who waited for its end.
pub(super) fn failed(failure: &RunFailure, thread: &ThreadId) -> Problem {
    let code = Code::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(Code::NodeFailed);
    let resume = format!("go on with it: POST /api/debate/{thread}/resume");
    let hint = failure.hint.as_ref().map_or_else(|| resume.clone(), |hint| format!("{hint}; then {resume}"));
    Problem::new(502, code, failure.message.clone()).hint(hint).on_thread(thread)
}

/// The state of a debate, typed; nothing when nothing was saved yet.
pub(super) async fn debate(desk: &Desk, thread: &ThreadId) -> Result<Option<Debate>, Problem> {
    let Some(state) = state(desk, thread).await? else { return Ok(None) };
    let debate = serde_json::from_value(state.values);
    debate.map(Some).map_err(|error| superstep::Error::internal(error.to_string()).into())
}

async fn state(desk: &Desk, thread: &ThreadId) -> Result<Option<Shown>, Problem> {
    match desk.served(GRAPH)?.state(thread).await {
        Ok(state) => Ok(Some(state)),
        // It is known, and has not saved anything yet.
        Err(problem) if problem.status() == 404 => Ok(None),
        Err(problem) => Err(problem),
    }
}

fn message(message: &Value) -> Value {
    json!({
        "id": message["id"],
        "name": message["name"],
        "role": message["role"],
        "content": message["content"],
        "round": message["metadata"]["round"],
    })
}

fn question(record: &ThreadRecord, state: &Shown) -> Option<Value> {
    let asked = state.questions().next().filter(|_| record.status == RunStatus::Waiting)?;
    let (id, value) = (&asked.id, &asked.value);
    Some(json!({ "interruptId": id, "question": value["question"], "round": value["round"], "last": value["last"] }))
}
