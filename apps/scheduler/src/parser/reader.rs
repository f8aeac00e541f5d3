//! Reads the phrases of a sentence: from the left, the longest first, nothing twice.

use std::collections::BTreeMap;

use jiff::civil::{self, DateTime, Weekday};

use super::Part;
use super::days::{self, Days};
use super::hours::{self, Clock};
use super::lengths::{self, Length};
use super::pattern::{Pattern, Piece, What, is_near};
use super::sense::{Sense, Unit};
use super::token::{Kind, Token};
use super::words::Language;

/// What is needed to read a sentence.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// The sentence.
    pub(super) text: &'a str,
    /// The sentence, cut.
    pub(super) tokens: Vec<Token>,
    /// Its language.
    pub(super) language: &'static Language,
    /// What the clock on the family's wall shows.
    pub(super) now: DateTime,
    /// The first day of the family's weeks.
    pub(super) week_start: Weekday,
    /// What who speaks calls times of the day.
    pub(super) times: &'a BTreeMap<String, civil::Time>,
}

/// A phrase and what it means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    /// What it means.
    pub(super) sense: Sense,
    /// With what.
    pub(super) values: Vec<Value>,
    /// From which token.
    pub(super) from: usize,
    /// Until before which token.
    pub(super) to: usize,
}

/// What a slot of a pattern held.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Number(u32),
    Amount(f64),
    Unit(Unit),
    Weekdays(Vec<Weekday>),
    Month(i8),
    Nth(u32),
    Year(u32),
    /// Hour, minute, and whether the hour had two digits.
    Time(u32, u32, bool),
    Digits(Kind),
    Clock(Clock),
    Days(Days),
    Length(Length),
}

