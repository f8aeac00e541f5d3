//! Lexicon of the data: maps words to tables, columns, stored values and synonyms.
//!
//! Longer phrases take precedence over shorter ones, and exact forms over inflected ones. Alternative meanings of the
//! same words stay in order, synonyms first; `query_builder` chooses between them.

use std::collections::BTreeMap;

use super::synonyms::{SynonymTarget, Synonyms};
use super::tokens::{QuestionToken, SKIPPED, is_filler, tokenize};
use crate::data::{Catalog, Column, ColumnType, Table};

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ColumnRef {
    pub(super) table: String,
    pub(super) column: String,
}

/// Meaning of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Table(String),
    Column(ColumnRef),
    /// One of these values; several if the phrase is a common prefix of all of them.
    Value {
        column_ref: ColumnRef,
        values: Vec<String>,
        is_synonym: bool,
    },
    Condition {
        table: String,
        sql: String,
        name: String,
    },
}

/// Words of a question that have a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LexiconMatch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) meanings: Vec<Meaning>,
    /// Date columns that match another form of the words.
    pub(super) dates: Vec<ColumnRef>,
}

struct Phrase {
    words: Vec<QuestionToken>,
    meaning: Meaning,
    /// True if the exact letters of the value are required.
    is_strict: bool,
    /// True if a capital first letter is required.
    is_name: bool,
}

/// All phrases, indexed by their first word.
pub(super) struct Lexicon {
    phrases: BTreeMap<String, Vec<Phrase>>,
}

/// Number of distinct values above which a name column is assumed to hold names of people or things, which are
/// written with a capital letter.
const NAME_THRESHOLD: usize = 20;

impl Lexicon {
    pub(super) fn new(catalog: &Catalog, synonyms: &Synonyms) -> Self {
        let mut lexicon = Self { phrases: BTreeMap::new() };
        for (all, target) in &synonyms.groups {
            let meaning = meaning_of(target, &all[0]);
            all.iter().for_each(|text| lexicon.add(text, meaning.clone(), false, false));
            for other in same_value_in_other_tables(catalog, target) {
                all.iter().for_each(|text| lexicon.add(text, other.clone(), false, false));
            }
        }
        for table in &catalog.tables {
            lexicon.add(&table.name.replace('_', " "), Meaning::Table(table.name.clone()), false, false);
            for column in &table.columns {
                lexicon.add_column(table, column);
            }
        }
        lexicon
    }

    fn add_column(&mut self, table: &Table, column: &Column) {
        let column_ref = ColumnRef { table: table.name.clone(), column: column.name.clone() };
        if !column.is_key && column.references.is_none() {
            self.add(&column.name.replace('_', " "), Meaning::Column(column_ref.clone()), false, false);
            if let Some(verb) = column.name.strip_suffix("_at") {
                self.add(&verb.replace('_', " "), Meaning::Column(column_ref.clone()), false, false);
            }
        }
        let holds_text = column.kind == ColumnType::Text && !column.name.to_lowercase().contains("mail");
        let is_name = column.name.to_lowercase().contains("name") && column.distinct.len() > NAME_THRESHOLD;
        for value in column.distinct.iter().filter(|_| holds_text) {
            let display_text = value.replace('_', " ");
            let is_single = tokenize(&display_text).len() == 1;
            let lower = value.to_lowercase();
            let is_strict = is_single && (is_filler(&lower) || lower == "new");
            let meaning =
                Meaning::Value { column_ref: column_ref.clone(), values: vec![value.clone()], is_synonym: false };
            self.add(&display_text, meaning, is_strict, is_name && is_single);
        }
    }

    fn add(&mut self, text: &str, meaning: Meaning, is_strict: bool, is_name: bool) {
        let all = tokenize(text);
        let significant: Vec<QuestionToken> = all.iter().filter(|word| !word.is_in(&SKIPPED)).cloned().collect();
        let words = if significant.is_empty() { all } else { significant };
        if let Some(first) = words.first() {
            let phrase = Phrase { words: words.clone(), meaning, is_strict, is_name };
            self.phrases.entry(first.lemma.clone()).or_default().push(phrase);
        }
    }

