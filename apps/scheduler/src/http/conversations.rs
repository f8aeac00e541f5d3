//! Handlers of conversations: submit a request, answer an interrupt, read conversations.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep::ResumeValues;
use superstep::core::id::ThreadId;
use superstep_server::{
    ClientAddress, Problem, RunInput, RunPermit, RunRequest, RunService, RunStatus, SubscriptionEnd, ThreadRecord,
    ValidatedJson, ValidatedQuery,
};

use super::errors::invalid;
use super::requester::Requester;
use super::requests::{ScheduleRequest, UserParams, turn_run_request};
use super::responses::decode_state;
use super::resume::{ResumeRequest, pending_interrupt, validate_answer};
use super::{CONVERSATIONS, ConversationOptions, GRAPH, responses};
use crate::agents::visible_snapshot;
use crate::app::SchedulerAppState;
use crate::context::SchedulerContext;
use crate::models::EventType;
use crate::nodes::reject_proposal;
use crate::parser::{ParseInput, parse};

/// Maximum number of conversations in a list.
const MAX_THREADS: usize = 100;

/// Submits a request in natural language: plan, move, cancel, look up. Waits for the result or a question.
#[utoipa::path(
    post, path = "/api/scheduler/events", tag = "scheduler", request_body = ScheduleRequest,
    responses(
        (status = OK, description = "The result, or an open question"),
        (status = FORBIDDEN, description = "Unknown family member, or the conversation belongs to another member"),
        (status = CONFLICT, description = "A request of this conversation is in progress"),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many requests from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The calendar is unavailable; nothing was changed"),
    )
)]
pub(super) async fn submit_request(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    client: ClientAddress,
    ValidatedJson(body): ValidatedJson<ScheduleRequest>,
) -> Result<Json<Value>, Problem> {
    run_request((&runs, &app), client, body, false).await
}

/// Submits a query about the calendar in natural language. A query never changes the calendar.
#[utoipa::path(
    post, path = "/api/scheduler/query", tag = "scheduler", request_body = ScheduleRequest,
    responses(
        (status = OK, description = "The answer, or an open question"),
        (status = FORBIDDEN, description = "Unknown family member, or the conversation belongs to another member"),
        (status = CONFLICT, description = "A request of this conversation is in progress"),
        (status = UNPROCESSABLE_ENTITY, description = "The text is not a query; or all validation errors, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many requests from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The calendar is unavailable"),
    )
)]
pub(super) async fn submit_query(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    client: ClientAddress,
    ValidatedJson(body): ValidatedJson<ScheduleRequest>,
) -> Result<Json<Value>, Problem> {
    run_request((&runs, &app), client, body, true).await
}

/// Answers the pending question of a conversation, and waits for the result.
#[utoipa::path(
    post, path = "/api/scheduler/threads/{id}/answer", tag = "scheduler", params(("id" = String, Path)),
    request_body = ResumeRequest,
    responses(
        (status = OK, description = "The result, or the next question"),
        (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "No question is open, or another one"),
        (status = UNPROCESSABLE_ENTITY, description = "The answer does not match the question"),
        (status = SERVICE_UNAVAILABLE, description = "The calendar is unavailable; nothing was changed"),
    )
)]
pub(super) async fn resume_conversation(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    (client, Path(id)): (ClientAddress, Path<String>),
    ValidatedJson(body): ValidatedJson<ResumeRequest>,
) -> Result<Json<Value>, Problem> {
    let requester = Requester::new(&app, &body.user_id).await?;
    let record = CONVERSATIONS.get_owned(&runs, &id, &body.user_id).await?;
    let (interrupt, state) = pending_interrupt(&runs, &record, &body.question_id).await?;
    validate_answer(&interrupt, &body.answer, &state, &requester)?;
    let input = RunInput::Resume(ResumeValues::from([(interrupt.id, body.answer)]));
    let request =
        RunRequest::new(GRAPH, &record.thread, input).context(CONVERSATIONS.latest_context(&runs, &record).await?);
    let permit = runs.acquire_permit(GRAPH, client, app.concurrency_limit())?;
    match run_and_wait((&runs, &app), request, permit, &body.user_id).await {
        Err(problem) if problem.status() < 500 => {
            // If another answer was faster, the conflict is the better error.
            pending_interrupt(&runs, &CONVERSATIONS.get(&runs, &id).await?, &body.question_id).await?;
            Err(problem)
        }
        result => result,
    }
}

