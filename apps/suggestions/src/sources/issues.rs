//! The issues of trackers, read from their exports.
//!
//! A file may hold what GitHub, `gh`, GitLab or Jira export, or be one issue in Markdown. Nothing is asked of a tracker.

mod jira;
mod json;
mod markdown;

use std::path::Path;

use superstep::Result;

use super::excerpt::{LONGEST, excerpt};
use super::index::Words;
use super::shelf::{Found, Shelf, Thing};
use crate::types::{Availability, McpSuggestion, SourceType};

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
        Shelf::open(folder).map(Self)
    }

    /// The issues that fit, the best first; among comparable ones those that were solved.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<McpSuggestion> {
        self.0.search(query, limit.saturating_mul(5), |mut found| {
            solved_first(&mut found);
            found.into_iter().take(limit).map(|found| hit(found, query)).collect()
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
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
    let state = match (issue.is_closed, issue.is_resolved) {
        (_, true) => "Solved.",
        (true, _) => "Closed.",
        _ => "Open.",
    };
    let text = excerpt(&issue.text(), query);
    let description = format!("{state} {text}");
    let is_short = description.chars().count() <= LONGEST;
    // The state is worth less than a whole sentence.
    let description = if is_short { description.trim_end().to_owned() } else { text };
    let place = || format!("issues/{}?issue={}", found.file, found.number + 1);
    McpSuggestion {
        title: format!("{} {}", issue.key, issue.title).trim().to_owned(),
        url: if issue.url.is_empty() { place() } else { issue.url.clone() },
        description,
        source_type: SourceType::Issue,
        source: None,
        status: Availability::Available,
    }
}

impl Issue {
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
    fn read(name: &str, bytes: &[u8]) -> Option<Result<Vec<Self>, String>> {
        let (_, kind) = name.rsplit_once('.')?;
        let read: fn(&str) -> Result<Vec<Self>, String> = match kind.to_lowercase().as_str() {
            "json" => json::read,
            "csv" => jira::read,
            "md" | "markdown" => markdown::read,
            _ => return None,
        };
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned());
        Some(text.and_then(|text| read(text.strip_prefix('\u{feff}').unwrap_or(text))))
    }

    fn words(&self) -> Words<'_> {
        let state = if self.is_closed { "closed" } else { "open" };
        let keys = format!("{} {} {state}", self.key, self.labels.join(" "));
        Words { title: &self.title, keys, text: self.text() }
    }
}

/// Markdown without its marks, one paragraph per block: what is read at a glance.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for line in text.lines() {
        let bare = line.trim().trim_start_matches(['#', '>']).trim().replace("**", "").replace('`', "");
        let is_new = bare.is_empty() || line.trim_start().starts_with(['#', '-', '*']);
        if is_new && !plain.is_empty() && !plain.ends_with("\n\n") {
            plain.push_str("\n\n");
        } else if !plain.is_empty() && !plain.ends_with('\n') {
            plain.push(' ');
        }
        plain.push_str(&bare);
        if line.trim_start().starts_with('#') {
            plain.push_str("\n\n");
        }
    }
    plain.trim_end().to_owned()
}

impl std::fmt::Debug for Issues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Issues({})", self.count())
    }
}
