//! What came of a request, as JSON for pages and programs.

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{Code, Error};
use superstep_server::{Desk, Problem, RunFailure, RunStatus, Shown, ThreadRecord};

use super::TALKS;
use super::asker::Asker;
use super::instances::{named, shown, told_at};
use super::steps::steps;
use super::waiting::{understood, waiting};
use crate::calendar::{Event, Span};
use crate::models::{ErrorInfo, EventStatus, EventType, ProposedEvent, Role, Said};
use crate::notes;
use crate::state::{Agent, Scheduler, WorkflowStatus};

/// How a conversation stands.
pub(super) async fn answered(desk: &Desk, asker: &Asker, record: &ThreadRecord) -> Result<Value, Problem> {
    let state = TALKS.state(desk, &record.thread).await?;
    let talk = state.as_ref().map(conversation).transpose()?.unwrap_or_default();
    let waiting = waiting(record, state.as_ref(), &talk, asker);
    let status = status(record, talk.workflow_status);
    let said: Vec<Said> = talk.messages.iter().filter_map(Said::read).collect();
    let mut workflow_steps = steps(&talk);
    // Who asks has begun to work as well.
    let asking = state.as_ref().filter(|_| waiting.is_some()).and_then(|state| state.next.first());
    workflow_steps.extend(asking.and_then(|node| node_named(node)));
    Ok(json!({
        "workflow_id": record.thread,
        "status": status,
        "result": result(&talk, status, asker),
        "explanation": explanation(record, &talk, (&said, waiting.as_ref())),
        "agent_outputs": talk.agent_outputs,
        "workflow_steps": workflow_steps,
        "errors": errors(&talk, &said),
        "waiting": waiting,
        "understood": understood(&talk, asker),
        "messages": said,
    }))
}

/// What a state says, in our words.
pub(super) fn conversation(state: &Shown) -> Result<Scheduler, Problem> {
    serde_json::from_value(state.values.clone()).map_err(|error| Error::internal(error.to_string()).into())
}

/// A conversation in a list.
pub(super) fn listed(record: &ThreadRecord) -> Value {
    // Whether one that is over went well is not in its record; whoever wants to know opens it.
    let status = status(record, WorkflowStatus::Completed);
    json!({
        "workflow_id": record.thread, "title": record.title, "status": status, "updated_at": record.updated_at,
    })
}

/// Why a request failed, for somebody who waited for its end.
pub(super) fn failed(failure: &RunFailure, thread: &ThreadId) -> Problem {
    let code = Code::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(Code::NodeFailed);
    // Nothing is wrong with the request any more once it is worked on.
    let status = Some(Error::new(code, "").http_status()).filter(|status| *status >= 500).unwrap_or(502);
    let problem = Problem::new(status, code, failure.message.clone()).on_thread(thread);
    match &failure.hint {
        Some(hint) => problem.hint(hint.as_str()),
        None => problem,
    }
}

/// A calendar that could not be reached is trouble of ours and not an answer: 503.
pub(super) fn check_store(answer: &Value, thread: &ThreadId) -> Result<(), Problem> {
    let last = answer["errors"].as_array().and_then(|errors| errors.last());
    let Some(last) = last.filter(|_| answer["status"] == WorkflowStatus::Failed.name()) else { return Ok(()) };
    if last["error_type"] != Code::StoreUnavailable.name() {
        return Ok(());
    }
    let detail = last["message"].as_str().unwrap_or("the calendar cannot be reached");
    let problem = Problem::new(503, Code::StoreUnavailable, detail).on_thread(thread);
    Err(problem.hint("nothing was changed; try again").retry_after(std::time::Duration::from_secs(5)))
}

fn status(record: &ThreadRecord, of_state: WorkflowStatus) -> &'static str {
    let status = match (record.status, of_state) {
        (RunStatus::Running | RunStatus::Suspended | RunStatus::Interrupted, _) => WorkflowStatus::InProgress,
        (RunStatus::Waiting, _) => WorkflowStatus::AwaitingUser,
        (RunStatus::Failed | RunStatus::Stopped, _) => WorkflowStatus::Failed,
        // Nobody works on it and nobody is asked: it is over, and nothing came of it.
        (_, WorkflowStatus::InProgress | WorkflowStatus::AwaitingUser) => WorkflowStatus::Failed,
        (_, of_state) => of_state,
    };
    status.name()
}

