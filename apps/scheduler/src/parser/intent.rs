//! What is wanted: something new, a change, that something is not, or to know something.

use std::ops::Range;

use super::Part;
use super::pattern::pattern;
use super::reader::{Finding, Reader};
use super::sense::{Sense, Verb, Way};
use super::token::{Kind, Token};
use crate::models::{EventType, QueryType};

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Intent {
    /// What.
    pub(super) wanted: EventType,
    /// What more the verb says.
    pub(super) way: Way,
    /// Whether words say so, rather than the lack of other words.
    pub(super) is_said: bool,
    /// Whether the sentence says what is not wanted: `don't cancel`.
    pub(super) is_negated: bool,
    /// Where the verb is.
    pub(super) verb: Range<usize>,
}

impl Intent {
    /// Whether a mere `not` was taken for a cancellation.
    pub(super) fn is_weak_no(&self) -> bool {
        self.way == Way::Weak && !self.is_said
    }
}

/// Finds what is wanted and marks the verb as read.
pub(super) fn intent(reader: &mut Reader<'_>, findings: &[Finding]) -> Intent {
    let found = find(reader, findings);
    reader.tokens[found.verb.clone()].iter_mut().for_each(|token| {
        token.read_as.get_or_insert(Part::Intent);
    });
    found
}

fn find(reader: &Reader<'_>, findings: &[Finding]) -> Intent {
    let said = |wanted, way, verb| Intent { wanted, way, is_said: true, is_negated: false, verb };
    let lists = reader.language.words;
    let is_asked = reader.tokens.last().is_some_and(|token| token.kind == Kind::Sign('?'));
    let first = reader.tokens.iter().position(|token| token.kind == Kind::Word && !token.is_in(lists.polite));
    if let Some(at) = first
        && is_opener(reader, at, is_asked)
    {
        return said(EventType::Query, Way::Plain, at..opener_end(reader, at));
    }
    if let Some((verb, place)) = verb(reader) {
        return said(verb.intent, verb.way, place);
    }
    let moves = |finding: &Finding| matches!(finding.sense, Sense::Later | Sense::Earlier);
    if findings.iter().any(moves) {
        return said(EventType::Modify, Way::Plain, 0..0);
    }
    if is_asked {
        return said(EventType::Query, Way::Plain, 0..0);
    }
    if first.is_some_and(|at| matches!(reader.tokens[at].lower.as_str(), "no" | "kein" | "keine")) {
        let at = first.unwrap_or(0);
        return said(EventType::Cancel, Way::Plain, at..at + 1);
    }
    let is_negated = (0..reader.tokens.len()).any(|at| is_negated(reader, at) && !verbs_at(reader, at).is_empty());
    let is_no = |token: &Token| token.read_as.is_none() && token.is_in(lists.nots);
    // `Emma isn't going swimming`: whether that is a cancellation has to be asked.
    if let (false, Some(at)) = (is_negated, reader.tokens.iter().position(is_no)) {
        let verb = at..at + 1;
        return Intent { wanted: EventType::Cancel, way: Way::Weak, is_said: false, is_negated: false, verb };
    }
    Intent { wanted: EventType::Create, way: Way::Plain, is_said: false, is_negated, verb: 0..0 }
}

/// Whether a question begins here. `do`, `have` and `will` may as well begin something else.
fn is_opener(reader: &Reader<'_>, at: usize, is_asked: bool) -> bool {
    let lists = reader.language.words;
    let token = &reader.tokens[at];
    if !token.is_in(lists.openers) || token.read_as.is_some() {
        return false;
    }
    let is_person = |next: &Token| next.is_in(lists.me) || next.is_in(lists.we) || next.is_in(&["you", "they"]);
    let next_is_person = reader.tokens.get(at + 1).is_some_and(is_person);
    !matches!(token.lower.as_str(), "do" | "have" | "has" | "will" | "es" | "que") || is_asked || next_is_person
}

/// Where the opener ends: `how many events` says no more of what is asked about than `what` does.
fn opener_end(reader: &Reader<'_>, at: usize) -> usize {
    let ends = reader.language.words.counting.iter().filter_map(|one| Some(reader.fits(&pattern(one), at)?.1));
    ends.max().unwrap_or(at + 1)
}

/// The first verb, the longest where several begin; `move` before `instead` at the end.
fn verb(reader: &Reader<'_>) -> Option<(&'static Verb, Range<usize>)> {
    let mut places = (0..reader.tokens.len()).filter(|at| !is_noun(reader, *at) && !is_negated(reader, *at));
    // A tail says more than none.
    places.find_map(|at| verbs_at(reader, at).into_iter().max_by_key(|(verb, place)| (place.end, verb.tail.len())))
}