/// Returns the status of a conversation, with its pending question.
#[utoipa::path(
    get, path = "/api/scheduler/threads/{id}", tag = "scheduler", params(("id" = String, Path), UserParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn get_conversation(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    let requester = Requester::new(&app, &params.user_id).await?;
    let record = CONVERSATIONS.get_owned(&runs, &id, &params.user_id).await?;
    Ok(Json(responses::conversation_response(&runs, &requester, &record).await?))
}

/// Lists the conversations of a member, newest first.
#[utoipa::path(
    get, path = "/api/scheduler/threads", tag = "scheduler", params(UserParams),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn list_conversations(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    Requester::new(&app, &params.user_id).await?;
    let records = CONVERSATIONS.list_for_user(&runs, &params.user_id, MAX_THREADS).await?;
    Ok(Json(json!({ "threads": records.iter().map(responses::conversation_list_item).collect::<Vec<_>>() })))
}

/// Starts a request, and waits for its result.
async fn run_request(
    (runs, app): (&RunService, &SchedulerAppState),
    client: ClientAddress,
    body: ScheduleRequest,
    is_query: bool,
) -> Result<Json<Value>, Problem> {
    body.check()?;
    let thread = body.thread()?;
    let requester = Requester::new(app, &body.user_id).await?;
    if is_query {
        require_query(&body, &requester)?;
    }
    let previous = CONVERSATIONS.find_owned(runs, &thread, &body.user_id).await?;
    let options =
        body.options(is_query, previous.as_ref().map(|previous| ConversationOptions::from_json(&previous.context)));
    let request = turn_run_request((&body.text, Some(requester.now)), &thread, &options, previous.is_none());
    runs.graph(GRAPH)?.validate(&request).await?;
    let permit = runs.acquire_permit(GRAPH, client, app.rate_limit())?;
    if let Some(previous) = previous.filter(|previous| previous.status == RunStatus::AwaitingInput) {
        discard_pending_proposal(runs, app, &previous).await?;
    }
    run_and_wait((runs, app), request, permit, &body.user_id).await
}

/// Rejects requests that are not queries.
fn require_query(body: &ScheduleRequest, requester: &Requester) -> Result<(), Problem> {
    let snapshot = visible_snapshot(&requester.snapshot, &requester.member.id);
    let request =
        ParseInput { text: &body.text, user_id: &requester.member.id, now: requester.now, snapshot: &snapshot };
    match parse(&request).data.event_type {
        EventType::Query => Ok(()),
        _ => {
            Err(invalid("/text", "the text is not a query", "use `POST /api/scheduler/events` to change the calendar"))
        }
    }
}

/// Rejects the proposal of an open interrupt, because a new request replaces it.
async fn discard_pending_proposal(
    runs: &RunService,
    app: &SchedulerAppState,
    record: &ThreadRecord,
) -> Result<(), Problem> {
    let Some(state) = CONVERSATIONS.state(runs, &record.thread).await? else { return Ok(()) };
    let conversation_state = decode_state(&state)?;
    if let Some(event) = &conversation_state.proposed_event {
        let context = SchedulerContext::new(app.calendars().clone(), app.family());
        reject_proposal(&context, &conversation_state.user_id, &event.event_id).await?;
    }
    Ok(())
}

/// Starts a run, waits for its end, and returns its result. The run continues if the client disconnects.
async fn run_and_wait(
    (runs, app): (&RunService, &SchedulerAppState),
    request: RunRequest,
    permit: RunPermit,
    user: &str,
) -> Result<Json<Value>, Problem> {
    let thread: ThreadId = request.thread.clone();
    // Events of earlier requests are skipped.
    let last = Some(runs.last_event_number(&thread).await?).filter(|last| *last > 0);
    runs.start_with_permit(request, permit).await?;
    let mut subscription = runs.subscribe(&thread, last).await?;
    while subscription.next().await.is_some() {}
    match subscription.end() {
        Some(SubscriptionEnd::Shutdown) => return Err(Problem::shutting_down()),
        Some(SubscriptionEnd::Failed(problem)) => return Err(Problem::clone(problem)),
        _ => {}
    }
    let record = CONVERSATIONS.get(runs, thread.as_str()).await?;
    if let Some(failure) = record.error.as_ref().filter(|_| record.status == RunStatus::Failed) {
        return Err(responses::run_error_problem(failure, &record.thread));
    }
    // Reads the calendar again, after the run.
    let requester = Requester::new(app, user).await?;
    let response = responses::conversation_response(runs, &requester, &record).await?;
    responses::check_store(&response, &record.thread)?;
    Ok(Json(response))
}
