//! Finds doc summaries that start with a question word.
//!
//! Reads comments instead of the syntax tree, to include docs inside macro calls. Requirement ids in front of the
//! sentence (`R-GRA-33: …`) are skipped.

use super::{Check, Violation};
use crate::rust_source::RustSource;

/// First words that a summary must not have.
const FIRST_WORDS: [&str; 12] =
    ["what", "how", "where", "whether", "who", "whom", "which", "whose", "whoever", "when", "why", "that"];

/// First phrases that a summary must not have.
const FIRST_PHRASES: [&str; 2] = ["the one that", "the ones that"];

/// Returns a violation for each summary of a file that starts with a banned word or phrase.
pub(super) fn violations(path: &str, rust: &RustSource<'_>) -> Vec<Violation> {
    let comments = rust.comments();
    let mut violations = Vec::new();
    let mut previous = None;
    for (index, line) in comments.lines().enumerate() {
        let doc = doc_text(line);
        let is_first = doc.map(|(style, _)| style) != previous;
        previous = doc.map(|(style, _)| style);
        if let Some((_, text)) = doc.filter(|_| is_first)
            && let Some(word) = banned_start(text)
        {
            violations.push(violation(path, index + 1, word));
        }
    }
    violations
}

fn violation(path: &str, line: usize, word: &'static str) -> Violation {
    let problem = format!("a summary starts with a verb or a noun, not with `{word}`");
    Violation { check: Check::Summaries, path: path.to_owned(), line, name: word.to_owned(), problem }
}

/// Returns the style and the text of a doc comment line.
fn doc_text(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let text = |style| line.strip_prefix(style).filter(|rest| !rest.starts_with('/')).map(|rest| (style, rest.trim()));
    text("///").or_else(|| text("//!"))
}

/// Returns the banned word or phrase that a summary starts with.
fn banned_start(summary: &str) -> Option<&'static str> {
    let words: Vec<String> = without_ids(summary).split_whitespace().take(3).map(bare).collect();
    let phrase = words.join(" ");
    let banned_phrase = FIRST_PHRASES.into_iter().find(|banned| *banned == phrase);
    banned_phrase.or_else(|| FIRST_WORDS.into_iter().find(|banned| words.first().is_some_and(|word| word == banned)))
}

fn without_ids(summary: &str) -> &str {
    match summary.split_once(": ") {
        Some((ids, sentence)) if ids.starts_with("R-") => sentence,
        _ => summary,
    }
}

fn bare(word: &str) -> String {
    word.trim_end_matches(|symbol: char| !symbol.is_alphanumeric()).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<(usize, String)> {
        let violations = violations("a.rs", &RustSource::new(source));
        violations.into_iter().map(|violation| (violation.line, violation.name)).collect()
    }

    #[test]
    fn only_the_first_line_of_a_doc_comment_counts() {
        let source = "//! What a file is.\n//! How it works.\n\n/// Returns a name.\n/// Whether it is set.\nfn f() {}\n\
            struct S {\n    /// Whether: this.\n    a: u8,\n    /// The ones that wait.\n    b: u8,\n}\n// What is this?\n";
        let expected = [(1, "what"), (8, "whether"), (10, "the ones that")].map(|(line, word)| (line, word.to_owned()));
        assert_eq!(lines(source), expected);
    }

    #[test]
    fn docs_inside_macro_calls_are_seen_and_docs_inside_strings_are_not() {
        assert_eq!(lines("state! {\n    /// Who waits.\n    a: u8,\n}"), [(2, "who".to_owned())]);
        assert_eq!(lines("const A: &str = \"\n/// Who waits.\n\";"), []);
    }

    #[test]
    fn requirement_ids_precede_the_sentence() {
        assert_eq!(lines("/// R-GRA-33, R-GRA-34: what is put is read."), [(1, "what".to_owned())]);
        assert_eq!(lines("/// R-GRA-33: a union keeps its order."), []);
    }

    #[test]
    fn nouns_and_verbs_are_accepted() {
        for text in ["Whatever", "The one thread.", "Returns what was found.", "Thatched", "`what` is an argument."] {
            assert_eq!(lines(&format!("/// {text}")), [], "{text}");
        }
    }
}
