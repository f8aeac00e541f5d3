//! A debate as JSON for pages and programs.

use serde_json::{Value, json};
use superstep::Code;
use superstep::core::checkpoint::Question;
use superstep::core::id::ThreadId;
use superstep::core::time::Time;
use superstep_server::{Desk, Problem, RunFailure, RunStatus, ThreadRecord};

use super::Options;
use crate::app::Platform;
use crate::reader::{Seen, fail, read};

/// A debate whole.
pub(super) async fn shown(desk: &Desk, platform: &Platform, record: &ThreadRecord) -> Result<Value, Problem> {
    let seen = seen(desk, platform, record).await?;
    let values = seen.as_ref().map_or(Value::Null, |seen| json!(seen.debate));
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
        "endTime": values["endTime"],
        "failure": record.failure,
        "lastEventId": desk.last_event(&record.thread).await?,
    });
    if let (Value::Object(whole), Value::Object(added)) = (&mut whole, added) {
        whole.extend(added);
        let question = seen.and_then(|seen| seen.question).filter(|_| record.status == RunStatus::Waiting);
        whole.extend(question.map(|asked| ("question".to_owned(), question_shown(&asked))));
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

/// Why a debate failed, for somebody who waited for its end.
pub(super) fn failed(failure: &RunFailure, thread: &ThreadId) -> Problem {
    let code = Code::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(Code::NodeFailed);
    let resume = format!("go on with it: POST /api/debate/{thread}/resume");
    let hint = failure.hint.as_ref().map_or_else(|| resume.clone(), |hint| format!("{hint}; then {resume}"));
    Problem::new(502, code, failure.message.clone()).hint(hint).on_thread(thread)
}

/// A debate as its readers see it; nothing when nothing was saved yet.
pub(super) async fn seen(desk: &Desk, platform: &Platform, record: &ThreadRecord) -> Result<Option<Seen>, Problem> {
    let threads = platform.threads(desk);
    match read(&threads, &record.thread).await {
        Ok(mut seen) => {
            // Also when the run could not say so on the thread.
            if record.status == RunStatus::Failed {
                fail(&mut seen.debate, Time::parse(&record.updated_at).ok());
            }
            Ok(Some(seen))
        }
        // It is known, and has not saved anything yet.
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error.into()),
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

fn question_shown(asked: &Question) -> Value {
    let (id, value) = (&asked.id, &asked.value);
    json!({ "interruptId": id, "question": value["question"], "round": value["round"], "last": value["last"] })
}