impl Reader<'_> {
    /// Reads all phrases and marks their tokens as read.
    pub(super) fn scan(&mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let Some(finding) = self.longest(at) else {
                at += 1;
                continue;
            };
            at = finding.to;
            let part = part(finding.sense);
            self.tokens[finding.from..finding.to].iter_mut().for_each(|token| token.read_as = Some(part));
            findings.push(finding);
        }
        findings
    }

    fn longest(&self, at: usize) -> Option<Finding> {
        let mut best: Option<Finding> = None;
        for (pattern, sense) in &self.language.phrases {
            let Some((values, to)) = self.fits(pattern, at) else { continue };
            if best.as_ref().is_none_or(|best| to > best.to) {
                best = Some(Finding { sense: *sense, values, from: at, to });
            }
        }
        best
    }

    /// The values of a pattern's slots and where it ends, if it fits here.
    pub(super) fn fits(&self, pattern: &Pattern, at: usize) -> Option<(Vec<Value>, usize)> {
        let mut values = Vec::new();
        let end = self.fit(pattern, at, &mut values)?;
        Some((values, end))
    }

    fn fit(&self, pieces: &[Piece], at: usize, values: &mut Vec<Value>) -> Option<usize> {
        let Some((piece, rest)) = pieces.split_first() else { return Some(at) };
        if let Some((value, next)) = self.piece(piece, at) {
            let before = values.len();
            values.extend(value);
            if let Some(end) = self.fit(rest, next, values) {
                return Some(end);
            }
            values.truncate(before);
        }
        if piece.is_optional { self.fit(rest, at, values) } else { None }
    }

    fn piece(&self, piece: &Piece, at: usize) -> Option<(Option<Value>, usize)> {
        let token = self.tokens.get(at)?;
        match &piece.what {
            What::Words(words) => self.is_word(token, words).then_some((None, at + 1)),
            What::Slot("clock") => hours::clock(self, at).map(|(clock, end)| (Some(Value::Clock(clock)), end)),
            What::Slot("t") => hours::clock_or_hour(self, at).map(|(clock, end)| (Some(Value::Clock(clock)), end)),
            What::Slot("date") => days::days(self, at).map(|(days, end)| (Some(Value::Days(days)), end)),
            What::Slot("feast") => days::feast(self, at).map(|(days, end)| (Some(Value::Days(days)), end)),
            // `January 6 to 10am` is no stretch of days.
            What::Slot("end") if hours::clock(self, at).is_some() => None,
            What::Slot("end") => self.slot("nth", token).map(|value| (Some(value), at + 1)),
            What::Slot("dur") => lengths::length(self, at).map(|(length, end)| (Some(Value::Length(length)), end)),
            What::Slot("hour") => hours::whole_hour(self, at).map(|(clock, end)| (Some(Value::Clock(clock)), end)),
            What::Slot("minutes") => self.spoken(at, |number| (10..60).contains(&number)),
            What::Slot("tens") => self.spoken(at, |number| matches!(number, 5 | 10 | 20 | 25)),
            What::Slot("days") => self.weekdays(at, false).map(|(days, end)| (Some(Value::Weekdays(days)), end)),
            What::Slot("weekdays") => self.weekdays(at, true).map(|(days, end)| (Some(Value::Weekdays(days)), end)),
            What::Slot(name) => self.slot(name, token).map(|value| (Some(value), at + 1)),
        }
    }

    fn is_word(&self, token: &Token, words: &[&str]) -> bool {
        token.is_in(words) || words.iter().any(|word| word.len() >= 6 && self.is_slip(token, word))
    }

    /// Whether a token is a word with a slip of one letter. What is a word of its own is none.
    pub(super) fn is_slip(&self, token: &Token, word: &str) -> bool {
        let is_same_letter = token.lower.chars().next() == word.chars().next();
        token.kind == Kind::Word
            && is_same_letter
            && token.lower.len() >= 5
            && !self.language.known.contains(token.lower.as_str())
            && is_near(&token.lower, word)
    }

    /// A slot of one token.
    fn slot(&self, name: &str, token: &Token) -> Option<Value> {
        let words = self.language.words;
        match (name, token.kind) {
            ("n", _) => self.number(token).map(Value::Number),
            ("amount", Kind::Dotted(whole, part, None)) => format!("{whole}.{part}").parse().ok().map(Value::Amount),
            ("amount", _) if token.is_in(words.articles) => Some(Value::Amount(1.0)),
            ("amount", _) => self.number(token).map(|number| Value::Amount(number.into())),
            ("unit", _) => named(words.units, &token.lower).map(Value::Unit),
            ("weekday", _) => self.weekday(token).map(|day| Value::Weekdays(vec![day])),
            ("month", _) => self.month(token).map(Value::Month),
            ("nth" | "ordinal" | "day", Kind::Ordinal(nth)) => Some(Value::Nth(nth)),
            ("nth" | "day", Kind::Integer(nth)) if (1..=31).contains(&nth) => Some(Value::Nth(nth)),
            ("nth", _) => named(words.ordinals, &token.lower).and_then(|nth| u32::try_from(nth).ok()).map(Value::Nth),
            ("place", Kind::Ordinal(nth)) => Some(Value::Nth(nth)).filter(|_| (1..=5).contains(&nth)),
            ("place", Kind::Word) => self.slot("nth", token),
            ("year", Kind::Integer(year)) if (1900..2200).contains(&year) => Some(Value::Year(year)),
            ("time", Kind::Time(hour, minute, is_whole)) => Some(Value::Time(hour, minute, is_whole)),
            ("dotted", Kind::Dotted(hour, minute, None)) => Some(Value::Time(hour, minute, false)),
            ("digits", kind @ (Kind::Iso(..) | Kind::Slashed(..) | Kind::Dotted(..))) => Some(Value::Digits(kind)),
            _ => None,
        }
    }

    /// The number that a token is.
    pub(super) fn number(&self, token: &Token) -> Option<u32> {
        match token.kind {
            Kind::Integer(number) => Some(number),
            Kind::Word => named(self.language.words.numbers, &token.lower),
            _ => None,
        }
    }

    /// A number in words, such as `forty-five`, if it will do.
    fn spoken(&self, at: usize, will_do: fn(u32) -> bool) -> Option<(Option<Value>, usize)> {
        let word = |at: usize| self.tokens.get(at).filter(|token| token.kind == Kind::Word);
        let number = |at: usize| word(at).and_then(|token| self.number(token));
        let first = number(at)?;
        let has_dash = self.tokens.get(at + 1).is_some_and(|token| token.kind == Kind::Sign('-'));
        let second = at + 1 + usize::from(has_dash);
        let ones = number(second).filter(|ones| first >= 20 && first % 10 == 0 && *ones < 10);
        let (number, end) = ones.map_or((first, at + 1), |ones| (first + ones, second + 1));
        will_do(number).then_some((Some(Value::Number(number)), end))
    }

    fn weekday(&self, token: &Token) -> Option<Weekday> {
        let names = self.language.words.weekdays;
        let exact = named(names, &token.lower);
        let slip = || names.iter().find(|(name, _)| name.len() >= 6 && self.is_slip(token, name)).map(|(_, day)| *day);
        Weekday::from_monday_one_offset(exact.or_else(slip)?).ok()
    }

    fn month(&self, token: &Token) -> Option<i8> {
        let names = self.language.words.months;
        let slip =
            || names.iter().find(|(name, _)| name.len() >= 6 && self.is_slip(token, name)).map(|(_, month)| *month);
        named(names, &token.lower).or_else(slip)
    }

    /// One or more days of the week: `monday, wednesday and friday`; the first in the plural if asked.
    fn weekdays(&self, from: usize, is_plural: bool) -> Option<(Vec<Weekday>, usize)> {
        let words = self.language.words;
        let plural = |token: &Token| {
            named(words.plurals, &token.lower).and_then(|day| Weekday::from_monday_one_offset(day).ok())
        };
        let any = |at: usize| {
            let token = self.tokens.get(at)?;
            plural(token).or_else(|| self.weekday(token))
        };
        if is_plural && self.tokens.get(from).and_then(plural).is_none() {
            return None;
        }
        let mut days = vec![any(from)?];
        let mut end = from + 1;
        loop {
            let mut at = end;
            while self.tokens.get(at).is_some_and(|token| token.is_in(words.ands)) {
                at += 1;
            }
            match any(at) {
                Some(day) if at > end => days.push(day),
                _ => return Some((days, end)),
            }
            end = at + 1;
        }
    }
}

/// What a table says of a word.
pub(super) fn named<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

fn part(sense: Sense) -> Part {
    match sense {
        Sense::Date | Sense::DateRange | Sense::DateOn | Sense::DateAfter | Sense::DateAhead => Part::Date,
        Sense::DayRange | Sense::DatePart(..) | Sense::TodayPart(..) => Part::Date,
        Sense::Part(..) | Sense::At | Sense::Range | Sense::Until | Sense::After | Sense::Before => Part::Time,
        Sense::AtBefore | Sense::AllDay => Part::Time,
        Sense::Length => Part::Length,
        Sense::Later | Sense::Earlier | Sense::By => Part::Change,
        Sense::Repeat(_)
        | Sense::RepeatPart(..)
        | Sense::Unclear
        | Sense::Times
        | Sense::UntilDate
        | Sense::UntilMonth
        | Sense::UntilMonthEnd => Part::Repeat,
        Sense::Matters(_) => Part::Priority,
        Sense::Moves(_) => Part::Flexibility,
        Sense::Which(_) => Part::Scope,
        Sense::Filler => Part::Filler,
    }
}
