//! Extracts the title: the tokens that no phrase, verb or name has matched.

use super::phrase_reader::PhraseReader;
use super::token::{Token, TokenKind};

/// Returns the title of the sentence, cleaned: `Soccer practice`.
pub(super) fn title(reader: &PhraseReader<'_>) -> Option<String> {
    title_of(reader, 0..reader.tokens.len())
}

/// Returns the title within a range of tokens.
pub(super) fn title_of(reader: &PhraseReader<'_>, range: std::ops::Range<usize>) -> Option<String> {
    let lists = reader.language.words;
    let is_title_word = |index: &usize| {
        let token = &reader.tokens[*index];
        token.matched_as.is_none() && (token.is_unmatched() || is_inner(reader, *index))
    };
    let mut indices: Vec<usize> = range.filter(is_title_word).collect();
    let is_stop = |token: &Token| token.is_in(lists.stops) || matches!(token.kind, TokenKind::Sign(_));
    while indices.first().is_some_and(|index| is_stop(&reader.tokens[*index])) {
        indices.remove(0);
    }
    while indices.last().is_some_and(|index| is_stop(&reader.tokens[*index])) {
        indices.pop();
    }
    let is_specific = |index: &usize| !reader.tokens[*index].is_in(lists.vague) && reader.tokens[*index].is_unmatched();
    let is_content = |index: &usize| is_specific(index) && !reader.tokens[*index].is_in(lists.stops);
    let names_only = |index: &usize| reader.tokens[*index].is_in(lists.outsiders);
    let is_named = indices.iter().any(|index| is_content(index) && !names_only(index));
    // `the thing with grandma` is not a title; `grandma` alone is.
    let has_vague = indices.iter().any(|index| reader.tokens[*index].is_in(lists.vague));
    if !(is_named || indices.iter().any(is_content) && !has_vague) {
        return None;
    }
    Some(capitalize(&join_tokens(reader, &indices)))
}

/// Returns true if a token is punctuation within a word: `check-up`.
fn is_inner(reader: &PhraseReader<'_>, index: usize) -> bool {
    let touches = |one: usize, other: usize| match (reader.tokens.get(one), reader.tokens.get(other)) {
        (Some(one), Some(other)) => one.byte_range.1 == other.byte_range.0 && one.is_unmatched() | other.is_unmatched(),
        _ => false,
    };
    matches!(reader.tokens[index].kind, TokenKind::Sign('-' | '&' | '/' | '.'))
        && index > 0
        && touches(index - 1, index)
        && touches(index, index + 1)
}

/// Joins tokens with their original spelling.
fn join_tokens(reader: &PhraseReader<'_>, indices: &[usize]) -> String {
    let mut title = String::new();
    let mut last: Option<usize> = None;
    for index in indices {
        let token = &reader.tokens[*index];
        let touches = last.is_some_and(|last| reader.tokens[last].byte_range.1 == token.byte_range.0);
        if !title.is_empty() && !touches {
            title.push(' ');
        }
        title.push_str(&reader.text[token.byte_range.0..token.byte_range.1]);
        last = Some(*index);
    }
    title
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
