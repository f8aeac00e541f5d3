//! Tool results, parsed from the tool messages of a conversation.

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::Message;
use superstep::core::message::{Role, ToolStatus};

use super::merge::{merged_posts, merged_suggestions};
use crate::tools::{HINT, MAX_RESULT_CHARS, SearchResult, SearchTool, truncate};
use crate::types::{CombinedSuggestionsResponse, McpSuggestion, PostSummary, SourceType};

/// Maximum number of results that are passed to the hint tool.
const MAX_HINT_RESULTS: usize = 6;

/// Results of each tool call, in call order.
#[derive(Default)]
pub(crate) struct ToolResults {
    m365: Vec<Vec<McpSuggestion>>,
    docs: Vec<Vec<McpSuggestion>>,
    issues: Vec<Vec<McpSuggestion>>,
    posts: Vec<Vec<PostSummary>>,
    hint: Option<String>,
}

impl ToolResults {
    /// Parses tool messages. Skips failed calls and contents that are not a list.
    pub(crate) fn from_messages(messages: &[&Message]) -> Self {
        let mut results = Self::default();
        for message in messages.iter().filter(|message| is_success(message)) {
            let name = message.name.as_deref().unwrap_or_default();
            match SearchTool::from_tool_name(name) {
                Some(SearchTool::Posts) => results.posts.extend(parse_list(message)),
                Some(search) => {
                    let hits = parse_list(message).map(|hits| {
                        hits.into_iter().filter(is_openable).map(|hit| with_source_type(search, hit)).collect()
                    });
                    results.results_mut(search).extend(hits);
                }
                None if name == HINT => results.hint = Some(message.text().trim().to_owned()),
                None => {}
            }
        }
        results
    }

    fn results_mut(&mut self, search: SearchTool) -> &mut Vec<Vec<McpSuggestion>> {
        match search {
            SearchTool::M365 => &mut self.m365,
            SearchTool::Docs => &mut self.docs,
            SearchTool::Issues | SearchTool::Posts => &mut self.issues,
        }
    }

    /// Removes one post from the results.
    pub(crate) fn without(mut self, post_id: &str) -> Self {
        self.posts.iter_mut().for_each(|posts| posts.retain(|post| post.id != post_id));
        self
    }

    /// Merges the results of all calls: best first, without duplicates.
    pub(crate) fn merged(self) -> MergedResults {
        MergedResults {
            m365: merged_suggestions(self.m365),
            docs: merged_suggestions(self.docs),
            issues: merged_suggestions(self.issues),
            posts: merged_posts(self.posts),
            hint: self.hint.filter(|hint| !hint.is_empty()),
        }
    }
}

/// Tool results without duplicates, best first.
#[derive(Debug, Clone, Default)]
pub(crate) struct MergedResults {
    pub(crate) m365: Vec<McpSuggestion>,
    pub(crate) docs: Vec<McpSuggestion>,
    pub(crate) issues: Vec<McpSuggestion>,
    pub(crate) posts: Vec<PostSummary>,
    pub(crate) hint: Option<String>,
}

impl MergedResults {
    /// Converts all results into a response.
    pub(crate) fn response(self) -> CombinedSuggestionsResponse {
        let Self { m365, docs, issues, posts, hint } = self;
        CombinedSuggestionsResponse { m365, docs, issues, posts, action_hint: hint, ..Default::default() }
    }

    /// Iterates over the suggestions of all sources.
    pub(super) fn suggestions(&self) -> impl Iterator<Item = &McpSuggestion> {
        self.docs.iter().chain(&self.m365).chain(&self.issues)
    }

    /// Returns the input of the hint tool: the best result of each source, then the second best of each, and so on.
    pub(crate) fn for_hint(&self) -> Vec<SearchResult> {
        let posts: Vec<SearchResult> = self.posts.iter().map(post_result).collect();
        let lists = [&self.docs, &self.m365, &self.issues].map(|list| list.iter().map(result).collect::<Vec<_>>());
        let longest = lists.iter().map(Vec::len).chain([posts.len()]).max().unwrap_or_default();
        let rows = (0..longest).flat_map(|index| lists.iter().chain([&posts]).filter_map(move |list| list.get(index)));
        rows.take(MAX_HINT_RESULTS).cloned().collect()
    }
}

/// Returns the number of results in a tool message.
pub(super) fn result_count(message: &Message) -> usize {
    let listed: Option<Vec<Value>> = parse_list(message).filter(|_| is_success(message));
    listed.map_or(0, |listed| listed.len())
}

/// Parses the list of a tool message and skips unreadable items. Returns `None` if the content is not a list or a
/// non-empty list has no readable item.
pub(super) fn parse_list<T: DeserializeOwned>(message: &Message) -> Option<Vec<T>> {
    let values: Vec<Value> = serde_json::from_str(&message.text()).ok()?;
    let is_empty = values.is_empty();
    let items: Vec<T> = values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect();
    (is_empty || !items.is_empty()).then_some(items)
}

fn is_success(message: &Message) -> bool {
    message.role == Role::Tool && message.status == ToolStatus::Success
}

/// Sets the source type of a hit from the search tool, which is more reliable than the hit itself.
fn with_source_type(search: SearchTool, hit: McpSuggestion) -> McpSuggestion {
    McpSuggestion { source_type: search.kind(), ..hit }
}

/// Returns true if the URL can be opened; false for schemes that execute code or embed data.
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
    let (title, description) = (truncate(title, MAX_RESULT_CHARS), truncate(description, MAX_RESULT_CHARS));
    SearchResult { title, description, source_type }
}
