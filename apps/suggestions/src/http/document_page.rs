//! Renders a document as a simple HTML page: headings with anchors, paragraphs, code. All content is escaped.

use std::fmt::Write as _;

use superstep_documents::{DocumentLine, markdown};

use crate::sources::{Issue, Mail, SourceDocument};

/// Renders the page of a document, issue or mail.
pub(super) fn page(path: &str, document: &SourceDocument) -> String {
    let content = match document {
        // Line breaks are significant in plain text, but not in Markdown and HTML.
        SourceDocument::Document(lines) if path.to_lowercase().ends_with(".txt") => blocks(lines, "<br>"),
        SourceDocument::Document(lines) => blocks(lines, "\n"),
        SourceDocument::Issue(issue) => issue_html(issue),
        SourceDocument::Mail(mail) => mail_html(mail),
    };
    let name = escaped(path);
    format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{name}</title></head><body><p><small>{name}</small></p><main>{content}</main></body></html>"
    )
}

fn issue_html(issue: &Issue) -> String {
    let title = format!("{} {}", issue.key, issue.title);
    let metadata = std::iter::once(issue.state()).chain(issue.labels.iter().map(String::as_str)).collect::<Vec<_>>();
    let mut html = header_html(title.trim(), &[&metadata.join(", ")]);
    for (index, text) in std::iter::once(&issue.body).chain(&issue.comments).enumerate() {
        html.push_str(if index == 0 { "" } else { "<hr>" });
        html.push_str(&blocks(&markdown(text), "\n"));
    }
    html
}

fn mail_html(mail: &Mail) -> String {
    let mut html = header_html(&mail.subject, &[&mail.from, mail.date.as_deref().unwrap_or_default()]);
    for part in mail.text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
        // Writing to a `String` cannot fail, here and below.
        let _ = write!(html, "<p>{}</p>", escaped(part).replace('\n', "<br>"));
    }
    html
}

fn header_html(title: &str, metadata: &[&str]) -> String {
    let mut html = format!("<h1>{}</h1>", escaped(title));
    for entry in metadata.iter().filter(|entry| !entry.is_empty()) {
        let _ = write!(html, "<p><small>{}</small></p>", escaped(entry));
    }
    html
}

/// Renders lines as HTML blocks. `end` separates the lines of a paragraph.
fn blocks(lines: &[DocumentLine], end: &str) -> String {
    let (mut html, mut open) = (String::new(), "");
    for line in lines {
        let (block, text) = match line {
            DocumentLine::Heading { text, .. } => ("", text),
            DocumentLine::Text(text) => ("p", text),
            DocumentLine::Item(text) => ("li", text),
            DocumentLine::Code(text) => ("pre", text),
            _ => ("", const { &String::new() }),
        };
        // Each list item is a block of its own; consecutive lines of text or code share one block.
        let continues_block = block == open && !matches!(block, "" | "li");
        if !open.is_empty() && !continues_block {
            let _ = write!(html, "</{open}>");
        }
        if !block.is_empty() && !continues_block {
            let _ = write!(html, "<{block}>");
        } else if continues_block {
            html.push_str(if block == "pre" { "\n" } else { end });
        }
        match line {
            DocumentLine::Heading { level, anchor, .. } => {
                let _ = write!(html, "<h{level} id=\"{}\">{}</h{level}>", escaped(anchor), escaped(text));
            }
            _ => html.push_str(&escaped(text)),
        }
        open = block;
    }
    if !open.is_empty() {
        let _ = write!(html, "</{open}>");
    }
    html
}

/// Escapes text for HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-19, R-SUG-55: headings have the anchors that search results link to, and markup of a document is
    /// escaped.
    #[test]
    fn markdown_has_anchors_and_no_markup_of_its_own() {
        let text = "# Big & Small?\nOne\ntwo.\n\n```\n# no heading\n<b>\n```\n## Größe\n- a\n- b\n## Größe\n<script>x</script>";
        let html = blocks(&markdown(text), "\n");
        let expected = "<h1 id=\"big--small\">Big &amp; Small?</h1><p>One\ntwo.</p><pre># no heading\n&lt;b&gt;</pre>\
                        <h2 id=\"größe\">Größe</h2><li>a</li><li>b</li><h2 id=\"größe-1\">Größe</h2>\
                        <p>&lt;script&gt;x&lt;/script&gt;</p>";
        assert_eq!(html, expected);
    }

    /// R-SUG-18, R-SUG-20: an issue and a mail are rendered with their metadata, and all of it is escaped.
    #[test]
    fn an_issue_and_a_mail_are_shown() {
        let issue = Issue {
            key: "#7".to_owned(),
            title: "A<b>".to_owned(),
            body: "why".to_owned(),
            labels: vec!["tea".to_owned()],
            comments: vec!["**because**".to_owned()],
            is_closed: true,
            ..Issue::default()
        };
        let html = page("issues/a.json", &SourceDocument::Issue(issue));
        let expected = "<h1>#7 A&lt;b&gt;</h1><p><small>Closed, tea</small></p><p>why</p><hr><p>because</p>";
        assert!(html.contains(expected), "{html}");
        let mail = Mail {
            subject: "Bye".to_owned(),
            from: "A \"B\"".to_owned(),
            date: None,
            text: "one\ntwo\n\n<b>three</b>".to_owned(),
        };
        let html = page("m365/mail/a.mbox", &SourceDocument::Mail(mail));
        let expected = "<h1>Bye</h1><p><small>A &quot;B&quot;</small></p><p>one<br>two</p><p>&lt;b&gt;three";
        assert!(html.contains(expected), "{html}");
    }
}
