//! What the tools returned, read out of their messages.

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::Message;
use superstep::core::message::{Role, ToolStatus};

use super::merge::{merged_posts, merged_suggestions};
use crate::tools::{HINT, LONGEST_RESULT, Search, SearchResult, fitting};
use crate::types::{CombinedSuggestionsResponse, McpSuggestion, PostSummary, SourceType};

/// How many results a hint is made of.
const HINTED: usize = 6;

/// What each call returned, in the order of the calls.
#[derive(Default)]
pub(crate) struct Found {
    m365: Vec<Vec<McpSuggestion>>,
    docs: Vec<Vec<McpSuggestion>>,
    issues: Vec<Vec<McpSuggestion>>,
    posts: Vec<Vec<PostSummary>>,
    hint: Option<String>,
}

impl Found {
    /// Reads tool messages; what failed or is no list is left out.
    pub(crate) fn of(messages: &[&Message]) -> Self {
        let mut found = Self::default();
        for message in messages.iter().filter(|message| went_well(message)) {
            let name = message.name.as_deref().unwrap_or_default();
            match Search::of_tool(name) {
                Some(Search::Posts) => found.posts.extend(list(message)),
                Some(search) => {
                    let hits = list(message)
                        .map(|hits| hits.into_iter().filter(is_openable).map(|hit| of(search, hit)).collect());
                    found.of_search(search).extend(hits);
                }
                None if name == HINT => found.hint = Some(message.text().trim().to_owned()),
                None => {}
            }
        }
        found
    }

    fn of_search(&mut self, search: Search) -> &mut Vec<Vec<McpSuggestion>> {
        match search {
            Search::M365 => &mut self.m365,
            Search::Docs => &mut self.docs,
            Search::Issues | Search::Posts => &mut self.issues,
        }
    }

    /// Without a post.
    pub(crate) fn without(mut self, post_id: &str) -> Self {
        self.posts.iter_mut().for_each(|posts| posts.retain(|post| post.id != post_id));
        self
    }

    /// Each thing once, the best first.
    pub(crate) fn merged(self) -> Results {
        Results {
            m365: merged_suggestions(self.m365),
            docs: merged_suggestions(self.docs),
            issues: merged_suggestions(self.issues),
            posts: merged_posts(self.posts),
            hint: self.hint.filter(|hint| !hint.is_empty()),
        }
    }
}

/// What the tools returned, each thing once, the best first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Results {
    pub(crate) m365: Vec<McpSuggestion>,
    pub(crate) docs: Vec<McpSuggestion>,
    pub(crate) issues: Vec<McpSuggestion>,
    pub(crate) posts: Vec<PostSummary>,
    pub(crate) hint: Option<String>,
}

impl Results {
    /// All of it as a response.
    pub(crate) fn response(self) -> CombinedSuggestionsResponse {
        let Self { m365, docs, issues, posts, hint } = self;
        CombinedSuggestionsResponse { m365, docs, issues, posts, action_hint: hint, ..Default::default() }
    }

    /// The suggestions of all sources.
    pub(super) fn suggestions(&self) -> impl Iterator<Item = &McpSuggestion> {
        self.docs.iter().chain(&self.m365).chain(&self.issues)
    }

    /// What a hint is made of: the best of each source, then the second best, and so on.
    pub(crate) fn for_hint(&self) -> Vec<SearchResult> {
        let posts: Vec<SearchResult> = self.posts.iter().map(post_result).collect();
        let lists = [&self.docs, &self.m365, &self.issues].map(|list| list.iter().map(result).collect::<Vec<_>>());
        let longest = lists.iter().map(Vec::len).chain([posts.len()]).max().unwrap_or_default();
        let rows = (0..longest).flat_map(|place| lists.iter().chain([&posts]).filter_map(move |list| list.get(place)));
        rows.take(HINTED).cloned().collect()
    }
}

/// How many things a tool message lists.
pub(super) fn count(message: &Message) -> usize {
    let listed: Option<Vec<Value>> = list(message).filter(|_| went_well(message));
    listed.map_or(0, |listed| listed.len())
}

/// The list of a tool message: the things in it that can be read. None when it is no list, or nothing in it can be.
pub(super) fn list<T: DeserializeOwned>(message: &Message) -> Option<Vec<T>> {
    let values: Vec<Value> = serde_json::from_str(&message.text()).ok()?;
    let is_empty = values.is_empty();
    let things: Vec<T> = values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect();
    (is_empty || !things.is_empty()).then_some(things)
}

fn went_well(message: &Message) -> bool {
    message.role == Role::Tool && message.status == ToolStatus::Success
}

/// A search says what its hits are, not the hit.
fn of(search: Search, hit: McpSuggestion) -> McpSuggestion {
    McpSuggestion { source_type: search.kind(), ..hit }
}

/// Whether an address leads somewhere: some only make a browser do something.
fn is_openable(hit: &McpSuggestion) -> bool {
    let scheme = hit.url.trim_start().split(':').next().unwrap_or_default().to_lowercase();
    !matches!(scheme.as_str(), "javascript" | "data" | "vbscript")
}

fn result(suggestion: &McpSuggestion) -> SearchResult {
    hinted(&suggestion.title, &suggestion.description, suggestion.source_type)
}

fn post_result(post: &PostSummary) -> SearchResult {
    let description = format!("{}: {}", post.author_name, post.tags.join(", "));
    hinted(&post.text, &description, SourceType::Post)
}

fn hinted(title: &str, description: &str, source_type: SourceType) -> SearchResult {
    let (title, description) = (fitting(title, LONGEST_RESULT), fitting(description, LONGEST_RESULT));
    SearchResult { title, description, source_type }
}
