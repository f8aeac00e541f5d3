//! What the model chose, as far as it was found.

use serde_json::Value;

use super::Formatted;
use super::found::Results;
use super::merge::key;
use super::read::{Answer, Listed};
use crate::types::{CombinedSuggestionsResponse, McpSuggestion, PostSummary, SourceType};

/// How long a hint may be.
const LONGEST_HINT: usize = 400;

/// The model's choice in its order. A list of a wrong type counts as no choice: then all that was found is there.
pub(super) fn choose(answer: &Answer, results: &Results) -> Formatted {
    let mut dropped = 0;
    let mut response = CombinedSuggestionsResponse::default();
    for (listed, all) in
        [(&answer.m365, &results.m365), (&answer.docs, &results.docs), (&answer.issues, &results.issues)]
    {
        match listed {
            Listed::Missing => {}
            Listed::Wrong => all.iter().for_each(|found| put(&mut response, found)),
            Listed::Items(items) => {
                for item in items {
                    match suggestion(item, results) {
                        Some(found) => put(&mut response, found),
                        None => dropped += 1,
                    }
                }
            }
        }
    }
    match &answer.posts {
        Listed::Missing => {}
        Listed::Wrong => response.posts.clone_from(&results.posts),
        Listed::Items(items) => {
            for item in items {
                match post(item, results) {
                    Some(found) if response.posts.iter().any(|known| known.id == found.id) => {}
                    Some(found) => response.posts.push(found.clone()),
                    None => dropped += 1,
                }
            }
        }
    }
    let mut warnings = Vec::new();
    if dropped > 0 {
        warnings.push(format!("dropped {dropped} of the model's items: no tool returned them"));
    }
    response.action_hint = answer.hint.as_deref().and_then(|hint| checked(hint, results, &mut warnings));
    Formatted { response, warnings, dropped }
}

/// Puts a suggestion where it belongs, once. Where that is, its search said.
fn put(response: &mut CombinedSuggestionsResponse, found: &McpSuggestion) {
    let list = match found.source_type {
        SourceType::M365 => &mut response.m365,
        SourceType::Doc => &mut response.docs,
        SourceType::Issue => &mut response.issues,
        SourceType::Post => return,
    };
    if !list.contains(found) {
        list.push(found.clone());
    }
}

/// What was found that an item means: by its address, or by its title when it gives no address.
fn suggestion<'a>(item: &Value, results: &'a Results) -> Option<&'a McpSuggestion> {
    let (url, title) = match item {
        Value::String(text) if text.contains('/') => (text.as_str(), ""),
        Value::String(text) => ("", text.as_str()),
        item => (item["url"].as_str().unwrap_or_default(), item["title"].as_str().unwrap_or_default()),
    };
    if url.trim().is_empty() && title.trim().is_empty() {
        return None;
    }
    let wanted = key(url, title);
    let is_meant = |found: &&McpSuggestion| match url.trim().is_empty() {
        true => key("", &found.title) == wanted,
        false => key(&found.url, &found.title) == wanted,
    };
    results.suggestions().find(is_meant)
}

fn post<'a>(item: &Value, results: &'a Results) -> Option<&'a PostSummary> {
    let id = item.as_str().or_else(|| item["id"].as_str())?;
    results.posts.iter().find(|post| post.id == id)
}

/// A hint that may be shown: it has no address but of things that were found.
fn checked(hint: &str, results: &Results, warnings: &mut Vec<String>) -> Option<String> {
    let hint = hint.trim();
    let is_known = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '/');
        results.suggestions().any(|found| key(&found.url, "") == key(word, ""))
    };
    let is_foreign = hint.split_whitespace().any(|word| is_address(word) && !is_known(word));
    if is_foreign || hint.chars().count() > LONGEST_HINT {
        let why = if is_foreign { "it leads to an address that no tool returned" } else { "it is too long" };
        warnings.push(format!("dropped the model's hint: {why}"));
        return results.hint.clone();
    }
    (!hint.is_empty()).then(|| hint.to_owned())
}

fn is_address(word: &str) -> bool {
    let word = word.to_lowercase();
    word.contains("://") || word.contains("www.") || word.contains("mailto:")
}
