//! Excerpts for search results: the passage of a text that matches a query best, short enough for a description.

use crate::query_expansion::{content_words, cut_at_word, stem};

/// Maximum length of a description in characters.
pub(crate) const MAX_EXCERPT_CHARS: usize = 300;

/// Returns the best passage: as many complete sentences as fit, starting where most words of the query occur.
pub(crate) fn excerpt(text: &str, query: &str) -> String {
    let query_stems: Vec<String> = content_words(query).iter().map(|word| stem(word)).collect();
    let sentences = sentences(text);
    let mut best = (0, String::new());
    for start in 0..sentences.len() {
        let passage = passage(&sentences[start..]);
        let passage_stems: Vec<String> = content_words(&passage).iter().map(|word| stem(word)).collect();
        let count = query_stems.iter().filter(|word| passage_stems.contains(word)).count();
        // On a tie the first passage wins, because earlier text usually introduces later text.
        if best.1.is_empty() || count > best.0 {
            best = (count, passage);
        }
    }
    best.1
}

/// Joins as many sentences as fit. If the first one alone is too long, cuts it at a word boundary.
fn passage(sentences: &[&str]) -> String {
    let mut passage = String::new();
    for sentence in sentences {
        let joined = if passage.is_empty() { (*sentence).to_owned() } else { format!("{passage} {sentence}") };
        if joined.chars().count() > MAX_EXCERPT_CHARS {
            break;
        }
        passage = joined;
    }
    if passage.is_empty() { sentences.first().map(|sentence| shortened(sentence)).unwrap_or_default() } else { passage }
}

/// Cuts a text at a word boundary and appends an ellipsis.
fn shortened(text: &str) -> String {
    cut_at_word(text, MAX_EXCERPT_CHARS - 2).map_or_else(|| text.to_owned(), |head| format!("{head} …"))
}

/// Splits a text into sentences. An empty line also ends a sentence.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut start = 0;
        let mut letters = paragraph.char_indices().peekable();
        while let Some((_, letter)) = letters.next() {
            let Some((next, next_letter)) = letters.peek() else { break };
            let is_end = matches!(letter, '.' | '!' | '?') && next_letter.is_whitespace();
            if is_end || matches!(letter, '。' | '！' | '？') {
                sentences.push(paragraph[start..*next].trim());
                start = *next;
            }
        }
        sentences.push(paragraph[start..].trim());
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-19: a description is the best matching passage in complete sentences, at most 300 characters long.
    #[test]
    fn the_passage_with_most_matching_words_is_selected() {
        let filler = "Nothing to see in this sentence at all. ".repeat(12);
        let text = format!("{filler}Use helm rollback to return. It waits.\n\n{filler}");
        let actual = excerpt(&text, "How does helm rollback wait?");
        assert!(actual.contains("Use helm rollback to return. It waits."), "{actual}");
        assert!(actual.chars().count() <= MAX_EXCERPT_CHARS && actual.ends_with('.'), "{actual}");
    }

    /// R-SUG-19: a sentence that is too long is cut at a word boundary.
    #[test]
    fn long_sentences_are_cut_at_word_boundaries() {
        let actual = excerpt(&"größe ".repeat(100), "größe");
        assert!(actual.chars().count() <= MAX_EXCERPT_CHARS && actual.ends_with("größe …"), "{actual}");
        assert_eq!(excerpt("", "x"), "");
    }
}
