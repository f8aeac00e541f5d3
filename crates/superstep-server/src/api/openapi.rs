//! OpenAPI document of the HTTP API, generated from the routes.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use utoipa::openapi::{InfoBuilder, OpenApi};

use crate::runs::service::RunService;

/// Adds a route that serves the OpenAPI document at `/api/openapi.json`.
///
/// # Errors
/// Returns an error if the document cannot be serialized.
pub(crate) fn with_openapi_route(
    router: Router<RunService>,
    mut api: OpenApi,
) -> superstep::Result<Router<RunService>> {
    api.info = InfoBuilder::new().title("superstep").version(env!("CARGO_PKG_VERSION")).build();
    let text = api.to_json().map_err(|error| superstep::Error::internal(error.to_string()))?;
    let handler = move || std::future::ready(([(header::CONTENT_TYPE, "application/json")], text.clone()));
    Ok(router.route("/api/openapi.json", get(handler)))
}
