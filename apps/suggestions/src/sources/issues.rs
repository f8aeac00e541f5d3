//! Issues as a source, read from exports of issue trackers.
//!
//! A file is an export of GitHub, `gh`, GitLab or Jira, or one issue in Markdown. No tracker is contacted. `jira`
//! handles the columns, fields and states of Jira; `json` handles the common parts of all JSON exports.

mod jira;
mod json;
mod markdown;

use std::path::Path;

use superstep::Result;
use superstep_documents::{
    DocumentLine, FileIndex, IndexedItem, ReadLimits, SearchFields, SearchHit, markdown as parse_markdown,
};

use super::excerpt::{MAX_EXCERPT_CHARS, excerpt};
use super::url::{encoded, is_web};
use crate::query_expansion::content_words;
use crate::types::{Availability, McpSuggestion, SourceType};

/// Fraction of the best score from which a hit counts as comparable to the best.
const MIN_COMPARABLE_FRACTION: f64 = 0.6;

/// An issue of any tracker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issue {
    /// Key of the issue in its tracker, such as `#12` or `OPS-3`.
    pub key: String,
    /// Title of the issue.
    pub title: String,
    /// Description of the issue.
    pub body: String,
    /// Labels of the issue.
    pub labels: Vec<String>,
    /// Texts of the comments.
    pub comments: Vec<String>,
    /// URL of the issue. Empty if the export contains none.
    pub url: String,
    /// True if the issue is closed.
    pub is_closed: bool,
    /// True if the issue is closed and has a resolution.
    pub is_resolved: bool,
}

/// A folder of tracker exports.
pub struct Issues(FileIndex<Issue>);

impl Issues {
    /// Indexes a folder and its subfolders.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read. A single unreadable file is skipped; see
    /// [`skipped`](Self::skipped).
    pub fn open(folder: &Path) -> Result<Self> {
        FileIndex::open(folder, ReadLimits::default()).map(Self)
    }

    /// Returns matching issues, best first. Among issues of comparable relevance, resolved ones come first.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        self.0.search(&content_words(query).join(" "), limit.saturating_mul(5), |mut hits| {
            solved_first(&mut hits);
            hits.into_iter().take(limit).map(|search_hit| hit(search_hit, query)).collect()
        })
    }

    /// Returns the number of indexed issues.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.item_count()
    }

    /// Returns an issue by its file and its index in that file, starting at 0.
    pub(crate) fn get(&self, file: &str, number: usize) -> Option<Issue> {
        self.0.get(file, number)
    }

    /// Reindexes new, changed and deleted exports.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.0.refresh()
    }

    /// Returns the skipped files, each with the reason.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.0.skipped()
    }
}

/// Moves resolved issues to the front of the hits that are comparable to the best.
fn solved_first(hits: &mut [SearchHit<'_, Issue>]) {
    let Some(best) = hits.first().map(|search_hit| search_hit.score) else { return };
    let comparable = hits.partition_point(|search_hit| search_hit.score >= best * MIN_COMPARABLE_FRACTION);
    hits[..comparable].sort_by_key(|search_hit| !search_hit.item.is_resolved);
}

fn hit(search_hit: SearchHit<'_, Issue>, query: &str) -> McpSuggestion {
    let issue = search_hit.item;
    let text = excerpt(&issue.text(), query);
    let description = format!("{}. {text}", issue.state());
    let is_short = description.chars().count() <= MAX_EXCERPT_CHARS;
    // Drops the state if the description would be too long: a complete sentence is more useful.
    let description = if is_short { description.trim_end().to_owned() } else { text };
    let local_url = || format!("issues/{}?issue={}", encoded(search_hit.file), search_hit.number + 1);
    McpSuggestion {
        title: format!("{} {}", issue.key, issue.title).trim().to_owned(),
        // An export may contain any URL. For anything but a web URL, link to the page of this server.
        url: if is_web(&issue.url) { issue.url.clone() } else { local_url() },
        description,
        source_type: SourceType::Issue,
        source: None,
        status: Availability::Available,
    }
}

impl Issue {
    /// Returns the state as one word for descriptions.
    pub(crate) fn state(&self) -> &'static str {
        match (self.is_closed, self.is_resolved) {
            (_, true) => "Solved",
            (true, _) => "Closed",
            _ => "Open",
        }
    }

    fn text(&self) -> String {
        let parts = std::iter::once(&self.body).chain(&self.comments).map(|part| plain(part));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns true if the text suggests a resolution: the body mentions one, or there are comments.
    fn mentions_resolution(&self) -> bool {
        self.body.to_lowercase().contains("resolution") || !self.comments.is_empty()
    }
}

impl IndexedItem for Issue {
    fn accepts_file(name: &str) -> bool {
        parser(name).is_some()
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        let parse = parser(name).ok_or("the export format is unknown")?;
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not valid UTF-8")?;
        parse(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    fn search_fields(&self) -> SearchFields<'_> {
        let state = if self.is_closed { "closed" } else { "open" };
        let keys = format!("{} {} {state}", self.key, self.labels.join(" "));
        SearchFields { title: &self.title, keys, text: self.text() }
    }
}

/// Parses the issues of a file, or returns the reason why it cannot be parsed.
type IssueParser = fn(&str) -> Result<Vec<Issue>, String>;

/// Returns the parser for a file by its extension.
fn parser(name: &str) -> Option<IssueParser> {
    let (_, extension) = name.rsplit_once('.')?;
    match extension.to_lowercase().as_str() {
        "json" => Some(json::read),
        "csv" => Some(jira::read_table),
        "md" | "markdown" => Some(markdown::read),
        _ => None,
    }
}

/// Converts Markdown to plain text with one paragraph per block, for excerpts.
fn plain(text: &str) -> String {
    let mut blocks = vec![String::new()];
    for line in parse_markdown(text) {
        match (line, blocks.last_mut()) {
            (DocumentLine::Heading { text, .. }, _) => blocks.extend([text, String::new()]),
            (DocumentLine::Item(text), _) => blocks.push(text),
            (DocumentLine::Text(text) | DocumentLine::Code(text), Some(block)) => {
                block.push_str(if block.is_empty() { "" } else { " " });
                block.push_str(text.trim());
            }
            _ => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n")
}

impl std::fmt::Debug for Issues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Issues({})", self.count())
    }
}
