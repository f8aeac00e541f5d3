//! Lexicons of the supported languages, and language detection.

// The tables are formatted in columns.
#[rustfmt::skip]
mod de;
#[rustfmt::skip]
mod en;
#[rustfmt::skip]
mod es;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::phrase_meaning::{ClockMeaning, DateMeaning, DurationMeaning, PhraseMeaning, TimeUnit, Verb, VerbModifier};
use super::phrase_pattern::{PhrasePattern, PieceKind, pattern, patterns};
use super::token::{Token, TokenKind};
use crate::models::EventType;

/// Lexicon of a language. Words are in lower case without accents.
#[derive(Debug)]
pub(super) struct Lexicon {
    /// Name of the language.
    pub(super) name: &'static str,
    /// Weekdays with abbreviations; 1 is Monday.
    pub(super) weekdays: &'static [(&'static str, i8)],
    /// Plurals of weekdays: `mondays`.
    pub(super) plurals: &'static [(&'static str, i8)],
    /// Months with abbreviations.
    pub(super) months: &'static [(&'static str, i8)],
    /// Cardinal numbers.
    pub(super) numbers: &'static [(&'static str, u32)],
    /// Ordinal numbers; -1 is the last.
    pub(super) ordinals: &'static [(&'static str, i8)],
    /// Units of time.
    pub(super) units: &'static [(&'static str, TimeUnit)],
    /// Indefinite articles, which mean the amount 1.
    pub(super) articles: &'static [&'static str],
    /// Separators of lists.
    pub(super) ands: &'static [&'static str],
    /// Parts of the day that are written in one word with the weekday.
    pub(super) day_parts: &'static [&'static str],
    /// True if `1/2` is January 2.
    pub(super) is_month_first: bool,
    /// Phrase patterns.
    pub(super) phrases: &'static [(&'static str, PhraseMeaning)],
    /// Date patterns.
    pub(super) dates: &'static [(&'static str, DateMeaning)],
    /// Patterns of holidays that also occur in titles.
    pub(super) holidays: &'static [(&'static str, DateMeaning)],
    /// Patterns of times of day.
    pub(super) clocks: &'static [(&'static str, ClockMeaning)],
    /// Duration patterns.
    pub(super) lengths: &'static [(&'static str, DurationMeaning)],
    /// Verb patterns.
    pub(super) verbs: &'static [Verb],
    /// Phrases in which a verb is a noun: `book club`. `...` stands for any words.
    pub(super) nouns: &'static [&'static str],
    /// Words that negate the following verb.
    pub(super) negations: &'static [&'static str],
    /// Words that may indicate a cancellation.
    pub(super) nots: &'static [&'static str],
    /// Verbs that are nouns after another noun.
    pub(super) ambiguous: &'static [&'static str],
    /// Words that begin a query.
    pub(super) openers: &'static [&'static str],
    /// Phrases that ask for a number of events.
    pub(super) counting: &'static [&'static str],
    /// Words that may begin a polite request.
    pub(super) polite: &'static [&'static str],
    /// Words that ask for availability.
    pub(super) availability: &'static [&'static str],
    /// Words that ask for conflicts.
    pub(super) conflict: &'static [&'static str],
    /// Those conflict words that ask for existing conflicts.
    pub(super) clashes: &'static [&'static str],
    /// Words for all members.
    pub(super) everyone: &'static [&'static str],
    /// Words for the children.
    pub(super) kids: &'static [&'static str],
    /// Words for the parents.
    pub(super) parents: &'static [&'static str],
    /// Words for the speaker.
    pub(super) me: &'static [&'static str],
    /// Words for the family including the speaker.
    pub(super) we: &'static [&'static str],
    /// Words before `me` that do not make the speaker a participant: `show me`.
    pub(super) show_verbs: &'static [&'static str],
    /// People outside of the family, who stay in the title.
    pub(super) outsiders: &'static [&'static str],
    /// Words before people.
    pub(super) before_people: &'static [&'static str],
    /// Words before resources.
    pub(super) before_resources: &'static [&'static str],
    /// Articles and possessives.
    pub(super) the: &'static [&'static str],
    /// Resources that families often share, to detect unknown ones.
    pub(super) shared_resources: &'static [&'static str],
    /// Words before the new time of a change.
    pub(super) targets: &'static [&'static str],
    /// Words before the old time of a change.
    pub(super) instead_of: &'static [&'static str],
    /// Recurrence words. If unmatched, the frequency is ambiguous.
    pub(super) loose: &'static [&'static str],
    /// Day words. If unmatched and no date was given, they may be the date.
    pub(super) day_words: &'static [&'static str],
    /// Words before a date or a day word that change its meaning: `Friday after Easter`, `before Friday`.
    pub(super) date_modifiers: &'static [&'static str],
    /// Words that form a time zone name with another word: `London time`.
    pub(super) zone_words: &'static [&'static str],
    /// Words that a title neither begins nor ends with.
    pub(super) stops: &'static [&'static str],
    /// Words that are no title on their own.
    pub(super) vague: &'static [&'static str],
    /// Words that occur in many titles.
    pub(super) common: &'static [&'static str],
    /// Synonyms in titles.
    pub(super) synonyms: &'static [(&'static str, &'static str)],
    /// Endings of words for events in the morning.
    pub(super) morning: &'static [&'static str],
    /// Endings of words for events in the evening.
    pub(super) evening: &'static [&'static str],
}

