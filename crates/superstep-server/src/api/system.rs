//! Routes for liveness, health and metrics.

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

use crate::config::ModelSummary;
use crate::runs::service::RunService;

pub(crate) fn routes() -> OpenApiRouter<RunService> {
    OpenApiRouter::new().routes(routes!(ok)).routes(routes!(health)).routes(routes!(metrics))
}

/// Timeout of the storage health check.
const HEALTH_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// That the server lives.
#[derive(Serialize, ToSchema)]
struct LivenessResponse {
    ok: bool,
}

/// How the server is.
#[derive(Serialize, ToSchema)]
struct HealthResponse {
    /// `ok`, `degraded` when a store does not answer, `closing` when the server is about to stop.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
    /// How long it has been up, in seconds.
    #[serde(rename = "up_seconds")]
    uptime_seconds: u64,
    /// Where things are kept.
    #[serde(rename = "stores")]
    storage: StorageHealth,
    /// The models that are set up.
    models: Vec<ModelSummary>,
    /// The graphs that are served.
    graphs: Vec<String>,
    /// What it drives.
    runs: RunsHealth,
}

/// Where things are kept, and whether they answer.
#[derive(Serialize, ToSchema)]
struct StorageHealth {
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
    #[serde(rename = "at_most")]
    max_concurrent: usize,
}

/// Says that the process lives. Asks nobody.
#[utoipa::path(get, path = "/ok", tag = "system", responses((status = OK, body = LivenessResponse)))]
async fn ok() -> Json<LivenessResponse> {
    Json(LivenessResponse { ok: true })
}

/// Says how the server is: 503 when a store does not answer or the server is about to stop.
#[utoipa::path(
    get, path = "/api/health", tag = "system",
    responses((status = OK, body = HealthResponse), (status = SERVICE_UNAVAILABLE, body = HealthResponse))
)]
async fn health(State(desk): State<RunService>) -> impl IntoResponse {
    let config = desk.config();
    let query = ThreadsQuery { limit: Some(1), ..ThreadsQuery::default() };
    let (checkpoints, records) = tokio::join!(
        tokio::time::timeout(HEALTH_CHECK_TIMEOUT, config.storage.checkpointer.threads(&query)),
        tokio::time::timeout(HEALTH_CHECK_TIMEOUT, config.storage.store.get(["server", "runs"], "none")),
    );
    let (checkpoints, records) = (matches!(checkpoints, Ok(Ok(_))), matches!(records, Ok(Ok(_))));
    let status = match (desk.is_shutting_down(), checkpoints && records) {
        (true, _) => "closing",
        (false, true) => "ok",
        (false, false) => "degraded",
    };
    let (running, max_concurrent) = desk.worker().load();
    let health = HealthResponse {
        status,
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: desk.since().elapsed().as_secs(),
        storage: StorageHealth { kind: config.storage.backend, checkpoints, records },
        models: config.models.clone(),
        graphs: desk.registry().iter().map(|graph| graph.name().to_owned()).collect(),
        runs: RunsHealth { running, max_concurrent },
    };
    (if status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, Json(health))
}

/// Everything measured so far, in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "system", responses((status = OK, body = String)))]
async fn metrics(State(desk): State<RunService>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], desk.metrics().render())
}
