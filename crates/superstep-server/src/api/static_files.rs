//! Static files of the web studio, embedded in the binary: nothing is loaded from another host.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use rust_embed::Embed;

use crate::api::problem::Problem;
use crate::app::App;
use crate::runs::service::RunService;

/// Build output of the web studio.
#[derive(Embed)]
#[folder = "../../web/dist"]
struct StudioFiles;

/// Returns the routes for the page of each application, the assets, and the start page: a file, or a list of the
/// applications.
pub(crate) fn static_router(apps: &[App], start_page: Option<String>) -> Router<RunService> {
    let list = app_index_page(apps);
    let index = move || match &start_page {
        Some(file) => page(file, None),
        None => Html(list.clone()).into_response(),
    };
    let mut router = Router::new()
        .route("/", get(move || std::future::ready(index())))
        .route("/assets/{*path}", get(asset))
        .route("/favicon.ico", get(|| std::future::ready(StatusCode::NO_CONTENT)));
    for app in apps {
        let Some(file) = app.page.clone() else { continue };
        let index_file = file.clone();
        router = router.route(&format!("/{}", app.name), get(move || std::future::ready(page(&index_file, None))));
        // A page has paths of its own, such as one debate.
        let html_fallback = app.html_fallback.clone();
        let subpath_handler = move |State(runs): State<RunService>, Path(subpath): Path<String>| async move {
            let fallback = match &html_fallback {
                Some(render) => render(runs, subpath).await,
                None => None,
            };
            page(&file, fallback)
        };
        router = router.route(&format!("/{}/{{*subpath}}", app.name), get(subpath_handler));
    }
    router
}

async fn asset(Path(path): Path<String>) -> Response {
    let mut response = match file(&format!("assets/{path}")) {
        Some(response) => response,
        None => return Problem::not_found("file not found").into_response(),
    };
    // Asset names contain a content hash.
    let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, immutable);
    response
}

/// Returns the response with a page, and its content for clients without JavaScript.
fn page(name: &str, fallback: Option<String>) -> Response {
    let Some(file) = StudioFiles::get(name) else {
        let problem = Problem::not_found(format!("page `{name}` is not included in this build"));
        return problem.with_hint("run `npm ci && npm run build` in `web`, then rebuild the server").into_response();
    };
    let mut text = String::from_utf8_lossy(&file.data).into_owned();
    if let (Some(fallback), Some(end)) = (fallback, text.find("</body>")) {
        text.insert_str(end, &format!("<noscript>{fallback}</noscript>"));
    }
    ([(header::CONTENT_TYPE, media_type(name)), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}

fn file(path: &str) -> Option<Response> {
    let file = StudioFiles::get(path)?;
    let headers = [(header::CONTENT_TYPE, media_type(path)), (header::CACHE_CONTROL, "no-cache")];
    Some((headers, file.data.into_owned()).into_response())
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn app_index_page(apps: &[App]) -> String {
    let row = |app: &App| format!("<li><a href=\"/{}\">{}</a></li>", escape_html(&app.name), escape_html(&app.title));
    let rows: String = apps.iter().filter(|app| app.page.is_some()).map(row).collect();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>superstep</title><h1>superstep</h1>\
         <ul>{rows}</ul><p><a href=\"/api/openapi.json\">HTTP API</a></p></html>"
    )
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
