//! Serves documents that searches found, so that the links of a response can be opened.
//!
//! Serves only files that a source has indexed, nothing else of their folder. The content is escaped as text; markup
//! of a document is never passed on.

use axum::Extension;
use axum::extract::Path as UrlPath;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use superstep::Error;
use superstep_server::{Problem, ValidatedQuery};

use super::document_page::page;
use crate::app::SuggestionsAppState;

/// Position of an item in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileParams {
    /// Number of the issue, starting at 1.
    issue: Option<usize>,
    /// Number of the mail, starting at 1.
    message: Option<usize>,
}

/// Serves one document. For a file with several items the default is the first.
pub(super) async fn get_file(
    Extension(app_state): Extension<SuggestionsAppState>,
    UrlPath(path): UrlPath<String>,
    ValidatedQuery(params): ValidatedQuery<FileParams>,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found(format!("document `{path}` not found"));
    let number = params.issue.or(params.message).unwrap_or(1).checked_sub(1).ok_or_else(missing)?;
    let document = app_state.sources().await?.read(&path, number).await;
    let document = document.map_err(|unavailable| Error::internal(unavailable.to_string()))?.ok_or_else(missing)?;
    Ok(([(header::CACHE_CONTROL, "no-cache")], Html(page(&path, &document))).into_response())
}
