//! The description of the HTTP API, made of the routes themselves.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use utoipa::openapi::{InfoBuilder, OpenApi};

use crate::desk::Desk;

/// Serves the description at `/api/openapi.json`.
///
/// # Errors
/// When it cannot be written as JSON.
pub(crate) fn described(router: Router<Desk>, mut api: OpenApi) -> superstep::Result<Router<Desk>> {
    api.info = InfoBuilder::new().title("superstep").version(env!("CARGO_PKG_VERSION")).build();
    let text = api.to_json().map_err(|error| superstep::Error::internal(error.to_string()))?;
    let answer = move || std::future::ready(([(header::CONTENT_TYPE, "application/json")], text.clone()));
    Ok(router.route("/api/openapi.json", get(answer)))
}
