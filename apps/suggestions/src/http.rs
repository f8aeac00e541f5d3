//! Posts and suggestions over HTTP: write a post, list them, search, ask what to read.
//!
//! The agent runs without a store and ends with the request: whoever goes away stops it. Documents that were found are
//! served for reading below [`FILES`], so that a link of an answer leads somewhere.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json};
use futures_util::future::join;
use serde_json::{Value, json};
use superstep_server::{Asks, Body, Desk, Problem, Visitor};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod asked;
mod files;
mod reading;
mod shown;
mod stream;

use asked::{Asker, Engaging, NewPostBody, Posting, Search, Suggesting, Which};
use reading::escaped;
pub use shown::document;
use shown::{body, found, refused};
use stream::Telling;

use crate::app::Platform;
use crate::suggest::Asking;
use crate::types::PostSummary;

/// Below this documents are read.
pub(crate) const FILES: &str = "/api/suggestions/files/";

/// What is counted, each by itself: what a visitor does much of does not keep them from the rest.
const SUGGESTION: &str = "suggestion";
const LOOKUP: &str = "lookup";
const POST: &str = "post";
const ENGAGEMENT: &str = "engagement";

/// The routes.
pub(crate) fn routes(platform: Platform) -> OpenApiRouter<Desk> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(read))
        .routes(routes!(engage))
        .routes(routes!(suggestions))
        .routes(routes!(search))
        .routes(routes!(settings))
        .route(&format!("{FILES}{{*path}}"), get(files::file))
        .layer(Extension(platform))
}

/// Posts that have not expired, the newest first.
#[utoipa::path(get, path = "/api/posts", tag = "suggestions", params(Which), responses((status = OK)))]
async fn list(Extension(platform): Extension<Platform>, Asks(which): Asks<Which>) -> Result<Json<Value>, Problem> {
    let page = platform.sources().await?.posts().list(which.listing()?).await?;
    Ok(Json(json!({ "posts": page.posts, "next": page.next })))
}

/// Writes a post.
#[utoipa::path(
    post, path = "/api/posts", tag = "suggestions", request_body = NewPostBody,
    responses(
        (status = CREATED),
        (status = UNPROCESSABLE_ENTITY, description = "Every rule that is broken, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many posts from this address"),
    )
)]
async fn create(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    visitor: Visitor,
    Body(posting): Body<Posting>,
) -> Result<Response, Problem> {
    let post = posting.read().map_err(refused)?;
    // What is refused for its rules is not counted, here and below.
    let _pass = desk.admit(POST, visitor, platform.limit())?;
    let post = platform.sources().await?.posts().create(post).await?;
    let place = [(header::LOCATION, format!("/api/posts/{}", post.id))];
    Ok((StatusCode::CREATED, place, Json(post)).into_response())
}

/// A post.
#[utoipa::path(
    get, path = "/api/posts/{id}", tag = "suggestions", params(("id" = String, Path)),
    responses((status = OK), (status = NOT_FOUND, description = "Unknown, or expired"))
)]
async fn read(Extension(platform): Extension<Platform>, Path(id): Path<String>) -> Result<Json<PostSummary>, Problem> {
    known(&platform, &id).await.map(Json)
}

/// Counts somebody who is interested, or who takes part.
#[utoipa::path(
    post, path = "/api/posts/{id}/engagement", tag = "suggestions", params(("id" = String, Path)),
    request_body = Engaging,
    responses(
        (status = OK),
        (status = NOT_FOUND, description = "Unknown, or expired"),
        (status = TOO_MANY_REQUESTS, description = "Too many engagements from this address"),
    )
)]
async fn engage(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    visitor: Visitor,
    Path(id): Path<String>,
    Body(engaging): Body<Engaging>,
) -> Result<Json<PostSummary>, Problem> {
    let _pass = desk.admit(ENGAGEMENT, visitor, platform.limit())?;
    let engaged = platform.sources().await?.posts().engage(&id, engaging.kind).await?;
    engaged.map(Json).ok_or_else(|| missing(&id))
}

