//! The words of each language, and which language a sentence is in.

// Tables of words are read in columns.
#[rustfmt::skip]
mod de;
#[rustfmt::skip]
mod en;
#[rustfmt::skip]
mod es;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::pattern::{Pattern, What, pattern, patterns};
use super::sense::{ClockSense, DateSense, LengthSense, Sense, Unit, Verb, Way};
use super::token::{Kind, Token};
use crate::models::EventType;

/// The words of a language; small letters without accents.
#[derive(Debug)]
pub(super) struct Words {
    /// Its name.
    pub(super) name: &'static str,
    /// Days of the week, 1 for Monday, also short.
    pub(super) weekdays: &'static [(&'static str, i8)],
    /// Words for every such day: `mondays`.
    pub(super) plurals: &'static [(&'static str, i8)],
    /// Months, also short.
    pub(super) months: &'static [(&'static str, i8)],
    /// Numbers.
    pub(super) numbers: &'static [(&'static str, u32)],
    /// Places in a row; -1 is the last.
    pub(super) ordinals: &'static [(&'static str, i8)],
    /// Measures of time.
    pub(super) units: &'static [(&'static str, Unit)],
    /// Words for one of something.
    pub(super) articles: &'static [&'static str],
    /// Words between the parts of a list.
    pub(super) ands: &'static [&'static str],
    /// Parts of the day that are written in one word with the day of the week.
    pub(super) day_parts: &'static [&'static str],
    /// Whether `1/2` is the second of January.
    pub(super) is_month_first: bool,
    /// Phrases.
    pub(super) phrases: &'static [(&'static str, Sense)],
    /// Days.
    pub(super) dates: &'static [(&'static str, DateSense)],
    /// Days with a name that is part of many a title as well.
    pub(super) feasts: &'static [(&'static str, DateSense)],
    /// Times of the day.
    pub(super) clocks: &'static [(&'static str, ClockSense)],
    /// Lengths.
    pub(super) lengths: &'static [(&'static str, LengthSense)],
    /// Verbs of asking for something.
    pub(super) verbs: &'static [Verb],
    /// Phrases with which a verb is not meant as one: `book club`; `...` stands for any words.
    pub(super) nouns: &'static [&'static str],
    /// Words behind which a verb asks for nothing.
    pub(super) negations: &'static [&'static str],
    /// Words that may mean that something is not to be.
    pub(super) nots: &'static [&'static str],
    /// Verbs that are nouns as well: behind another noun they are one.
    pub(super) ambiguous: &'static [&'static str],
    /// Words with which a question begins.
    pub(super) openers: &'static [&'static str],
    /// Words that ask how many there are.
    pub(super) counting: &'static [&'static str],
    /// Words with which a polite request may begin.
    pub(super) polite: &'static [&'static str],
    /// Words that ask who is free.
    pub(super) availability: &'static [&'static str],
    /// Words that ask what is in the way.
    pub(super) conflict: &'static [&'static str],
    /// Of these, those that ask what is in each other's way already.
    pub(super) clashes: &'static [&'static str],
    /// Words for all members.
    pub(super) everyone: &'static [&'static str],
    /// Words for the children.
    pub(super) kids: &'static [&'static str],
    /// Words for the parents.
    pub(super) parents: &'static [&'static str],
    /// Words for who speaks.
    pub(super) me: &'static [&'static str],
    /// Words for who speaks and the family.
    pub(super) we: &'static [&'static str],
    /// Words before `me` with which nobody takes part: `show me`.
    pub(super) telling: &'static [&'static str],
    /// People who are not members: they stay in the title.
    pub(super) outsiders: &'static [&'static str],
    /// Words before people.
    pub(super) before_people: &'static [&'static str],
    /// Words before things.
    pub(super) before_things: &'static [&'static str],
    /// Articles and the like.
    pub(super) the: &'static [&'static str],
    /// Things that a family may share, to tell an unknown one.
    pub(super) things: &'static [&'static str],
    /// Words before the new time of a change.
    pub(super) targets: &'static [&'static str],
    /// Words after which the old time comes.
    pub(super) instead_of: &'static [&'static str],
    /// Words about when something repeats: where nothing reads them, it is not clear how often it is.
    pub(super) loose: &'static [&'static str],
    /// Words for days and stretches of days: where nothing reads them and no day was said, they may be the day.
    pub(super) day_words: &'static [&'static str],
    /// Words before such a word, or before a day, with which it is another day: `Friday after Easter`, `before Friday`.
    pub(super) around: &'static [&'static str],
    /// Words that a zone ends or begins with: `London time`.
    pub(super) zone_words: &'static [&'static str],
    /// Words that a title neither begins nor ends with.
    pub(super) stops: &'static [&'static str],
    /// Words that name nothing.
    pub(super) vague: &'static [&'static str],
    /// Words that many titles have.
    pub(super) common: &'static [&'static str],
    /// Words that mean the same in a title.
    pub(super) same: &'static [(&'static str, &'static str)],
    /// Endings of words for things that are in the morning.
    pub(super) morning: &'static [&'static str],
    /// Endings of words for things that are in the evening.
    pub(super) evening: &'static [&'static str],
}

