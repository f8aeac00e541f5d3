//! Conversations over HTTP: ask, watch, answer what is asked back, stop, read again; and what is remembered.
//!
//! The desk of the server does the work; here stands what is asked and how it is shown. Whose a conversation is and who
//! answers in it travels in the options of its orders, so that a turn goes on the same way after an answer or a crash.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{Answers, Code};
use superstep_server::{
    After, Asks, Body, Conversations, Desk, Feed, FeedEnd, Order, Problem, RunStatus, Served, Stop, ThreadRecord,
    Visitor, What, ag_ui, events, fresh_thread, sse,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod answering;
mod asked;
mod shown;

use answering::{Answering, heard, question};
pub use asked::Options;
pub(crate) use asked::noted;
use asked::{Asking, Format, Listing, Looking, Streaming, Whose};
use shown::{answered, shown};

use crate::app::{Door, Office};
use crate::memory;
use crate::state::Assistant;

/// The name of the graph.
pub(crate) const GRAPH: &str = "assistant";

/// The conversations.
const TALKS: Conversations =
    Conversations { graph: GRAPH, list: "GET /api/assistant?userId=", owner: |options| Options::read(options).user_id };

/// The routes.
pub(crate) fn routes(door: Door) -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(routes!(ask, list))
        .routes(routes!(settings))
        .routes(routes!(remembered))
        .routes(routes!(forget))
        .routes(routes!(read))
        .routes(routes!(stream))
        .routes(routes!(answer))
        .routes(routes!(stop))
        .layer(Extension(door))
}

/// Asks something and streams the turn; with `Accept: application/json` waits for its end and gives the answer.
#[utoipa::path(
    post, path = "/api/assistant", tag = "assistant", request_body = Asking,
    responses(
        (status = OK, description = "Server-sent events, or the answer when the turn has ended"),
        (status = FORBIDDEN, description = "Nobody knows the user, or it is the conversation of another"),
        (status = CONFLICT, description = "The conversation has a turn that runs"),
        (status = PAYLOAD_TOO_LARGE, description = "The message is too long; says how long it may be"),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many turns from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The model has no key"),
    )
)]
async fn ask(
    State(desk): State<Desk>,
    office: Office,
    visitor: Visitor,
    headers: HeaderMap,
    body: Result<Body<Asking>, Problem>,
) -> Result<Response, Problem> {
    let Body(asking) = body.map_err(|problem| too_long(problem, &office))?;
    let thread = asking.thread()?.unwrap_or_else(fresh_thread);
    office.check_user(&asking.user_id)?;
    let before = match TALKS.begun(&desk, &thread, &asking.user_id).await? {
        Some(record) => Some(Options::read(&TALKS.options(&desk, &record).await?)),
        None => None,
    };
    let options = asking.options(before.as_ref());
    // A model that cannot be asked, and a message that cannot be taken, is found out before there is a turn.
    asking.check()?;
    drop(Assistant::open(&office.desk(&options)?, &asking.user_id, &asking.message)?);
    let order = Order::new(GRAPH, thread.clone(), What::Start(asking.input())).options(options.to_json());
    let order = if before.is_none() { order.titled_by(&asking.message) } else { order };
    desk.served(GRAPH)?.check(&order).await?;
    // What earlier turns told is not told again.
    let last = Some(desk.last_event(&thread).await?).filter(|last| *last > 0);
    let pass = desk.admit(GRAPH, visitor, office.limit())?;
    let feed = match asking.detach {
        true => {
            desk.start_admitted(order, pass).await?;
            desk.watch(&thread, last).await?
        }
        false => desk.start_attended(order, pass, last, Stop::AfterStep).await?,
    };
    let mut response = match wants_json(&headers) {
        true => waited(&desk, &office, feed).await?,
        false => streamed(feed, (asking.format, None), desk.served(GRAPH)?),
    };
    name(response.headers_mut(), &thread);
    Ok(response)
}

/// How a conversation stands.
#[utoipa::path(
    get, path = "/api/assistant/{id}", tag = "assistant", params(("id" = String, Path), Whose),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
