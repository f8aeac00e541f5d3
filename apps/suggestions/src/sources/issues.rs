//! The issues of trackers, read from their exports.
//!
//! A file may hold what GitHub, `gh`, GitLab or Jira export, or be one issue in Markdown. Nothing is asked of a tracker.
//! Columns, fields and states of Jira are in `jira`; what every export in JSON has in common is in `json`.

mod jira;
mod json;
mod markdown;

use std::path::Path;

use superstep::Result;
use superstep_documents::{Bounds, Found, Line, Shelf, Thing, Words, markdown as lines_of};

use super::address::{encoded, is_web};
use super::excerpt::{LONGEST, excerpt};
use crate::types::{Availability, McpSuggestion, SourceType};
use crate::words::content;

/// How near to the best another hit is as good as it: a part of its score.
const COMPARABLE: f64 = 0.6;

/// An issue, whatever tracker it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issue {
    /// What people call it, such as `#12` or `OPS-3`.
    pub key: String,
    /// Its title.
    pub title: String,
    /// What it says.
    pub body: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// What was said about it.
    pub comments: Vec<String>,
    /// Where it is; empty when the export does not say.
    pub url: String,
    /// Whether it is done with.
    pub is_closed: bool,
    /// Whether it says how it was solved.
    pub is_resolved: bool,
}

/// A folder of exports, as a source.
pub struct Issues(Shelf<Issue>);

impl Issues {
    /// Reads a folder, with the folders inside it.
    ///
    /// # Errors
    /// When it cannot be read. A single file that cannot is left out; see [`skipped`](Self::skipped).
    pub fn open(folder: &Path) -> Result<Self> {
        Shelf::open(folder, Bounds::default()).map(Self)
    }

    /// The issues that fit, the best first; among comparable ones those that were solved.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        self.0.search(&content(query).join(" "), limit.saturating_mul(5), |mut found| {
            solved_first(&mut found);
            found.into_iter().take(limit).map(|found| hit(found, query)).collect()
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.things()
    }

    /// An issue by its file and its place in it, from 0.
    pub(crate) fn get(&self, file: &str, number: usize) -> Option<Issue> {
        self.0.get(file, number)
    }

    /// Looks for exports that are new, changed or gone, now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.0.refresh()
    }

    /// Which files were left out, and why.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.0.skipped()
    }
}

/// Puts solved issues first among those that fit about as well as the best.
fn solved_first(found: &mut [Found<'_, Issue>]) {
    let Some(best) = found.first().map(|found| found.score) else { return };
    let comparable = found.partition_point(|found| found.score >= best * COMPARABLE);
    found[..comparable].sort_by_key(|found| !found.thing.is_resolved);
}

fn hit(found: Found<'_, Issue>, query: &str) -> McpSuggestion {
    let issue = found.thing;
    let text = excerpt(&issue.text(), query);
    let description = format!("{}. {text}", issue.state());
    let is_short = description.chars().count() <= LONGEST;
    // The state is worth less than a whole sentence.
    let description = if is_short { description.trim_end().to_owned() } else { text };
    let place = || format!("issues/{}?issue={}", encoded(found.file), found.number + 1);
    McpSuggestion {
        title: format!("{} {}", issue.key, issue.title).trim().to_owned(),
        // An export may say anything. What is no address of the web is read here.
        url: if is_web(&issue.url) { issue.url.clone() } else { place() },
        description,
        source_type: SourceType::Issue,
        source: None,
        status: Availability::Available,
    }
}

impl Issue {
    /// Whether there is something to do about it, in a word.
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

    /// Whether the words say how the issue was solved.
    fn tells_resolution(&self) -> bool {
        self.body.to_lowercase().contains("resolution") || !self.comments.is_empty()
    }
}

impl Thing for Issue {
    fn is_in(name: &str) -> bool {
        reader(name).is_some()
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        let read = reader(name).ok_or("it is no export that is known")?;
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text in UTF-8")?;
        read(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    fn words(&self) -> Words<'_> {
        let state = if self.is_closed { "closed" } else { "open" };
        let keys = format!("{} {} {state}", self.key, self.labels.join(" "));
        Words { title: &self.title, keys, text: self.text() }
    }
}

/// Reads the issues out of a text, or says what is wrong with it.
type Read = fn(&str) -> Result<Vec<Issue>, String>;

/// What reads a file, by its name.
fn reader(name: &str) -> Option<Read> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending.to_lowercase().as_str() {
        "json" => Some(json::read),
        "csv" => Some(jira::read_table),
        "md" | "markdown" => Some(markdown::read),
        _ => None,
    }
}

/// Markdown without its marks, one paragraph per block: what is read at a glance.
fn plain(text: &str) -> String {
    let mut blocks = vec![String::new()];
    for line in lines_of(text) {
        match (line, blocks.last_mut()) {
            (Line::Heading { words, .. }, _) => blocks.extend([words, String::new()]),
            (Line::Item(words), _) => blocks.push(words),
            (Line::Text(words) | Line::Code(words), Some(block)) => {
                block.push_str(if block.is_empty() { "" } else { " " });
                block.push_str(words.trim());
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
