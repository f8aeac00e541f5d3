//! Validates the selection of the model against the tool results.

use serde_json::Value;

use super::FormattedResponse;
use super::merge::key;
use super::parse_answer::{ListField, ModelAnswer};
use super::tool_results::MergedResults;
use crate::types::{CombinedSuggestionsResponse, McpSuggestion, PostSummary, SourceType};

/// Maximum length of a hint in characters.
const MAX_HINT_CHARS: usize = 400;

/// Selects results in the order chosen by the model. If a list has the wrong JSON type, all results of that source
/// are used.
pub(super) fn select_results(answer: &ModelAnswer, results: &MergedResults) -> FormattedResponse {
    let mut dropped = 0;
    let mut response = CombinedSuggestionsResponse::default();
    for (listed, all) in
        [(&answer.m365, &results.m365), (&answer.docs, &results.docs), (&answer.issues, &results.issues)]
    {
        match listed {
            ListField::Missing => {}
            ListField::Invalid => all.iter().for_each(|result| push_unique(&mut response, result)),
            ListField::Items(items) => {
                for item in items {
                    match suggestion(item, results) {
                        Some(result) => push_unique(&mut response, result),
                        None => dropped += 1,
                    }
                }
            }
        }
    }
    match &answer.posts {
        ListField::Missing => {}
        ListField::Invalid => response.posts.clone_from(&results.posts),
        ListField::Items(items) => {
            for item in items {
                match post(item, results) {
                    Some(summary) if response.posts.iter().any(|existing| existing.id == summary.id) => {}
                    Some(summary) => response.posts.push(summary.clone()),
                    None => dropped += 1,
                }
            }
        }
    }
    let mut warnings = Vec::new();
    if dropped > 0 {
        warnings.push(format!("dropped {dropped} of the model's items: no tool returned them"));
    }
    response.action_hint = answer.hint.as_deref().and_then(|hint| validate_hint(hint, results, &mut warnings));
    FormattedResponse { response, warnings, dropped }
}

/// Appends a suggestion to the list of its source unless the list contains it. The source is taken from the search
/// tool.
fn push_unique(response: &mut CombinedSuggestionsResponse, result: &McpSuggestion) {
    let list = match result.source_type {
        SourceType::M365 => &mut response.m365,
        SourceType::Doc => &mut response.docs,
        SourceType::Issue => &mut response.issues,
        SourceType::Post => return,
    };
    if !list.contains(result) {
        list.push(result.clone());
    }
}

/// Finds the result that an item refers to: by its URL, or by its title if the item has no URL.
fn suggestion<'a>(item: &Value, results: &'a MergedResults) -> Option<&'a McpSuggestion> {
    let (url, title) = match item {
        Value::String(text) if text.contains('/') => (text.as_str(), ""),
        Value::String(text) => ("", text.as_str()),
        item => (item["url"].as_str().unwrap_or_default(), item["title"].as_str().unwrap_or_default()),
    };
    if url.trim().is_empty() && title.trim().is_empty() {
        return None;
    }
    let expected = key(url, title);
    let is_match = |result: &&McpSuggestion| match url.trim().is_empty() {
        true => key("", &result.title) == expected,
        false => key(&result.url, &result.title) == expected,
    };
    results.suggestions().find(is_match)
}

fn post<'a>(item: &Value, results: &'a MergedResults) -> Option<&'a PostSummary> {
    let id = item.as_str().or_else(|| item["id"].as_str())?;
    results.posts.iter().find(|post| post.id == id)
}

/// Returns the hint if it is short enough and contains no URL other than those of tool results.
fn validate_hint(hint: &str, results: &MergedResults, warnings: &mut Vec<String>) -> Option<String> {
    let hint = hint.trim();
    let is_returned = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '/');
        results.suggestions().any(|result| key(&result.url, "") == key(word, ""))
    };
    let has_unknown_url = hint.split_whitespace().any(|word| is_url(word) && !is_returned(word));
    if has_unknown_url || hint.chars().count() > MAX_HINT_CHARS {
        let reason = if has_unknown_url { "it links to a URL that no tool returned" } else { "it is too long" };
        warnings.push(format!("dropped the model's hint: {reason}"));
        return results.hint.clone();
    }
    (!hint.is_empty()).then(|| hint.to_owned())
}

fn is_url(word: &str) -> bool {
    let word = word.to_lowercase();
    word.contains("://") || word.contains("www.") || word.contains("mailto:")
}
