//! HTTP API for posts and suggestions: create and list posts, search all sources, request suggestions.
//!
//! The agent runs without a checkpointer and is bound to its request: a client that disconnects stops the run.
//! Documents in search results are served below [`FILES`], so the links in a response can be opened.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json};
use futures_util::future::join;
use serde_json::{Value, json};
use superstep_server::{ClientAddress, Problem, RunService, ValidatedJson, ValidatedQuery};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

mod document_page;
mod files;
mod requests;
mod responses;
mod stream;

use document_page::escaped;
use requests::{
    CreatePostRequest, CreatePostSchema, EngagementRequest, ListPostsParams, Requester, SearchParams, SuggestionsParams,
};
pub use responses::suggestions_json;
use responses::{post_rejected_problem, search_response, suggestions_response};
use stream::SuggestionStream;

use crate::app::SuggestionsAppState;
use crate::suggest::SuggestionRun;
use crate::types::PostSummary;

/// URL prefix of the documents.
pub(crate) const FILES: &str = "/api/suggestions/files/";

/// Names of the rate limits. Each is counted separately, so one kind of request does not use up the limit of
/// another.
const SUGGESTION_LIMIT: &str = "suggestion";
const SEARCH_LIMIT: &str = "lookup";
const POST_LIMIT: &str = "post";
const ENGAGEMENT_LIMIT: &str = "engagement";

/// Returns the routes of the application.
pub(crate) fn routes(app_state: SuggestionsAppState) -> OpenApiRouter<RunService> {
    OpenApiRouter::new()
        .routes(routes!(list_posts, create_post))
        .routes(routes!(get_post))
        .routes(routes!(engage_post))
        .routes(routes!(get_suggestions))
        .routes(routes!(search_all))
        .routes(routes!(get_settings))
        .route(&format!("{FILES}{{*path}}"), get(files::get_file))
        .layer(Extension(app_state))
}

/// Lists the posts that have not expired, newest first.
#[utoipa::path(get, path = "/api/posts", tag = "suggestions", params(ListPostsParams), responses((status = OK)))]
async fn list_posts(
    Extension(app_state): Extension<SuggestionsAppState>,
    ValidatedQuery(params): ValidatedQuery<ListPostsParams>,
) -> Result<Json<Value>, Problem> {
    let page = app_state.sources().await?.posts().list(params.post_filter()?).await?;
    Ok(Json(json!({ "posts": page.posts, "next": page.next })))
}

/// Creates a post.
#[utoipa::path(
    post, path = "/api/posts", tag = "suggestions", request_body = CreatePostSchema,
    responses(
        (status = CREATED),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers"),
        (status = TOO_MANY_REQUESTS, description = "Too many posts from this address"),
    )
)]
async fn create_post(
    State(runs): State<RunService>,
    Extension(app_state): Extension<SuggestionsAppState>,
    client: ClientAddress,
    ValidatedJson(body): ValidatedJson<CreatePostRequest>,
) -> Result<Response, Problem> {
    let post = body.new_post().map_err(post_rejected_problem)?;
    // Requests that fail validation do not count against the rate limit, here and below.
    let _permit = runs.acquire_permit(POST_LIMIT, client, app_state.rate_limit())?;
    let post = app_state.sources().await?.posts().create(post).await?;
    let location = [(header::LOCATION, format!("/api/posts/{}", post.id))];
    Ok((StatusCode::CREATED, location, Json(post)).into_response())
}

/// Returns a post.
#[utoipa::path(
    get, path = "/api/posts/{id}", tag = "suggestions", params(("id" = String, Path)),
    responses((status = OK), (status = NOT_FOUND, description = "The post does not exist or has expired"))
)]
async fn get_post(
    Extension(app_state): Extension<SuggestionsAppState>,
    Path(id): Path<String>,
) -> Result<Json<PostSummary>, Problem> {
    find_post(&app_state, &id).await.map(Json)
}

/// Counts a user who is interested in a post or takes part.
#[utoipa::path(
    post, path = "/api/posts/{id}/engagement", tag = "suggestions", params(("id" = String, Path)),
    request_body = EngagementRequest,
    responses(
        (status = OK),
        (status = NOT_FOUND, description = "The post does not exist or has expired"),
        (status = TOO_MANY_REQUESTS, description = "Too many engagements from this address"),
    )
)]
async fn engage_post(
    State(runs): State<RunService>,
    Extension(app_state): Extension<SuggestionsAppState>,
    client: ClientAddress,
    Path(id): Path<String>,
    ValidatedJson(body): ValidatedJson<EngagementRequest>,
) -> Result<Json<PostSummary>, Problem> {
    let _permit = runs.acquire_permit(ENGAGEMENT_LIMIT, client, app_state.rate_limit())?;
    let post = app_state.sources().await?.posts().engage(&id, body.kind).await?;
    post.map(Json).ok_or_else(|| post_not_found(&id))
}

