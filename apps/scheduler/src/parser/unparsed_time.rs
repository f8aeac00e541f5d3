//! Detects time words that no pattern matched. They would otherwise become part of the title, and the event would
//! be at a wrong time.

use super::SpanKind;
use super::phrase_meaning::PhraseMeaning;
use super::phrase_reader::{PhraseMatch, PhraseReader};
use super::token::{Token, TokenKind, tokens};

/// Time zone abbreviations, in all languages.
const ZONE_ABBREVIATIONS: [&str; 17] = [
    "utc", "gmt", "bst", "wet", "cet", "cest", "eet", "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "jst",
    "ist",
];

/// Time zone names that also occur in titles: `CT scan`, `mountain biking`.
const AMBIGUOUS_ZONES: [&str; 8] = ["pt", "et", "ct", "mt", "pacific", "eastern", "central", "mountain"];

/// Returns the question about unmatched time words of a new event.
pub(super) fn for_new_event(
    reader: &PhraseReader<'_>,
    findings: &[PhraseMatch],
    (has_date, has_time): (bool, bool),
) -> Option<String> {
    let is_unmatched_time = |index: usize| {
        let is_day =
            is_day_word(reader, index) && (!has_date || is_around(reader, index)) || is_before_day(reader, index);
        is_zone(reader, index) || is_number(reader, index, has_time) || is_day
    };
    let end = || end_without_recurrence(findings).map(|end| clarification_question(reader, end.from, end.to));
    recurrence_question(reader, findings).or_else(end).or_else(|| first_question(reader, is_unmatched_time))
}

/// Returns the question about unmatched time words of a change. Numbers and day names may be part of the title of
/// the event.
pub(super) fn for_modification(reader: &PhraseReader<'_>, findings: &[PhraseMatch], titles: &[&str]) -> Option<String> {
    let titles: Vec<Token> = titles.iter().flat_map(|title| tokens(title)).collect();
    let is_in_title = |index: usize| titles.iter().any(|word| word.lower == reader.tokens[index].lower);
    let is_unmatched_time = |index: usize| is_zone(reader, index) || is_day_word(reader, index);
    recurrence_question(reader, findings)
        .or_else(|| first_question(reader, |index| is_unmatched_time(index) && !is_in_title(index)))
}

/// Returns the question about an ambiguous frequency.
fn recurrence_question(reader: &PhraseReader<'_>, findings: &[PhraseMatch]) -> Option<String> {
    let unclear = findings.iter().find(|finding| finding.meaning == PhraseMeaning::Unclear);
    let left = || first_question(reader, |index| is_recurrence_word(reader, index));
    unclear.map(|unclear| clarification_question(reader, unclear.from, unclear.to)).or_else(left)
}

/// Finds a count or an end date without a recurrence: `three times at 9am`.
fn end_without_recurrence(findings: &[PhraseMatch]) -> Option<&PhraseMatch> {
    let repeats =
        |finding: &PhraseMatch| matches!(finding.meaning, PhraseMeaning::Repeat(_) | PhraseMeaning::RepeatPart(..));
    let is_end = |finding: &&PhraseMatch| {
        matches!(
            finding.meaning,
            PhraseMeaning::Times | PhraseMeaning::UntilDate | PhraseMeaning::UntilMonth | PhraseMeaning::UntilMonthEnd
        )
    };
    findings.iter().find(is_end).filter(|_| !findings.iter().any(repeats))
}

/// Returns the question about the first token for which `is_unparsed` is true.
fn first_question(reader: &PhraseReader<'_>, is_unparsed: impl Fn(usize) -> bool) -> Option<String> {
    (0..reader.tokens.len())
        .find(|index| is_unparsed(*index))
        .map(|index| clarification_question(reader, index, index + 1))
}

fn clarification_question(reader: &PhraseReader<'_>, from: usize, to: usize) -> String {
    let (start, end) = (reader.tokens[from].byte_range.0, reader.tokens[to - 1].byte_range.1);
    format!("What do you mean by “{}”?", &reader.text[start..end])
}

/// Returns true for `every`, `except` and similar words.
fn is_recurrence_word(reader: &PhraseReader<'_>, index: usize) -> bool {
    reader.tokens[index].is_unmatched() && reader.tokens[index].is_in(reader.language.words.loose)
}