async fn read(
    State(desk): State<Desk>,
    office: Office,
    Path(id): Path<String>,
    Asks(whose): Asks<Whose>,
) -> Result<Json<Value>, Problem> {
    let record = owned(&desk, &office, (&id, &whose.user_id)).await?;
    Ok(Json(shown(&desk, &office, &record).await?))
}

/// Everything a conversation says after an event, and what it says from now on; ends with the turn.
#[utoipa::path(
    get, path = "/api/assistant/{id}/stream", tag = "assistant", params(("id" = String, Path), Streaming),
    responses((status = OK, description = "Server-sent events"), (status = FORBIDDEN), (status = NOT_FOUND))
)]
async fn stream(
    State(desk): State<Desk>,
    office: Office,
    Path(id): Path<String>,
    Asks(asked): Asks<Streaming>,
    After(after): After,
) -> Result<Response, Problem> {
    let record = owned(&desk, &office, (&id, &asked.user_id)).await?;
    // From the beginning, whatever the reader has: another view knows what is open by what came before.
    let whole = asked.format != Format::Events;
    let feed = desk.watch(&record.thread, after.filter(|_| !whole)).await?;
    Ok(streamed(feed, (asked.format, after), desk.served(GRAPH)?))
}

/// Answers what a conversation asks back: what was meant, or whether a tool may be used.
#[utoipa::path(
    post, path = "/api/assistant/{id}/answer", tag = "assistant", params(("id" = String, Path), Whose),
    request_body = Answering,
    responses(
        (status = ACCEPTED), (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "It does not ask anything, or something else"),
        (status = UNPROCESSABLE_ENTITY, description = "That is no answer to what it asks"),
    )
)]
async fn answer(
    State(desk): State<Desk>,
    office: Office,
    (visitor, Path(id)): (Visitor, Path<String>),
    Asks(whose): Asks<Whose>,
    Body(answering): Body<Answering>,
) -> Result<Response, Problem> {
    let record = owned(&desk, &office, (&id, &whose.user_id)).await?;
    let (thread, asked) = (&record.thread, answering.question_id.clone());
    let open = question(&desk, &record, &asked).await?;
    let answers = Answers::from([(open.id, heard(answering, &open.value)?)]);
    let order = Order::new(GRAPH, thread.clone(), What::Answer(answers));
    let order = order.options(TALKS.options(&desk, &record).await?);
    let pass = desk.admit(GRAPH, visitor, office.limit_at_once())?;
    if let Err(problem) = desk.start_admitted(order, pass).await {
        // Where somebody else was quicker, that is what is wrong.
        question(&desk, &TALKS.known(&desk, &id).await?, &asked).await?;
        return Err(problem);
    }
    Ok(accepted(thread))
}

/// Stops the turn of a conversation; one that waits for an answer is set aside.
#[utoipa::path(
    post, path = "/api/assistant/{id}/stop", tag = "assistant", params(("id" = String, Path), Whose),
    responses(
        (status = ACCEPTED), (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "No turn runs"),
    )
)]
async fn stop(
    State(desk): State<Desk>,
    office: Office,
    Path(id): Path<String>,
    Asks(whose): Asks<Whose>,
) -> Result<Response, Problem> {
    let record = owned(&desk, &office, (&id, &whose.user_id)).await?;
    desk.halt(&record.thread, Stop::Now).await?;
    Ok(accepted(&record.thread))
}

/// The conversations of a user, the newest first.
#[utoipa::path(
    get, path = "/api/assistant", tag = "assistant", params(Listing),
    responses((status = OK), (status = FORBIDDEN))
)]
async fn list(State(desk): State<Desk>, office: Office, Asks(asked): Asks<Listing>) -> Result<Json<Value>, Problem> {
    office.check_user(&asked.user_id)?;
    let limit = asked.limit.unwrap_or(50).clamp(1, 200);
    let records = TALKS.of_user(&desk, &asked.user_id, limit).await?;
    let sessions: Vec<Value> = records.iter().map(shown::listed).collect();
    Ok(Json(json!({ "sessions": sessions })))
}