    /// Returns the meanings of the words that are not used yet, in order.
    pub(super) fn items(&self, words: &[QuestionToken], used: &mut [bool]) -> Vec<LexiconMatch> {
        let mut items = Vec::new();
        let mut index = 0;
        while index < words.len() {
            let matched = if used[index] {
                None
            } else {
                self.longest_match(words, index, used).or_else(|| self.common_prefix(words, index))
            };
            match matched {
                Some(item) => {
                    used[item.start..item.end].iter_mut().for_each(|used| *used = true);
                    index = item.end;
                    items.push(item);
                }
                None => index += 1,
            }
        }
        items
    }

    /// Returns the meanings of exactly these words.
    pub(super) fn exactly(&self, text: &str) -> Vec<Meaning> {
        let words = tokenize(text);
        let all = words.first().and_then(|first| self.phrases.get(&first.lemma)).into_iter().flatten();
        let is_exact = |phrase: &&Phrase| {
            let pairs = phrase.words.iter().zip(&words);
            phrase.words.len() == words.len() && pairs.into_iter().all(|(one, other)| one.lower == other.lower)
        };
        all.filter(is_exact).map(|phrase| phrase.meaning.clone()).collect()
    }

    fn longest_match(&self, words: &[QuestionToken], index: usize, used: &[bool]) -> Option<LexiconMatch> {
        let first = &words[index];
        let forms = std::iter::once(&first.lemma).chain(&first.bases);
        let starting = forms.filter_map(|form| self.phrases.get(form)).flatten();
        let fitting: Vec<(&Phrase, usize, bool)> = starting
            .filter_map(|phrase| match_phrase(phrase, words, index).map(|(end, is_exact)| (phrase, end, is_exact)))
            .filter(|(_, end, _)| !used[index..*end].contains(&true))
            .collect();
        let length = fitting.iter().map(|(phrase, ..)| phrase.words.len()).max()?;
        let longest: Vec<_> = fitting.into_iter().filter(|(phrase, ..)| phrase.words.len() == length).collect();
        let is_exact = longest.iter().any(|(.., is_exact)| *is_exact);
        let end = longest.iter().map(|(_, end, _)| *end).max()?;
        let (mut meanings, mut dates) = (Vec::new(), Vec::new());
        for (phrase, _, exact) in longest {
            if exact == is_exact && !meanings.contains(&phrase.meaning) {
                meanings.push(phrase.meaning.clone());
            }
        }
        (index..end).for_each(|index| dates.extend(self.columns_within(words, index, end)));
        Some(LexiconMatch { start: index, end, meanings, dates })
    }

    /// Returns the columns that parts of a phrase denote on their own.
    fn columns_within(&self, words: &[QuestionToken], index: usize, end: usize) -> Vec<ColumnRef> {
        let starting = self.phrases.get(&words[index].lemma).into_iter().flatten();
        let fitting = starting.filter(|phrase| match_phrase(phrase, words, index).is_some_and(|(last, _)| last <= end));
        let column = |phrase: &Phrase| match &phrase.meaning {
            Meaning::Column(column_ref) => Some(column_ref.clone()),
            _ => None,
        };
        fitting.filter_map(column).collect()
    }

