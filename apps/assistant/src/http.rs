//! HTTP API of conversations: send a message, stream, resume, stop and read a session; list and delete facts in
//! memory.
//!
//! Handlers translate HTTP requests into calls of the run service and states into responses. The user and the model
//! of a conversation are stored in the options of its runs, so that a turn continues with the same model after an
//! interrupt or a crash.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{ErrorCode, ResumeValues};
use superstep_server::{
    CancelMode, ClientAddress, LastEventId, OwnedThreads, Problem, RunInput, RunRequest, RunService, RunStatus,
    ServedGraph, Subscription, SubscriptionEnd, ThreadRecord, ValidatedJson, ValidatedQuery, ag_ui_encoder,
    encode_v2_events, new_thread_id, sse_response,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod requests;
mod responses;
mod resume;

pub use requests::TurnOptions;
pub(crate) use requests::annotate_request;
use requests::{ListSessionsParams, OptionalUserParams, SendMessageRequest, StreamFormat, StreamParams, UserParams};
use responses::{session_response, turn_response};
use resume::{ResumeRequest, pending_interrupt, resume_value};

use crate::app::{AssistantAppState, LazyAppState};
use crate::memory;
use crate::state::AgentState;

/// Name of the graph.
pub(crate) const GRAPH: &str = "assistant";

/// Access to the threads of this graph and to their owners.
const CONVERSATIONS: OwnedThreads = OwnedThreads {
    graph: GRAPH,
    list_hint: "GET /api/assistant?userId=",
    owner: |options| TurnOptions::from_json(options).user_id,
};

/// Returns the routes.
pub(crate) fn routes(app_state: LazyAppState) -> OpenApiRouter<RunService> {
    OpenApiRouter::new()
        .routes(routes!(send_message, list_sessions))
        .routes(routes!(get_settings))
        .routes(routes!(list_memory))
        .routes(routes!(delete_memory))
        .routes(routes!(get_session))
        .routes(routes!(stream_session))
        .routes(routes!(resume_session))
        .routes(routes!(stop_session))
        .layer(Extension(app_state))
}

/// Sends a message and streams the turn. With `Accept: application/json`, waits for the end and returns the answer.
#[utoipa::path(
    post, path = "/api/assistant", tag = "assistant", request_body = SendMessageRequest,
    responses(
        (status = OK, description = "Server-sent events, or the answer when the turn has ended"),
        (status = FORBIDDEN, description = "Unknown user, or the conversation belongs to another user"),
        (status = CONFLICT, description = "A turn of the conversation is running"),
        (status = PAYLOAD_TOO_LARGE, description = "The message is too long; the response contains the limit"),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many turns from this address"),
        (status = SERVICE_UNAVAILABLE, description = "No API key is configured for the model"),
    )
)]
async fn send_message(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    client: ClientAddress,
    headers: HeaderMap,
    body: Result<ValidatedJson<SendMessageRequest>, Problem>,
) -> Result<Response, Problem> {
    let ValidatedJson(request) = body.map_err(|problem| too_long(problem, &app_state))?;
    let thread = request.thread()?.unwrap_or_else(new_thread_id);
    app_state.check_user(&request.user_id)?;
    let previous_options = match CONVERSATIONS.find_owned(&runs, &thread, &request.user_id).await? {
        Some(record) => Some(TurnOptions::from_json(&CONVERSATIONS.latest_context(&runs, &record).await?)),
        None => None,
    };
    let options = request.options(previous_options.as_ref());
    // An unavailable model and an invalid message are rejected before the run is created.
    request.check()?;
    drop(AgentState::turn_input(&app_state.run_context(&options)?, &request.user_id, &request.message)?);
    let run_request =
        RunRequest::new(GRAPH, thread.clone(), RunInput::Input(request.input())).context(options.to_json());
    let run_request =
        if previous_options.is_none() { run_request.title_from_text(&request.message) } else { run_request };
    runs.graph(GRAPH)?.validate(&run_request).await?;
    // Events of earlier turns are not sent again.
    let last = Some(runs.last_event_number(&thread).await?).filter(|last| *last > 0);
    let permit = runs.acquire_permit(GRAPH, client, app_state.rate_limit())?;
    let subscription = match request.detach {
        true => {
            runs.start_with_permit(run_request, permit).await?;
            runs.subscribe(&thread, last).await?
        }
        false => runs.start_and_subscribe(run_request, permit, last, CancelMode::Drain).await?,
    };
    let mut response = match wants_json(&headers) {
        true => wait_for_result(&runs, &app_state, subscription).await?,
        false => stream_response(subscription, (request.format, None), runs.graph(GRAPH)?),
    };
    set_session_id_header(response.headers_mut(), &thread);
    Ok(response)
}

