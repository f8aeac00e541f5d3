//! Matches the phrases of a sentence from left to right, longest first. No token is matched twice.

use std::collections::BTreeMap;

use jiff::civil::{self, DateTime, Weekday};

use super::SpanKind;
use super::clock_time::{self, ClockTime};
use super::dates::{self, DateRange};
use super::durations::{self, SpokenDuration};
use super::lexicon::Language;
use super::phrase_meaning::{PhraseMeaning, TimeUnit};
use super::phrase_pattern::{PatternPiece, PhrasePattern, PieceKind, is_near};
use super::token::{Token, TokenKind};

/// A tokenised sentence and the context needed to match phrases.
#[derive(Debug)]
pub(super) struct PhraseReader<'a> {
    /// The sentence.
    pub(super) text: &'a str,
    /// The tokens of the sentence.
    pub(super) tokens: Vec<Token>,
    /// Language of the sentence.
    pub(super) language: &'static Language,
    /// Current local time of the family.
    pub(super) now: DateTime,
    /// First day of the week of the family.
    pub(super) week_start: Weekday,
    /// Named times of day, such as `after school`.
    pub(super) times: &'a BTreeMap<String, civil::Time>,
}

/// A matched phrase.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PhraseMatch {
    /// Meaning of the phrase.
    pub(super) meaning: PhraseMeaning,
    /// Values of the slots.
    pub(super) values: Vec<SlotValue>,
    /// Index of the first token.
    pub(super) from: usize,
    /// Index after the last token.
    pub(super) to: usize,
}

/// Value of a slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SlotValue {
    Number(u32),
    Amount(f64),
    Unit(TimeUnit),
    Weekdays(Vec<Weekday>),
    Month(i8),
    Nth(u32),
    Year(u32),
    /// Hour, minute, and true if the hour has two digits.
    Time(u32, u32, bool),
    Digits(TokenKind),
    Clock(ClockTime),
    Days(DateRange),
    Length(SpokenDuration),
}

