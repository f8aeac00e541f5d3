//! What was found, whole: for those who follow a link.
//!
//! Only what a source has read to search it can be read here; a path is a name to look up, and never opened.

use superstep_documents::Line;

use super::Sources;
use super::issues::Issue;
use super::m365::Mail;
use super::unavailable::Unavailable;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A document.
    Document(Vec<Line>),
    /// One issue of an export.
    Issue(Issue),
    /// One mail.
    Mail(Mail),
}

impl Sources {
    /// What a path such as `docs/aks/rollback.md` stands for; of a file that holds several things, the one at this place,
    /// from 0. None when no source has such a file.
    ///
    /// # Errors
    /// When it fails, which is a bug.
    pub(crate) async fn read(&self, path: &str, number: usize) -> Result<Option<Reading>, Unavailable> {
        let (sources, path) = (self.clone(), path.to_owned());
        super::apart("docs", move || sources.look_up(&path, number)).await
    }

    fn look_up(&self, path: &str, number: usize) -> Option<Reading> {
        let (source, file) = path.split_once('/')?;
        match source {
            "docs" => self.0.docs.as_ref()?.read(file).map(Reading::Document),
            "issues" => self.0.issues.as_ref()?.get(file, number).map(Reading::Issue),
            "m365" => self.0.m365.read(file, number),
            _ => None,
        }
    }
}
