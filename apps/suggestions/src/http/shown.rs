//! Suggestions as JSON for pages and programs, with links that lead somewhere.

use serde_json::{Map, Value, json};
use superstep::core::fault::Fault;
use superstep_server::Problem;

use super::FILES;
use crate::sources::{Unavailable, Violation, is_web};
use crate::suggest::Suggested;
use crate::types::{Availability, McpSuggestion, PostSummary};

/// The suggestions for a page: their links lead to this server, or to the web.
pub(super) fn body(mut suggested: Suggested) -> Value {
    let response = &mut suggested.response;
    for list in [&mut response.m365, &mut response.docs, &mut response.issues] {
        list.iter_mut().for_each(lead);
    }
    document(&suggested)
}

/// The suggestions, with how they came about beside them.
#[must_use]
pub fn document(suggested: &Suggested) -> Value {
    let Suggested { response, model, label, queries, warnings, reasons } = suggested;
    let queries = queries.iter().map(|query| {
        let source = query.tool.trim_start_matches("search_");
        let status = match query.found {
            0 if reasons.contains_key(source) => "error",
            0 => "empty",
            _ => "ok",
        };
        json!({ "tool": query.tool, "query": query.query, "found": query.found, "status": status })
    });
    let queries: Vec<Value> = queries.collect();
    let mut body = json!(response);
    body["model"] = json!({ "provider": model.provider, "name": model.name, "kind": model.kind, "label": label });
    body["queries"] = json!(queries);
    body["warnings"] = json!(warnings);
    body["reasons"] = json!(reasons);
    body
}

/// What a search in everything found.
pub(super) fn found(
    posts: Result<Vec<PostSummary>, Unavailable>,
    things: [(&str, Result<Vec<McpSuggestion>, Unavailable>); 3],
) -> Value {
    let (mut whole, mut reasons) = (Map::new(), Map::new());
    let mut failed = |unavailable: Unavailable| {
        reasons.insert(unavailable.source.to_owned(), unavailable.reason.into());
        Value::Array(Vec::new())
    };
    for (name, found) in things {
        let shown = found.map(|mut found| {
            found.iter_mut().for_each(lead);
            json!(found)
        });
        whole.insert(name.to_owned(), shown.unwrap_or_else(&mut failed));
    }
    whole.insert("posts".to_owned(), posts.map(|posts| json!(posts)).unwrap_or_else(&mut failed));
    let order = ["m365", "docs", "issues", "posts"].into_iter().filter(|name| reasons.contains_key(*name));
    whole.insert("unavailableSources".to_owned(), order.collect());
    whole.insert("reasons".to_owned(), Value::Object(reasons));
    Value::Object(whole)
}

/// Why a post was not written.
pub(super) fn refused(broken: Vec<Violation>) -> Problem {
    let parts = broken.into_iter().map(|broken| Fault::new(broken.message).at(broken.pointer).into());
    Problem::invalid("the post breaks its rules", parts)
}

/// Makes the address of a suggestion one that a page can follow. What leads nowhere, or would run something, is no
/// address: exports of others are not trusted.
fn lead(suggestion: &mut McpSuggestion) {
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
    // Of a source, and written as addresses are; a step up would lead to another place of this server.
    let is_ours = ["docs/", "issues/", "m365/"].iter().any(|source| url.starts_with(source));
    let is_written = url.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~/%#?=".contains(&byte));
    let steps_up = url.split(['/', '#', '?']).any(|part| part == "..");
    (is_ours && is_written && !steps_up).then(|| format!("{FILES}{url}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-39: what a search found is an address of this server, or one of the web; nothing that runs is.
    #[test]
    fn links_lead_somewhere_or_are_none() {
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