impl PhraseReader<'_> {
    /// Matches all phrases and marks their tokens.
    pub(super) fn scan(&mut self) -> Vec<PhraseMatch> {
        let mut findings = Vec::new();
        let mut token_index = 0;
        while token_index < self.tokens.len() {
            let Some(finding) = self.longest_match(token_index) else {
                token_index += 1;
                continue;
            };
            token_index = finding.to;
            let part = span_kind(finding.meaning);
            self.tokens[finding.from..finding.to].iter_mut().for_each(|token| token.matched_as = Some(part));
            findings.push(finding);
        }
        findings
    }

    fn longest_match(&self, token_index: usize) -> Option<PhraseMatch> {
        let mut best: Option<PhraseMatch> = None;
        for (pattern, meaning) in &self.language.phrases {
            let Some((values, to)) = self.match_pattern(pattern, token_index) else { continue };
            if best.as_ref().is_none_or(|best| to > best.to) {
                best = Some(PhraseMatch { meaning: *meaning, values, from: token_index, to });
            }
        }
        best
    }

    /// Matches a pattern at a token. Returns the values of its slots and the index after the match.
    pub(super) fn match_pattern(&self, pattern: &PhrasePattern, token_index: usize) -> Option<(Vec<SlotValue>, usize)> {
        let mut values = Vec::new();
        let end = self.match_pieces(pattern, token_index, &mut values)?;
        Some((values, end))
    }

    fn match_pieces(&self, pieces: &[PatternPiece], token_index: usize, values: &mut Vec<SlotValue>) -> Option<usize> {
        let Some((piece, rest)) = pieces.split_first() else { return Some(token_index) };
        if let Some((value, next)) = self.match_piece(piece, token_index) {
            let before = values.len();
            values.extend(value);
            if let Some(end) = self.match_pieces(rest, next, values) {
                return Some(end);
            }
            values.truncate(before);
        }
        if piece.is_optional { self.match_pieces(rest, token_index, values) } else { None }
    }

    fn match_piece(&self, piece: &PatternPiece, token_index: usize) -> Option<(Option<SlotValue>, usize)> {
        let token = self.tokens.get(token_index)?;
        match &piece.kind {
            PieceKind::Words(words) => self.is_word(token, words).then_some((None, token_index + 1)),
            PieceKind::Slot("clock") => {
                clock_time::clock(self, token_index).map(|(clock, end)| (Some(SlotValue::Clock(clock)), end))
            }
            PieceKind::Slot("t") => {
                clock_time::clock_or_hour(self, token_index).map(|(clock, end)| (Some(SlotValue::Clock(clock)), end))
            }
            PieceKind::Slot("date") => {
                dates::days(self, token_index).map(|(days, end)| (Some(SlotValue::Days(days)), end))
            }
            PieceKind::Slot("holiday") => {
                dates::named_holiday(self, token_index).map(|(days, end)| (Some(SlotValue::Days(days)), end))
            }
            // `January 6 to 10am` is not a range of dates.
            PieceKind::Slot("end") if clock_time::clock(self, token_index).is_some() => None,
            PieceKind::Slot("end") => self.slot("nth", token).map(|value| (Some(value), token_index + 1)),
            PieceKind::Slot("dur") => {
                durations::length(self, token_index).map(|(length, end)| (Some(SlotValue::Length(length)), end))
            }
            PieceKind::Slot("hour") => {
                clock_time::whole_hour(self, token_index).map(|(clock, end)| (Some(SlotValue::Clock(clock)), end))
            }
            PieceKind::Slot("minutes") => self.spelled_out_number(token_index, |number| (10..60).contains(&number)),
            PieceKind::Slot("tens") => {
                self.spelled_out_number(token_index, |number| matches!(number, 5 | 10 | 20 | 25))
            }
            PieceKind::Slot("days") => {
                self.weekdays(token_index, false).map(|(days, end)| (Some(SlotValue::Weekdays(days)), end))
            }
            PieceKind::Slot("weekdays") => {
                self.weekdays(token_index, true).map(|(days, end)| (Some(SlotValue::Weekdays(days)), end))
            }
            PieceKind::Slot(name) => self.slot(name, token).map(|value| (Some(value), token_index + 1)),
        }
    }

    fn is_word(&self, token: &Token, words: &[&str]) -> bool {
        token.is_in(words) || words.iter().any(|word| word.len() >= 6 && self.is_typo(token, word))
    }

    /// Returns true if a token is a misspelling of a word by one letter. Known words are never treated as misspellings.
    pub(super) fn is_typo(&self, token: &Token, word: &str) -> bool {
        let is_same_letter = token.lower.chars().next() == word.chars().next();
        token.kind == TokenKind::Word
            && is_same_letter
            && token.lower.len() >= 5
            && !self.language.vocabulary.contains(token.lower.as_str())
            && is_near(&token.lower, word)
    }

    /// Matches a slot of one token.
    fn slot(&self, name: &str, token: &Token) -> Option<SlotValue> {
        let words = self.language.words;
        match (name, token.kind) {
            ("n", _) => self.number(token).map(SlotValue::Number),
            ("amount", TokenKind::Dotted(integer, part, None)) => {
                format!("{integer}.{part}").parse().ok().map(SlotValue::Amount)
            }
            ("amount", _) if token.is_in(words.articles) => Some(SlotValue::Amount(1.0)),
            ("amount", _) => self.number(token).map(|number| SlotValue::Amount(number.into())),
            ("unit", _) => lookup(words.units, &token.lower).map(SlotValue::Unit),
            ("weekday", _) => self.weekday(token).map(|day| SlotValue::Weekdays(vec![day])),
            ("month", _) => self.month(token).map(SlotValue::Month),
            ("nth" | "ordinal" | "day", TokenKind::Ordinal(nth)) => Some(SlotValue::Nth(nth)),
            ("nth" | "day", TokenKind::Integer(nth)) if (1..=31).contains(&nth) => Some(SlotValue::Nth(nth)),
            ("nth", _) => {
                lookup(words.ordinals, &token.lower).and_then(|nth| u32::try_from(nth).ok()).map(SlotValue::Nth)
            }
            ("weekday_ordinal", TokenKind::Ordinal(nth)) => {
                Some(SlotValue::Nth(nth)).filter(|_| (1..=5).contains(&nth))
            }
            ("weekday_ordinal", TokenKind::Word) => self.slot("nth", token),
            ("year", TokenKind::Integer(year)) if (1900..2200).contains(&year) => Some(SlotValue::Year(year)),
            ("time", TokenKind::Time(hour, minute, is_whole)) => Some(SlotValue::Time(hour, minute, is_whole)),
            ("dotted", TokenKind::Dotted(hour, minute, None)) => Some(SlotValue::Time(hour, minute, false)),
            ("digits", kind @ (TokenKind::Iso(..) | TokenKind::Slashed(..) | TokenKind::Dotted(..))) => {
                Some(SlotValue::Digits(kind))
            }
            _ => None,
        }
    }

    /// Returns the number that a token represents.
    pub(super) fn number(&self, token: &Token) -> Option<u32> {
        match token.kind {
            TokenKind::Integer(number) => Some(number),
            TokenKind::Word => lookup(self.language.words.numbers, &token.lower),
            _ => None,
        }
    }

    /// Matches a number in words, such as `forty-five`, that `accepts` accepts.
    fn spelled_out_number(&self, token_index: usize, accepts: fn(u32) -> bool) -> Option<(Option<SlotValue>, usize)> {
        let word = |token_index: usize| self.tokens.get(token_index).filter(|token| token.kind == TokenKind::Word);
        let number = |token_index: usize| word(token_index).and_then(|token| self.number(token));
        let first = number(token_index)?;
        let has_dash = self.tokens.get(token_index + 1).is_some_and(|token| token.kind == TokenKind::Sign('-'));
        let second = token_index + 1 + usize::from(has_dash);
        let ones = number(second).filter(|ones| first >= 20 && first % 10 == 0 && *ones < 10);
        let (number, end) = ones.map_or((first, token_index + 1), |ones| (first + ones, second + 1));
        accepts(number).then_some((Some(SlotValue::Number(number)), end))
    }

    fn weekday(&self, token: &Token) -> Option<Weekday> {
        let names = self.language.words.weekdays;
        let exact = lookup(names, &token.lower);
        let misspelled =
            || names.iter().find(|(name, _)| name.len() >= 6 && self.is_typo(token, name)).map(|(_, day)| *day);
        Weekday::from_monday_one_offset(exact.or_else(misspelled)?).ok()
    }

    fn month(&self, token: &Token) -> Option<i8> {
        let names = self.language.words.months;
        let misspelled =
            || names.iter().find(|(name, _)| name.len() >= 6 && self.is_typo(token, name)).map(|(_, month)| *month);
        lookup(names, &token.lower).or_else(misspelled)
    }

    /// Matches one or more weekdays: `monday, wednesday and friday`. If `is_plural`, the first must be a plural.
    fn weekdays(&self, from: usize, is_plural: bool) -> Option<(Vec<Weekday>, usize)> {
        let words = self.language.words;
        let plural = |token: &Token| {
            lookup(words.plurals, &token.lower).and_then(|day| Weekday::from_monday_one_offset(day).ok())
        };
        let any = |token_index: usize| {
            let token = self.tokens.get(token_index)?;
            plural(token).or_else(|| self.weekday(token))
        };
        if is_plural && self.tokens.get(from).and_then(plural).is_none() {
            return None;
        }
        let mut days = vec![any(from)?];
        let mut end = from + 1;
        loop {
            let mut token_index = end;
            while self.tokens.get(token_index).is_some_and(|token| token.is_in(words.ands)) {
                token_index += 1;
            }
            match any(token_index) {
                Some(day) if token_index > end => days.push(day),
                _ => return Some((days, end)),
            }
            end = token_index + 1;
        }
    }
}

