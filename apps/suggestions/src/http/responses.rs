//! Response bodies of the suggestion routes. Links are rewritten so that a browser can open them.

use serde_json::{Map, Value, json};
use superstep::core::validation_error::ValidationError;
use superstep_server::Problem;

use super::FILES;
use crate::sources::{PostViolation, SourceUnavailable, is_web};
use crate::suggest::SuggestionResult;
use crate::types::{Availability, McpSuggestion, PostSummary};

/// Builds the response body. Links point to this server or to the web.
pub(super) fn suggestions_response(mut suggested: SuggestionResult) -> Value {
    let response = &mut suggested.response;
    for list in [&mut response.m365, &mut response.docs, &mut response.issues] {
        list.iter_mut().for_each(resolve_link);
    }
    suggestions_json(&suggested)
}

/// Converts a suggestion result to JSON, with model, queries, reasons and warnings. Links are not rewritten.
#[must_use]
pub fn suggestions_json(suggested: &SuggestionResult) -> Value {
    let SuggestionResult { response, model, label, queries, warnings, unavailable_reasons: reasons } = suggested;
    let queries = queries.iter().map(|query| {
        let source = query.tool.trim_start_matches("search_");
        let status = match query.result_count {
            0 if reasons.contains_key(source) => "error",
            0 => "empty",
            _ => "ok",
        };
        json!({ "tool": query.tool, "query": query.query, "found": query.result_count, "status": status })
    });
    let queries: Vec<Value> = queries.collect();
    let mut body = json!(response);
    body["model"] = json!({ "provider": model.provider, "name": model.name, "kind": model.kind, "label": label });
    body["queries"] = json!(queries);
    body["warnings"] = json!(warnings);
    body["reasons"] = json!(reasons);
    body
}

/// Builds the response of the search in all sources.
pub(super) fn search_response(
    posts: Result<Vec<PostSummary>, SourceUnavailable>,
    results: [(&str, Result<Vec<McpSuggestion>, SourceUnavailable>); 3],
) -> Value {
    let (mut response, mut reasons) = (Map::new(), Map::new());
    let mut record_failure = |unavailable: SourceUnavailable| {
        reasons.insert(unavailable.source.to_owned(), unavailable.reason.into());
        Value::Array(Vec::new())
    };
    for (name, result) in results {
        let items = result.map(|mut suggestions| {
            suggestions.iter_mut().for_each(resolve_link);
            json!(suggestions)
        });
        response.insert(name.to_owned(), items.unwrap_or_else(&mut record_failure));
    }
    response.insert("posts".to_owned(), posts.map(|posts| json!(posts)).unwrap_or_else(&mut record_failure));
    let unavailable = ["m365", "docs", "issues", "posts"].into_iter().filter(|name| reasons.contains_key(*name));
    response.insert("unavailableSources".to_owned(), unavailable.collect());
    response.insert("reasons".to_owned(), Value::Object(reasons));
    Value::Object(response)
}

/// Converts the violations of a post into a problem response.
pub(super) fn post_rejected_problem(violations: Vec<PostViolation>) -> Problem {
    let errors = violations
        .into_iter()
        .map(|violation| ValidationError::new(violation.message).with_pointer(violation.pointer).into());
    Problem::invalid("the post is invalid", errors)
}

/// Rewrites the URL of a suggestion for use in a page. Clears a URL that leads nowhere or would run code, because
/// exported data is not trusted.
fn resolve_link(suggestion: &mut McpSuggestion) {
    match link(&suggestion.url) {
        Some(link) => suggestion.url = link,
        None => {
            suggestion.url.clear();
            suggestion.status = Availability::Unavailable;
        }
    }
}

fn link(url: &str) -> Option<String> {
    if is_web(url) {
        return Some(url.to_owned());
    }
    // Accepts only percent-encoded paths below a source; `..` would lead to another route of this server.
    let is_source_path = ["docs/", "issues/", "m365/"].iter().any(|source| url.starts_with(source));
    let is_encoded = url.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~/%#?=".contains(&byte));
    let steps_up = url.split(['/', '#', '?']).any(|part| part == "..");
    (is_source_path && is_encoded && !steps_up).then(|| format!("{FILES}{url}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-39: the link of a result is a path of this server or a web URL, never a URL that runs code.
    #[test]
    fn links_are_local_paths_or_web_urls() {
        for (url, expected) in [
            (
                "docs/aks/roll%20back.md#gr%C3%B6%C3%9Fe",
                Some("/api/suggestions/files/docs/aks/roll%20back.md#gr%C3%B6%C3%9Fe"),
            ),
            ("issues/jira.csv?issue=3", Some("/api/suggestions/files/issues/jira.csv?issue=3")),
            ("m365/mail/a%3Fb.mbox?message=2", Some("/api/suggestions/files/m365/mail/a%3Fb.mbox?message=2")),
            ("HTTPS://a.example/x?y#z", Some("HTTPS://a.example/x?y#z")),
            ("docs/../../../posts", None),
            ("docs/a b.md", None),
            ("docs/\"onclick=x", None),
            ("javascript:alert(1)//docs/", None),
            ("//evil.example/docs/a.md", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(link(url).as_deref(), expected, "{url}");
        }
    }
}