/// Returns a conversation with its status and messages.
#[utoipa::path(
    get, path = "/api/assistant/{id}", tag = "assistant", params(("id" = String, Path), UserParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
async fn get_session(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    let record = find_owned_session(&runs, &app_state, (&id, &params.user_id)).await?;
    Ok(Json(session_response(&runs, &app_state, &record).await?))
}

/// Streams the events of a conversation after an event id, first the stored ones. The stream ends with the turn.
#[utoipa::path(
    get, path = "/api/assistant/{id}/stream", tag = "assistant", params(("id" = String, Path), StreamParams),
    responses((status = OK, description = "Server-sent events"), (status = FORBIDDEN), (status = NOT_FOUND))
)]
async fn stream_session(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<StreamParams>,
    LastEventId(after): LastEventId,
) -> Result<Response, Problem> {
    let record = find_owned_session(&runs, &app_state, (&id, &params.user_id)).await?;
    // Other formats replay from the start, whatever the client has: their state depends on all earlier events.
    let replays_all = params.format != StreamFormat::Events;
    let subscription = runs.subscribe(&record.thread, after.filter(|_| !replays_all)).await?;
    Ok(stream_response(subscription, (params.format, after), runs.graph(GRAPH)?))
}

/// Answers the open interrupt of a conversation: a clarification question or a tool approval.
#[utoipa::path(
    post, path = "/api/assistant/{id}/answer", tag = "assistant", params(("id" = String, Path), UserParams),
    request_body = ResumeRequest,
    responses(
        (status = ACCEPTED), (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "No question is open, or another one"),
        (status = UNPROCESSABLE_ENTITY, description = "The answer does not match the question"),
    )
)]
async fn resume_session(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    (client, Path(id)): (ClientAddress, Path<String>),
    ValidatedQuery(params): ValidatedQuery<UserParams>,
    ValidatedJson(request): ValidatedJson<ResumeRequest>,
) -> Result<Response, Problem> {
    let record = find_owned_session(&runs, &app_state, (&id, &params.user_id)).await?;
    let (thread, question_id) = (&record.thread, request.question_id.clone());
    let interrupt = pending_interrupt(&runs, &record, &question_id).await?;
    let resume_values = ResumeValues::from([(interrupt.id, resume_value(request, &interrupt.value)?)]);
    let run_request = RunRequest::new(GRAPH, thread.clone(), RunInput::Resume(resume_values));
    let run_request = run_request.context(CONVERSATIONS.latest_context(&runs, &record).await?);
    let permit = runs.acquire_permit(GRAPH, client, app_state.concurrency_limit())?;
    if let Err(problem) = runs.start_with_permit(run_request, permit).await {
        // If another client resumed the run first, its error is the more precise one.
        pending_interrupt(&runs, &CONVERSATIONS.get(&runs, &id).await?, &question_id).await?;
        return Err(problem);
    }
    Ok(accepted(thread))
}

/// Stops the running turn of a conversation. A turn that waits for an answer is discarded.
#[utoipa::path(
    post, path = "/api/assistant/{id}/stop", tag = "assistant", params(("id" = String, Path), UserParams),
    responses(
        (status = ACCEPTED), (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "No turn is running"),
    )
)]
async fn stop_session(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Response, Problem> {
    let record = find_owned_session(&runs, &app_state, (&id, &params.user_id)).await?;
    runs.cancel(&record.thread, CancelMode::Immediate).await?;
    Ok(accepted(&record.thread))
}

/// Lists the conversations of a user, newest first.
#[utoipa::path(
    get, path = "/api/assistant", tag = "assistant", params(ListSessionsParams),
    responses((status = OK), (status = FORBIDDEN))
)]
async fn list_sessions(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    ValidatedQuery(params): ValidatedQuery<ListSessionsParams>,
) -> Result<Json<Value>, Problem> {
    app_state.check_user(&params.user_id)?;
    let limit = params.limit.unwrap_or(50).clamp(1, 200);
    let records = CONVERSATIONS.list_for_user(&runs, &params.user_id, limit).await?;
    let sessions: Vec<Value> = records.iter().map(responses::session_list_item).collect();
    Ok(Json(json!({ "sessions": sessions })))
}

