//! HTTP API of debates: create, stream, approve, stop, read.
//!
//! Handlers translate HTTP requests into calls of the run service, and states into responses. The options of a
//! debate are part of its run request, so that it continues in the same way after an approval, a stop or a crash.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep::ResumeValues;
use superstep::core::id::{InterruptId, ThreadId};
use superstep_server::{
    CancelMode, ClientAddress, LastEventId, Problem, RunInput, RunRequest, RunService, RunStatus, ServedGraph,
    Subscription, SubscriptionEnd, ThreadRecord, ThreadSearch, ValidatedJson, ValidatedQuery, ag_ui_encoder,
    encode_v2_events, new_thread_id, sse_response,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod requests;
mod responses;
mod stream;

pub use requests::DebateOptions;
pub(crate) use requests::annotate_request;
use requests::{
    ApprovalRequest, CreateDebateRequest, ListDebatesParams, StreamFormat, StreamParams, TranscriptFormat,
    TranscriptParams,
};
use responses::{debate_header, debate_response};
use stream::DebateSseEncoder;

use crate::app::DebateAppState;
use crate::transcript;

/// Name of the graph.
pub(crate) const GRAPH: &str = "debate";

/// Returns the routes of the application.
pub(crate) fn routes(app_state: DebateAppState) -> OpenApiRouter<RunService> {
    OpenApiRouter::new()
        .routes(routes!(create_debate))
        .routes(routes!(get_settings))
        .routes(routes!(list_debates))
        .routes(routes!(get_debate, stop_debate))
        .routes(routes!(stream_debate))
        .routes(routes!(submit_approval))
        .routes(routes!(resume_debate))
        .routes(routes!(get_transcript))
        .layer(Extension(app_state))
}

/// Starts a debate and streams it; with `Accept: application/json`, waits for its end and returns its state.
#[utoipa::path(
    post, path = "/api/debate", tag = "debate", request_body = CreateDebateRequest,
    responses(
        (status = OK, description = "Server-sent events, or the state when it has ended"),
        (status = CONFLICT, description = "The debate is running, waiting, or has other options; or the thread is not a debate"),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many debates from this address"),
        (status = SERVICE_UNAVAILABLE, description = "No API key is configured for the model"),
    )
)]
async fn create_debate(
    State(runs): State<RunService>,
    Extension(app_state): Extension<DebateAppState>,
    client: ClientAddress,
    headers: HeaderMap,
    ValidatedJson(body): ValidatedJson<CreateDebateRequest>,
) -> Result<Response, Problem> {
    let waits = wants_json(&headers);
    let thread = body.thread()?.unwrap_or_else(new_thread_id);
    let existing = find_existing_debate(&runs, &thread).await?;
    // An existing debate keeps its start time.
    let is_new = app_state.threads(&runs).status(&thread).await?.is_none();
    let input = body.input(is_new)?;
    let options = DebateOptions { has_typing_delay: !waits, ..body.options(existing.as_ref())? };
    // An unavailable model is reported before a debate is created.
    app_state.run_context(&options)?;
    let request =
        annotate_request(RunRequest::new(GRAPH, thread.clone(), RunInput::Input(input)).context(options.to_json()));
    // A rejected request does not count against the limit.
    runs.graph(GRAPH)?.validate(&request).await?;
    let permit = runs.acquire_permit(GRAPH, client, app_state.rate_limit())?;
    let subscription = match body.detach {
        true => {
            runs.start_with_permit(request, permit).await?;
            runs.subscribe(&thread, None).await?
        }
        false => runs.start_and_subscribe(request, permit, None, CancelMode::Drain).await?,
    };
    let record = runs.get_thread(&thread).await?;
    let mut response = match waits {
        true => wait_for_result(&runs, &app_state, subscription).await?,
        false => {
            stream_response(subscription, (body.format, None), debate_header(&record, &app_state), runs.graph(GRAPH)?)
        }
    };
    set_thread_id_header(response.headers_mut(), &thread);
    Ok(response)
}

