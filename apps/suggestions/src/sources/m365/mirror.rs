//! Local mirror of Microsoft 365: files synchronised by a client, and saved mail.

use std::path::Path;

use superstep::{Error, ErrorCode, Result};
use superstep_documents::{Documents, FileIndex, ReadLimits, SearchHit};

use super::mail::{Mail, is_mailbox};
use crate::query_expansion::content_words;
use crate::sources::document::SourceDocument;
use crate::sources::excerpt::excerpt;
use crate::sources::url::encoded;
use crate::types::{Availability, M365Source, McpSuggestion, SourceType};

/// Index of a mirrored folder and of saved mail.
pub(crate) struct Mirror {
    files: Option<MirrorFiles>,
    mail: Option<FileIndex<Mail>>,
}

struct MirrorFiles {
    documents: Documents,
    /// Name of the folder itself, which may be the name of the library.
    name: String,
}

impl Mirror {
    pub(super) fn open(folder: Option<&Path>, mail: Option<&Path>) -> Result<Self> {
        if folder.is_none() && mail.is_none() {
            let message = "a Microsoft 365 mirror is configured with neither a folder nor mail";
            return Err(Error::new(ErrorCode::ConfigInvalid, message)
                .with_help("set a synchronised folder, or a folder of `.eml` files"));
        }
        let files = folder.map(|folder| {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            Ok::<_, Error>(MirrorFiles { documents: Documents::open(folder)?, name })
        });
        Ok(Self {
            files: files.transpose()?,
            mail: mail.map(|mail| FileIndex::open(mail, ReadLimits::default())).transpose()?,
        })
    }

    /// Alternates between files and mail, each best first: scores of the two indexes are not comparable.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        let mut files = self.files.as_ref().map(|files| files.search(query, limit)).unwrap_or_default().into_iter();
        let words = content_words(query).join(" ");
        let mail = self.mail.as_ref().map(|mail| mail.search(&words, limit, |hits| mails(&hits, query)));
        let mut mail = mail.unwrap_or_default().into_iter();
        let mut merged = Vec::new();
        while files.len() + mail.len() > 0 {
            merged.extend(files.next());
            merged.extend(mail.next());
        }
        merged
    }

    /// Returns a mail or a file. Both are tried, because the folder may contain other files next to the mail.
    pub(super) fn read(&self, file: &str, number: usize) -> Option<SourceDocument> {
        let mail = file.strip_prefix("mail/").and_then(|mail| self.mail.as_ref()?.get(mail, number));
        let file = || self.files.as_ref()?.documents.read(file);
        mail.map(SourceDocument::Mail).or_else(|| file().map(SourceDocument::Document))
    }

    pub(super) fn skipped(&self) -> Vec<String> {
        // Skipped files of the folder are not reported: they include the indexed mail, and images that cannot be
        // searched.
        self.mail.iter().flat_map(FileIndex::skipped).collect()
    }

    pub(super) fn refresh(&self) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.documents.refresh())?;
        self.mail.as_ref().map_or(Ok(()), FileIndex::refresh)
    }
}

impl MirrorFiles {
    fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        let mut seen = std::collections::BTreeSet::new();
        let passages = self.documents.passages(&content_words(query).join(" "), limit.saturating_mul(4));
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

/// Returns SharePoint if a parent folder is named after it, and OneDrive otherwise.
fn source(root: &str, path: &str) -> M365Source {
    let mut folders =
        std::iter::once(root).chain(path.rsplit_once('/').into_iter().flat_map(|(above, _)| above.split('/')));
    let is_shared = folders.any(|folder| folder.to_lowercase().contains("sharepoint"));
    if is_shared { M365Source::Sharepoint } else { M365Source::Onedrive }
}

fn mails(hits: &[SearchHit<'_, Mail>], query: &str) -> Vec<McpSuggestion> {
    let suggestions = hits.iter().map(|search_hit| {
        let suffix =
            if is_mailbox(search_hit.file) { format!("?message={}", search_hit.number + 1) } else { String::new() };
        McpSuggestion {
            title: search_hit.item.subject.clone(),
            url: format!("m365/mail/{}{suffix}", encoded(search_hit.file)),
            description: excerpt(&search_hit.item.text.replace('\n', " "), query),
            source_type: SourceType::M365,
            source: Some(M365Source::Email),
            status: Availability::Available,
        }
    });
    suggestions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-18: the path determines whether a file is on SharePoint or OneDrive.
    #[test]
    fn the_path_determines_the_source() {
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
