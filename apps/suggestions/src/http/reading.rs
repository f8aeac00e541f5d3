//! What was found as a simple page: headings that links can point at, paragraphs, code. Everything is text and escaped.

use std::fmt::Write as _;

use superstep_documents::{Line, markdown};

use crate::sources::{Issue, Mail, Reading};

/// The page of something that was found.
pub(super) fn page(path: &str, reading: &Reading) -> String {
    let content = match reading {
        // Where lines end means something in a plain text, and nothing in the others.
        Reading::Document(lines) if path.to_lowercase().ends_with(".txt") => blocks(lines, "<br>"),
        Reading::Document(lines) => blocks(lines, "\n"),
        Reading::Issue(issue) => of_issue(issue),
        Reading::Mail(mail) => of_mail(mail),
    };
    let name = escaped(path);
    format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{name}</title></head><body><p><small>{name}</small></p><main>{content}</main></body></html>"
    )
}

fn of_issue(issue: &Issue) -> String {
    let title = format!("{} {}", issue.key, issue.title);
    let facts = std::iter::once(issue.state()).chain(issue.labels.iter().map(String::as_str)).collect::<Vec<_>>();
    let mut html = head(title.trim(), &[&facts.join(", ")]);
    for (at, text) in std::iter::once(&issue.body).chain(&issue.comments).enumerate() {
        html.push_str(if at == 0 { "" } else { "<hr>" });
        html.push_str(&blocks(&markdown(text), "\n"));
    }
    html
}

fn of_mail(mail: &Mail) -> String {
    let mut html = head(&mail.subject, &[&mail.from, mail.date.as_deref().unwrap_or_default()]);
    for part in mail.text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
        // Writing to text cannot fail, here and below.
        let _ = write!(html, "<p>{}</p>", escaped(part).replace('\n', "<br>"));
    }
    html
}

fn head(title: &str, facts: &[&str]) -> String {
    let mut html = format!("<h1>{}</h1>", escaped(title));
    for fact in facts.iter().filter(|fact| !fact.is_empty()) {
        let _ = write!(html, "<p><small>{}</small></p>", escaped(fact));
    }
    html
}

/// Lines as blocks; `end` stands where a line of a paragraph ends.
fn blocks(lines: &[Line], end: &str) -> String {
    let (mut html, mut open) = (String::new(), "");
    for line in lines {
        let (block, words) = match line {
            Line::Heading { words, .. } => ("", words),
            Line::Text(words) => ("p", words),
            Line::Item(words) => ("li", words),
            Line::Code(words) => ("pre", words),
            _ => ("", const { &String::new() }),
        };
        // Items stand alone; lines of text and code go on where the line before did.
        let goes_on = block == open && !matches!(block, "" | "li");
        if !open.is_empty() && !goes_on {
            let _ = write!(html, "</{open}>");
        }
        if !block.is_empty() && !goes_on {
            let _ = write!(html, "<{block}>");
        } else if goes_on {
            html.push_str(if block == "pre" { "\n" } else { end });
        }
        match line {
            Line::Heading { depth, anchor, .. } => {
                let _ = write!(html, "<h{depth} id=\"{}\">{}</h{depth}>", escaped(anchor), escaped(words));
            }
            _ => html.push_str(&escaped(words)),
        }
        open = block;
    }
    if !open.is_empty() {
        let _ = write!(html, "</{open}>");
    }
    html
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
        let text = "# Big & Small?\nOne\ntwo.\n\n```\n# no heading\n<b>\n```\n## Größe\n- a\n- b\n## Größe\n<script>x</script>";
        let html = blocks(&markdown(text), "\n");
        let expected = "<h1 id=\"big--small\">Big &amp; Small?</h1><p>One\ntwo.</p><pre># no heading\n&lt;b&gt;</pre>\
                        <h2 id=\"größe\">Größe</h2><li>a</li><li>b</li><h2 id=\"größe-1\">Größe</h2>\
                        <p>&lt;script&gt;x&lt;/script&gt;</p>";
        assert_eq!(html, expected);
    }

    /// R-SUG-18, R-SUG-20: an issue and a mail are read with what is known of them, and all of it is text.
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
        let shown = page("issues/a.json", &Reading::Issue(issue));
        let expected = "<h1>#7 A&lt;b&gt;</h1><p><small>Closed, tea</small></p><p>why</p><hr><p>because</p>";
        assert!(shown.contains(expected), "{shown}");
        let mail = Mail {
            subject: "Bye".to_owned(),
            from: "A \"B\"".to_owned(),
            date: None,
            text: "one\ntwo\n\n<b>three</b>".to_owned(),
        };
        let shown = page("m365/mail/a.mbox", &Reading::Mail(mail));
        let expected = "<h1>Bye</h1><p><small>A &quot;B&quot;</small></p><p>one<br>two</p><p>&lt;b&gt;three";
        assert!(shown.contains(expected), "{shown}");
    }
}