/// Returns the status and the messages of a debate.
#[utoipa::path(
    get, path = "/api/debate/{id}", tag = "debate", params(("id" = String, Path)),
    responses((status = OK), (status = NOT_FOUND))
)]
async fn get_debate(
    State(runs): State<RunService>,
    Extension(app_state): Extension<DebateAppState>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(debate_response(&runs, &app_state, &find_thread(&runs, id).await?).await?))
}

/// Streams the events of a debate after `Last-Event-ID`, past and live; ends with the run.
#[utoipa::path(
    get, path = "/api/debate/{id}/stream", tag = "debate", params(("id" = String, Path), StreamParams),
    responses((status = OK, description = "Server-sent events"), (status = NOT_FOUND))
)]
async fn stream_debate(
    State(runs): State<RunService>,
    Extension(app_state): Extension<DebateAppState>,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<StreamParams>,
    LastEventId(after): LastEventId,
) -> Result<Response, Problem> {
    let record = find_thread(&runs, id).await?;
    // Read from the beginning, wherever the client continues: the encoder derives the round from earlier events.
    let from_start = params.format != StreamFormat::Events;
    let subscription = runs.subscribe(&record.thread, after.filter(|_| !from_start)).await?;
    Ok(stream_response(subscription, (params.format, after), debate_header(&record, &app_state), runs.graph(GRAPH)?))
}

/// Answers the pending approval of a debate.
#[utoipa::path(
    post, path = "/api/debate/{id}/approval", tag = "debate", params(("id" = String, Path)), request_body = ApprovalRequest,
    responses(
        (status = ACCEPTED), (status = NOT_FOUND),
        (status = CONFLICT, description = "No approval is pending, or another one than `interruptId`"),
    )
)]
async fn submit_approval(
    State(runs): State<RunService>,
    Extension(app_state): Extension<DebateAppState>,
    Path(id): Path<String>,
    client: ClientAddress,
    ValidatedJson(answer): ValidatedJson<ApprovalRequest>,
) -> Result<Response, Problem> {
    let record = find_thread(&runs, id).await?;
    let (thread, interrupt_id) = (record.thread.clone(), answer.interrupt_id.clone());
    let pending = pending_interrupt(&runs, &record, interrupt_id.as_deref()).await?;
    let resume_values = ResumeValues::from([(pending, json!(answer))]);
    let request = RunRequest::new(GRAPH, thread.clone(), RunInput::Resume(resume_values));
    let permit = runs.acquire_permit(GRAPH, client, app_state.concurrency_limit())?;
    if let Err(problem) = runs.start_with_permit(request.context(record.context), permit).await {
        // If another request was faster, the problem describes that.
        let pending = pending.to_string();
        pending_interrupt(&runs, &runs.get_thread(&thread).await?, Some(interrupt_id.as_deref().unwrap_or(&pending)))
            .await?;
        return Err(problem);
    }
    Ok(accepted_response(&thread))
}

/// Resumes a debate that was stopped, has failed or was interrupted by a crash.
#[utoipa::path(
    post, path = "/api/debate/{id}/resume", tag = "debate", params(("id" = String, Path)),
    responses((status = ACCEPTED), (status = NOT_FOUND), (status = CONFLICT, description = "The debate cannot be resumed"))
)]
async fn resume_debate(
    State(runs): State<RunService>,
    Extension(app_state): Extension<DebateAppState>,
    client: ClientAddress,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let record = find_thread(&runs, id).await?;
    let thread = record.thread.clone();
    let status = runs.current_status(&record).await?;
    if !matches!(status, RunStatus::Cancelled | RunStatus::Failed | RunStatus::Orphaned) {
        let detail = format!("debate `{thread}` cannot be resumed: its status is {}", responses::status(&record, None));
        return Err(Problem::conflict(detail).with_thread(&thread));
    }
    app_state.run_context(&DebateOptions::from_json(&record.context))?;
    let permit = runs.acquire_permit(GRAPH, client, app_state.concurrency_limit())?;
    runs.start_with_permit(RunRequest::new(GRAPH, thread.clone(), RunInput::Continue).context(record.context), permit)
        .await?;
    Ok(accepted_response(&thread))
}

