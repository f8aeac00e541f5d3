//! Debates over HTTP: begin one, watch it, answer it, stop it, read it again.
//!
//! The desk of the server does the work; here stands what is asked and how it is shown. What a debate was begun with
//! travels in the options of its order, so that it goes on the same way after an answer, a stop or a crash.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep::Answers;
use superstep::core::id::{InterruptId, ThreadId};
use superstep_server::{
    After, Asks, Body, Desk, Feed, FeedEnd, Order, Problem, RecordsQuery, RunStatus, Served, Stop, ThreadRecord,
    Visitor, What, ag_ui, events, fresh_thread, sse,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod asked;
mod shown;
mod view;

pub use asked::Options;
pub(crate) use asked::noted;
use asked::{Approving, Format, Listing, Opening, Streaming, Writing, Written};
use shown::{heading, shown};
use view::Debating;

use crate::app::Platform;
use crate::transcript;

/// The name of the graph.
pub(crate) const GRAPH: &str = "debate";

/// The routes.
pub(crate) fn routes(platform: Platform) -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(routes!(open))
        .routes(routes!(settings))
        .routes(routes!(list))
        .routes(routes!(read, stop))
        .routes(routes!(stream))
        .routes(routes!(approve))
        .routes(routes!(resume))
        .routes(routes!(write))
        .layer(Extension(platform))
}

/// Begins a debate and streams it; with `Accept: application/json` waits for its end and gives its state.
#[utoipa::path(
    post, path = "/api/debate", tag = "debate", request_body = Opening,
    responses(
        (status = OK, description = "Server-sent events, or the state when it has ended"),
        (status = CONFLICT, description = "It runs, waits, or was begun with something else; or the thread is no debate"),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many debates from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The model has no key"),
    )
)]
async fn open(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    visitor: Visitor,
    headers: HeaderMap,
    Body(opening): Body<Opening>,
) -> Result<Response, Problem> {
    let waits = wants_json(&headers);
    let thread = opening.thread()?.unwrap_or_else(fresh_thread);
    let before = begun(&desk, &thread).await?;
    // The time of a debate that was begun before is its own.
    let is_new = platform.threads(&desk).status(&thread).await?.is_none();
    let input = opening.input(is_new)?;
    let options = Options { is_paced: !waits, ..opening.options(before.as_ref())? };
    // A model that cannot be asked is found out before there is a debate.
    platform.hall(&options)?;
    let order = noted(Order::new(GRAPH, thread.clone(), What::Start(input)).options(options.to_json()));
    // What is refused is not counted.
    desk.served(GRAPH)?.check(&order).await?;
    let pass = desk.admit(GRAPH, visitor, platform.limit())?;
    let feed = match opening.detach {
        true => {
            desk.start_admitted(order, pass).await?;
            desk.watch(&thread, None).await?
        }
        false => desk.start_attended(order, pass, None, Stop::AfterStep).await?,
    };
    let record = desk.known(&thread).await?;
    let mut response = match waits {
        true => waited(&desk, &platform, feed).await?,
        false => streamed(feed, (opening.format, None), heading(&record, &platform), desk.served(GRAPH)?),
    };
    name(response.headers_mut(), &thread);
    Ok(response)
}

/// How a debate stands.
#[utoipa::path(
    get, path = "/api/debate/{id}", tag = "debate", params(("id" = String, Path)),
    responses((status = OK), (status = NOT_FOUND))
)]
async fn read(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(shown(&desk, &platform, &known(&desk, id).await?).await?))
}

/// Everything a debate says after an event, and what it says from now on; ends with the run.
#[utoipa::path(
    get, path = "/api/debate/{id}/stream", tag = "debate", params(("id" = String, Path), Streaming),
    responses((status = OK, description = "Server-sent events"), (status = NOT_FOUND))
)]
async fn stream(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    Path(id): Path<String>,
    Asks(asked): Asks<Streaming>,
    After(after): After,
) -> Result<Response, Problem> {
    let record = known(&desk, id).await?;
    // From the beginning, whatever the reader has: a view knows the round by what came before.
    let whole = asked.format != Format::Events;
    let feed = desk.watch(&record.thread, after.filter(|_| !whole)).await?;
    Ok(streamed(feed, (asked.format, after), heading(&record, &platform), desk.served(GRAPH)?))
}