/// Lists the saved facts about a user, newest first.
#[utoipa::path(
    get, path = "/api/assistant/memory", tag = "assistant", params(UserParams),
    responses((status = OK), (status = FORBIDDEN))
)]
async fn list_memory(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    app_state.check_user(&params.user_id)?;
    let facts = memory::list_facts(&runs.config().storage.store, &params.user_id).await?;
    Ok(Json(json!({ "facts": facts })))
}

/// Deletes a saved fact about a user.
#[utoipa::path(
    delete, path = "/api/assistant/memory/{key}", tag = "assistant", params(("key" = String, Path), UserParams),
    responses((status = NO_CONTENT), (status = FORBIDDEN), (status = NOT_FOUND))
)]
async fn delete_memory(
    State(runs): State<RunService>,
    app_state: AssistantAppState,
    Path(key): Path<String>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<StatusCode, Problem> {
    app_state.check_user(&params.user_id)?;
    match memory::delete_fact(&runs.config().storage.store, &params.user_id, &key).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found(format!("memory `{key}` not found"))),
    }
}

/// Returns the available settings: models, users, and the tools and data that the user may use.
#[utoipa::path(
    get, path = "/api/assistant/settings", tag = "assistant", params(OptionalUserParams),
    responses((status = OK), (status = FORBIDDEN))
)]
async fn get_settings(
    app_state: AssistantAppState,
    ValidatedQuery(params): ValidatedQuery<OptionalUserParams>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(app_state.settings_json(params.user_id.as_deref())?))
}

/// Converts the error for an oversized body into an error about the message.
fn too_long(problem: Problem, app_state: &AssistantAppState) -> Problem {
    match problem.status() {
        413 => {
            let detail = format!("the message is too long; the maximum is {} bytes", app_state.message_bytes());
            Problem::new(413, ErrorCode::TooLarge, detail).with_hint("send a shorter message")
        }
        _ => problem,
    }
}

fn stream_response(
    subscription: Subscription,
    (format, after): (StreamFormat, Option<u64>),
    graph: Arc<dyn ServedGraph>,
) -> Response {
    match format {
        StreamFormat::Events => sse_response(subscription, encode_v2_events),
        StreamFormat::AgUi => sse_response(subscription, ag_ui_encoder(after, graph)),
    }
}

/// Finds a session and checks that the user owns it.
async fn find_owned_session(
    runs: &RunService,
    app_state: &AssistantAppState,
    (id, user): (&str, &str),
) -> Result<ThreadRecord, Problem> {
    app_state.check_user(user)?;
    CONVERSATIONS.get_owned(runs, id, user).await
}

/// Waits for the end of the turn and returns the answer or the open interrupt.
async fn wait_for_result(
    runs: &RunService,
    app_state: &AssistantAppState,
    mut subscription: Subscription,
) -> Result<Response, Problem> {
    while subscription.next().await.is_some() {}
    match subscription.end() {
        Some(SubscriptionEnd::Shutdown) => return Err(Problem::shutting_down()),
        Some(SubscriptionEnd::Failed(problem)) => return Err(Problem::clone(problem)),
        _ => {}
    }
    let record: ThreadRecord = CONVERSATIONS.get(runs, subscription.thread().as_str()).await?;
    if let Some(failure) = record.error.as_ref().filter(|_| record.status == RunStatus::Failed) {
        return Err(responses::run_error_problem(failure, &record.thread));
    }
    Ok(Json(turn_response(runs, app_state, &record).await?).into_response())
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && !accept.contains("text/event-stream")
}

fn accepted(thread: &ThreadId) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(json!({ "sessionId": thread }))).into_response();
    set_session_id_header(response.headers_mut(), thread);
    response
}

/// Sets the headers with the id and the path of the session; every valid thread id is a valid header value.
fn set_session_id_header(headers: &mut HeaderMap, thread: &ThreadId) {
    if let (Ok(id), Ok(location)) =
        (HeaderValue::from_str(thread.as_str()), HeaderValue::from_str(&format!("/api/assistant/{thread}")))
    {
        headers.insert("x-thread-id", id);
        headers.insert(header::LOCATION, location);
    }
}