/// Stops a debate after its last finished turn; the current turn is discarded.
#[utoipa::path(
    delete, path = "/api/debate/{id}", tag = "debate", params(("id" = String, Path)),
    responses((status = ACCEPTED), (status = NOT_FOUND), (status = CONFLICT, description = "The debate is not running"))
)]
async fn stop_debate(State(runs): State<RunService>, Path(id): Path<String>) -> Result<Response, Problem> {
    let record = find_thread(&runs, id).await?;
    runs.cancel(&record.thread, CancelMode::Immediate).await?;
    Ok(accepted_response(&record.thread))
}

/// Lists debates, the newest first; `q` searches the topics.
#[utoipa::path(get, path = "/api/debates", tag = "debate", params(ListDebatesParams), responses((status = OK)))]
async fn list_debates(
    State(runs): State<RunService>,
    ValidatedQuery(params): ValidatedQuery<ListDebatesParams>,
) -> Result<Json<Value>, Problem> {
    let limit = params.limit.unwrap_or(50).clamp(1, 200);
    let offset = params.after.unwrap_or(0);
    let query = ThreadSearch {
        graph: Some(GRAPH.to_owned()),
        status: params.statuses()?,
        query: params.q.filter(|words| !words.trim().is_empty()),
        // One more than requested, to know if there is a next page.
        limit: Some(limit + 1),
        offset,
    };
    let mut records = runs.search_threads(&query).await?;
    let next = (records.len() > limit).then_some(offset + limit);
    records.truncate(limit);
    let debates: Vec<Value> = records.iter().map(responses::debate_list_item).collect();
    Ok(Json(json!({ "debates": debates, "next": next })))
}

/// Returns the available models, the evidence and the limits.
#[utoipa::path(get, path = "/api/debate/settings", tag = "debate", responses((status = OK)))]
async fn get_settings(Extension(app_state): Extension<DebateAppState>) -> Result<Json<Value>, Problem> {
    app_state.settings_json().await.map(Json)
}

