//! Router of the server: system routes, routes of the applications, pages, and responses for unknown paths and
//! methods.

use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Uri};
use axum::{Router, middleware};
use superstep::ErrorCode;
use utoipa_axum::router::OpenApiRouter;

use crate::access::security::{SecurityPolicy, security_middleware};
use crate::api::openapi::with_openapi_route;
use crate::api::problem::Problem;
use crate::api::static_files::static_router;
use crate::app::App;
use crate::runs::service::RunService;

/// Builds the router of the server.
///
/// # Errors
/// Returns an error if the OpenAPI document cannot be serialized.
pub(crate) fn router(apps: Vec<App>, runs: RunService, policy: SecurityPolicy) -> superstep::Result<Router> {
    let pages = static_router(&apps, runs.config().start_page.clone());
    let mut api_routes: OpenApiRouter<RunService> = crate::api::system::routes();
    for app in apps {
        api_routes = api_routes.merge(app.routes);
    }
    let (router, api) = api_routes.split_for_parts();
    let router = with_openapi_route(router, api)?
        .merge(pages)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(runs.config().body_limit))
        .layer(middleware::from_fn_with_state(policy, security_middleware));
    Ok(router.with_state(runs))
}

async fn not_found(uri: Uri) -> Problem {
    Problem::not_found(format!("no resource at `{}`", uri.path())).with_hint("`/api/openapi.json` lists all routes")
}

async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    let detail = format!("`{}` does not support `{method}`", uri.path());
    Problem::new(405, ErrorCode::InputInvalid, detail).with_hint("the header `Allow` lists the supported methods")
}