fn node_named(name: &str) -> Option<&'static str> {
    crate::route::Next::ALL.into_iter().map(crate::route::Next::node).find(|node| *node == name)
}

/// What a request did.
fn result(talk: &Scheduler, status: &str, asker: &Asker) -> Value {
    let is_over = status == WorkflowStatus::Completed.name();
    let event = talk.proposed_event.as_ref().map(|event| event_of(event, asker));
    let query = talk.agent_outputs.get(Agent::Query.name()).map(|output| &output.data);
    json!({
        "event": event,
        "events": events(talk, asker),
        "query": query,
        "action": if is_over { action(talk) } else { "none" },
    })
}

fn action(talk: &Scheduler) -> &'static str {
    let Some(data) = &talk.parsed_event_data else { return "none" };
    let is_rejected = talk.proposed_event.as_ref().is_some_and(|event| event.status == EventStatus::Rejected);
    match data.event_type {
        EventType::Query => "answered",
        _ if notes::is_declined(talk) => "declined",
        EventType::Cancel => "cancelled",
        // A way out may be that it is not.
        EventType::Create if is_rejected => "declined",
        EventType::Create => "created",
        EventType::Modify => "changed",
    }
}

/// The event as it is on the calendar, or as it was asked for where it is not.
fn event_of(event: &ProposedEvent, asker: &Asker) -> Value {
    if let Some(known) = asker.board.events.get(&event.event_id) {
        return shown(asker, known, &told_at(asker, known, &spoken(event)));
    }
    let board = &asker.board;
    let people = event.participants.iter().map(|id| json!({ "id": id, "name": named(board, id), "is_required": true }));
    json!({
        "event_id": event.event_id,
        "title": event.title,
        "start": asker.written(event.start_time),
        "end": asker.written(event.end_time),
        "status": event.status,
        "participants": people.collect::<Vec<_>>(),
        "resources": event.resources.iter().map(|id| json!({ "id": id, "name": named(board, id) })).collect::<Vec<_>>(),
        "recurrence_rule": null,
    })
}

/// Every event that the request put on the calendar or moved there.
fn events(talk: &Scheduler, asker: &Asker) -> Vec<Value> {
    let own = talk.proposed_event.iter().map(|event| &event.event_id);
    let touched =
        talk.selected_resolution.iter().flat_map(|way| &way.changes).filter_map(|change| change.event_id.as_ref());
    let mut ids: Vec<&String> = Vec::new();
    for id in own.chain(touched) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let there = ids.into_iter().filter_map(|id| asker.board.events.get(id));
    let there = there.filter(|event| event.status == EventStatus::Confirmed);
    let own = talk.proposed_event.as_ref();
    let span = |event: &Event| own.filter(|own| own.event_id == event.id).map_or(event.span, spoken);
    there.map(|event| shown(asker, event, &told_at(asker, event, &span(event)))).collect()
}

/// The time of which a request told.
fn spoken(event: &ProposedEvent) -> Span {
    Span { start: event.start_time, end: event.end_time }
}

/// What is said about it: the question, the last answer, or what an agent found last.
fn explanation(record: &ThreadRecord, talk: &Scheduler, (said, waiting): (&[Said], Option<&Value>)) -> String {
    if let Some(question) = waiting.and_then(|waiting| waiting["question"].as_str()) {
        return question.to_owned();
    }
    if let Some(failure) = &record.failure {
        return failure.message.clone();
    }
    if let Some(answer) = said.last().filter(|line| line.role == Role::Assistant) {
        return answer.content.clone();
    }
    let latest = talk.agent_outputs.values().max_by_key(|output| output.timestamp);
    latest.map(|output| output.explanation.clone()).unwrap_or_default()
}

/// What went wrong since the last request began.
fn errors<'a>(talk: &'a Scheduler, said: &[Said]) -> Vec<&'a ErrorInfo> {
    let is_request = |line: &&Said| line.role == Role::User && line.content == talk.user_input;
    let begun = said.iter().rev().find(is_request).map(|line| line.timestamp);
    talk.errors.iter().filter(|error| begun.is_none_or(|begun| error.timestamp >= begun)).collect()
}
