//! A local mirror of Microsoft 365: files that a client synchronised, and mail that was saved.

use std::path::Path;

use superstep::{Code, Error, Result};
use superstep_documents::{Bounds, Documents, Found, Shelf};

use super::mail::{Mail, is_mailbox};
use crate::sources::address::encoded;
use crate::sources::excerpt::excerpt;
use crate::sources::reading::Reading;
use crate::types::{Availability, M365Source, McpSuggestion, SourceType};
use crate::words::content;

/// Files and mail.
pub(crate) struct Mirror {
    files: Option<Files>,
    mail: Option<Shelf<Mail>>,
}

struct Files {
    documents: Documents,
    /// What the folder itself is called: it may be the library.
    name: String,
}

impl Mirror {
    pub(super) fn open(folder: Option<&Path>, mail: Option<&Path>) -> Result<Self> {
        if folder.is_none() && mail.is_none() {
            let fact = "a mirror of Microsoft 365 is set, with neither a folder nor mail";
            return Err(
                Error::new(Code::ConfigInvalid, fact).help("name a synchronised folder, or one of `.eml` files")
            );
        }
        let files = folder.map(|folder| {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Ok::<_, Error>(Files { documents: Documents::open(folder)?, name })
        });
        Ok(Self { files: files.transpose()?, mail: mail.map(|mail| Shelf::open(mail, Bounds::default())).transpose()? })
    }

    /// Files and mail in turn, each the best first: their scores are of two indexes and cannot be compared.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        let mut files = self.files.as_ref().map(|files| files.search(query, limit)).unwrap_or_default().into_iter();
        let words = content(query).join(" ");
        let mail = self.mail.as_ref().map(|mail| mail.search(&words, limit, |found| mails(&found, query)));
        let mut mail = mail.unwrap_or_default().into_iter();
        let mut found = Vec::new();
        while files.len() + mail.len() > 0 {
            found.extend(files.next());
            found.extend(mail.next());
        }
        found
    }

    /// A mail, or a file: the folder may have files beside the mail.
    pub(super) fn read(&self, file: &str, number: usize) -> Option<Reading> {
        let mail = file.strip_prefix("mail/").and_then(|mail| self.mail.as_ref()?.get(mail, number));
        let file = || self.files.as_ref()?.documents.read(file);
        mail.map(Reading::Mail).or_else(|| file().map(Reading::Document))
    }

    pub(super) fn skipped(&self) -> Vec<String> {
        // The folder may have the mail inside, which is read; pictures and the like are no fault of anybody.
        self.mail.iter().flat_map(Shelf::skipped).collect()
    }

    pub(super) fn refresh(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.documents.refresh())?;
        self.mail.as_ref().map_or(Ok(()), Shelf::refresh)
    }
}

impl Files {
    fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        let mut seen = std::collections::BTreeSet::new();
        let passages = self.documents.passages(&content(query).join(" "), limit.saturating_mul(4));
        let firsts = passages.into_iter().filter_map(|passage| {
            let path = &passage.file;
            seen.insert(path.clone()).then(|| McpSuggestion {
                title: passage.title.clone(),
                url: format!("m365/{}", encoded(path)),
                description: excerpt(&passage.text, query),
                source_type: SourceType::M365,
                source: Some(source(&self.name, path)),
                status: Availability::Available,
            })
        });
        firsts.take(limit).collect()
    }
}

/// A file below a folder that is called after SharePoint is of a team; any other is of a person.
fn source(root: &str, path: &str) -> M365Source {
    let mut folders =
        std::iter::once(root).chain(path.rsplit_once('/').into_iter().flat_map(|(above, _)| above.split('/')));
    let is_shared = folders.any(|folder| folder.to_lowercase().contains("sharepoint"));
    if is_shared { M365Source::Sharepoint } else { M365Source::Onedrive }
}

fn mails(found: &[Found<'_, Mail>], query: &str) -> Vec<McpSuggestion> {
    let shown = found.iter().map(|found| {
        let place = if is_mailbox(found.file) { format!("?message={}", found.number + 1) } else { String::new() };
        McpSuggestion {
            title: found.thing.subject.clone(),
            url: format!("m365/mail/{}{place}", encoded(found.file)),
            description: excerpt(&found.thing.text.replace('\n', " "), query),
            source_type: SourceType::M365,
            source: Some(M365Source::Email),
            status: Availability::Available,
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-18: the path says whose file it is.
    #[test]
    fn the_path_says_whose_file_it_is() {
        for (root, path, expected) in [
            ("m365", "sharepoint/platform/a.md", M365Source::Sharepoint),
            ("m365", "onedrive/anke/a.md", M365Source::Onedrive),
            ("Lumen - SharePoint", "a.md", M365Source::Sharepoint),
            ("OneDrive - Lumen", "notes/sharepoint.md", M365Source::Onedrive),
        ] {
            assert_eq!(source(root, path), expected, "{root} {path}");
        }
    }
}
