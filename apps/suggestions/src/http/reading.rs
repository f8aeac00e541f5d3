//! A document as a simple page: headings that links can point at, paragraphs, code. Everything is text and escaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mail_parser::decoders::html::html_to_text;
use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{Message, MessageParser};
use serde_json::Value;

/// A part of a file that holds several things, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Issue(usize),
    Message(usize),
}

/// Whether files of this kind are searched, and so may be read.
pub(super) fn is_readable(name: &str) -> bool {
    matches!(ending(name).as_str(), "md" | "markdown" | "txt" | "html" | "htm" | "json" | "csv" | "eml" | "mbox")
}

/// The page of a document; none when it has no such part.
pub(super) fn page(path: &str, bytes: &[u8], part: Option<Part>) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let content = match (ending(path).as_str(), part) {
        ("md" | "markdown", _) => markdown(&text),
        ("html" | "htm", _) => paragraphs(&html_to_text(&text)),
        ("eml", _) => mail(&MessageParser::default().parse(bytes)?),
        ("mbox", part) => mail_of(bytes, part)?,
        ("json", Some(Part::Issue(number))) => issue(&text, number)?,
        ("csv", Some(Part::Issue(number))) => row(&text, number)?,
        ("json" | "csv", _) => format!("<pre>{}</pre>", escaped(&text)),
        _ => paragraphs(&text),
    };
    let name = escaped(path);
    Some(format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{name}</title></head><body><p><small>{name}</small></p><main>{content}</main></body></html>"
    ))
}

fn ending(name: &str) -> String {
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

/// Markdown as far as reading needs it: headings with the anchors that searches give, code, items, paragraphs.
fn markdown(text: &str) -> String {
    let (mut html, mut paragraph) = (String::new(), String::new());
    let (mut anchors, mut is_code) = (BTreeMap::new(), false);
    for line in text.lines() {
        if line.starts_with("```") || line.starts_with("~~~") {
            close(&mut paragraph, &mut html);
            html.push_str(if is_code { "</pre>" } else { "<pre>" });
            is_code = !is_code;
        } else if is_code {
            // Writing to text cannot fail, here and below.
            let _ = writeln!(html, "{}", escaped(line));
        } else if let Some((depth, words)) = heading(line) {
            close(&mut paragraph, &mut html);
            let anchor = anchor(words, &mut anchors);
            let _ = write!(html, "<h{depth} id=\"{}\">{}</h{depth}>", escaped(&anchor), escaped(words));
        } else {
            let line = line.trim();
            if line.is_empty() || line.starts_with("- ") || line.starts_with("* ") || line.starts_with('|') {
                close(&mut paragraph, &mut html);
            }
            paragraph.push_str(line);
            paragraph.push('\n');
        }
    }
    close(&mut paragraph, &mut html);
    if is_code {
        html.push_str("</pre>");
    }
    html
}

/// Ends a paragraph, if there is one.
fn close(paragraph: &mut String, html: &mut String) {
    let text = std::mem::take(paragraph);
    if !text.trim().is_empty() {
        let _ = write!(html, "<p>{}</p>", escaped(text.trim()));
    }
}

fn paragraphs(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.split("\n\n").filter(|part| !part.trim().is_empty()).fold(String::new(), |mut html, part| {
        let _ = write!(html, "<p>{}</p>", escaped(part.trim()).replace('\n', "<br>"));
        html
    })
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('#');
    let depth = line.len() - words.len();
    let is_heading = (1..=6).contains(&depth) && words.starts_with([' ', '\t']) && !words.trim().is_empty();
    is_heading.then(|| (depth, words.trim().trim_end_matches('#').trim_end()))
}

/// The anchor of a heading, the same that searches give.
fn anchor(words: &str, seen: &mut BTreeMap<String, usize>) -> String {
    let mut anchor = String::new();
    for letter in words.chars().flat_map(char::to_lowercase) {
        match letter {
            '_' => anchor.push('_'),
            _ if letter.is_alphanumeric() => anchor.push(letter),
            _ if letter.is_whitespace() || letter == '-' => anchor.push('-'),
            _ => {}
        }
    }
    if anchor.is_empty() {
        anchor.push_str("section");
    }
    let count = seen.entry(anchor.clone()).or_default();
    *count += 1;
    if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
}

fn mail_of(bytes: &[u8], part: Option<Part>) -> Option<String> {
    let number = match part {
        Some(Part::Message(number)) => number,
        _ => 1,
    };
    // Counted as the search counts: mail that cannot be read has no number.
    let parser = MessageParser::default();
    let messages = MessageIterator::new(bytes).filter_map(Result::ok);
    let shown = messages.filter_map(|message| parser.parse(message.contents()).map(|message| mail(&message)));
    shown.into_iter().nth(number.checked_sub(1)?)
}

fn mail(message: &Message<'_>) -> String {
    let mut html = format!("<h1>{}</h1>", escaped(message.subject().unwrap_or("(no subject)")));
    let sender = message.from().and_then(|from| from.first());
    let sender = sender.and_then(|sender| sender.name().or_else(|| sender.address()));
    let date = message.date().map(mail_parser::DateTime::to_rfc3339);
    for fact in sender.map(str::to_owned).into_iter().chain(date) {
        let _ = write!(html, "<p><small>{}</small></p>", escaped(&fact));
    }
    let parts = (0..message.text_body_count()).filter_map(|part| message.body_text(part));
    parts.for_each(|part| html.push_str(&paragraphs(&part)));
    html
}

/// An issue out of an export in JSON.
fn issue(text: &str, number: usize) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let items = value.as_array().or_else(|| value["items"].as_array())?;
    let item = items.iter().filter(|item| item.get("pull_request").is_none()).nth(number.checked_sub(1)?)?;
    let words = |key: &str| item[key].as_str().unwrap_or_default();
    let mut html = format!("<h1>{}</h1><p><small>{}</small></p>", escaped(words("title")), escaped(words("state")));
    html.push_str(&markdown(words("body")));
    html.push_str(&markdown(words("description")));
    for comment in item["comments"].as_array().into_iter().flatten() {
        html.push_str("<hr>");
        html.push_str(&markdown(comment["body"].as_str().or(comment.as_str()).unwrap_or_default()));
    }
    Some(html)
}