/// Returns the transcript of a debate as Markdown, JSON or plain text.
#[utoipa::path(
    get, path = "/api/debate/{id}/transcript", tag = "debate", params(("id" = String, Path), TranscriptParams),
    responses((status = OK), (status = NOT_FOUND))
)]
async fn get_transcript(
    State(runs): State<RunService>,
    Extension(app_state): Extension<DebateAppState>,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<TranscriptParams>,
) -> Result<Response, Problem> {
    let record = find_thread(&runs, id).await?;
    let view = responses::find_debate_view(&runs, &app_state, &record).await?;
    let debate = view.ok_or_else(|| no_events_problem(&record.thread))?.state;
    let (content_type, extension, text) = match params.format {
        TranscriptFormat::Md => ("text/markdown; charset=utf-8", "md", transcript::markdown(&debate)),
        TranscriptFormat::Json => ("application/json", "json", transcript::json(&debate).to_string()),
        TranscriptFormat::Txt => ("text/plain; charset=utf-8", "txt", transcript::plain(&debate)),
    };
    let disposition = format!("inline; filename=\"debate-{}.{extension}\"", record.thread);
    Ok(([(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], text)
        .into_response())
}

/// Renders a debate that has ended as HTML for clients without JavaScript.
pub(crate) async fn render_noscript(runs: &RunService, app_state: &DebateAppState, id: &str) -> Option<String> {
    let record = runs.find_thread(&ThreadId::from(id)).await.ok()??;
    let is_finished_debate = record.graph == GRAPH && record.status == RunStatus::Succeeded;
    let view = responses::find_debate_view(runs, app_state, &record).await.ok()?.filter(|_| is_finished_debate);
    view.map(|view| transcript::html(&view.state))
}

async fn find_thread(runs: &RunService, id: String) -> Result<ThreadRecord, Problem> {
    let missing =
        || Problem::not_found(format!("debate `{id}` not found")).with_hint("see `GET /api/debates` for all debates");
    let record = runs.find_thread(&ThreadId::from(id.as_str())).await?.ok_or_else(missing)?;
    if record.graph == GRAPH { Ok(record) } else { Err(missing()) }
}

/// Returns the record of a debate that is requested again; `None` if it is new.
///
/// # Errors
/// Returns 409 if the thread is not a debate, or if its approval is pending, which must not be skipped.
async fn find_existing_debate(runs: &RunService, thread: &ThreadId) -> Result<Option<ThreadRecord>, Problem> {
    let Some(record) = runs.find_thread(thread).await? else { return Ok(None) };
    if record.graph != GRAPH {
        let problem = Problem::conflict(format!("thread `{thread}` is not a debate"));
        return Err(problem.with_hint("choose another `threadId`, or omit it").with_thread(thread));
    }
    if record.status == RunStatus::AwaitingInput {
        let problem = Problem::conflict(format!("debate `{thread}` is waiting for an approval"));
        return Err(problem.with_hint(format!("to answer: POST /api/debate/{thread}/approval")).with_thread(thread));
    }
    Ok(Some(record))
}

/// Returns the id of the pending interrupt.
///
/// # Errors
/// Returns 409 if no interrupt is pending, or if another one is pending than was answered.
async fn pending_interrupt(
    runs: &RunService,
    record: &ThreadRecord,
    expected: Option<&str>,
) -> Result<InterruptId, Problem> {
    let thread = &record.thread;
    // A debate that does not wait may have no checkpoint yet.
    let pending = match record.status {
        RunStatus::AwaitingInput => {
            runs.graph(GRAPH)?.state(thread).await?.interrupts().next().map(|interrupt| interrupt.id)
        }
        _ => None,
    };
    let Some(pending) = pending else {
        return Err(Problem::conflict(format!("debate `{thread}` is not waiting for an approval")).with_thread(thread));
    };
    if expected.is_some_and(|expected| expected != pending.to_string()) {
        let problem = Problem::conflict(format!("debate `{thread}` is now waiting for another approval"));
        return Err(problem.with_hint(format!("see the open approval: GET /api/debate/{thread}")).with_thread(thread));
    }
    Ok(pending)
}

fn no_events_problem(thread: &ThreadId) -> Problem {
    Problem::not_found(format!("debate `{thread}` has no messages yet")).with_thread(thread)
}

fn stream_response(
    subscription: Subscription,
    (format, after): (StreamFormat, Option<u64>),
    header: Value,
    graph: Arc<dyn ServedGraph>,
) -> Response {
    match format {
        StreamFormat::Events => sse_response(subscription, encode_v2_events),
        StreamFormat::Debate => sse_response(subscription, DebateSseEncoder::new(header, after)),
        StreamFormat::AgUi => sse_response(subscription, ag_ui_encoder(after, graph)),
    }
}

/// Waits for the end of the run, and returns the debate as it is then.
async fn wait_for_result(
    runs: &RunService,
    app_state: &DebateAppState,
    mut subscription: Subscription,
) -> Result<Response, Problem> {
    let mut last_number = None;
    loop {
        while let Some(event) = subscription.next().await {
            last_number = Some(event.number());
        }
        match subscription.end() {
            Some(SubscriptionEnd::Shutdown) => return Err(Problem::shutting_down()),
            Some(SubscriptionEnd::Failed(problem)) => return Err(Problem::clone(problem)),
            // The run is still active: missed events are read from the journal, then the wait continues.
            Some(SubscriptionEnd::Lagged) => {
                subscription = runs.subscribe(&subscription.thread().clone(), last_number).await?;
            }
            _ => break,
        }
    }
    let record = runs.get_thread(subscription.thread()).await?;
    if let Some(failure) = record.error.as_ref().filter(|_| record.status == RunStatus::Failed) {
        return Err(responses::run_error_problem(failure, &record.thread));
    }
    Ok(Json(debate_response(runs, app_state, &record).await?).into_response())
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && !accept.contains("text/event-stream")
}

fn accepted_response(thread: &ThreadId) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(json!({ "id": thread }))).into_response();
    set_thread_id_header(response.headers_mut(), thread);
    response
}

/// Sets the headers that identify the debate; every valid thread id is a valid header value.
fn set_thread_id_header(headers: &mut HeaderMap, thread: &ThreadId) {
    if let (Ok(id), Ok(location)) =
        (HeaderValue::from_str(thread.as_str()), HeaderValue::from_str(&format!("/api/debate/{thread}")))
    {
        headers.insert("x-debate-id", id);
        headers.insert(header::LOCATION, location);
    }
}
