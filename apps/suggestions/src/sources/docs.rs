//! Documents as a source: each hit is a section.

use std::collections::BTreeSet;
use std::path::Path;

use superstep::Result;
use superstep_documents::{DocumentLine, Documents, Passage};

use super::excerpt::excerpt;
use super::url::encoded;
use crate::query_expansion::content_words;
use crate::types::{Availability, McpSuggestion, SourceType};

/// A folder of documents.
#[derive(Debug)]
pub struct Docs {
    documents: Documents,
    base: String,
}

impl Docs {
    /// Indexes a folder. `base` is the URL prefix of document paths.
    ///
    /// # Errors
    /// Returns an error if the path is not a folder or cannot be read.
    pub fn open(folder: &Path, base: &str) -> Result<Self> {
        let base = if base.is_empty() || base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
        Ok(Self { documents: Documents::open(folder)?, base })
    }

    /// Returns matching sections, best first. A document contributes one section unless too few other documents
    /// match.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        // Requests 12 times the limit, so that documents with many sections do not displace others. Only content
        // words are used, because stop words would decide the rank of sections that match nothing else.
        let passages = self.documents.passages(&content_words(query).join(" "), limit.saturating_mul(12));
        let mut seen = BTreeSet::new();
        let is_first = |passage: &Passage| seen.insert(passage.file.clone());
        let (firsts, rest): (Vec<_>, Vec<_>) = passages.into_iter().partition(is_first);
        let mut sections: BTreeSet<String> = firsts.iter().map(|passage| passage.source.clone()).collect();
        // A long section is split into several passages, but is one search result.
        let others = rest.into_iter().filter(|passage| sections.insert(passage.source.clone()));
        firsts
            .into_iter()
            .chain(others.collect::<Vec<_>>())
            .take(limit)
            .map(|passage| self.hit(passage, query))
            .collect()
    }

    fn hit(&self, passage: Passage, query: &str) -> McpSuggestion {
        let is_named = !passage.heading.is_empty() && passage.heading != passage.title;
        let url = format!("{}{}#{}", self.base, encoded(&passage.file), encoded(passage.anchor()));
        let title = if is_named { format!("{}: {}", passage.title, passage.heading) } else { passage.title };
        McpSuggestion {
            title,
            url,
            description: excerpt(&passage.text, query),
            source_type: SourceType::Doc,
            source: None,
            status: Availability::Available,
        }
    }

    /// Returns the texts of matching sections.
    pub(crate) fn texts(&self, query: &str, limit: usize) -> Vec<String> {
        self.documents.passages(query, limit).into_iter().map(|passage| passage.text).collect()
    }

    /// Returns the number of sections that contain at least one of the words.
    pub(crate) fn count(&self, words: &str) -> usize {
        self.documents.count(words)
    }

    /// Returns the lines of an indexed document.
    pub(crate) fn read(&self, file: &str) -> Option<Vec<DocumentLine>> {
        self.documents.read(file)
    }

    /// Returns the skipped files, each with the reason.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.documents.skipped()
    }

    /// Reindexes new, changed and deleted files.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.documents.refresh()
    }
}