/// Returns suggestions for a post and one next action. With `stream=1`, the response is a stream of run events.
#[utoipa::path(
    get, path = "/api/posts/{id}/suggestions", tag = "suggestions", params(("id" = String, Path), SuggestionsParams),
    responses(
        (status = OK, description = "The suggestions, or server-sent events that end with `suggestions`"),
        (status = NOT_FOUND, description = "The post does not exist or has expired"),
        (status = TOO_MANY_REQUESTS, description = "Too many searches from this address"),
        (status = SERVICE_UNAVAILABLE, description = "No API key is configured for the model"),
    )
)]
async fn get_suggestions(
    State(runs): State<RunService>,
    Extension(app_state): Extension<SuggestionsAppState>,
    Path(id): Path<String>,
    requester: Requester,
    ValidatedQuery(params): ValidatedQuery<SuggestionsParams>,
) -> Result<Response, Problem> {
    if runs.is_shutting_down() {
        return Err(Problem::shutting_down());
    }
    let is_streamed = params.is_streamed()?;
    let post = find_post(&app_state, &id).await?;
    let client = requester.client;
    let context = app_state.run_context(&post.id, requester.search_options(params.model)).await?;
    let permit = runs.acquire_permit(SUGGESTION_LIMIT, client, app_state.rate_limit())?;
    let suggestion_run = SuggestionRun::new(&context, &post.text, &post.tags)?;
    let run = suggestion_run.run(app_state.graph()).map(|run| run.metrics(runs.metrics()));
    if is_streamed {
        let run = run.map(|run| run.stream_events());
        return Ok(SuggestionStream::new(suggestion_run, run, permit).response(runs.config().sse));
    }
    let suggested = match run {
        Some(run) => suggestion_run.finish(run.await).await?,
        None => suggestion_run.search_without_model(None).await,
    };
    drop(permit);
    Ok(Json(suggestions_response(suggested)).into_response())
}

/// Searches all sources without an agent.
#[utoipa::path(
    get, path = "/api/search", tag = "suggestions", params(SearchParams),
    responses((status = OK), (status = TOO_MANY_REQUESTS, description = "Too many searches from this address"))
)]
async fn search_all(
    State(runs): State<RunService>,
    Extension(app_state): Extension<SuggestionsAppState>,
    requester: Requester,
    ValidatedQuery(params): ValidatedQuery<SearchParams>,
) -> Result<Json<Value>, Problem> {
    let query = params.query()?;
    let _permit = runs.acquire_permit(SEARCH_LIMIT, requester.client, app_state.rate_limit())?;
    let sources = app_state.sources().await?;
    let token = app_state.token(requester.search_options(None).token);
    let docs_and_issues = join(sources.search_docs(&query.text), sources.search_issues(&query.text));
    let posts_and_m365 =
        join(sources.search_posts(&query.text, &[]), sources.search_m365_parts(&query.text, token.as_ref()));
    let ((docs, issues), (posts, m365)) = join(docs_and_issues, posts_and_m365).await;
    // If one part of Microsoft 365 failed and another found results, both are returned; if none found any, only the
    // reason.
    let failed: Vec<String> = m365.failed.iter().map(ToString::to_string).collect();
    let m365 = m365.into_result();
    let warnings: Vec<String> = failed.into_iter().filter(|_| m365.is_ok()).chain(query.warning).collect();
    let mut response = search_response(posts, [("docs", docs), ("issues", issues), ("m365", m365)]);
    response["warnings"] = json!(warnings);
    Ok(Json(response))
}

/// Returns the available models and sources, and the limits.
#[utoipa::path(get, path = "/api/suggestions/settings", tag = "suggestions", responses((status = OK)))]
async fn get_settings(Extension(app_state): Extension<SuggestionsAppState>) -> Result<Json<Value>, Problem> {
    app_state.settings_json().await.map(Json)
}

/// Renders a post for browsers without JavaScript, with a link to its suggestions.
pub(crate) async fn render_noscript(app_state: &SuggestionsAppState, id: &str) -> Option<String> {
    let PostSummary { id, author_name, text, .. } = find_post(app_state, id).await.ok()?;
    let (id, author, text) = (escaped(&id), escaped(&author_name), escaped(&text));
    Some(format!(
        "<h1>{text}</h1><p>{author}</p><p><a href=\"/api/posts/{id}/suggestions\">Suggestions as JSON</a></p>"
    ))
}

async fn find_post(app_state: &SuggestionsAppState, id: &str) -> Result<PostSummary, Problem> {
    let post = app_state.sources().await?.posts().get(id).await?;
    post.ok_or_else(|| post_not_found(id))
}

fn post_not_found(id: &str) -> Problem {
    let detail = format!("post `{id}` not found, or expired");
    Problem::not_found(detail).with_hint("see `GET /api/posts` for the current posts")
}
