//! Detects the intent of a sentence: create, modify, cancel or query.

use std::ops::Range;

use super::SpanKind;
use super::phrase_meaning::{PhraseMeaning, Verb, VerbModifier};
use super::phrase_pattern::pattern;
use super::phrase_reader::{PhraseMatch, PhraseReader};
use super::token::{Token, TokenKind};
use crate::models::{EventType, QueryType};

/// Intent of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Intent {
    /// The intent.
    pub(super) event_type: EventType,
    /// Modifier of the verb.
    pub(super) modifier: VerbModifier,
    /// True if words of the sentence express the intent, rather than the absence of others.
    pub(super) is_explicit: bool,
    /// True if the sentence says what not to do: `don't cancel`.
    pub(super) is_negated: bool,
    /// Token range of the verb.
    pub(super) verb: Range<usize>,
}

impl Intent {
    /// Returns true if the only sign of a cancellation is a word such as `not`.
    pub(super) fn is_weak_no(&self) -> bool {
        self.modifier == VerbModifier::Weak && !self.is_explicit
    }
}

/// Detects the intent and marks the verb as matched.
pub(super) fn intent(reader: &mut PhraseReader<'_>, findings: &[PhraseMatch]) -> Intent {
    let detected = detect(reader, findings);
    reader.tokens[detected.verb.clone()].iter_mut().for_each(|token| {
        token.matched_as.get_or_insert(SpanKind::Intent);
    });
    detected
}

fn detect(reader: &PhraseReader<'_>, findings: &[PhraseMatch]) -> Intent {
    let explicit_intent =
        |event_type, modifier, verb| Intent { event_type, modifier, is_explicit: true, is_negated: false, verb };
    let lists = reader.language.words;
    let is_question = reader.tokens.last().is_some_and(|token| token.kind == TokenKind::Sign('?'));
    let first = reader.tokens.iter().position(|token| token.kind == TokenKind::Word && !token.is_in(lists.polite));
    if let Some(index) = first
        && is_opener(reader, index, is_question)
    {
        return explicit_intent(EventType::Query, VerbModifier::Plain, index..opener_end(reader, index));
    }
    if let Some((verb, range)) = verb(reader) {
        return explicit_intent(verb.intent, verb.modifier, range);
    }
    let moves = |finding: &PhraseMatch| matches!(finding.meaning, PhraseMeaning::Later | PhraseMeaning::Earlier);
    if findings.iter().any(moves) {
        return explicit_intent(EventType::Modify, VerbModifier::Plain, 0..0);
    }
    if is_question {
        return explicit_intent(EventType::Query, VerbModifier::Plain, 0..0);
    }
    if first.is_some_and(|index| matches!(reader.tokens[index].lower.as_str(), "no" | "kein" | "keine")) {
        let index = first.unwrap_or(0);
        return explicit_intent(EventType::Cancel, VerbModifier::Plain, index..index + 1);
    }
    let is_negated =
        (0..reader.tokens.len()).any(|index| is_negated(reader, index) && !verbs_at(reader, index).is_empty());
    let is_no = |token: &Token| token.matched_as.is_none() && token.is_in(lists.nots);
    // `Emma isn't going swimming` may be a cancellation, so the user is asked.
    if let (false, Some(index)) = (is_negated, reader.tokens.iter().position(is_no)) {
        let verb = index..index + 1;
        return Intent {
            event_type: EventType::Cancel,
            modifier: VerbModifier::Weak,
            is_explicit: false,
            is_negated: false,
            verb,
        };
    }
    Intent { event_type: EventType::Create, modifier: VerbModifier::Plain, is_explicit: false, is_negated, verb: 0..0 }
}

/// Returns true if a query begins at the token. `do`, `have` and `will` may also begin other sentences.
fn is_opener(reader: &PhraseReader<'_>, index: usize, is_question: bool) -> bool {
    let lists = reader.language.words;
    let token = &reader.tokens[index];
    if !token.is_in(lists.openers) || token.matched_as.is_some() {
        return false;
    }
    let is_person = |next: &Token| next.is_in(lists.me) || next.is_in(lists.we) || next.is_in(&["you", "they"]);
    let next_is_person = reader.tokens.get(index + 1).is_some_and(is_person);
    !matches!(token.lower.as_str(), "do" | "have" | "has" | "will" | "es" | "que") || is_question || next_is_person
}

/// Returns the end of the opener, so that `how many events` is treated like `what`.
fn opener_end(reader: &PhraseReader<'_>, index: usize) -> usize {
    let ends = reader
        .language
        .words
        .counting
        .iter()
        .filter_map(|phrase| Some(reader.match_pattern(&pattern(phrase), index)?.1));
    ends.max().unwrap_or(index + 1)
}

/// Returns the first verb, and the longest one if several begin at the same token. `move` takes precedence over a
/// later `instead`.
fn verb(reader: &PhraseReader<'_>) -> Option<(&'static Verb, Range<usize>)> {
    let mut indices = (0..reader.tokens.len()).filter(|index| !is_noun(reader, *index) && !is_negated(reader, *index));
    // With the same length, a verb with a tail is more specific.
    indices
        .find_map(|index| verbs_at(reader, index).into_iter().max_by_key(|(verb, range)| (range.end, verb.tail.len())))
}

