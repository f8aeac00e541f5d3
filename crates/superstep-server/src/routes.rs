//! All routes as one: the system's, the applications', the pages, and answers to what there is not.

use axum::extract::DefaultBodyLimit;
use axum::http::{Method, Uri};
use axum::{Router, middleware};
use superstep::Code;
use utoipa_axum::router::OpenApiRouter;

mod system;

use crate::app::App;
use crate::desk::Desk;
use crate::guard::{Guard, guarded};
use crate::openapi::described;
use crate::pages::pages;
use crate::problem::Problem;

/// The whole service.
///
/// # Errors
/// When its description cannot be written.
pub(crate) fn router(apps: Vec<App>, desk: Desk, guard: Guard) -> superstep::Result<Router> {
    let pages = pages(&apps, desk.config().start_page.clone());
    let mut open: OpenApiRouter<Desk> = system::routes();
    for app in apps {
        open = open.merge(app.routes);
    }
    let (router, api) = open.split_for_parts();
    let router = described(router, api)?
        .merge(pages)
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(desk.config().body_limit))
        .layer(middleware::from_fn_with_state(guard, guarded));
    Ok(router.with_state(desk))
}

async fn nothing_here(uri: Uri) -> Problem {
    Problem::not_found(format!("there is nothing at `{}`", uri.path())).hint("`/api/openapi.json` lists what there is")
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("`{method}` is not what `{}` is for", uri.path());
    Problem::new(405, Code::InputInvalid, detail).hint("the header `Allow` says what is")
}