/// Returns true for day words: `Christmas dinner`, `the end of the month`, `early December`.
fn is_day_word(reader: &PhraseReader<'_>, index: usize) -> bool {
    let (token, lists) = (&reader.tokens[index], reader.language.words);
    let is_month = || token.kind == TokenKind::Word && lists.months.iter().any(|(month, _)| *month == token.lower);
    token.is_unmatched() && (token.is_in(lists.day_words) || is_month())
}

/// Returns true if the word before a day word changes its meaning: `Friday after Easter`.
fn is_around(reader: &PhraseReader<'_>, index: usize) -> bool {
    let lists = reader.language.words;
    let before = reader.tokens[..index].iter().rev().find(|token| !token.is_in(lists.the));
    before.is_some_and(|before| before.is_unmatched() && before.is_in(lists.date_modifiers))
}

/// Returns true for a word that excludes the following date: `Before Friday` is not on Friday.
fn is_before_day(reader: &PhraseReader<'_>, index: usize) -> bool {
    let (token, next) = (&reader.tokens[index], reader.tokens.get(index + 1));
    let is_day = next.is_some_and(|next| next.matched_as == Some(SpanKind::Date));
    token.is_unmatched() && token.is_in(reader.language.words.date_modifiers) && is_day
}

/// Returns true for a time zone: `3pm EST`, `3pm London time`.
fn is_zone(reader: &PhraseReader<'_>, index: usize) -> bool {
    let (token, lists) = (&reader.tokens[index], reader.language.words);
    let follows_name = || index > 0 && reader.tokens[index - 1].is_unmatched() && follows_time(reader, index - 1);
    let is_word = || token.is_in(lists.zone_words) && (follows_time(reader, index) || follows_name());
    let next = reader.tokens.get(index + 1);
    let continues =
        || next.is_some_and(|next| next.is_unmatched() && !next.is_in(lists.stops) && !next.is_in(lists.zone_words));
    let is_name = token.is_in(&ZONE_ABBREVIATIONS) || token.is_in(&AMBIGUOUS_ZONES) && !continues();
    token.is_unmatched() && (is_name && follows_time(reader, index) || is_word())
}

/// Returns true for a number that may belong to the time: directly after a time, after a date and `and`, or in a new
/// event without a time. Other numbers are part of the title: `grade 5 concert at 3pm`.
fn is_number(reader: &PhraseReader<'_>, index: usize, has_time: bool) -> bool {
    let token = &reader.tokens[index];
    let lists = reader.language.words;
    let is_vague = token.is_in(lists.articles) || token.is_in(lists.stops) || token.is_in(lists.vague);
    let is_year = |number: u32| (1900..2200).contains(&number);
    let may_be_time = match token.kind {
        TokenKind::Integer(number) => !is_year(number),
        TokenKind::Time(..) | TokenKind::Dotted(..) => true,
        _ => false,
    };
    let is_number = may_be_time || reader.number(token).is_some();
    let may_be_day = matches!(token.kind, TokenKind::Integer(1..=31) | TokenKind::Ordinal(_));
    let may_belong_to_time = !has_time && may_be_time || is_number && follows_time(reader, index);
    token.is_unmatched() && !is_vague && (may_belong_to_time || may_be_day && is_another_day(reader, index))
}

/// Returns true if a date and a list separator precede the token: `January 12 and 14`.
fn is_another_day(reader: &PhraseReader<'_>, index: usize) -> bool {
    let lists = reader.language.words;
    let is_between = |token: &&Token| token.matched_as.is_none() && (token.is_in(lists.ands) || token.is_in(lists.the));
    let between = reader.tokens[..index].iter().rev().take_while(is_between).count();
    let before = index.checked_sub(between + 1).map(|before| &reader.tokens[before]);
    between > 0 && before.is_some_and(|before| before.matched_as == Some(SpanKind::Date))
}

/// Returns true if a time of day ends directly before the token, ignoring a dash.
fn follows_time(reader: &PhraseReader<'_>, index: usize) -> bool {
    let is_dash = |token: &&Token| token.matched_as.is_none() && token.kind == TokenKind::Sign('-');
    let before = reader.tokens[..index].iter().rev().find(|token| !is_dash(token));
    before.is_some_and(|token| token.matched_as == Some(SpanKind::Time))
}
