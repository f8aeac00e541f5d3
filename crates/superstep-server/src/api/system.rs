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

/// Response of the liveness check.
#[derive(Serialize, ToSchema)]
struct LivenessResponse {
    ok: bool,
}

/// Health of the server.
#[derive(Serialize, ToSchema)]
struct HealthResponse {
    /// Status: `ok`, `degraded` if the storage does not respond, `closing` during shutdown.
    status: &'static str,
    /// Version of the server.
    version: &'static str,
    /// Uptime in seconds.
    #[serde(rename = "up_seconds")]
    uptime_seconds: u64,
    /// Health of the storage.
    #[serde(rename = "stores")]
    storage: StorageHealth,
    /// Configured models.
    models: Vec<ModelSummary>,
    /// Names of the served graphs.
    graphs: Vec<String>,
    /// Active runs and their limit.
    runs: RunsHealth,
}

/// Health of the storage.
#[derive(Serialize, ToSchema)]
struct StorageHealth {
    /// Backend: `memory`, `sqlite` or `postgres`.
    kind: &'static str,
    /// True if checkpoints can be read.
    checkpoints: bool,
    /// True if records can be read.
    records: bool,
}

/// Active runs and their limit.
#[derive(Serialize, ToSchema)]
struct RunsHealth {
    /// Number of active runs.
    running: usize,
    /// Maximum number of concurrent runs.
    #[serde(rename = "at_most")]
    max_concurrent: usize,
}

/// Returns 200 while the process is alive; checks nothing else.
#[utoipa::path(get, path = "/ok", tag = "system", responses((status = OK, body = LivenessResponse)))]
async fn ok() -> Json<LivenessResponse> {
    Json(LivenessResponse { ok: true })
}

/// Returns the health of the server: 503 if the storage does not respond or the server is shutting down.
#[utoipa::path(
    get, path = "/api/health", tag = "system",
    responses((status = OK, body = HealthResponse), (status = SERVICE_UNAVAILABLE, body = HealthResponse))
)]
async fn health(State(runs): State<RunService>) -> impl IntoResponse {
    let config = runs.config();
    let query = ThreadsQuery { limit: Some(1), ..ThreadsQuery::default() };
    let (checkpoints, records) = tokio::join!(
        tokio::time::timeout(HEALTH_CHECK_TIMEOUT, config.storage.checkpointer.threads(&query)),
        tokio::time::timeout(HEALTH_CHECK_TIMEOUT, config.storage.store.get(["server", "runs"], "none")),
    );
    let (checkpoints, records) = (matches!(checkpoints, Ok(Ok(_))), matches!(records, Ok(Ok(_))));
    let status = match (runs.is_shutting_down(), checkpoints && records) {
        (true, _) => "closing",
        (false, true) => "ok",
        (false, false) => "degraded",
    };
    let (running, max_concurrent) = runs.worker().load();
    let health = HealthResponse {
        status,
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: runs.started_at().elapsed().as_secs(),
        storage: StorageHealth { kind: config.storage.backend, checkpoints, records },
        models: config.models.clone(),
        graphs: runs.registry().iter().map(|graph| graph.name().to_owned()).collect(),
        runs: RunsHealth { running, max_concurrent },
    };
    (if status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, Json(health))
}

/// Returns all metrics in the Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "system", responses((status = OK, body = String)))]
async fn metrics(State(runs): State<RunService>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], runs.metrics().render())
}