/// What is remembered of a user, the newest first.
#[utoipa::path(
    get, path = "/api/assistant/memory", tag = "assistant", params(Whose),
    responses((status = OK), (status = FORBIDDEN))
)]
async fn remembered(
    State(desk): State<Desk>,
    office: Office,
    Asks(whose): Asks<Whose>,
) -> Result<Json<Value>, Problem> {
    office.check_user(&whose.user_id)?;
    let facts = memory::facts(&desk.config().stores.items, &whose.user_id).await?;
    Ok(Json(json!({ "facts": facts })))
}

/// Forgets something about a user.
#[utoipa::path(
    delete, path = "/api/assistant/memory/{key}", tag = "assistant", params(("key" = String, Path), Whose),
    responses((status = NO_CONTENT), (status = FORBIDDEN), (status = NOT_FOUND))
)]
async fn forget(
    State(desk): State<Desk>,
    office: Office,
    Path(key): Path<String>,
    Asks(whose): Asks<Whose>,
) -> Result<StatusCode, Problem> {
    office.check_user(&whose.user_id)?;
    match memory::forget(&desk.config().stores.items, &whose.user_id, &key).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found(format!("nothing is remembered under `{key}`"))),
    }
}

/// What can be chosen, and what the user who asks may use of what is configured.
#[utoipa::path(
    get, path = "/api/assistant/settings", tag = "assistant", params(Looking),
    responses((status = OK), (status = FORBIDDEN))
)]
async fn settings(office: Office, Asks(looking): Asks<Looking>) -> Result<Json<Value>, Problem> {
    Ok(Json(office.described(looking.user_id.as_deref())?))
}

/// A body that is too long has a message that is.
fn too_long(problem: Problem, office: &Office) -> Problem {
    match problem.status() {
        413 => {
            let detail = format!("the message is too long, and may have {} bytes", office.message_bytes());
            Problem::new(413, Code::TooLarge, detail).hint("send a shorter one")
        }
        _ => problem,
    }
}

fn streamed(feed: Feed, (format, after): (Format, Option<u64>), graph: Arc<dyn Served>) -> Response {
    match format {
        Format::Events => sse(feed, events),
        Format::AgUi => sse(feed, ag_ui(after, graph)),
    }
}

/// A conversation, for its user.
async fn owned(desk: &Desk, office: &Office, (id, user): (&str, &str)) -> Result<ThreadRecord, Problem> {
    office.check_user(user)?;
    TALKS.owned(desk, id, user).await
}

/// Waits for the end of the turn, and gives the answer, or what is asked back.
async fn waited(desk: &Desk, office: &Office, mut feed: Feed) -> Result<Response, Problem> {
    while feed.next().await.is_some() {}
    match feed.end() {
        Some(FeedEnd::Shutdown) => return Err(Problem::closing()),
        Some(FeedEnd::Failed(problem)) => return Err(Problem::clone(problem)),
        _ => {}
    }
    let record: ThreadRecord = TALKS.known(desk, feed.thread().as_str()).await?;
    if let Some(failure) = record.failure.as_ref().filter(|_| record.status == RunStatus::Failed) {
        return Err(shown::failed(failure, &record.thread));
    }
    Ok(Json(answered(desk, office, &record).await?).into_response())
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    accepted.contains("application/json") && !accepted.contains("text/event-stream")
}

fn accepted(thread: &ThreadId) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(json!({ "sessionId": thread }))).into_response();
    name(response.headers_mut(), thread);
    response
}

/// Says which conversation it is; a thread that a request may name is a header value too.
fn name(headers: &mut HeaderMap, thread: &ThreadId) {
    if let (Ok(id), Ok(place)) =
        (HeaderValue::from_str(thread.as_str()), HeaderValue::from_str(&format!("/api/assistant/{thread}")))
    {
        headers.insert("x-thread-id", id);
        headers.insert(header::LOCATION, place);
    }
}