/// An issue out of a table.
fn row(text: &str, number: usize) -> Option<String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().ok()?.clone();
    let record = reader.records().filter_map(Result::ok).nth(number.checked_sub(1)?)?;
    let cells = headers.iter().zip(record.iter()).filter(|(_, cell)| !cell.trim().is_empty());
    Some(cells.fold(String::new(), |mut html, (header, cell)| {
        let _ = write!(html, "<h2>{}</h2>{}", escaped(header), paragraphs(cell));
        html
    }))
}

/// A text inside HTML.
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

    /// R-SUG-19, R-SUG-55: the anchors that searches give are there, and markup of a document is text.
    #[test]
    fn markdown_has_anchors_and_no_markup_of_its_own() {
        let html =
            markdown("# Big & Small?\nOne\ntwo.\n\n```\n# no heading\n```\n## Größe\n## Größe\n<script>x</script>");
        for part in ["<h1 id=\"big--small\">Big &amp; Small?</h1>", "<h2 id=\"größe\">", "<h2 id=\"größe-1\">"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(html.contains("<p>One\ntwo.</p><pre># no heading\n</pre>") && !html.contains("<script>"), "{html}");
    }

    /// R-SUG-18, R-SUG-20: one issue or mail out of many.
    #[test]
    fn a_part_of_a_file_is_shown() {
        let issues = r#"[{"title": "PR", "pull_request": {}}, {"title": "A<b>", "state": "open", "body": "why"}]"#;
        let shown = page("issues/a.json", issues.as_bytes(), Some(Part::Issue(1))).unwrap();
        assert!(shown.contains("<h1>A&lt;b&gt;</h1>") && shown.contains("<p>why</p>"), "{shown}");
        assert_eq!(page("issues/a.json", issues.as_bytes(), Some(Part::Issue(2))), None);
        assert_eq!(page("issues/a.json", issues.as_bytes(), Some(Part::Issue(0))), None);
        let table = page("a.csv", b"Key,Text\nK1,one\nK2,two\n", Some(Part::Issue(2))).unwrap();
        assert!(table.contains("<h2>Text</h2><p>two</p>") && !table.contains("one"), "{table}");
        let boxed = b"From a@b Mon Jan  1 00:00:00 2024\nSubject: First\n\nHello\n\nFrom a@b Mon Jan  1 00:00:00 2024\nSubject: Second\n\n<b>Bye</b>\n";
        let shown = page("m365/mail/a.mbox", boxed, Some(Part::Message(2))).unwrap();
        assert!(shown.contains("<h1>Second</h1>") && shown.contains("&lt;b&gt;Bye"), "{shown}");
    }
}