/// A language, ready to read with.
#[derive(Debug)]
pub(super) struct Language {
    /// Its words.
    pub(super) words: &'static Words,
    /// Phrases.
    pub(super) phrases: Vec<(Pattern, Sense)>,
    /// Days.
    pub(super) dates: Vec<(Pattern, DateSense)>,
    /// Days with a name that is part of many a title as well.
    pub(super) feasts: Vec<(Pattern, DateSense)>,
    /// Times of the day.
    pub(super) clocks: Vec<(Pattern, ClockSense)>,
    /// Lengths.
    pub(super) lengths: Vec<(Pattern, LengthSense)>,
    /// Verbs of asking for something.
    pub(super) verbs: Vec<(Pattern, &'static Verb)>,
    /// Phrases with which a verb is not meant as one.
    pub(super) nouns: Vec<(Pattern, Option<&'static str>)>,
    /// Every word that means something, so that none is taken for a slip.
    pub(super) known: BTreeSet<&'static str>,
}

impl Language {
    fn new(words: &'static Words) -> Self {
        let mut language = Self {
            words,
            phrases: patterns(words.phrases),
            dates: patterns(words.dates),
            feasts: patterns(words.feasts),
            clocks: patterns(words.clocks),
            lengths: patterns(words.lengths),
            verbs: words.verbs.iter().map(|verb| (pattern(verb.words), verb)).collect(),
            nouns: words.nouns.iter().map(|noun| gapped(noun)).collect(),
            known: BTreeSet::new(),
        };
        language.known = language.all_words();
        language
    }

    fn all_words(&self) -> BTreeSet<&'static str> {
        let words = self.words;
        let patterns = self.phrases.iter().map(|(pattern, _)| pattern).chain(self.dates.iter().map(|(one, _)| one));
        let patterns = patterns.chain(self.feasts.iter().map(|(one, _)| one));
        let patterns = patterns.chain(self.clocks.iter().map(|(one, _)| one));
        let patterns = patterns.chain(self.lengths.iter().map(|(one, _)| one));
        let mut known = BTreeSet::new();
        for piece in patterns.flatten() {
            if let What::Words(words) = &piece.what {
                known.extend(words.iter().copied());
            }
        }
        known.extend(words.verbs.iter().flat_map(|verb| verb.words.split([' ', '|'])));
        let lists = [words.weekdays, words.plurals, words.months, words.ordinals];
        known.extend(lists.iter().flat_map(|list| list.iter().map(|(word, _)| *word)));
        known.extend(words.numbers.iter().map(|(word, _)| *word));
        known.extend(words.units.iter().map(|(word, _)| *word));
        let lists = [words.openers, words.everyone, words.stops, words.before_people, words.the, words.availability];
        known.extend(lists.iter().flat_map(|list| list.iter().copied()));
        known
    }

    /// How many of the words are of this language; longer ones tell more.
    fn weight(&self, tokens: &[Token]) -> usize {
        let is_known =
            |token: &Token| self.known.contains(token.lower.as_str()) || self.cut_one(token.clone()).len() > 1;
        let words = tokens.iter().filter(|token| token.kind == Kind::Word && is_known(token));
        words.map(|token| token.lower.len()).sum()
    }
}

/// What a phrase begins with, and the word that must come later.
fn gapped(noun: &'static str) -> (Pattern, Option<&'static str>) {
    noun.split_once(" ... ").map_or_else(|| (pattern(noun), None), |(start, end)| (pattern(start), Some(end)))
}

static ENGLISH: LazyLock<Language> = LazyLock::new(|| Language::new(&en::WORDS));
static GERMAN: LazyLock<Language> = LazyLock::new(|| Language::new(&de::WORDS));
static SPANISH: LazyLock<Language> = LazyLock::new(|| Language::new(&es::WORDS));

/// The language that most words of a sentence are of; English when there is no telling.
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
    /// Cuts words such as `Freitagabend` in two.
    pub(super) fn cut(&self, tokens: Vec<Token>) -> Vec<Token> {
        tokens.into_iter().flat_map(|token| self.cut_one(token)).collect()
    }

    fn cut_one(&self, token: Token) -> Vec<Token> {
        let is_part =
            |day: &str| token.lower.strip_prefix(day).is_some_and(|part| self.words.day_parts.contains(&part));
        let Some((day, _)) = self.words.weekdays.iter().find(|(day, _)| is_part(day)) else { return vec![token] };
        // Days of the week have no accents, so their letters are bytes.
        let middle = token.place.0 + day.len();
        let first = Token { lower: (*day).to_owned(), place: (token.place.0, middle), ..token.clone() };
        let second = Token { lower: token.lower[day.len()..].to_owned(), place: (middle, token.place.1), ..token };
        vec![first, second]
    }
}

const fn verb(words: &'static str, intent: EventType, way: Way) -> Verb {
    Verb { words, tail: "", intent, way }
}

const fn verb_with(words: &'static str, tail: &'static str, intent: EventType, way: Way) -> Verb {
    Verb { words, tail, intent, way }
}
