//! Converts responses of the Microsoft Graph search into suggestions.

use serde_json::Value;

use crate::sources::excerpt::excerpt;
use crate::sources::is_web;
use crate::types::{Availability, M365Source, McpSuggestion, SourceType};

/// Returns the hits of a response in its order. Hits without title or URL cannot be displayed and are skipped.
pub(super) fn read(response: &Value, limit: usize) -> Vec<McpSuggestion> {
    let containers = list(response, "value").flat_map(|value| list(value, "hitsContainers"));
    containers.flat_map(|container| list(container, "hits")).filter_map(hit).take(limit).collect()
}

fn hit(hit: &Value) -> Option<McpSuggestion> {
    let resource = hit.get("resource")?;
    let kind = resource["@odata.type"].as_str().unwrap_or_default();
    let is_mail = kind.ends_with(".message");
    let url = resource[if is_mail { "webLink" } else { "webUrl" }].as_str().filter(|url| is_web(url))?;
    let names = [&resource["subject"], &resource["name"], &resource["fields"]["title"], &resource["displayName"]];
    let title = names.into_iter().find_map(|name| name.as_str().filter(|name| !name.trim().is_empty()));
    let summary = [&hit["summary"], &resource["bodyPreview"]].into_iter().find_map(Value::as_str).unwrap_or_default();
    Some(McpSuggestion {
        title: title.map_or_else(|| last_segment(url), str::to_owned),
        url: url.to_owned(),
        description: excerpt(&plain(summary), ""),
        source_type: SourceType::M365,
        source: Some(if is_mail { M365Source::Email } else { source(resource, url) }),
        status: Availability::Available,
    })
}

/// Derives the source from the drive type, or else from the URL.
fn source(resource: &Value, url: &str) -> M365Source {
    match resource["parentReference"]["driveType"].as_str() {
        Some("documentLibrary") => M365Source::Sharepoint,
        Some("business" | "personal") => M365Source::Onedrive,
        _ if url.contains("-my.sharepoint.") || url.contains("/personal/") => M365Source::Onedrive,
        _ => M365Source::Sharepoint,
    }
}

/// Removes the markup of Graph summaries: `<c0>` around matches and `<ddd/>` for omitted text.
fn plain(summary: &str) -> String {
    let mut plain = String::new();
    let mut rest = summary;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        match after.split_once('>') {
            Some((tag, after)) if is_highlight_tag(tag) => {
                plain.push_str(if tag == "ddd/" { " … " } else { "" });
                rest = after;
            }
            _ => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_highlight_tag(tag: &str) -> bool {
    tag == "ddd/" || tag.trim_start_matches('/').strip_prefix('c').is_some_and(|number| number.parse::<u8>().is_ok())
}

fn last_segment(url: &str) -> String {
    url.trim_end_matches('/').rsplit('/').next().unwrap_or(url).to_owned()
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-17: markup is removed from summaries.
    #[test]
    fn summaries_lose_their_marks() {
        assert_eq!(plain("how to <c0>roll back</c0> a<ddd/>if x < 3 <b>"), "how to roll back a … if x < 3 <b>");
    }
}
