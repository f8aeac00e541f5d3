//! Responses of conversations as JSON.

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{Error, ErrorCode};
use superstep_server::{Problem, RunError, RunService, RunStatus, ThreadRecord, ThreadState};

use super::CONVERSATIONS;
use super::events::{display_name, display_range, event_json};
use super::pending_interrupt::{parsed_request_json, pending_interrupt_json};
use super::requester::Requester;
use super::workflow_steps::steps;
use crate::calendar::{Event, TimeRange};
use crate::models::{ErrorInfo, EventStatus, EventType, Message, MessageRole, ProposedEvent};
use crate::state::request_state;
use crate::state::{AgentName, FamilySchedulerState, WorkflowStatus};

/// Returns the response of a conversation: status, result, pending interrupt and messages.
pub(super) async fn conversation_response(
    runs: &RunService,
    requester: &Requester,
    record: &ThreadRecord,
) -> Result<Value, Problem> {
    let state = CONVERSATIONS.state(runs, &record.thread).await?;
    let conversation = state.as_ref().map(decode_state).transpose()?.unwrap_or_default();
    let waiting = pending_interrupt_json(record, state.as_ref(), &conversation, requester);
    let status = status(record, conversation.workflow_status);
    let messages: Vec<Message> = conversation.messages.iter().filter_map(Message::from_chat_message).collect();
    let mut workflow_steps = steps(&conversation);
    // The interrupted node has started as well.
    let interrupted_node = state.as_ref().filter(|_| waiting.is_some()).and_then(|state| state.next.first());
    workflow_steps.extend(interrupted_node.and_then(|node| node_name(node)));
    Ok(json!({
        "workflow_id": record.thread,
        "status": status,
        "result": result(&conversation, status, requester),
        "explanation": explanation(record, &conversation, (&messages, waiting.as_ref())),
        "agent_outputs": conversation.agent_outputs,
        "workflow_steps": workflow_steps,
        "errors": errors(&conversation, &messages),
        "waiting": waiting,
        "understood": parsed_request_json(&conversation, requester),
        "messages": messages,
    }))
}

/// Deserializes the state of a conversation.
pub(super) fn decode_state(state: &ThreadState) -> Result<FamilySchedulerState, Problem> {
    serde_json::from_value(state.values.clone()).map_err(|error| Error::internal(error.to_string()).into())
}

/// Returns the list entry of a conversation.
pub(super) fn conversation_list_item(record: &ThreadRecord) -> Value {
    // The run record does not tell whether an ended request failed; the detail response does.
    let status = status(record, WorkflowStatus::Completed);
    json!({
        "workflow_id": record.thread, "title": record.title, "status": status, "updated_at": record.updated_at,
    })
}

/// Converts the failure of a run into a problem, for a client that waits for the run.
pub(super) fn run_error_problem(failure: &RunError, thread: &ThreadId) -> Problem {
    let code =
        ErrorCode::ALL.iter().copied().find(|code| code.to_string() == failure.code).unwrap_or(ErrorCode::NodeFailed);
    // A request that has started was valid, so its failure is a server error.
    let status = Some(Error::new(code, "").http_status()).filter(|status| *status >= 500).unwrap_or(502);
    let problem = Problem::new(status, code, failure.message.clone()).with_thread(thread);
    match &failure.hint {
        Some(hint) => problem.with_hint(hint.as_str()),
        None => problem,
    }
}

/// Converts an unavailable calendar store into a 503 problem.
pub(super) fn check_store(answer: &Value, thread: &ThreadId) -> Result<(), Problem> {
    let last = answer["errors"].as_array().and_then(|errors| errors.last());
    let Some(last) = last.filter(|_| answer["status"] == WorkflowStatus::Failed.name()) else { return Ok(()) };
    if last["error_type"] != ErrorCode::StoreUnavailable.name() {
        return Ok(());
    }
    let detail = last["message"].as_str().unwrap_or("the calendar is unavailable");
    let problem = Problem::new(503, ErrorCode::StoreUnavailable, detail).with_thread(thread);
    Err(problem.with_hint("nothing was changed; try again").with_retry_after(std::time::Duration::from_secs(5)))
}

fn status(record: &ThreadRecord, workflow_status: WorkflowStatus) -> &'static str {
    let status = match (record.status, workflow_status) {
        (RunStatus::Running | RunStatus::Suspended | RunStatus::Orphaned, _) => WorkflowStatus::InProgress,
        (RunStatus::AwaitingInput, _) => WorkflowStatus::AwaitingUser,
        (RunStatus::Failed | RunStatus::Cancelled, _) => WorkflowStatus::Failed,
        // Not running and not waiting: the run ended without a result.
        (_, WorkflowStatus::InProgress | WorkflowStatus::AwaitingUser) => WorkflowStatus::Failed,
        (_, workflow_status) => workflow_status,
    };
    status.name()
}