/// Answers a debate that waits for a person.
#[utoipa::path(
    post, path = "/api/debate/{id}/approval", tag = "debate", params(("id" = String, Path)), request_body = Approving,
    responses(
        (status = ACCEPTED), (status = NOT_FOUND),
        (status = CONFLICT, description = "It does not wait, or asks something else than `interruptId`"),
    )
)]
async fn approve(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    Path(id): Path<String>,
    visitor: Visitor,
    Body(answer): Body<Approving>,
) -> Result<Response, Problem> {
    let record = known(&desk, id).await?;
    let (thread, asked) = (record.thread.clone(), answer.interrupt_id.clone());
    let open = question(&desk, &record, asked.as_deref()).await?;
    let answers = Answers::from([(open, json!(answer))]);
    let order = Order::new(GRAPH, thread.clone(), What::Answer(answers));
    let pass = desk.admit(GRAPH, visitor, platform.limit_at_once())?;
    if let Err(problem) = desk.start_admitted(order.options(record.options), pass).await {
        // Where somebody else was quicker, that is what is wrong.
        let open = open.to_string();
        question(&desk, &desk.known(&thread).await?, Some(asked.as_deref().unwrap_or(&open))).await?;
        return Err(problem);
    }
    Ok(accepted(&thread))
}

/// Goes on with a debate that was stopped, failed or died.
#[utoipa::path(
    post, path = "/api/debate/{id}/resume", tag = "debate", params(("id" = String, Path)),
    responses((status = ACCEPTED), (status = NOT_FOUND), (status = CONFLICT, description = "There is nothing to go on with"))
)]
async fn resume(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let record = known(&desk, id).await?;
    let thread = record.thread.clone();
    let standing = desk.standing(&record).await?;
    if !matches!(standing, RunStatus::Stopped | RunStatus::Failed | RunStatus::Interrupted) {
        let detail = format!("debate `{thread}` has nothing to go on with: it is {}", shown::status(&record, None));
        return Err(Problem::conflict(detail).on_thread(&thread));
    }
    platform.hall(&Options::read(&record.options))?;
    let pass = desk.admit(GRAPH, visitor, platform.limit_at_once())?;
    desk.start_admitted(Order::new(GRAPH, thread.clone(), What::GoOn).options(record.options), pass).await?;
    Ok(accepted(&thread))
}

/// Stops a debate where it is: what was said before the turn that is spoken now is kept.
#[utoipa::path(
    delete, path = "/api/debate/{id}", tag = "debate", params(("id" = String, Path)),
    responses((status = ACCEPTED), (status = NOT_FOUND), (status = CONFLICT, description = "It does not run"))
)]
async fn stop(State(desk): State<Desk>, Path(id): Path<String>) -> Result<Response, Problem> {
    let record = known(&desk, id).await?;
    desk.halt(&record.thread, Stop::Now).await?;
    Ok(accepted(&record.thread))
}

/// Debates, the newest first; `q` looks for words of the topic.
#[utoipa::path(get, path = "/api/debates", tag = "debate", params(Listing), responses((status = OK)))]
async fn list(State(desk): State<Desk>, Asks(asked): Asks<Listing>) -> Result<Json<Value>, Problem> {
    let limit = asked.limit.unwrap_or(50).clamp(1, 200);
    let offset = asked.after.unwrap_or(0);
    let query = RecordsQuery {
        graph: Some(GRAPH.to_owned()),
        status: asked.statuses()?,
        words: asked.q.filter(|words| !words.trim().is_empty()),
        // One more than asked for says whether there are more.
        limit: Some(limit + 1),
        offset,
    };
    let mut records = desk.records(&query).await?;
    let next = (records.len() > limit).then_some(offset + limit);
    records.truncate(limit);
    let debates: Vec<Value> = records.iter().map(shown::listed).collect();
    Ok(Json(json!({ "debates": debates, "next": next })))
}

/// What can be chosen, and what is configured.
#[utoipa::path(get, path = "/api/debate/settings", tag = "debate", responses((status = OK)))]
async fn settings(Extension(platform): Extension<Platform>) -> Result<Json<Value>, Problem> {
    platform.described().await.map(Json)
}

/// A debate to keep: Markdown, JSON or plain text.
#[utoipa::path(
    get, path = "/api/debate/{id}/transcript", tag = "debate", params(("id" = String, Path), Writing),
    responses((status = OK), (status = NOT_FOUND))
)]
async fn write(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    Path(id): Path<String>,
    Asks(asked): Asks<Writing>,
) -> Result<Response, Problem> {
    let record = known(&desk, id).await?;
    let seen = shown::seen(&desk, &platform, &record).await?;
    let debate = seen.ok_or_else(|| nothing_said(&record.thread))?.debate;
    let (kind, ending, text) = match asked.format {
        Written::Md => ("text/markdown; charset=utf-8", "md", transcript::markdown(&debate)),
        Written::Json => ("application/json", "json", transcript::json(&debate).to_string()),
        Written::Txt => ("text/plain; charset=utf-8", "txt", transcript::plain(&debate)),
    };
    let file = format!("inline; filename=\"debate-{}.{ending}\"", record.thread);
    Ok(([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, file)], text).into_response())
}

