//! Markdown issues: one per file, with front matter between two `---` lines, then the body.

use super::Issue;

/// Parses the issue of a file.
pub(super) fn read(text: &str) -> Result<Vec<Issue>, String> {
    let (front, body) = split(text).ok_or("it does not start with front matter between `---` lines")?;
    let field = |name: &str| {
        let lines = front.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| key.trim() == name).map(|(_, value)| bare(value)).next().unwrap_or_default()
    };
    let title = field("title");
    if title.is_empty() {
        return Err("its front matter has no `title`".to_owned());
    }
    let labels = field("labels");
    let labels = labels.trim_start_matches('[').trim_end_matches(']').split(',').map(bare);
    let mut issue = Issue {
        title,
        labels: labels.filter(|label| !label.is_empty()).collect(),
        url: field("url"),
        body: body.trim().to_owned(),
        is_closed: field("state").eq_ignore_ascii_case("closed"),
        ..Issue::default()
    };
    issue.is_resolved = issue.is_closed && issue.mentions_resolution();
    Ok(vec![issue])
}

/// Splits a text into front matter and body.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..offset], &rest[offset + line.len()..]));
        }
        offset += line.len();
    }
    None
}

/// Trims whitespace and surrounding quotation marks.
fn bare(value: &str) -> String {
    let value = value.trim();
    let strip_quotes = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    strip_quotes('"').or_else(|| strip_quotes('\'')).unwrap_or(value).to_owned()
}