fn node_name(name: &str) -> Option<&'static str> {
    crate::orchestrator::route::NextNode::ALL
        .into_iter()
        .map(crate::orchestrator::route::NextNode::node)
        .find(|node| *node == name)
}

/// Returns the result of a request.
fn result(conversation: &FamilySchedulerState, status: &str, requester: &Requester) -> Value {
    let is_over = status == WorkflowStatus::Completed.name();
    let event = conversation.proposed_event.as_ref().map(|event| proposed_event_json(event, requester));
    let query = conversation.agent_outputs.get(AgentName::Query.name()).map(|output| &output.data);
    json!({
        "event": event,
        "events": events(conversation, requester),
        "query": query,
        "action": if is_over { action(conversation) } else { "none" },
    })
}

fn action(conversation: &FamilySchedulerState) -> &'static str {
    let Some(data) = &conversation.parsed_event_data else { return "none" };
    let is_rejected = conversation.proposed_event.as_ref().is_some_and(|event| event.status == EventStatus::Rejected);
    match data.event_type {
        EventType::Query => "answered",
        _ if request_state::is_declined(conversation) => "declined",
        EventType::Cancel => "cancelled",
        // The chosen resolution can be to cancel the new event.
        EventType::Create if is_rejected => "declined",
        EventType::Create => "created",
        EventType::Modify => "changed",
    }
}

/// Returns the event as it is on the calendar, or as proposed if it is not there.
fn proposed_event_json(event: &ProposedEvent, requester: &Requester) -> Value {
    if let Some(existing) = requester.snapshot.events.get(&event.event_id) {
        return event_json(requester, existing, &display_range(requester, existing, &mentioned_range(event)));
    }
    let snapshot = &requester.snapshot;
    let people = event
        .participants
        .iter()
        .map(|id| json!({ "id": id, "name": display_name(snapshot, id), "is_required": true }));
    let resources = event.resources.iter().map(|id| json!({ "id": id, "name": display_name(snapshot, id) }));
    json!({
        "event_id": event.event_id,
        "title": event.title,
        "start": requester.in_local_time(event.start_time),
        "end": requester.in_local_time(event.end_time),
        "status": event.status,
        "participants": people.collect::<Vec<_>>(),
        "resources": resources.collect::<Vec<_>>(),
        "recurrence_rule": null,
    })
}

/// Returns all confirmed events that the request created or moved.
fn events(conversation: &FamilySchedulerState, requester: &Requester) -> Vec<Value> {
    let proposed = conversation.proposed_event.as_ref();
    let touched = conversation
        .selected_resolution
        .iter()
        .flat_map(|resolution| &resolution.changes)
        .filter_map(|change| change.event_id.as_ref());
    let mut ids: Vec<&String> = Vec::new();
    for id in proposed.map(|event| &event.event_id).into_iter().chain(touched) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let existing = ids.into_iter().filter_map(|id| requester.snapshot.events.get(id));
    let confirmed = existing.filter(|event| event.status == EventStatus::Confirmed);
    let span =
        |event: &Event| proposed.filter(|proposed| proposed.event_id == event.id).map_or(event.span, mentioned_range);
    confirmed.map(|event| event_json(requester, event, &display_range(requester, event, &span(event)))).collect()
}

/// Returns the time range that the request mentioned.
fn mentioned_range(event: &ProposedEvent) -> TimeRange {
    TimeRange { start: event.start_time, end: event.end_time }
}

/// Returns the explanation: the pending question, the failure, the last answer, or the latest explanation of an
/// agent.
fn explanation(
    record: &ThreadRecord,
    conversation: &FamilySchedulerState,
    (messages, waiting): (&[Message], Option<&Value>),
) -> String {
    if let Some(question) = waiting.and_then(|waiting| waiting["question"].as_str()) {
        return question.to_owned();
    }
    if let Some(failure) = &record.error {
        return failure.message.clone();
    }
    if let Some(answer) = messages.last().filter(|message| message.role == MessageRole::Assistant) {
        return answer.content.clone();
    }
    let latest = conversation.agent_outputs.values().max_by_key(|output| output.timestamp);
    latest.map(|output| output.explanation.clone()).unwrap_or_default()
}

/// Returns the errors since the last request started.
fn errors<'a>(conversation: &'a FamilySchedulerState, messages: &[Message]) -> Vec<&'a ErrorInfo> {
    let is_request =
        |message: &&Message| message.role == MessageRole::User && message.content == conversation.user_input;
    let started_at = messages.iter().rev().find(is_request).map(|message| message.timestamp);
    conversation
        .errors
        .iter()
        .filter(|error| started_at.is_none_or(|started_at| error.timestamp >= started_at))
        .collect()
}