    /// Matches words that are a common prefix of several values of one column: `Ridge Tent`.
    fn common_prefix(&self, words: &[QuestionToken], index: usize) -> Option<LexiconMatch> {
        let starting = self.phrases.get(&words[index].lemma)?;
        let shared_length = |phrase: &Phrase| {
            let is_value = matches!(&phrase.meaning, Meaning::Value { is_synonym: false, .. });
            let pairs = phrase.words.iter().zip(&words[index..]);
            let length = pairs.take_while(|(one, other)| one.lemma == other.lemma).count();
            let is_named = length > 1 || (index > 0 && words[index].is_capital() && words[index].lower.len() > 3);
            (is_value && is_named).then_some(length)
        };
        let length = starting.iter().filter_map(shared_length).max()?;
        let mut common: Option<(ColumnRef, Vec<String>)> = None;
        for phrase in starting.iter().filter(|phrase| shared_length(phrase) == Some(length)) {
            let Meaning::Value { column_ref, values, .. } = &phrase.meaning else { continue };
            match &mut common {
                None => common = Some((column_ref.clone(), values.clone())),
                Some((existing, all)) if existing == column_ref => all.extend(values.iter().cloned()),
                Some(_) => return None,
            }
        }
        let (column_ref, values) = common?;
        let meanings = vec![Meaning::Value { column_ref, values, is_synonym: false }];
        Some(LexiconMatch { start: index, end: index + length, meanings, dates: Vec::new() })
    }
}

/// Returns the end of a phrase that starts at a word, and true if the match is exact.
fn match_phrase(phrase: &Phrase, words: &[QuestionToken], start: usize) -> Option<(usize, bool)> {
    let (mut position, mut is_exact) = (start, true);
    for (index, expected) in phrase.words.iter().enumerate() {
        while index > 0 && words.get(position).is_some_and(|word| word.lower != expected.lower && word.is_in(&SKIPPED))
        {
            position += 1;
        }
        let word = words.get(position)?;
        if word.lower != expected.lower {
            is_exact = false;
            let is_comparative = matches!(phrase.meaning, Meaning::Column(_)) && word.bases.contains(&expected.lower);
            // A value does not match as another verb form: `paid` is a value, `pay` is not.
            let is_value = matches!(phrase.meaning, Meaning::Value { .. });
            let is_form = word.lemma == expected.lemma && (!is_value || shares_prefix(&word.lower, &expected.lower));
            if !is_form && !is_comparative {
                return None;
            }
        }
        position += 1;
    }
    let has_required_spelling = match &phrase.meaning {
        Meaning::Value { values, .. } if phrase.is_strict => values.contains(&words[start].text),
        _ => !phrase.is_name || words[start].is_capital(),
    };
    has_required_spelling.then_some((position, is_exact))
}

fn shares_prefix(one: &str, other: &str) -> bool {
    one.chars().take(3).eq(other.chars().take(3))
}

/// Returns the same value in columns of the same name: `german` for suppliers means the same country.
fn same_value_in_other_tables(catalog: &Catalog, target: &SynonymTarget) -> Vec<Meaning> {
    let SynonymTarget::Value(table, column, value) = target else { return Vec::new() };
    let others = catalog.tables.iter().filter(|other| other.name != *table);
    let has = |other: &&Table| other.column(column).is_some_and(|column| column.distinct.contains(value));
    let meaning = |other: &Table| {
        let column_ref = ColumnRef { table: other.name.clone(), column: column.clone() };
        Meaning::Value { column_ref, values: vec![value.clone()], is_synonym: false }
    };
    others.filter(has).map(meaning).collect()
}

fn meaning_of(target: &SynonymTarget, name: &str) -> Meaning {
    let column_ref = |table: &String, column: &String| ColumnRef { table: table.clone(), column: column.clone() };
    match target {
        SynonymTarget::Table(table) => Meaning::Table(table.clone()),
        SynonymTarget::Column(table, column) => Meaning::Column(column_ref(table, column)),
        SynonymTarget::Value(table, column, value) => {
            Meaning::Value { column_ref: column_ref(table, column), values: vec![value.clone()], is_synonym: true }
        }
        SynonymTarget::Condition(table, sql) => {
            Meaning::Condition { table: table.clone(), sql: sql.clone(), name: name.to_owned() }
        }
    }
}

impl Meaning {
    /// Returns true if the two are alternatives: two values of one column, or two conditions of one table.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value { column_ref: one, .. }, Self::Value { column_ref: two, .. }) => one == two,
            (Self::Condition { table: one, .. }, Self::Condition { table: two, .. }) => one == two,
            _ => false,
        }
    }
}