/// Looks up a word in a table.
pub(super) fn lookup<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

fn span_kind(meaning: PhraseMeaning) -> SpanKind {
    match meaning {
        PhraseMeaning::Date
        | PhraseMeaning::DateRange
        | PhraseMeaning::DateOn
        | PhraseMeaning::DateAfter
        | PhraseMeaning::DateOffset => SpanKind::Date,
        PhraseMeaning::DayRange | PhraseMeaning::DatePart(..) | PhraseMeaning::TodayPart(..) => SpanKind::Date,
        PhraseMeaning::PartOfDay(..)
        | PhraseMeaning::At
        | PhraseMeaning::Range
        | PhraseMeaning::Until
        | PhraseMeaning::After
        | PhraseMeaning::Before => SpanKind::Time,
        PhraseMeaning::AtBefore | PhraseMeaning::AllDay => SpanKind::Time,
        PhraseMeaning::Length => SpanKind::Length,
        PhraseMeaning::Later | PhraseMeaning::Earlier | PhraseMeaning::By => SpanKind::Change,
        PhraseMeaning::Repeat(_)
        | PhraseMeaning::RepeatPart(..)
        | PhraseMeaning::Unclear
        | PhraseMeaning::Times
        | PhraseMeaning::UntilDate
        | PhraseMeaning::UntilMonth
        | PhraseMeaning::UntilMonthEnd => SpanKind::Repeat,
        PhraseMeaning::Priority(_) => SpanKind::Priority,
        PhraseMeaning::Flexibility(_) => SpanKind::Flexibility,
        PhraseMeaning::Scope(_) => SpanKind::Scope,
        PhraseMeaning::Filler => SpanKind::Filler,
    }
}
