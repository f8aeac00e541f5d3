//! Full content of search results, for clients that follow a link.
//!
//! Only indexed content can be read. A path is a lookup key in the index and is never opened as a file path.

use superstep_documents::DocumentLine;

use super::Sources;
use super::issues::Issue;
use super::m365::Mail;
use super::unavailable::SourceUnavailable;

/// Full content of a search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SourceDocument {
    /// Lines of a document.
    Document(Vec<DocumentLine>),
    /// One issue of an export.
    Issue(Issue),
    /// One mail.
    Mail(Mail),
}

impl Sources {
    /// Returns the content at a path such as `docs/aks/rollback.md`. `number` is the index in a file with several
    /// items, starting at 0. Returns `None` if no source has indexed such a file.
    ///
    /// # Errors
    /// Returns an error if the task panics.
    pub(crate) async fn read(&self, path: &str, number: usize) -> Result<Option<SourceDocument>, SourceUnavailable> {
        let (sources, path) = (self.clone(), path.to_owned());
        super::run_blocking("docs", move || sources.look_up(&path, number)).await
    }

    fn look_up(&self, path: &str, number: usize) -> Option<SourceDocument> {
        let (source, file) = path.split_once('/')?;
        match source {
            "docs" => self.0.docs.as_ref()?.read(file).map(SourceDocument::Document),
            "issues" => self.0.issues.as_ref()?.get(file, number).map(SourceDocument::Issue),
            "m365" => self.0.m365.read(file, number),
            _ => None,
        }
    }
}