fn verbs_at(reader: &PhraseReader<'_>, index: usize) -> Vec<(&'static Verb, Range<usize>)> {
    // Typing errors are accepted only in the first word. In later words, `maestra` would match `muestra`.
    let before = &reader.tokens[..index];
    let is_first = before.iter().all(|token| !token.is_unmatched() || token.is_in(reader.language.words.polite));
    if !is_first && !reader.language.vocabulary.contains(reader.tokens[index].lower.as_str()) {
        return Vec::new();
    }
    let fits = reader.language.verbs.iter().filter_map(|(pattern, verb)| {
        let (_, end) = reader.match_pattern(pattern, index)?;
        let has_tail = verb.tail.is_empty() || reader.tokens[end..].iter().any(|token| token.lower == verb.tail);
        has_tail.then_some((*verb, index..end))
    });
    fits.collect()
}

/// Returns true if the word before negates the verb.
fn is_negated(reader: &PhraseReader<'_>, index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|before| reader.tokens.get(before));
    before.is_some_and(|before| before.is_in(reader.language.words.negations))
}

/// Returns true if the word is a noun and not a verb: `book club`, `the oil change`, `can't be moved`.
fn is_noun(reader: &PhraseReader<'_>, index: usize) -> bool {
    let (token, lists) = (&reader.tokens[index], reader.language.words);
    let is_read = matches!(
        token.matched_as,
        Some(SpanKind::Flexibility | SpanKind::Priority | SpanKind::Date | SpanKind::Length)
    );
    let is_owner = token.is_owner && !token.is_in(&["let", "there"]);
    let is_phrase = reader.language.nouns.iter().any(|(noun, later)| {
        let end = reader.match_pattern(noun, index).map(|(_, end)| end);
        let follows =
            |end: usize| later.is_none_or(|later| reader.tokens[end..].iter().any(|token| token.lower == later));
        end.is_some_and(follows)
    });
    let follows_noun = || {
        let before = index.checked_sub(1).and_then(|before| reader.tokens.get(before));
        before.is_some_and(|before| {
            let is_content = before.is_unmatched() && !before.is_in(lists.stops) && !before.is_in(lists.polite);
            is_content || before.is_in(lists.the) || (before.is_owner && before.lower != "let")
        })
    };
    is_read || is_owner || is_phrase || (token.is_in(lists.ambiguous) && follows_noun())
}

/// Returns the kind of a query, and true if the words of the query express it.
pub(super) fn query(reader: &PhraseReader<'_>, intent: &Intent, has_resource: bool) -> (QueryType, bool) {
    let lists = reader.language.words;
    if has_any(reader, lists.conflict) {
        return (QueryType::ConflictCheck, true);
    }
    if has_resource {
        return (QueryType::ResourceStatus, true);
    }
    let can = ["when can", "wann kann", "wann konnen", "cuando puede", "cuando pueden"];
    if has_any(reader, lists.availability) || has_any(reader, &can) {
        return (QueryType::Availability, true);
    }
    (QueryType::EventLookup, !intent.verb.is_empty())
}

/// Returns true if a query asks for existing conflicts: `Are there any conflicts?`
pub(super) fn asks_existing_conflicts(reader: &PhraseReader<'_>) -> bool {
    has_any(reader, reader.language.words.clashes)
}

/// Marks the words that ask whether something fits, because they are not part of the title.
pub(super) fn consume_fit_words(reader: &mut PhraseReader<'_>) {
    let lists = reader.language.words;
    let mut matched = Vec::new();
    while let Some((from, to)) = phrase(reader, lists.conflict, matched.last().map_or(0, |last| last + 1)) {
        matched.extend(from..to);
    }
    if matched.is_empty() {
        return;
    }
    for (index, token) in reader.tokens.iter_mut().enumerate() {
        if matched.contains(&index) || token.is_in(lists.openers) {
            token.matched_as.get_or_insert(SpanKind::Intent);
        }
    }
}

fn has_any(reader: &PhraseReader<'_>, phrases: &[&'static str]) -> bool {
    phrase(reader, phrases, 0).is_some()
}

/// Returns the token range of the first matching phrase at or after `from`.
fn phrase(reader: &PhraseReader<'_>, phrases: &[&'static str], from: usize) -> Option<(usize, usize)> {
    let patterns: Vec<_> = phrases.iter().map(|phrase| pattern(phrase)).collect();
    let is_free = |index: &usize| {
        !matches!(reader.tokens[*index].matched_as, Some(SpanKind::Date | SpanKind::Time | SpanKind::Repeat))
    };
    (from..reader.tokens.len()).filter(is_free).find_map(|index| {
        let end = patterns.iter().find_map(|pattern| reader.match_pattern(pattern, index))?.1;
        Some((index, end))
    })
}