/// A debate to be read without script, once it is over.
pub(crate) async fn plain(desk: &Desk, platform: &Platform, id: &str) -> Option<String> {
    let record = desk.record(&ThreadId::from(id)).await.ok()??;
    let is_over = record.graph == GRAPH && record.status == RunStatus::Finished;
    let seen = shown::seen(desk, platform, &record).await.ok()?.filter(|_| is_over);
    seen.map(|seen| transcript::html(&seen.debate))
}

async fn known(desk: &Desk, id: String) -> Result<ThreadRecord, Problem> {
    let missing = || Problem::not_found(format!("there is no debate `{id}`")).hint("`GET /api/debates` lists them");
    let record = desk.record(&ThreadId::from(id.as_str())).await?.ok_or_else(missing)?;
    if record.graph == GRAPH { Ok(record) } else { Err(missing()) }
}

/// A debate that somebody begins once more; nothing where it is new.
///
/// # Errors
/// 409 where the thread is no debate, or its debate waits for a person: what it asks is not passed over.
async fn begun(desk: &Desk, thread: &ThreadId) -> Result<Option<ThreadRecord>, Problem> {
    let Some(record) = desk.record(thread).await? else { return Ok(None) };
    if record.graph != GRAPH {
        let problem = Problem::conflict(format!("thread `{thread}` is no debate"));
        return Err(problem.hint("choose another `threadId`, or leave it out").on_thread(thread));
    }
    if record.status == RunStatus::Waiting {
        let problem = Problem::conflict(format!("debate `{thread}` waits for an approval"));
        return Err(problem.hint(format!("answer it: POST /api/debate/{thread}/approval")).on_thread(thread));
    }
    Ok(Some(record))
}

/// What a debate asks.
///
/// # Errors
/// 409 where it does not wait, or asks something else than was answered.
async fn question(desk: &Desk, record: &ThreadRecord, answered: Option<&str>) -> Result<InterruptId, Problem> {
    let thread = &record.thread;
    // One that does not wait may not have saved anything yet.
    let open = match record.status {
        RunStatus::Waiting => desk.served(GRAPH)?.state(thread).await?.questions().next().map(|open| open.id),
        _ => None,
    };
    let Some(open) = open else {
        return Err(Problem::conflict(format!("debate `{thread}` does not wait for an approval")).on_thread(thread));
    };
    if answered.is_some_and(|answered| answered != open.to_string()) {
        let problem = Problem::conflict(format!("debate `{thread}` asks something else by now"));
        return Err(problem.hint(format!("see what it asks: GET /api/debate/{thread}")).on_thread(thread));
    }
    Ok(open)
}

fn nothing_said(thread: &ThreadId) -> Problem {
    Problem::not_found(format!("nothing was said yet in debate `{thread}`")).on_thread(thread)
}

fn streamed(feed: Feed, (format, after): (Format, Option<u64>), heading: Value, graph: Arc<dyn Served>) -> Response {
    match format {
        Format::Events => sse(feed, events),
        Format::Debate => sse(feed, Debating::new(heading, after)),
        Format::AgUi => sse(feed, ag_ui(after, graph)),
    }
}

/// Waits for the end of the run, and gives what there is then.
async fn waited(desk: &Desk, platform: &Platform, mut feed: Feed) -> Result<Response, Problem> {
    let mut heard = None;
    loop {
        while let Some(told) = feed.next().await {
            heard = Some(told.number());
        }
        match feed.end() {
            Some(FeedEnd::Shutdown) => return Err(Problem::closing()),
            Some(FeedEnd::Failed(problem)) => return Err(Problem::clone(problem)),
            // It still runs: what was missed is read, then waited on.
            Some(FeedEnd::TooSlow) => feed = desk.watch(&feed.thread().clone(), heard).await?,
            _ => break,
        }
    }
    let record = desk.known(feed.thread()).await?;
    if let Some(failure) = record.failure.as_ref().filter(|_| record.status == RunStatus::Failed) {
        return Err(shown::failed(failure, &record.thread));
    }
    Ok(Json(shown(desk, platform, &record).await?).into_response())
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    accepted.contains("application/json") && !accepted.contains("text/event-stream")
}

fn accepted(thread: &ThreadId) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(json!({ "id": thread }))).into_response();
    name(response.headers_mut(), thread);
    response
}

/// Says which debate it is; a thread that a request may name is a header value too.
fn name(headers: &mut HeaderMap, thread: &ThreadId) {
    if let (Ok(id), Ok(place)) =
        (HeaderValue::from_str(thread.as_str()), HeaderValue::from_str(&format!("/api/debate/{thread}")))
    {
        headers.insert("x-debate-id", id);
        headers.insert(header::LOCATION, place);
    }
}
