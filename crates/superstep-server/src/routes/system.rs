//! Whether the server lives, how it is, what it has measured.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use superstep::ThreadsQuery;
use superstep::telemetry::Metrics;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::ModelNote;
use crate::desk::Desk;

pub(crate) fn routes() -> OpenApiRouter<Desk> {
    OpenApiRouter::new().routes(routes!(ok)).routes(routes!(health)).routes(routes!(metrics))
}

/// How long a store may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// That the server lives.
#[derive(Serialize, ToSchema)]
struct Alive {
    ok: bool,
}

/// How the server is.
#[derive(Serialize, ToSchema)]
struct Health {
    /// `ok`, `degraded` when a store does not answer, `closing` when the server is about to stop.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
    /// How long it has been up, in seconds.
    up_seconds: u64,
    /// Where things are kept.
    stores: StoresHealth,
    /// The models that are set up.
    models: Vec<ModelNote>,
    /// The graphs that are served.
    graphs: Vec<String>,
    /// What it drives.
    runs: RunsHealth,
}

/// Where things are kept, and whether they answer.
#[derive(Serialize, ToSchema)]
struct StoresHealth {
    /// `memory`, `sqlite` or `postgres`.
    kind: &'static str,
    /// Whether checkpoints can be read.
    checkpoints: bool,
    /// Whether records can be read.
    records: bool,
}

/// What the server drives.
#[derive(Serialize, ToSchema)]
struct RunsHealth {
    /// How many runs there are.
    running: usize,
    /// How many there may be.
    at_most: usize,
}

/// Says that the process lives. Asks nobody.
#[utoipa::path(get, path = "/ok", tag = "system", responses((status = OK, body = Alive)))]
async fn ok() -> Json<Alive> {
    Json(Alive { ok: true })
}

/// Says how the server is: 503 when a store does not answer or the server is about to stop.
#[utoipa::path(
    get, path = "/api/health", tag = "system",
    responses((status = OK, body = Health), (status = SERVICE_UNAVAILABLE, body = Health))
)]
async fn health(State(desk): State<Desk>) -> impl IntoResponse {
    let config = desk.config();
    let query = ThreadsQuery { limit: Some(1), ..ThreadsQuery::default() };
    let (checkpoints, records) = tokio::join!(
        tokio::time::timeout(PATIENCE, config.stores.checkpoints.threads(&query)),
        tokio::time::timeout(PATIENCE, config.stores.items.get(["server", "runs"], "none")),
    );
    let (checkpoints, records) = (matches!(checkpoints, Ok(Ok(_))), matches!(records, Ok(Ok(_))));
    let status = match (desk.is_closing(), checkpoints && records) {
        (true, _) => "closing",
        (false, true) => "ok",
        (false, false) => "degraded",
    };
    let (running, at_most) = desk.worker().load();
    let health = Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
        up_seconds: desk.since().elapsed().as_secs(),
        stores: StoresHealth { kind: config.stores.kind, checkpoints, records },
        models: config.models.clone(),
        graphs: desk.registry().all().map(|graph| graph.name().to_owned()).collect(),
        runs: RunsHealth { running, at_most },
    };
    (if status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, Json(health))
}

/// Everything measured so far, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "system", responses((status = OK, body = String)))]
async fn metrics(State(desk): State<Desk>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], desk.metrics().render())
}
