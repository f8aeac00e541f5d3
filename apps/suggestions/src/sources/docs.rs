//! The documents: hits are sections.

use std::collections::BTreeSet;
use std::path::Path;

use superstep::Result;
use superstep_documents::{Documents, Line, Passage};

use super::address::encoded;
use super::excerpt::excerpt;
use crate::types::{Availability, McpSuggestion, SourceType};
use crate::words::content;

/// A folder of documents, as a source.
#[derive(Debug)]
pub struct Docs {
    documents: Documents,
    base: String,
}

impl Docs {
    /// Reads a folder; `base` stands before the path of a document in its address.
    ///
    /// # Errors
    /// When it is no folder, or cannot be read.
    pub fn open(folder: &Path, base: &str) -> Result<Self> {
        let base = if base.is_empty() || base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
        Ok(Self { documents: Documents::open(folder)?, base })
    }

    /// The sections that fit, the best first. A document has one, unless there are too few others.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        // Enough that documents of many sections leave room for others. Words that stand in every question would decide
        // between sections that have nothing else of it.
        let passages = self.documents.passages(&content(query).join(" "), limit.saturating_mul(12));
        let mut seen = BTreeSet::new();
        let is_first = |passage: &Passage| seen.insert(passage.file.clone());
        let (firsts, rest): (Vec<_>, Vec<_>) = passages.into_iter().partition(is_first);
        let mut sections: BTreeSet<String> = firsts.iter().map(|passage| passage.source.clone()).collect();
        // A long section is more than one passage, and still one place to read.
        let others = rest.into_iter().filter(|passage| sections.insert(passage.source.clone()));
        firsts.into_iter().chain(others.collect::<Vec<_>>()).take(limit).map(|found| self.hit(found, query)).collect()
    }

    fn hit(&self, found: Passage, query: &str) -> McpSuggestion {
        let is_named = !found.heading.is_empty() && found.heading != found.title;
        let url = format!("{}{}#{}", self.base, encoded(&found.file), encoded(found.anchor()));
        let title = if is_named { format!("{}: {}", found.title, found.heading) } else { found.title };
        McpSuggestion {
            title,
            url,
            description: excerpt(&found.text, query),
            source_type: SourceType::Doc,
            source: None,
            status: Availability::Available,
        }
    }

    /// The texts of the sections that fit.
    pub(crate) fn texts(&self, query: &str, limit: usize) -> Vec<String> {
        self.documents.passages(query, limit).into_iter().map(|passage| passage.text).collect()
    }

    /// How many sections have any of the words.
    pub(crate) fn count(&self, words: &str) -> usize {
        self.documents.count(words)
    }

    /// The lines of a document that is searched.
    pub(crate) fn read(&self, file: &str) -> Option<Vec<Line>> {
        self.documents.read(file)
    }

    /// Which files were left out, and why.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.documents.skipped()
    }

    /// Looks for files that are new, changed or gone, now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.documents.refresh()
    }
}
