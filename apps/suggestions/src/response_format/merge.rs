//! Merges duplicate results.

use std::collections::BTreeMap;

use crate::sources::fuse;
use crate::types::{McpSuggestion, PostSummary};

/// Query parameters that are known to track users and do not identify a document.
const TRACKING_PARAMETERS: [&str; 8] = ["fbclid", "gclid", "dclid", "msclkid", "mc_cid", "mc_eid", "igshid", "yclid"];

/// Merges lists of suggestions: best first, without duplicates, each with the longest description that any hit had.
pub(super) fn merged_suggestions(lists: Vec<Vec<McpSuggestion>>) -> Vec<McpSuggestion> {
    let mut longest: BTreeMap<String, String> = BTreeMap::new();
    for suggestion in lists.iter().flatten() {
        let best = longest.entry(key(&suggestion.url, &suggestion.title)).or_default();
        if suggestion.description.chars().count() > best.chars().count() {
            best.clone_from(&suggestion.description);
        }
    }
    // Suggestions without a URL are not fused: equal empty URLs do not make them duplicates.
    let (without_url, with_url): (Vec<_>, Vec<_>) = split_by_url(lists);
    let mut merged: Vec<McpSuggestion> = Vec::new();
    for mut suggestion in fuse(with_url).into_iter().chain(without_url.into_iter().flatten()) {
        if let Some(description) = longest.remove(&key(&suggestion.url, &suggestion.title)) {
            suggestion.description = description;
            merged.push(suggestion);
        }
    }
    merged
}

fn split_by_url(lists: Vec<Vec<McpSuggestion>>) -> (Vec<Vec<McpSuggestion>>, Vec<Vec<McpSuggestion>>) {
    let has_no_url = |suggestion: &McpSuggestion| suggestion.url.trim().is_empty();
    lists.into_iter().map(|list| list.into_iter().partition::<Vec<_>, _>(has_no_url)).unzip()
}

/// Merges lists of posts without duplicates: the first post of each list before the second of each.
pub(super) fn merged_posts(lists: Vec<Vec<PostSummary>>) -> Vec<PostSummary> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or_default();
    let mut merged: Vec<PostSummary> = Vec::new();
    for post in (0..longest).flat_map(|index| lists.iter().filter_map(move |list| list.get(index))) {
        if !merged.iter().any(|existing| existing.id == post.id) {
            merged.push(post.clone());
        }
    }
    merged
}

/// Returns the deduplication key of a suggestion: the URL without fragment and tracking parameters, or else the
/// title.
pub(super) fn key(url: &str, title: &str) -> String {
    let url = url.trim();
    if url.is_empty() {
        return format!("title {}", title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase());
    }
    let address = url.split_once('#').map_or(url, |(address, _)| address);
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let params: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect();
    let query = if params.is_empty() { String::new() } else { format!("?{}", params.join("&")) };
    format!("url {}{query}", normalized(path))
}

fn is_tracking(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default().to_lowercase();
    name.starts_with("utm_") || TRACKING_PARAMETERS.contains(&name.as_str())
}

/// Normalizes a URL path: lowercases scheme and host, which are case-insensitive, and removes trailing slashes.
fn normalized(path: &str) -> String {
    let path = path.trim_end_matches('/');
    let Some((scheme, rest)) = path.split_once("://") else { return path.to_owned() };
    let (host, rest) = rest.split_once('/').map_or((rest, None), |(host, rest)| (host, Some(rest)));
    let rest = rest.map(|rest| format!("/{rest}")).unwrap_or_default();
    format!("{}://{}{rest}", scheme.to_lowercase(), host.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Availability, SourceType};

    fn suggestion(url: &str, title: &str, description: &str) -> McpSuggestion {
        let (url, title, description) = (url.to_owned(), title.to_owned(), description.to_owned());
        McpSuggestion {
            title,
            url,
            description,
            source_type: SourceType::Doc,
            source: None,
            status: Availability::Available,
        }
    }

    /// R-SUG-33: results are equal if their URLs match without fragment and tracking parameters, or else if titles
    /// match.
    #[test]
    fn equal_results_have_the_same_key() {
        let rows = [
            ("https://Docs.example/a#b", "https://docs.example/a?utm_source=mail&gclid=1", true),
            ("https://docs.example/a?page=2", "https://docs.example/a?page=2&UTM_campaign=x#top", true),
            ("https://docs.example/a/", "https://docs.example/a", true),
            ("docs/a.md#one", "docs/a.md#two", true),
            ("https://docs.example/a?page=2", "https://docs.example/a?page=3", false),
            ("https://docs.example/A", "https://docs.example/a", false),
            ("issues/x.json?issue=1", "issues/x.json?issue=2", false),
        ];
        for (a, b, is_same) in rows {
            assert_eq!(key(a, "one") == key(b, "two"), is_same, "{a} {b}");
        }
        assert_eq!(key("", "Roll  back"), key(" ", "roll back"));
        assert_ne!(key("", "roll back"), key("", "roll on"));
    }

    /// R-SUG-33: deduplication keeps one result, with the longer description.
    #[test]
    fn of_duplicates_the_longer_description_stays() {
        let lists = vec![
            vec![
                suggestion("docs/a.md#x", "A", "short"),
                suggestion("", "Nowhere", "n"),
                suggestion("", "Elsewhere", "e"),
            ],
            vec![
                suggestion("docs/a.md?utm_medium=x", "A", "much longer"),
                suggestion("docs/b.md", "B", "b"),
                suggestion("", "nowhere", ""),
            ],
        ];
        let merged = merged_suggestions(lists);
        let pairs: Vec<(&str, &str)> =
            merged.iter().map(|suggestion| (suggestion.title.as_str(), suggestion.description.as_str())).collect();
        assert_eq!(pairs, [("A", "much longer"), ("B", "b"), ("Nowhere", "n"), ("Elsewhere", "e")]);
        assert_eq!(merged[0].url, "docs/a.md#x");
    }
}