fn verbs_at(reader: &Reader<'_>, at: usize) -> Vec<(&'static Verb, Range<usize>)> {
    // Only the first word may have a slip; further on `maestra` would be `muestra`.
    let before = &reader.tokens[..at];
    let is_first = before.iter().all(|token| !token.is_left() || token.is_in(reader.language.words.polite));
    if !is_first && !reader.language.known.contains(reader.tokens[at].lower.as_str()) {
        return Vec::new();
    }
    let fits = reader.language.verbs.iter().filter_map(|(pattern, verb)| {
        let (_, end) = reader.fits(pattern, at)?;
        let has_tail = verb.tail.is_empty() || reader.tokens[end..].iter().any(|token| token.lower == verb.tail);
        has_tail.then_some((*verb, at..end))
    });
    fits.collect()
}

/// Whether the word before says that this is not wanted.
fn is_negated(reader: &Reader<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| reader.tokens.get(before));
    before.is_some_and(|before| before.is_in(reader.language.words.negations))
}

/// Whether a word that looks like a verb is none: `book club`, `the oil change`, `can't be moved`.
fn is_noun(reader: &Reader<'_>, at: usize) -> bool {
    let (token, lists) = (&reader.tokens[at], reader.language.words);
    let is_read = matches!(token.read_as, Some(Part::Flexibility | Part::Priority | Part::Date | Part::Length));
    let is_owner = token.is_owner && !token.is_in(&["let", "there"]);
    let is_phrase = reader.language.nouns.iter().any(|(noun, later)| {
        let end = reader.fits(noun, at).map(|(_, end)| end);
        let comes =
            |end: usize| later.is_none_or(|later| reader.tokens[end..].iter().any(|token| token.lower == later));
        end.is_some_and(comes)
    });
    let is_behind_noun = || {
        let before = at.checked_sub(1).and_then(|before| reader.tokens.get(before));
        before.is_some_and(|before| {
            let is_content = before.is_left() && !before.is_in(lists.stops) && !before.is_in(lists.polite);
            is_content || before.is_in(lists.the) || (before.is_owner && before.lower != "let")
        })
    };
    is_read || is_owner || is_phrase || (token.is_in(lists.ambiguous) && is_behind_noun())
}

/// What a question asks for, and whether its words say so.
pub(super) fn query(reader: &Reader<'_>, intent: &Intent, has_thing: bool) -> (QueryType, bool) {
    let lists = reader.language.words;
    if has_any(reader, lists.conflict) {
        return (QueryType::ConflictCheck, true);
    }
    if has_thing {
        return (QueryType::ResourceStatus, true);
    }
    let can = ["when can", "wann kann", "wann konnen", "cuando puede", "cuando pueden"];
    if has_any(reader, lists.availability) || has_any(reader, &can) {
        return (QueryType::Availability, true);
    }
    (QueryType::EventLookup, !intent.verb.is_empty())
}

/// Whether a question asks what is in each other's way: `Are there any conflicts?`
pub(super) fn asks_for_clashes(reader: &Reader<'_>) -> bool {
    has_any(reader, reader.language.words.clashes)
}

/// Reads the words that ask whether something fits: they say nothing of what it is.
pub(super) fn read_fitting(reader: &mut Reader<'_>) {
    let lists = reader.language.words;
    let mut asked = Vec::new();
    while let Some((from, to)) = phrase(reader, lists.conflict, asked.last().map_or(0, |last| last + 1)) {
        asked.extend(from..to);
    }
    if asked.is_empty() {
        return;
    }
    for (at, token) in reader.tokens.iter_mut().enumerate() {
        if asked.contains(&at) || token.is_in(lists.openers) {
            token.read_as.get_or_insert(Part::Intent);
        }
    }
}

fn has_any(reader: &Reader<'_>, phrases: &[&'static str]) -> bool {
    phrase(reader, phrases, 0).is_some()
}

/// Where the first of some phrases is, from a token on.
fn phrase(reader: &Reader<'_>, phrases: &[&'static str], from: usize) -> Option<(usize, usize)> {
    let patterns: Vec<_> = phrases.iter().map(|phrase| pattern(phrase)).collect();
    let is_free = |at: &usize| !matches!(reader.tokens[*at].read_as, Some(Part::Date | Part::Time | Part::Repeat));
    (from..reader.tokens.len()).filter(is_free).find_map(|at| {
        let end = patterns.iter().find_map(|pattern| reader.fits(pattern, at))?.1;
        Some((at, end))
    })
}
