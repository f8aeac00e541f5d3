//! Conversations: something is said in plain words, worked on, asked about, answered.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep::Answers;
use superstep::core::id::ThreadId;
use superstep_server::{Asks, Body, Desk, FeedEnd, Order, Pass, Problem, RunStatus, ThreadRecord, Visitor, What};

use super::answering::{Answering, check, question};
use super::asked::{Telling, Whose, turn_order};
use super::asker::Asker;
use super::refusal::invalid;
use super::told::conversation;
use super::{GRAPH, Options, TALKS, told};
use crate::agents::seen_by;
use crate::app::Office;
use crate::home::Home;
use crate::models::EventType;
use crate::nodes::reject;
use crate::parser::{Request, parse};

/// The most conversations that are listed.
const MOST_THREADS: usize = 100;

/// Says something in plain words: plan, move, cancel, look up. Waits for what comes of it, or what is asked back.
#[utoipa::path(
    post, path = "/api/scheduler/events", tag = "scheduler", request_body = Telling,
    responses(
        (status = OK, description = "What came of it, or what is asked back"),
        (status = FORBIDDEN, description = "Nobody of the family is called so, or it is the conversation of another"),
        (status = CONFLICT, description = "The conversation is being worked on"),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many requests from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The calendar cannot be reached; nothing was changed"),
    )
)]
pub(super) async fn tell(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    visitor: Visitor,
    Body(telling): Body<Telling>,
) -> Result<Json<Value>, Problem> {
    said((&desk, &office), visitor, telling, false).await
}

/// Asks something about the calendar in plain words; nothing is ever changed by it.
#[utoipa::path(
    post, path = "/api/scheduler/query", tag = "scheduler", request_body = Telling,
    responses(
        (status = OK, description = "The answer, or what is asked back"),
        (status = FORBIDDEN, description = "Nobody of the family is called so, or it is the conversation of another"),
        (status = CONFLICT, description = "The conversation is being worked on"),
        (status = UNPROCESSABLE_ENTITY, description = "This is no question; or every problem, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many requests from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The calendar cannot be reached"),
    )
)]
pub(super) async fn query(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    visitor: Visitor,
    Body(telling): Body<Telling>,
) -> Result<Json<Value>, Problem> {
    said((&desk, &office), visitor, telling, true).await
}

/// Answers what a conversation asks, and waits for what comes of it.
#[utoipa::path(
    post, path = "/api/scheduler/threads/{id}/answer", tag = "scheduler", params(("id" = String, Path)),
    request_body = Answering,
    responses(
        (status = OK, description = "What came of it, or what is asked next"),
        (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "It does not ask anything, or something else"),
        (status = UNPROCESSABLE_ENTITY, description = "That is no answer to what it asks"),
        (status = SERVICE_UNAVAILABLE, description = "The calendar cannot be reached; nothing was changed"),
    )
)]
pub(super) async fn answer(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    (visitor, Path(id)): (Visitor, Path<String>),
    Body(answering): Body<Answering>,
) -> Result<Json<Value>, Problem> {
    let asker = Asker::new(&office, &answering.user_id).await?;
    let record = TALKS.owned(&desk, &id, &answering.user_id).await?;
    let (asked, talk) = question(&desk, &record, &answering.question_id).await?;
    check(&asked, &answering.answer, &talk, &asker)?;
    let what = What::Answer(Answers::from([(asked.id, answering.answer)]));
    let order = Order::new(GRAPH, &record.thread, what).options(TALKS.options(&desk, &record).await?);
    let pass = desk.admit(GRAPH, visitor, office.limit_at_once())?;
    match waited((&desk, &office), order, pass, &answering.user_id).await {
        Err(problem) if problem.status() < 500 => {
            // Where somebody else was quicker, that is what is wrong.
            question(&desk, &TALKS.known(&desk, &id).await?, &answering.question_id).await?;
            Err(problem)
        }
        answered => answered,
    }
}

