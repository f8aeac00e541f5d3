//! Debates as JSON, for pages and programs.

use serde_json::{Value, json};
use superstep::ErrorCode;
use superstep::core::checkpoint::Interrupt;
use superstep::core::id::ThreadId;
use superstep::core::time::Time;
use superstep_server::{Problem, RunError, RunService, RunStatus, ThreadRecord};

use super::DebateOptions;
use crate::app::DebateAppState;
use crate::debate_view::{DebateView, load_debate_view, mark_failed};

/// Returns a debate with all its messages.
pub(super) async fn debate_response(
    runs: &RunService,
    app_state: &DebateAppState,
    record: &ThreadRecord,
) -> Result<Value, Problem> {
    let view = find_debate_view(runs, app_state, record).await?;
    let values = view.as_ref().map_or(Value::Null, |view| json!(view.state));
    let mut response = debate_header(record, app_state);
    // Values of the state take precedence over those of the run request.
    for key in ["topic", "maxRounds"] {
        if let Some(value) = values.get(key) {
            response[key] = value.clone();
        }
    }
    let messages: Vec<Value> = values["messages"].as_array().into_iter().flatten().map(message_json).collect();
    let fields = json!({
        "round": values["round"].as_u64().unwrap_or(0),
        "status": status(record, values["status"].as_str()),
        "messages": messages,
        "awaitingApproval": values["awaitingApproval"].as_bool().unwrap_or(false),
        "userApproved": values["userApproved"],
        "factCheckResults": values.get("factCheckResults").cloned().unwrap_or_else(|| json!([])),
        "tokenUsage": values["tokenUsage"].as_u64().unwrap_or(0),
        "startTime": values["startTime"],
        "endTime": values["endTime"],
        "failure": record.error,
        "lastEventId": runs.last_event_number(&record.thread).await?,
    });
    if let (Value::Object(response), Value::Object(fields)) = (&mut response, fields) {
        response.extend(fields);
        let interrupt =
            view.and_then(|view| view.pending_interrupt).filter(|_| record.status == RunStatus::AwaitingInput);
        response.extend(interrupt.map(|interrupt| ("question".to_owned(), interrupt_json(&interrupt))));
    }
    Ok(response)
}

/// Returns the data of a debate that exist before its first message.
pub(super) fn debate_header(record: &ThreadRecord, app_state: &DebateAppState) -> Value {
    let options = DebateOptions::from_json(&record.context);
    json!({
        "id": record.thread,
        "topic": record.title,
        "maxRounds": options.max_rounds,
        "model": app_state.model_json(&options),
        "approval": options.approval,
        "factCheck": options.fact_check,
    })
}

/// Returns a list item for a debate.
pub(super) fn debate_list_item(record: &ThreadRecord) -> Value {
    json!({
        "id": record.thread,
        "topic": record.title,
        "status": status(record, None),
        "maxRounds": DebateOptions::from_json(&record.context).max_rounds,
        "startTime": record.created_at,
        "updatedTime": record.updated_at,
    })
}

/// Returns the status of a debate: from the run record, and after the end of the run from the state.
pub(super) fn status<'a>(record: &ThreadRecord, in_state: Option<&'a str>) -> &'a str {
    match record.status {
        RunStatus::Running | RunStatus::Suspended => "running",
        RunStatus::AwaitingInput => "waiting",
        RunStatus::Failed => "error",
        RunStatus::Cancelled | RunStatus::Orphaned => "stopped",
        _ => in_state.unwrap_or("completed"),
    }
}

/// Converts the error of a failed debate to a problem, for a client that waited for the end.
pub(super) fn run_error_problem(failure: &RunError, thread: &ThreadId) -> Problem {
    let code =
        ErrorCode::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(ErrorCode::NodeFailed);
    let resume = format!("to resume: POST /api/debate/{thread}/resume");
    let hint = failure.hint.as_ref().map_or_else(|| resume.clone(), |hint| format!("{hint}; then {resume}"));
    Problem::new(502, code, failure.message.clone()).with_hint(hint).with_thread(thread)
}

/// Loads the view of a debate; `None` if nothing is saved yet.
pub(super) async fn find_debate_view(
    runs: &RunService,
    app_state: &DebateAppState,
    record: &ThreadRecord,
) -> Result<Option<DebateView>, Problem> {
    let threads = app_state.threads(runs);
    match load_debate_view(&threads, &record.thread).await {
        Ok(mut view) => {
            // The run may have failed without saving that on the thread.
            if record.status == RunStatus::Failed {
                mark_failed(&mut view.state, Time::parse(&record.updated_at).ok());
            }
            Ok(Some(view))
        }
        // The debate exists, but has no checkpoint yet.
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn message_json(message: &Value) -> Value {
    json!({
        "id": message["id"],
        "name": message["name"],
        "role": message["role"],
        "content": message["content"],
        "round": message["metadata"]["round"],
    })
}

fn interrupt_json(interrupt: &Interrupt) -> Value {
    let (id, value) = (&interrupt.id, &interrupt.value);
    json!({ "interruptId": id, "question": value["question"], "round": value["round"], "last": value["last"] })
}