/// A lexicon with parsed patterns.
#[derive(Debug)]
pub(super) struct Language {
    /// Lexicon of the language.
    pub(super) words: &'static Lexicon,
    /// Phrase patterns.
    pub(super) phrases: Vec<(PhrasePattern, PhraseMeaning)>,
    /// Date patterns.
    pub(super) dates: Vec<(PhrasePattern, DateMeaning)>,
    /// Patterns of holidays that also occur in titles.
    pub(super) holidays: Vec<(PhrasePattern, DateMeaning)>,
    /// Patterns of times of day.
    pub(super) clocks: Vec<(PhrasePattern, ClockMeaning)>,
    /// Duration patterns.
    pub(super) lengths: Vec<(PhrasePattern, DurationMeaning)>,
    /// Verb patterns.
    pub(super) verbs: Vec<(PhrasePattern, &'static Verb)>,
    /// Phrases in which a verb is a noun.
    pub(super) nouns: Vec<(PhrasePattern, Option<&'static str>)>,
    /// All words of the patterns and lists, which are never treated as misspellings.
    pub(super) vocabulary: BTreeSet<&'static str>,
}

impl Language {
    fn new(words: &'static Lexicon) -> Self {
        let mut language = Self {
            words,
            phrases: patterns(words.phrases),
            dates: patterns(words.dates),
            holidays: patterns(words.holidays),
            clocks: patterns(words.clocks),
            lengths: patterns(words.lengths),
            verbs: words.verbs.iter().map(|verb| (pattern(verb.words), verb)).collect(),
            nouns: words.nouns.iter().map(|noun| gapped(noun)).collect(),
            vocabulary: BTreeSet::new(),
        };
        language.vocabulary = language.all_words();
        language
    }

    fn all_words(&self) -> BTreeSet<&'static str> {
        let words = self.words;
        let patterns =
            self.phrases.iter().map(|(pattern, _)| pattern).chain(self.dates.iter().map(|(pattern, _)| pattern));
        let patterns = patterns.chain(self.holidays.iter().map(|(pattern, _)| pattern));
        let patterns = patterns.chain(self.clocks.iter().map(|(pattern, _)| pattern));
        let patterns = patterns.chain(self.lengths.iter().map(|(pattern, _)| pattern));
        let mut vocabulary = BTreeSet::new();
        for piece in patterns.flatten() {
            if let PieceKind::Words(words) = &piece.kind {
                vocabulary.extend(words.iter().copied());
            }
        }
        vocabulary.extend(words.verbs.iter().flat_map(|verb| verb.words.split([' ', '|'])));
        let lists = [words.weekdays, words.plurals, words.months, words.ordinals];
        vocabulary.extend(lists.iter().flat_map(|list| list.iter().map(|(word, _)| *word)));
        vocabulary.extend(words.numbers.iter().map(|(word, _)| *word));
        vocabulary.extend(words.units.iter().map(|(word, _)| *word));
        let lists = [words.openers, words.everyone, words.stops, words.before_people, words.the, words.availability];
        vocabulary.extend(lists.iter().flat_map(|list| list.iter().copied()));
        vocabulary
    }

    /// Returns the total length of the tokens that are words of this language.
    fn weight(&self, tokens: &[Token]) -> usize {
        let is_known =
            |token: &Token| self.vocabulary.contains(token.lower.as_str()) || self.cut_one(token.clone()).len() > 1;
        let words = tokens.iter().filter(|token| token.kind == TokenKind::Word && is_known(token));
        words.map(|token| token.lower.len()).sum()
    }
}

/// Splits a noun phrase into its beginning and the word that must follow later.
fn gapped(noun: &'static str) -> (PhrasePattern, Option<&'static str>) {
    noun.split_once(" ... ").map_or_else(|| (pattern(noun), None), |(start, end)| (pattern(start), Some(end)))
}

static ENGLISH: LazyLock<Language> = LazyLock::new(|| Language::new(&en::WORDS));
static GERMAN: LazyLock<Language> = LazyLock::new(|| Language::new(&de::WORDS));
static SPANISH: LazyLock<Language> = LazyLock::new(|| Language::new(&es::WORDS));

/// Returns the language with the most known words in a sentence. Default: English.
pub(super) fn language(tokens: &[Token]) -> &'static Language {
    let mut best: &'static Language = &ENGLISH;
    for other in [&*GERMAN, &*SPANISH] {
        if other.weight(tokens) > best.weight(tokens) {
            best = other;
        }
    }
    best
}

impl Language {
    /// Splits compound words such as `Freitagabend`.
    pub(super) fn cut(&self, tokens: Vec<Token>) -> Vec<Token> {
        tokens.into_iter().flat_map(|token| self.cut_one(token)).collect()
    }

    fn cut_one(&self, token: Token) -> Vec<Token> {
        let is_part =
            |day: &str| token.lower.strip_prefix(day).is_some_and(|part| self.words.day_parts.contains(&part));
        let Some((day, _)) = self.words.weekdays.iter().find(|(day, _)| is_part(day)) else { return vec![token] };
        // Weekday names have no accents, so byte offsets in `lower` are valid in the original text.
        let middle = token.byte_range.0 + day.len();
        let first = Token { lower: (*day).to_owned(), byte_range: (token.byte_range.0, middle), ..token.clone() };
        let second =
            Token { lower: token.lower[day.len()..].to_owned(), byte_range: (middle, token.byte_range.1), ..token };
        vec![first, second]
    }
}

const fn verb(words: &'static str, intent: EventType, modifier: VerbModifier) -> Verb {
    Verb { words, tail: "", intent, modifier }
}

const fn verb_with(words: &'static str, tail: &'static str, intent: EventType, modifier: VerbModifier) -> Verb {
    Verb { words, tail, intent, modifier }
}