/// How a conversation stands, with what it asks.
#[utoipa::path(
    get, path = "/api/scheduler/threads/{id}", tag = "scheduler", params(("id" = String, Path), Whose),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn thread(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    Path(id): Path<String>,
    Asks(whose): Asks<Whose>,
) -> Result<Json<Value>, Problem> {
    let asker = Asker::new(&office, &whose.user_id).await?;
    let record = TALKS.owned(&desk, &id, &whose.user_id).await?;
    Ok(Json(told::answered(&desk, &asker, &record).await?))
}

/// The conversations of a member, the newest first.
#[utoipa::path(
    get, path = "/api/scheduler/threads", tag = "scheduler", params(Whose),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn threads(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    Asks(whose): Asks<Whose>,
) -> Result<Json<Value>, Problem> {
    Asker::new(&office, &whose.user_id).await?;
    let records = TALKS.of_user(&desk, &whose.user_id, MOST_THREADS).await?;
    Ok(Json(json!({ "threads": records.iter().map(told::listed).collect::<Vec<_>>() })))
}

/// Begins a request, and waits for what comes of it.
async fn said(
    (desk, office): (&Desk, &Office),
    visitor: Visitor,
    telling: Telling,
    is_query: bool,
) -> Result<Json<Value>, Problem> {
    telling.check()?;
    let thread = telling.thread()?;
    let asker = Asker::new(office, &telling.user_id).await?;
    if is_query {
        check_question(&telling, &asker)?;
    }
    let before = TALKS.begun(desk, &thread, &telling.user_id).await?;
    let terms = telling.options(is_query, before.as_ref().map(|before| Options::read(&before.options)));
    let order = turn_order(&telling.text, &thread, &terms, before.is_none());
    desk.served(GRAPH)?.check(&order).await?;
    let pass = desk.admit(GRAPH, visitor, office.limit())?;
    if let Some(before) = before.filter(|before| before.status == RunStatus::Waiting) {
        leave(desk, office, &before).await?;
    }
    waited((desk, office), order, pass, &telling.user_id).await
}

/// Lets questions pass.
fn check_question(telling: &Telling, asker: &Asker) -> Result<(), Problem> {
    let board = seen_by(&asker.board, &asker.member.id);
    let request = Request { text: &telling.text, speaker: &asker.member.id, now: asker.now, board: &board };
    match parse(&request).data.event_type {
        EventType::Query => Ok(()),
        _ => Err(invalid("/text", "this is no question", "`POST /api/scheduler/events` is for what changes something")),
    }
}

/// Takes what a question was about off the calendar: whoever says something else will not answer it any more.
async fn leave(desk: &Desk, office: &Office, record: &ThreadRecord) -> Result<(), Problem> {
    let Some(state) = TALKS.state(desk, &record.thread).await? else { return Ok(()) };
    let talk = conversation(&state)?;
    if let Some(event) = &talk.proposed_event {
        let home = Home::new(office.calendars().clone(), office.family());
        reject(&home, &talk.user_id, &event.event_id).await?;
    }
    Ok(())
}

/// Starts a run, waits for its end, and gives what came of it. It goes on when whoever waits goes away.
async fn waited(
    (desk, office): (&Desk, &Office),
    order: Order,
    pass: Pass,
    user: &str,
) -> Result<Json<Value>, Problem> {
    let thread: ThreadId = order.thread.clone();
    // What earlier requests told is not told again.
    let last = Some(desk.last_event(&thread).await?).filter(|last| *last > 0);
    desk.start_admitted(order, pass).await?;
    let mut feed = desk.watch(&thread, last).await?;
    while feed.next().await.is_some() {}
    match feed.end() {
        Some(FeedEnd::Shutdown) => return Err(Problem::closing()),
        Some(FeedEnd::Failed(problem)) => return Err(Problem::clone(problem)),
        _ => {}
    }
    let record = TALKS.known(desk, thread.as_str()).await?;
    if let Some(failure) = record.failure.as_ref().filter(|_| record.status == RunStatus::Failed) {
        return Err(told::failed(failure, &record.thread));
    }
    // The calendar as it is after it.
    let asker = Asker::new(office, user).await?;
    let answer = told::answered(desk, &asker, &record).await?;
    told::check_store(&answer, &record.thread)?;
    Ok(Json(answer))
}