/// What to read for a post, and one next action; with `stream=1` what is done on the way.
#[utoipa::path(
    get, path = "/api/posts/{id}/suggestions", tag = "suggestions", params(("id" = String, Path), Suggesting),
    responses(
        (status = OK, description = "The suggestions, or server-sent events that end with `suggestions`"),
        (status = NOT_FOUND, description = "Unknown, or expired"),
        (status = TOO_MANY_REQUESTS, description = "Too many searches from this address"),
        (status = SERVICE_UNAVAILABLE, description = "The model has no key"),
    )
)]
async fn suggestions(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    Path(id): Path<String>,
    asker: Asker,
    Asks(asked): Asks<Suggesting>,
) -> Result<Response, Problem> {
    if desk.is_closing() {
        return Err(Problem::closing());
    }
    let is_streamed = asked.is_streamed()?;
    let post = known(&platform, &id).await?;
    let visitor = asker.visitor;
    let context = platform.context(&post.id, asker.terms(asked.model)).await?;
    let pass = desk.admit(SUGGESTION, visitor, platform.limit())?;
    let asking = Asking::new(&context, &post.text, &post.tags)?;
    let run = asking.run(platform.graph()).map(|run| run.metrics(desk.metrics()));
    if is_streamed {
        let run = run.map(|run| run.stream_events());
        return Ok(Telling::new(asking, run, pass).response(desk.config().pace));
    }
    let suggested = match run {
        Some(run) => asking.conclude(run.await).await?,
        None => asking.directly(None).await,
    };
    drop(pass);
    Ok(Json(body(suggested)).into_response())
}

/// Searches everything for words, without an agent.
#[utoipa::path(
    get, path = "/api/search", tag = "suggestions", params(Search),
    responses((status = OK), (status = TOO_MANY_REQUESTS, description = "Too many searches from this address"))
)]
async fn search(
    State(desk): State<Desk>,
    Extension(platform): Extension<Platform>,
    asker: Asker,
    Asks(asked): Asks<Search>,
) -> Result<Json<Value>, Problem> {
    let query = asked.query()?;
    let _pass = desk.admit(LOOKUP, asker.visitor, platform.limit())?;
    let sources = platform.sources().await?;
    let token = platform.token(asker.terms(None).token);
    let things = join(sources.search_docs(&query.text), sources.search_issues(&query.text));
    let people = join(sources.search_posts(&query.text, &[]), sources.ask_m365(&query.text, token.as_ref()));
    let ((docs, issues), (posts, m365)) = join(things, people).await;
    // Where one part failed and the other found something, both are told; where nothing was found, the reason is.
    let failed: Vec<String> = m365.failed.iter().map(ToString::to_string).collect();
    let m365 = m365.into_result();
    let warnings: Vec<String> = failed.into_iter().filter(|_| m365.is_ok()).chain(query.warning).collect();
    let mut whole = found(posts, [("docs", docs), ("issues", issues), ("m365", m365)]);
    whole["warnings"] = json!(warnings);
    Ok(Json(whole))
}

/// What can be chosen, and what can be searched.
#[utoipa::path(get, path = "/api/suggestions/settings", tag = "suggestions", responses((status = OK)))]
async fn settings(Extension(platform): Extension<Platform>) -> Result<Json<Value>, Problem> {
    platform.described().await.map(Json)
}

/// A post to be read without script, with where its suggestions are.
pub(crate) async fn plain(platform: &Platform, id: &str) -> Option<String> {
    let PostSummary { id, author_name, text, .. } = known(platform, id).await.ok()?;
    let (id, author, text) = (escaped(&id), escaped(&author_name), escaped(&text));
    Some(format!(
        "<h1>{text}</h1><p>{author}</p><p><a href=\"/api/posts/{id}/suggestions\">Suggestions as JSON</a></p>"
    ))
}

async fn known(platform: &Platform, id: &str) -> Result<PostSummary, Problem> {
    let post = platform.sources().await?.posts().get(id).await?;
    post.ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Problem {
    let detail = format!("there is no post `{id}`, or it has expired");
    Problem::not_found(detail).hint("`GET /api/posts` lists those there are")
}
