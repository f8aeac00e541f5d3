//! Documents that were found, for reading: what a link of an answer leads to.
//!
//! Only files of the folders that are searched, and only kinds that are; nothing outside of them, by whatever path or
//! link. What is shown is text: markup of a document is never passed on.

use std::path::{Component, Path, PathBuf};

use axum::Extension;
use axum::extract::Path as Place;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use superstep::{Code, Error};
use superstep_server::{Asks, Problem};

use super::reading::{Part, is_readable, page};
use crate::app::Platform;
use crate::sources::{M365, Settings};

/// The largest file that is read.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Where in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inside {
    /// The issue, from 1.
    issue: Option<usize>,
    /// The mail, from 1.
    message: Option<usize>,
}

/// A document, for reading.
pub(super) async fn file(
    Extension(platform): Extension<Platform>,
    Place(path): Place<String>,
    Asks(inside): Asks<Inside>,
) -> Result<Response, Problem> {
    let places = platform.opened().await?.places.clone();
    let part = inside.issue.map(Part::Issue).or_else(|| inside.message.map(Part::Message));
    let read = tokio::task::spawn_blocking(move || read(&places, &path, part)).await;
    let html = read.map_err(|error| Error::internal(error.to_string()))??;
    Ok(([(header::CACHE_CONTROL, "no-cache")], Html(html)).into_response())
}

fn read(places: &Settings, path: &str, part: Option<Part>) -> Result<String, Problem> {
    let missing = || Problem::not_found(format!("there is no document `{path}`"));
    let file = find(places, path).ok_or_else(missing)?;
    let length = std::fs::metadata(&file).map_err(|_| missing())?.len();
    if length > LARGEST {
        return Err(Problem::new(413, Code::TooLarge, format!("`{path}` has more than {LARGEST} bytes")));
    }
    let bytes = std::fs::read(&file).map_err(|_| missing())?;
    page(path, &bytes, part).ok_or_else(missing)
}

/// The file of a path such as `docs/aks/rollback.md`.
fn find(places: &Settings, path: &str) -> Option<PathBuf> {
    let (source, inside) = path.split_once('/')?;
    if !inside.split('/').all(is_plain) || !is_readable(inside) {
        return None;
    }
    let (root, inside) = match (source, &places.m365) {
        ("docs", _) => (places.docs.as_deref()?, inside),
        ("issues", _) => (places.issues.as_deref()?, inside),
        ("m365", M365::Mirror { folder, mail }) => match (inside.strip_prefix("mail/"), mail, folder) {
            (Some(inside), Some(mail), _) => (mail.as_path(), inside),
            (_, _, folder) => (folder.as_deref()?, inside),
        },
        _ => return None,
    };
    // A link that leads out of the folder is one to nowhere.
    let root = root.canonicalize().ok()?;
    let file = root.join(inside).canonicalize().ok()?;
    (file.starts_with(&root) && file.is_file()).then_some(file)
}

/// Whether it is the name of a file or folder and nothing else: no step up, no drive, nothing that is hidden.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    is_one && !name.starts_with('.') && !name.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_or_refused() {
        for name in ["a.md", "roll back.md", "größe"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", ".", "..", ".env", "a\\b", "a\0", "a/b"] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
