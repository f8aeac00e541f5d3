//! Documents that were found, for reading: what a link of an answer leads to.
//!
//! Only what a source has read to search it, and nothing else of its folder. What is shown is text: markup of a document
//! is never passed on.

use axum::Extension;
use axum::extract::Path as Place;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use superstep::Error;
use superstep_server::{Asks, Problem};

use super::reading::page;
use crate::app::Platform;

/// Where in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inside {
    /// The issue, from 1.
    issue: Option<usize>,
    /// The mail, from 1.
    message: Option<usize>,
}

/// A document, for reading; of a file with many things the first unless told.
pub(super) async fn file(
    Extension(platform): Extension<Platform>,
    Place(path): Place<String>,
    Asks(inside): Asks<Inside>,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found(format!("there is no document `{path}`"));
    let number = inside.issue.or(inside.message).unwrap_or(1).checked_sub(1).ok_or_else(missing)?;
    let found = platform.sources().await?.read(&path, number).await;
    let found = found.map_err(|unavailable| Error::internal(unavailable.to_string()))?.ok_or_else(missing)?;
    Ok(([(header::CACHE_CONTROL, "no-cache")], Html(page(&path, &found))).into_response())
}
